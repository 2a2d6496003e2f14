"""Optimizers and schedules of a program's own, and torch's classes under the modules that define
them."""

from __future__ import annotations

from tests.program.compare import compare

OPTIMIZER = """
import torch
from torch.optim.optimizer import Optimizer
from torch.optim.lr_scheduler import _LRScheduler, LRScheduler

class Momentum(Optimizer):
    def __init__(self, params, lr=0.1, beta=0.9):
        super(Momentum, self).__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["v"] = torch.zeros_like(p)
                state["v"].mul_(group["beta"]).add_(p.grad)
                p.add_(state["v"], alpha=-group["lr"])
        return loss

class Halving(_LRScheduler):
    def __init__(self, optimizer, every):
        self.every = every
        super().__init__(optimizer)

    def get_lr(self):
        return [base * 0.5 ** (self.last_epoch // self.every) for base in self.base_lrs]

class Shrinking(torch.optim.SGD):
    def step(self, closure=None):
        for group in self.param_groups:
            group["lr"] *= 0.9
        return super().step(closure)
"""


def test_training_with_own_optimizers() -> None:
    compare(
        OPTIMIZER
        + """
torch.manual_seed(1)
for kind in (Momentum, Shrinking):
    model = torch.nn.Linear(2, 1)
    optimizer = kind(model.parameters(), lr=0.1)
    scheduler = Halving(optimizer, 2)
    for epoch in range(5):
        optimizer.zero_grad()
        loss = (model(torch.ones(3, 2)) - 1).pow(2).mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(epoch, f"{loss:.6f}", scheduler.get_last_lr(), scheduler.last_epoch)
    print(isinstance(optimizer, Optimizer), isinstance(scheduler, LRScheduler))
    print(optimizer.state_dict()["param_groups"], len(optimizer.state))
"""
    )


def test_an_optimizer_around_another() -> None:
    compare(
        """
import torch

class Slow(torch.optim.Optimizer):
    def __init__(self, inner, k):
        super().__init__(inner.param_groups, {"k": k})
        self.inner, self.count = inner, 0
        self.param_groups = inner.param_groups
        self.defaults.update(inner.defaults)

    def step(self, closure=None):
        self.count += 1
        if self.count % self.defaults["k"] == 0:
            self.inner.step(closure)

w = torch.tensor([1.0, 2.0], requires_grad=True)
optimizer = Slow(torch.optim.Adam([w], lr=0.1), 2)
for _ in range(4):
    optimizer.zero_grad()
    (w * w).sum().backward()
    optimizer.step()
    print(w)
"""
    )


def test_classes_under_the_modules_that_define_them() -> None:
    compare(
        """
import torch
from torch.utils.data.dataset import Dataset
from torch.utils.data.dataloader import DataLoader
from torch.nn.modules.linear import Linear
from torch.nn.modules import ReLU
from torch.optim.sgd import SGD
from torch.autograd.function import Function
from functorch import jvp, vmap

class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g

class Three(Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        return torch.tensor([float(i)])

torch.manual_seed(0)
model = torch.nn.Sequential(Linear(1, 2), ReLU())
optimizer = SGD(model.parameters(), lr=0.1)
for batch in DataLoader(Three(), batch_size=2):
    Double.apply(model(batch)).sum().backward()
    optimizer.step()
print([type(layer) is getattr(torch.nn, type(layer).__name__) for layer in model])
print(vmap(torch.sum)(torch.ones(2, 3)), jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),)))
"""
    )


def test_functions_that_change_their_argument() -> None:
    compare(
        """
import torch
x = torch.tensor([0.25, 0.5])
print(torch.sin_(x), torch.exp_(x), torch.clamp_(x, max=1.5), torch.neg_(x), torch.zero_(x), x)
"""
    )


def test_arrays_in_templates() -> None:
    compare(
        """
import numpy as np
import torch
from numpy.fft import rfft2, irfft2
print("%.4f" % np.float32(2), "loss=%.3f" % torch.tensor(0.5).numpy(), "%s!" % np.array([1, 2]))
print(np.abs(rfft2(np.ones((2, 4)))), irfft2(np.ones((2, 3))).shape)
"""
    )
