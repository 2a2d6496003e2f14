"""`torch.FloatTensor` and its like, as the types that older programs name."""

import pytest

import explorer
from explorer.language.vocabulary.devices import NO_GPU
from tests.language.compare import compare

pytestmark = pytest.mark.fast

PROGRAM = """
import torch
values = torch.arange(4) / 3
half_way = values.type(torch.DoubleTensor)
whole = torch.cat([values, values]).type(torch.LongTensor)
print(half_way.type(), whole.type(), values.type("torch.HalfTensor").dtype)
print(isinstance(half_way, torch.DoubleTensor), isinstance(half_way, torch.FloatTensor))
print(isinstance(whole, (torch.IntTensor, torch.LongTensor)), torch.ByteTensor)
weight = torch.tensor([1.5, 2.5], requires_grad=True)
(weight.type(torch.DoubleTensor) ** 2).sum().backward()
print(weight.grad.type() == "torch.FloatTensor")
kind = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
print(torch.arange(3).type(dtype=kind), torch.FloatTensor([1, 2]), torch.ShortTensor([[1]]))
net = torch.nn.Linear(2, 1).type(torch.DoubleTensor)
print(net.weight.dtype)
"""


def test_types_convert_and_can_be_asked_for() -> None:
    compare(PROGRAM)


@pytest.mark.parametrize("kind", ["torch.cuda.LongTensor", "'torch.cuda.LongTensor'"])
def test_types_of_a_gpu_convert_on_the_cpu(kind: str) -> None:
    trace = explorer.run(f"import torch\nprint(torch.tensor([1.7]).type({kind}))")
    assert trace.output == "tensor([1])\n"
    assert len(trace.readings) == 1
    assert trace.readings[0].startswith(NO_GPU.rstrip("."))
