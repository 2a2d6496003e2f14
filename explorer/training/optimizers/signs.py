"""Steps that use the sign of the gradient and not its size: Rprop and Lion."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers.shared import DECAY, LR, MAXIMIZE, STEP, add_sign, read_buffer


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, https://arxiv.org/abs/2302.06675"""

    def __init__(
        self, params: Any, lr: float = 1e-4, betas: Any = (0.9, 0.99), weight_decay: float = 0.0
    ) -> None:
        if lr < 0 or weight_decay < 0 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError("lr and weight_decay are at least 0, betas from 0 to below 1")
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                m = state.setdefault("momentum_buffer", torch.zeros_like(p))
                c = m.mul(beta1).add(p.grad, alpha=1 - beta1)
                p.add_(c.sgn().add(p, alpha=decay), alpha=-lr)
                m.mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


def _lion(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Algorithm 2 of the paper."""
    beta1, beta2 = h["betas"]
    m = read_buffer(state, "momentum_buffer", p)
    d.define(m=m)
    c = d.add(
        "c",
        "momentum and gradient, mixed for this step",
        r"c = \beta_1 m + (1-\beta_1)\,g",
        "{beta1} · {m} + (1 − {beta1}) · {g}",
        m.mul(beta1).add(g, alpha=1 - beta1),
    )
    d.define(s=c.sgn())
    d.add(
        "m",
        "momentum for the next step (momentum_buffer)",
        r"m \leftarrow \beta_2 m + (1-\beta_2)\,g",
        "{beta2} · {m} + (1 − {beta2}) · {g}",
        m.mul(beta2).add(g, alpha=1 - beta2),
    )
    d.add_result(
        r"\theta \leftarrow \theta - \eta\,(\mathrm{sign}(c) + \lambda\theta)",
        "{p} − {lr} · ({s} + {weight_decay} · {p})",
        p.add(c.sgn().add(p, alpha=h["weight_decay"]), alpha=-h["lr"]),
        ", with the sign of c",
    )


def _rprop(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Riedmiller and Braun 1993, https://doi.org/10.1109/ICNN.1993.298623"""
    (shrink, grow), (low, high) = h["etas"], h["step_sizes"]
    g = add_sign(d, g, h)
    before = read_buffer(state, "prev", p)
    sizes = state["step_size"] if state else torch.full_like(p, h["lr"])
    d.define(q=before, s=sizes, low=low, high=high)
    factor = g.mul(before).sign()
    d.define(f=factor)
    d.add(
        "f",
        "−1 where the sign changed since the last step",
        r"f = \mathrm{sign}(g \cdot g_{\mathrm{last}})",
        "sign({g} · {q})",
        factor,
    )
    factor = factor.clone()
    factor[factor.gt(0)] = grow
    factor[factor.lt(0)] = shrink
    factor[factor.eq(0)] = 1
    d.define(k=factor)
    sizes = d.add(
        "s",
        "step size: grows if f is 1, shrinks if −1",
        r"s \leftarrow \mathrm{clamp}(s \cdot \{\eta_-, 1, \eta_+\})",
        "min(max({s} · {k}, {low}), {high})",
        sizes.mul(factor).clamp(low, high),
    )
    g = g.clone()
    g[factor.eq(shrink)] = 0
    direction = g.sign()
    d.define(r=direction)
    d.add_result(
        r"\theta \leftarrow \theta - s\,\mathrm{sign}(g)",
        "{p} − {s} · {r}",
        p.addcmul(direction, sizes, value=-1),
        "; not moved where the sign changed",
    )


LION = OptimizerSpec(
    Lion,
    {**LR, "betas": "how slowly the direction and the momentum forget", **DECAY},
    _lion,
    note="Moves every number by lr, against the sign of its momentum.",
    state={"momentum_buffer": "Running average of the gradient"},
    term="sign",
    first=("lr", "betas"),
    lr_like="tenth",
)
RPROP = OptimizerSpec(
    torch.optim.Rprop,
    {
        "lr": "the size of the first step; later sizes follow from the signs",
        "etas": "the factors by which a step shrinks and grows",
        "step_sizes": "the smallest and the largest step",
        **MAXIMIZE,
    },
    _rprop,
    note="Every number has a step size of its own, which grows while its gradient keeps its sign.",
    state={
        **STEP,
        "prev": "The last gradient, or 0 where its sign had changed",
        "step_size": "How far the next step goes",
    },
    term="sign",
    first=("lr", "etas"),
)
