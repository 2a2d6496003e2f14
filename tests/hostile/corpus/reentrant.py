"""Programs that answer differently while torch's or numpy's C++ code is reading them.

Each ended with memory corruption, or read or wrote beyond a tensor, before it was refused: what
torch is given must be plain numbers, tensors and lists, and must be what was checked.
"""

_HEAD = """\
import torch
import numpy as np
from torch import nn
from collections import OrderedDict
from torch.utils.data import DataLoader, Dataset, TensorDataset
kept = []
def spoil():
    items.clear()
    kept.append(torch.full((20001,), 0x414141414141))
    kept.append(torch.full((20001,), 0x414141414141))
class U:
    def __init__(self, *given):
        pass
    def __len__(self):
        return 1
    def __getitem__(self, i):
        return [1.0][i]
    def __iter__(self):
        spoil()
        return iter([1.0])
items = [U()] + [[1.0] for k in range(20000)]
class Part(nn.Module):
    def forward(self, *a, **k):
        spoil()
        return np.zeros(1)
p = nn.Parameter(torch.ones(2))
p.grad = torch.ones(2)
"""

_LISTS = [
    "torch.tensor(items)",
    "torch.ones(3)[items]",
    "torch.ones(3)[items] = 1",
    "torch.ones(1).new_tensor(items)",
    "np.array(items)",
    "np.ones(1) + items",
    # torch.utils.data makes tensors of the lists it is given
    """
class D(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return np.zeros(1) if i == 0 else items
list(DataLoader(D(), batch_size=2))""",
    """
class D(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return {"x": np.zeros(1) if i == 0 else items}
list(DataLoader(D(), batch_size=2))""",
    """
class D(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return (1, OrderedDict([("x", np.zeros(1) if i == 0 else items)]))
list(DataLoader(D(), batch_size=2))""",
    "TensorDataset(torch.ones(3))[items]",
    "from torch.utils.data import WeightedRandomSampler\nWeightedRandomSampler(items, 1)",
    "TensorDataset(torch.ones(3))[items] += 1",
    "np.random.default_rng(items)",
    *(
        f"""
class T:
    def size(self, d):
        return 3
    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        spoil()
        return 1.0
items = [{dataset}] + [[[1.0], [1.0], [1.0]] for k in range(20000)]
{read}"""
        for dataset in ("TensorDataset(T())", "TensorDataset(T()) + TensorDataset(T())")
        for read in ("np.array(items)", "np.ones(1) - items")
    ),
    # ASGD makes tensors of its settings and its state
    "o = torch.optim.ASGD([p])\no.param_groups[0]['lr'] = items\no.step()",
    "o = torch.optim.ASGD([p])\no.defaults['lr'] = items\n"
    "q = nn.Parameter(torch.ones(2))\nq.grad = torch.ones(2)\n"
    "o.add_param_group({'params': [q]})\no.step()",
    """
o = torch.optim.ASGD([p])
def closure():
    o.param_groups[0]["lr"] = items
    return p.sum()
o.step(closure)""",
    """
class R:
    def __iadd__(self, other):
        return self
    def __rmul__(self, other):
        return self
    def __radd__(self, other):
        return self
    def __pow__(self, other):
        return self
    def __rtruediv__(self, other):
        return items
o = torch.optim.ASGD([p])
o.step()
o.state[p]["step"] = R()
o.step()""",
    """
o = torch.optim.ASGD([p])
o.step()
saved = o.state_dict()
saved["state"][0]["eta"] = items
o.load_state_dict(saved)""",
    # numpy calls __array__ of whatever has one
    "m = nn.Module()\nm.register_module('__array__', Part())\nnp.array([m, *items[1:]])",
    "m = nn.Module()\nm.add_module('__array__', Part())\nnp.array([m, *items[1:]])",
    "m = nn.Sequential(OrderedDict([('__array__', Part())]))\nnp.ones(1) - [m, *items[1:]]",
    "m = nn.ModuleDict({'__array__': Part()})\nnp.ones(1) - [m, *items[1:]]",
    "m = nn.ModuleDict()\nm['__array__'] = Part()\nnp.ones(1) - [m, *items[1:]]",
    """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        super().add_module("__array__", Part())
np.array([M(), *items[1:]])""",
    """
class S(nn.Sequential):
    def __init__(self):
        super().__init__(OrderedDict([("__array__", Part())]))
np.array([S(), *items[1:]])""",
    "m = nn.Module()\nm.register_module('__deepcopy__', Part())\nimport copy\ncopy.deepcopy(m)",
    "m = nn.Module()\nm.register_module('__torch_function__', Part())\ntorch.relu(m)",
    "m = nn.Module()\nm.register_buffer('__array__', torch.ones(1))",
    "m = nn.Module()\nm.register_parameter('__array__', p)",
    "m = nn.Module()\nm.register_parameter('a\\ud800', p)",
    "m = nn.Module()\nm.register_parameter('a\\n', p)",
    "m = nn.Module()\nm.add_module('a' * 201, Part())",
]

