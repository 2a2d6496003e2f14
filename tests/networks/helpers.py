"""Small models that do awkward things, and what a model looked like before."""

import torch
from torch import nn
from torch.nn import functional as F


class Awkward(nn.Module):
    """Shared weights, a layer called twice, in-place ReLU, dropout, batch-norm, frozen weights."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.norm = nn.BatchNorm1d(6)
        self.relu = nn.ReLU(inplace=True)
        self.tied = nn.Linear(6, 6)
        self.tied.weight = self.first.weight
        self.frozen = nn.Linear(6, 6).requires_grad_(False)
        self.drop = nn.Dropout(0.5)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        x = self.relu(self.norm(self.first(x)))
        return self.drop(self.frozen(self.relu(self.tied(x))))


class Fails(nn.Module):
    """Raises in its third layer."""

    def __init__(self):
        super().__init__()
        self.good = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.block = nn.Sequential(nn.ReLU(), nn.Linear(5, 2))

    def forward(self, x):
        return self.block(self.norm(self.good(x)))


class Renormalises(nn.Module):
    """nn.Embedding with max_norm writes to its weight in forward; the head writes to its own."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3, max_norm=0.1)
        self.head = nn.Linear(3, 2)

    def forward(self, tokens):
        self.head.weight.data.view(-1)[:2].add_(1)
        return F.relu(self.head(self.embedding(tokens)))


HOOKS = [name for name in vars(nn.Module()) if "hook" in name]


def snapshot(model):
    """Everything about a model that a look at it must not change."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    modules = {
        name: (m.training, *(str(getattr(m, hook)) for hook in HOOKS))
        for name, m in model.named_modules()
    }
    parameters = {
        name: (id(p), p.requires_grad, None if p.grad is None else (id(p.grad), p.grad.clone()))
        for name, p in model.named_parameters()
    }
    buffers = {name: id(b) for name, b in model.named_buffers()}
    return state, modules, parameters, buffers, torch.get_rng_state()


def assert_same(before, after):
    for old, new in zip(before, after, strict=True):
        torch.testing.assert_close(new, old, rtol=0, atol=0, equal_nan=True, check_stride=True) if (
            isinstance(old, torch.Tensor)
        ) else _equal(old, new)


def _equal(old, new):
    assert old.keys() == new.keys()
    for key, value in old.items():
        _same(value, new[key], key)


def _same(old, new, key):
    if isinstance(old, torch.Tensor):
        assert torch.equal(old.nan_to_num(7.0), new.nan_to_num(7.0)), key
    elif isinstance(old, tuple):
        assert len(old) == len(new)
        for a, b in zip(old, new, strict=True):
            _same(a, b, key)
    else:
        assert old == new, key
