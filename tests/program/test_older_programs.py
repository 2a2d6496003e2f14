"""Names and forms that older programs and courses use, as plain PyTorch has them."""

import pytest

from tests.program.compare import compare

pytestmark = pytest.mark.fast

PROGRAMS = {
    "percent": """
import numpy as np, torch
value = torch.tensor(0.51234).numpy()
print("loss = %.4f" % value, "%s" % np.ones(2), "%d of %s" % (np.int64(3), np.zeros((2, 2))))
text = "%.2f"
text %= value
try:
    "%s %s" % np.ones(2)
except TypeError as error:
    print(text, error)
""",
    "functorch": """
import functorch, torch
from functorch import grad, hessian, jacrev, vjp, vmap
x = torch.tensor([1.0, 2.0, 3.0])
cube_sum = lambda v: (v ** 3).sum()
print(grad(cube_sum)(x), hessian(cube_sum)(x), jacrev(torch.sin)(x))
value, pull = vjp(torch.exp, x)
print(pull(torch.ones(3)), vmap(torch.dot)(x.view(3, 1), x.view(3, 1)))
print(functorch.jvp(torch.cos, (x,), (torch.ones(3),)))
""",
    "in place": """
import torch
from torch.autograd.function import Function
class Half(Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2
    @staticmethod
    def backward(ctx, g):
        return g / 2
w = torch.tensor([0.3, 0.6], requires_grad=True)
y = Half.apply(w) * 1
torch.sin_(y)
torch.clamp_(y, 0.2, 1.0)
y.sum().backward()
b = torch.tensor([-1.0, 4.0])
print(torch.abs_(b), b, torch.sqrt_(b), b, w.grad)
""",
    "fourier": """
import numpy as np
a = np.arange(12.0).reshape(3, 4)
print(np.fft.rfft2(a).round(3), np.fft.irfft2(np.fft.rfft2(a), s=a.shape).round(3))
print(np.fft.irfftn(np.fft.rfftn(a), s=a.shape).round(3))
""",
    "embedding": """
import torch
from torch import nn
table = torch.arange(6.0).view(3, 2)
frozen = nn.Embedding.from_pretrained(table)
free = nn.Embedding.from_pretrained(table.clone(), freeze=False, padding_idx=0)
(free(torch.tensor([2, 2, 0])) * frozen(torch.tensor([1, 1, 1]))).sum().backward()
print(frozen, free, free.weight.grad, frozen.weight.requires_grad)
""",
    "initial values": """
import torch
from torch import nn
import torch.nn.init as init
torch.manual_seed(3)
layer = nn.Linear(3, 2)
init.xavier_normal(layer.weight, gain=init.calculate_gain("tanh"))
nn.init.constant(layer.bias, 0.25)
print(layer.weight, layer.bias)
w = torch.zeros(2, 3)
print(init.uniform(w, -1, 1), init.normal(w, 0, 0.1), init.orthogonal(w), init.eye(w))
print(init.kaiming_normal(w), init.kaiming_uniform(w, a=1), init.xavier_uniform(w))
print(init.sparse(w, sparsity=0.5), init.dirac(torch.zeros(2, 2, 3)))
layer(torch.ones(3)).sum().backward()
print(layer.weight.grad)
""",
    "causal mask": """
from torch import nn
print(nn.Transformer.generate_square_subsequent_mask(3))
""",
    "parts": """
import torch
from torch import nn
class Chain(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        for number, layer in enumerate(layers):
            self._modules[str(number)] = layer
    def forward(self, x):
        for layer in self._modules.values():
            x = layer(x)
        return x
torch.manual_seed(0)
net = Chain(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
net(torch.ones(1, 2)).sum().backward()
print(net, len(net._modules), list(net._modules), "1" in net._modules, net._modules["1"])
print([name for name, part in net._modules.items() if isinstance(part, nn.Linear)])
try:
    net._modules["a"] = 3
except TypeError as error:
    print("refused")
""",
}
#: Plain Python stores anything there; torch's own `add_module` refuses it, as here.
ASSIGNED = 'net._modules["a"] = 3'


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_plain_pytorch(name: str) -> None:
    compare(PROGRAMS[name].replace(ASSIGNED, 'net.add_module("a", 3)'))
