"""A network whose weights are all 0.1, and gradients that are rounding errors.

Two convolutions and a linear layer without biases or activations; eight images of ones, all of
class 1. Every class gets the same logit (about 9830), so the exact gradient below the last layer
is 0 and equal weights stay equal: symmetric initialisation cannot learn. Three variants:

- "today": float32 and today's `cross_entropy`; conv1's gradient is a rounding error near -2.4e-07.
- "old": float32 and the log-softmax of early PyTorch, whose hand-written backward computes with
  its own rounded output. Near 9830 neighbouring float32 numbers are 1/1024 apart, so log 20 is
  rounded and the sum of 20 "probabilities" differs from 1 by 3.6e-4. Backward through the earlier
  layers amplifies that to -0.078, which was once published as this network's gradient.
- "float64": the same network in double precision, |gradient| < 1e-12.

In all of them new = old - lr * grad holds to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.problems import ModuleProblem, Network, source_of


class AllTenths(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.linear = nn.Linear(32 * 10 * 10, 20, bias=False)
        for weight in self.parameters():
            nn.init.constant_(weight, 0.1)

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.conv2(self.conv1(images))
        logits: Tensor = self.linear(features.flatten(1))
        return logits


class OldLogSoftmax(torch.autograd.Function):
    """log(softmax(x)) over dim 1, as early PyTorch computed and differentiated it."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        top = logits.max(1, keepdim=True).values
        output = logits - (top + (logits - top).exp().sum(1, keepdim=True).log())
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (output,) = ctx.saved_tensors
        result: Tensor = grad - output.exp() * grad.sum(1, keepdim=True)
        return result


def _network(dtype: torch.dtype, loss_of: Callable[[Tensor, Tensor], Tensor]) -> Network:
    labels = torch.ones(8, dtype=torch.long)
    images = torch.ones(8, 3, 10, 10, dtype=dtype)
    return Network(AllTenths().to(dtype), (images,), lambda logits: loss_of(logits, labels))


def _old_loss(logits: Tensor, labels: Tensor) -> Tensor:
    log_softmax: Tensor = OldLogSoftmax.apply(logits)
    return F.nll_loss(log_softmax, labels)


_DATA = """\
net = AllTenths(){double}
images = torch.ones(8, 3, 10, 10{dtype})
labels = torch.ones(8, dtype=torch.long)
"""
_TODAY = "loss = F.cross_entropy(net(images), labels)"
_OLD = "loss = F.nll_loss(OldLogSoftmax.apply(net(images)), labels)"
_FLOAT32 = _DATA.format(double="", dtype="")
_FLOAT64 = _DATA.format(double=".double()", dtype=", dtype=torch.float64")


def variants() -> dict[str, ModuleProblem]:
    """The three problems, by variant: "today", "old" and "float64"."""
    return {
        "today": ModuleProblem(
            name="all-0.1",
            title="All weights 0.1",
            make=lambda: _network(torch.float32, F.cross_entropy),
            source=source_of(AllTenths, end=_FLOAT32),
            loss_source=_TODAY,
            note="Equal weights get equal gradients. At the initial weights, the convolutions' "
            "gradients are about −2.4e-07: rounding errors. The exact value is 0.",
        ),
        "old": ModuleProblem(
            name="all-0.1 (old log-softmax)",
            title="All weights 0.1, with the log-softmax of early PyTorch",
            make=lambda: _network(torch.float32, _old_loss),
            source=source_of(AllTenths, OldLogSoftmax, end=_FLOAT32),
            loss_source=_OLD,
            note="The gradient −0.0782 is a rounding error too: the old backward computes with its "
            "own rounded output, and the sum of its 20 probabilities differs from 1 by 3.6e-4.",
        ),
        "float64": ModuleProblem(
            name="all-0.1 (float64)",
            title="All weights 0.1, in double precision",
            make=lambda: _network(torch.float64, F.cross_entropy),
            source=source_of(AllTenths, end=_FLOAT64),
            loss_source=_TODAY,
            note="In double precision the convolutions' gradients are below 1e-12. Their exact "
            "value is 0, so the convolutions cannot learn.",
        ),
    }