_SHAPES = [
    # a fused step writes without looking at sizes: `fused` asked twice gives two answers
    """
class Liar:
    n = 0
    def __bool__(self):
        self.n += 1
        return self.n != 2
p = nn.Parameter(torch.ones(100000))
o = torch.optim.Adam([p], lr=0.1)
p.grad = torch.ones_like(p)
o.step()
o.state[p]["exp_avg"] = o.state[p]["exp_avg_sq"] = torch.zeros(1)
o.param_groups[0]["foreach"] = False
o.param_groups[0]["fused"] = Liar()
o.step()""",
    *(
        f"""
class K:
    n = -1000
    def __hash__(self):
        return hash("fused")
    def __eq__(self, other):
        K.n += 1
        return K.n > {lies}
p = nn.Parameter(torch.ones(100000))
o = torch.optim.SGD([p], lr=0.1, momentum=0.9)
p.grad = torch.ones_like(p)
o.step()
o.state[p]["momentum_buffer"] = torch.zeros(1)
group = o.param_groups[0]
old = dict(group)
group.clear()
group[K()] = True
for k in old:
    group[k] = old[k]
K.n = 0
group["foreach"] = False
o.step()"""
        for lies in (1, 2)
    ),
    # an LSTM reads its weights and its state without looking at sizes
    "l = nn.LSTM(64, 512)\nl.check_forward_args = lambda *a: None\n"
    "l(torch.zeros(1, 4096, 64), (torch.zeros(1, 1, 512), torch.zeros(1, 1, 512)))",
    "l = nn.LSTM(64, 512, num_layers=2)\nl.check_forward_args = lambda *a: None\n"
    "l(torch.zeros(1, 1, 64), (torch.zeros(1, 1, 512), torch.zeros(1, 1, 512)))",
    "l = nn.LSTM(2, 2)\nl.num_layers = 0\nl(torch.ones(1, 1, 2))",
    "l = nn.LSTM(2, 2)\nl(torch.ones(1, 1, 2), (torch.ones(1, 1, 2), torch.ones(1, 1, 2).half()))",
    *(
        f"""
class L(nn.LSTM):
    def get(self):
        seen[0] += 1
        return small if seen[0] >= {lies} else good
    def put(self, weights):
        good.clear()
        good.extend(weights)
    _flat_weights = property(get).setter(put)
seen, good = [-1000], []
small = [torch.zeros(4, 4), torch.zeros(4, 4), torch.zeros(4), torch.zeros(4)]
l = L(512, 512)
seen[0] = 0
for k in range(9):
    l(torch.randn(5, 3, 512))"""
        for lies in (2, 3, 4)
    ),
    "m = nn.LSTM(64, 64)\nm.weight_ih_l0 = nn.Parameter(torch.ones(1))\nm(torch.ones(1, 1, 64))",
    "m = nn.LSTM(64, 64)\nm.bias_hh_l0.data = torch.ones(1)\nm(torch.ones(1, 1, 64))",
    "m = nn.LSTM(2, 2)\nm.input_size = 1000\nm(torch.ones(1, 1, 1000))",
    "m = nn.LSTM(2, 2)\nm.hidden_size = 1000\nm(torch.ones(1, 1, 2))",
    "p = nn.Parameter(torch.ones(10 ** 6))\no = torch.optim.Adam([p])\np.sum().backward()\n"
    "o.step()\no.param_groups[0]['fused'] = True\no.state[p]['exp_avg'] = torch.zeros(1)\no.step()",
    "p = nn.Parameter(torch.ones(10 ** 6))\n"
    "o = torch.optim.SGD([p], lr=1., momentum=.9, fused=True)\np.sum().backward()\no.step()",
    "p = nn.Parameter(torch.ones(10 ** 6))\no = torch.optim.Adagrad([p])\np.sum().backward()\n"
    "def closure():\n    o.param_groups[0]['fused'] = True\n    o.state[p]['sum'] = torch.ones(1)\n"
    "o.step(closure)",
    "m = nn.LSTM(2, 2)\nm._flat_weights[0] = torch.ones(1)\nm(torch.ones(1, 1, 2))",
    "class A(nn.LSTM):\n    def go(self):\n        self._flat_weights = []\nA(2, 2).go()",
    "m = nn.LSTM(2, 2)\nm.weight_hh_l0.data = m.weight_hh_l0.data.half()\nm(torch.ones(1, 1, 2))",
    """
class L(nn.LSTM):
    def get(self):
        seen[0] += 1
        return 2 if seen[0] < 4 else 4096
    def put(self, size):
        pass
    hidden_size = property(get).setter(put)
seen = [-1000]
l = L(2, 2)
seen[0] = 0
for k in range(9):
    l(torch.randn(5, 3, 2))""",
]

REENTRANT = [p.replace("{", "{{").replace("}", "}}") for p in (_HEAD + q for q in _LISTS + _SHAPES)]
