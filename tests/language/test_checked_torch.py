"""Where arguments are checked before torch gets them, good programs still give torch's numbers."""

import math

import pytest
import torch

from explorer.language import isolated
from tests.language.compare import compare, guarded, refusal

pytestmark = pytest.mark.fast

LSTMS = """
import torch
from torch import nn
x, y = torch.randn(5, 3, 4), torch.randn(5, 4)
plain = nn.LSTM(4, 6)
deep = nn.LSTM(4, 6, num_layers=2, bidirectional=True, proj_size=2, batch_first=True)
bare = nn.LSTM(4, 6, bias=False)
dropped = nn.LSTM(4, 6, num_layers=2, dropout=0.5)
class Own(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0] * 2
own = Own(4, 6)
a, (h, c) = plain(x)
b, _ = deep(x)
d, _ = bare(y)
e, _ = plain(y, (h[:, 0], c[:, 0]))
f, _ = plain(x, (h, c))
g, _ = dropped(x)
i = own(x)
(a.sum() + b.sum() + d.sum() + f.sum() + g.sum() + i.sum()).backward()
plain.half()
weight = plain.weight_ih_l0
"""

OPTIMIZERS = """
import torch
from torch import nn
results = []
for make in [
    lambda p: torch.optim.ASGD(p, lr=0.1),
    lambda p: torch.optim.ASGD(p, lr=torch.tensor(0.1), foreach=True),
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: torch.optim.Adam(p, betas=[0.8, 0.9]),
    lambda p: torch.optim.Rprop(p),
    lambda p: torch.optim.LBFGS(p, line_search_fn="strong_wolfe"),
]:
    p = nn.Parameter(torch.tensor([1.0, 2.0]))
    opt = make([{"params": [p], "name": "all"}])
    def closure():
        opt.zero_grad()
        loss = (p ** 4).sum()
        loss.backward()
        return loss
    for k in range(3):
        opt.step(closure)
    opt.load_state_dict(opt.state_dict())
    opt.step(closure)
    results.append(p)
"""

BATCHES = """
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
class Samples(Dataset):
    def __len__(self):
        return 5
    def __getitem__(self, i):
        return {"x": torch.ones(2) * i, "n": np.ones(2), "y": i, "z": (1.5, "a", [i, None is i])}
batches = list(DataLoader(Samples(), batch_size=2))
pairs = TensorDataset(torch.arange(6.0), torch.arange(6))
some = pairs[[0, 2]], pairs[1:3], pairs[-1]
single = list(DataLoader(pairs, batch_size=None))
"""

GENERATORS = """
import torch
def numbers(n):
    for i in range(n):
        try:
            yield i
        except ValueError:
            pass
with torch.no_grad():
    def inner():
        yield 1
    later = lambda: (yield)
    found = [*numbers(3), *inner()]
try:
    found += list(numbers(2))
finally:
    found.append("end")
"""


@pytest.mark.parametrize("source", [LSTMS, OPTIMIZERS, BATCHES, GENERATORS])
def test_numbers_are_torchs(source):
    compare(source)


def test_no_address_is_shown():
    output, _ = guarded(
        "import torch\n"
        "class A:\n    pass\n"
        "a, s = A(), '%s'\n"
        "s %= a\n"
        "print(a, [a], s, '%r' % a, '{}'.format(a), f'{a}', f'{a!r:>3}', str(a), repr(a), print)\n"
        "print((torch.ones(1, requires_grad=True) * 2).grad_fn, lambda: 0)\n"
        "try:\n    [].index(a)\nexcept ValueError as e:\n    print(e, e.args[0])\n"
        "print('meet at 0x1f')\n"
    )
    assert "<__main__.A object>" in output
    assert "<MulBackward0 object> <function <lambda>>" in output
    assert output.count("0x") == 1
    assert "0x" not in refusal("class A:\n    pass\nraise ValueError(A())").detail


def test_a_hash_reveals_no_address():
    output, _ = guarded(
        "class A:\n    pass\na = A()\nprint(hash(a), hash((a,)), hash((1, (a, 'x'))))\n"
        "print(hash(a) == hash(a), hash((1, 2.5)) == hash((1, 2.5)))"
    )
    assert output == "1 2 3\nTrue True\n"
    assert guarded("print(hash((1, 2.5)))")[0] == f"{hash((1, 2.5))}\n"
    assert guarded("print(hash(None))")[0] != f"{hash(None)}\n"  # an address until Python 3.11
    nested = "(1, (None, frozenset([None])))"
    assert guarded(f"print(hash({nested}))")[0] != f"{hash((1, (None, frozenset([None]))))}\n"
    assert guarded(f"print(hash({nested}) == hash({nested}))")[0] == "True\n"


def test_module_names_are_not_restricted_outside_a_run():
    net = torch.nn.Module()
    net.register_buffer("__mine", torch.ones(1))
    with isolated(0):
        net.register_buffer("fine name 1", torch.ones(1))
        with pytest.raises(AttributeError, match="cannot have this name"):
            net.register_buffer("__yours", torch.ones(1))
    assert math.prod(len(name) for name, _ in net.named_buffers()) == 66


def test_a_context_manager_gets_no_class_outside_the_table_and_no_traceback():
    manager = "class C:\n    def __enter__(self):\n        pass\n"
    manager += "    __exit__ = lambda self, k, e, t: print(k is AttributeError, e, t) or True\n"
    output, _ = guarded(manager + "with C():\n    (1).nothing\n")
    assert output == "True int has no attribute nothing. None\n"


def test_zero_tensors_of_forward_mode_work_without_the_meta_device():
    program = (
        "import torch\nfrom torch.func import hessian, jvp\nx = torch.tensor([1.0, 2.0, 3.0])\n"
        "{}\nresult = hessian(f)(x)"
    )
    for body in (
        "def f(x):\n    return (x ** 3).sum()",
        "def f(x):\n    return (x * x.sin() / (x + 2) - x).prod()",
        "def f(x):\n    return torch.linalg.cross(x, x.exp(), dim=0)[0] * 2",
    ):
        compare(program.format(body))
    with isolated(0):  # zero remains zero, as in torch, whatever it is multiplied with
        zero = torch._efficientzerotensor((2,))
        assert (zero * torch.nan)._is_zerotensor()
        assert (zero / torch.tensor([torch.nan, 0.0]))._is_zerotensor()
