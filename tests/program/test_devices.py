"""Programs for a GPU run on the CPU, as PyTorch computes there, and the reader is told."""

import pytest
import torch

import explorer
from explorer.program.devices import NO_GPU
from tests.program.compare import compare, ours

pytestmark = pytest.mark.fast

TRAINING = """
import torch
from torch import nn
{preparation}
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8{device}), nn.ReLU(), nn.Linear(8, 1{device})){move}
x = torch.randn(16, 4{device}){move}
y = x.sum(1, keepdim=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
"""
WAYS = {
    "cuda()": ("", "", ".cuda()"),
    "to a name": ("", "", ".to('cuda:0')"),
    "to a number": ("", "", ".to(0)"),
    "to a device": ("gpu = torch.device('cuda', 0)", "", ".to(gpu, torch.float32)"),
    "device=": ("", ", device='mps'", ""),
    "**options": ("options = {'device': 'cuda', 'dtype': torch.float32}", ", **options", ""),
    "to(device=)": ("", "", ".to(device='cuda')"),
    "default": ("torch.set_default_device('cuda')", "", ""),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_meant_for_a_gpu(way: str) -> None:
    preparation, device, move = WAYS[way]
    on_cpu = explorer.run(TRAINING.format(preparation="", device="", move=""))
    source = TRAINING.format(preparation=preparation, device=device, move=move)
    trace = explorer.run(source)
    assert trace.error is None
    assert trace.output == on_cpu.output
    assert len(trace.notices) == 1
    assert trace.notices[0].startswith(NO_GPU.rstrip("."))


AS_PLAIN_PYTORCH = """
import torch
import torch.backends.cudnn as cudnn
from torch import nn
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.backends.mps.is_available())
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(device, torch.version.cuda, torch.accelerator.is_available())
cudnn.benchmark = False
torch.backends.cudnn.deterministic = True
print(cudnn.benchmark, cudnn.deterministic)
torch.cuda.manual_seed_all(3)
torch.cuda.empty_cache()
torch.set_float32_matmul_precision("highest")
model = nn.DataParallel(nn.Linear(2, 1))
print(list(model.state_dict()), model.module.in_features, model)
out = model(torch.ones(3, 2).to(device, non_blocking=True))
out.sum().backward()
print(out.device, model.module.weight.grad)
with torch.device("cpu"):
    z = torch.zeros(2)
print(z.is_cuda, z.get_device(), torch.Tensor(2, 3).dtype)
"""
DEFAULT_DTYPE = """
import torch
torch.set_default_dtype(torch.float64)
x = torch.linspace(0, 1, 5, requires_grad=True)
loss = torch.nn.Linear(5, 1)(x).sin().sum() + torch.tensor(0.5)
loss.backward()
print(loss.dtype, x.grad.dtype, loss, torch.Tensor([1, 2]).dtype, torch.get_default_dtype())
torch.set_default_dtype(torch.float32)
print(torch.zeros(1).dtype)
"""


@pytest.mark.parametrize("source", [AS_PLAIN_PYTORCH, DEFAULT_DTYPE])
def test_as_plain_pytorch(source: str) -> None:
    compare(source)
    assert explorer.run(source).error is None


COMPILED = """
import torch
@torch.compile(mode="max-autotune")
def double(x):
    return 2 * x
@torch.jit.script
def square(x):
    return x * x
model = torch.compile(torch.nn.Linear(1, 1))
traced = torch.jit.trace(model, torch.ones(1))
print(double(square(torch.tensor(3.0))), traced(torch.ones(1)).shape)
"""


def test_functions_are_not_compiled() -> None:
    trace = explorer.run(COMPILED)
    assert trace.output == "tensor(18.) torch.Size([1])\n"
    assert trace.notices == (
        "torch.compile does nothing here: the functions run as written (lines 4, 9).",
    )


def test_the_default_dtype_is_that_of_one_run() -> None:
    for kind in (
        "set_default_dtype(torch.float64)",
        "set_default_tensor_type('torch.cuda.DoubleTensor')",
    ):
        ours(f"import torch\ntorch.{kind}\nassert torch.ones(1).dtype == torch.float64")
        assert torch.get_default_dtype() is torch.float32
    ours("import torch\nassert torch.ones(1).dtype == torch.float32")
    failed = explorer.run("import torch\ntorch.set_default_dtype(torch.float64)\n1 / 0")
    assert failed.error is not None
    assert torch.get_default_dtype() is torch.float32


def test_settings_are_those_of_one_run() -> None:
    line = "import torch\nprint(torch.backends.cudnn.benchmark)\n"
    ours(line + "torch.backends.cudnn.benchmark = True")
    assert ours(line)[0] == "False\n"
    assert not torch.backends.cudnn.benchmark
    threads = torch.get_num_threads()
    ours("import torch\ntorch.set_num_threads(7)")
    assert torch.get_num_threads() == threads
