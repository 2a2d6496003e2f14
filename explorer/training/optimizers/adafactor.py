"""Adafactor: of the squared gradients of a matrix only an average per row and column is kept."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers.shared import (
    DECAY,
    MAXIMIZE,
    STEP,
    add_decay,
    add_sign,
    next_step,
)

#: torch's default of eps[1]: the smallest size a parameter is taken to have.
_SMALLEST = 1e-3


def _adafactor(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Shazeer and Stern 2018, https://arxiv.org/abs/1804.04235, in torch's variant
    https://docs.pytorch.org/docs/stable/generated/torch.optim.Adafactor.html"""
    g = add_sign(d, g, h)
    t = next_step(state)
    tiny = torch.finfo(p.dtype).eps
    weight = t ** h["beta2_decay"]
    size = p.norm(2).item() / (p.numel() ** 0.5)
    alpha = max(_SMALLEST, size) * min(h["lr"], 1 / (t**0.5))
    d.define(t=t, w=weight, size=size, smallest=_SMALLEST, tiny=tiny * tiny)
    d.add_number(
        "α",
        "relative step size",
        r"\alpha_t = \max(\epsilon_2, \mathrm{RMS}(\theta)) \cdot \min(\eta, 1/\sqrt t)",
        "max({smallest}, {size}) · min({lr}, 1 / √{t})",
        alpha,
    )
    p = add_decay(d, p, h)
    estimate = (
        _add_factors(d, g, state, weight, tiny)
        if g.dim() > 1
        else _add_variance(d, g, state, weight)
    )
    update = d.add(
        "u",
        "gradient over its root mean square",
        r"u = g / \sqrt{\max(v, \epsilon_1^2)}",
        "{g} / √(max({v}, {tiny}))",
        estimate.clamp(min=tiny * tiny).rsqrt().mul(g),
    )
    root = update.norm(2).item() / (update.numel() ** 0.5 * h["d"])
    d.define(root=root * h["d"])
    d.add_result(
        r"\theta \leftarrow \theta - \alpha_t\,u / \max(1, \mathrm{RMS}(u) / d)",
        "{p} − {α} · {u} / max(1, {root} / {d})",
        p.add(update, alpha=-alpha / max(1.0, root)),
    )


def _add_factors(d: Derivation, g: Tensor, state: State, weight: float, tiny: float) -> Tensor:
    """The squared gradient of a matrix, estimated from one average per row and per column."""
    rows = torch.norm(g, dim=-1, keepdim=True).square().div(g.size(-1))
    columns = torch.norm(g, dim=-2, keepdim=True).square().div(g.size(-2))
    r = state.get("row_var", torch.zeros_like(rows))
    c = state.get("col_var", torch.zeros_like(columns))
    d.define(rows=rows, columns=columns, r=r, c=c)
    r = d.add(
        "r",
        "mean of the row (row_var)",
        r"r \leftarrow r + t^{\beta}\,(\overline{g^2} - r)",
        "{r} + {w} · ({rows} − {r})",
        r.lerp(rows, weight),
    )
    c = d.add(
        "c",
        "mean of the column (col_var)",
        r"c \leftarrow c + t^{\beta}\,(\overline{g^2} - c)",
        "{c} + {w} · ({columns} − {c})",
        c.lerp(columns, weight),
    )
    mean = r.mean(dim=-2, keepdim=True).clamp(min=tiny)
    d.define(mean=mean)
    return d.add(
        "v",
        "estimate of g²",
        r"v = r\,c / \overline r",
        "{r} · {c} / {mean}",
        (r @ c).div(mean),
    )


def _add_variance(d: Derivation, g: Tensor, state: State, weight: float) -> Tensor:
    v = state.get("variance", torch.zeros_like(g))
    d.define(v=v)
    return d.add(
        "v",
        "average of the squared gradient (variance)",
        r"v \leftarrow v + t^{\beta}\,(g^2 - v)",
        "{v} + {w} · ({g}² − {v})",
        v.lerp(g * g, weight),
    )


ADAFACTOR = OptimizerSpec(
    torch.optim.Adafactor,
    {
        "lr": "the largest step, relative to the size of the parameter",
        "beta2_decay": "how soon the averages begin to forget: −0.8 is slow",
        "d": "how large an update may be before it is scaled down",
        **DECAY,
        **MAXIMIZE,
    },
    _adafactor,
    note="Adam in little memory: of a matrix it keeps one average per row and one per column.",
    state={
        **STEP,
        "row_var": "Average of the squared gradient along each row",
        "col_var": "Average of the squared gradient along each column",
        "variance": "Average of the squared gradient",
    },
    term="adaptive",
    elementwise=False,
)
