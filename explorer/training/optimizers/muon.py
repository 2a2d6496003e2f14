"""Muon: the momentum of a matrix is replaced by a nearby matrix with orthogonal rows or columns."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers.shared import DECAY, LR, MOMENTUM, add_decay, read_buffer

#: Coefficients of the Newton–Schulz iteration, and the smallest norm; torch's defaults.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_SMALLEST = 1e-7


def _muon(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/"""
    v = read_buffer(state, "momentum_buffer", p)
    d.define(v=v)
    v = u = d.add(
        "v",
        "momentum buffer (momentum_buffer)",
        r"v \leftarrow \mu v + (1-\mu)\,g",
        "{momentum} · {v} + (1 − {momentum}) · {g}",
        v.lerp(g, 1 - h["momentum"]),
    )
    if h["nesterov"]:
        u = d.add(
            "u",
            "Nesterov: one momentum step ahead",
            r"u = (1-\mu)\,g + \mu v",
            "(1 − {momentum}) · {g} + {momentum} · {v}",
            g.lerp(v, h["momentum"]),
        )
    turned = _orthogonalize(u, h["ns_steps"])
    d.define(O=turned.float())
    d.add(
        "O",
        "nearly orthogonal, by Newton–Schulz in bfloat16",
        rf"O = \mathrm{{NS}}_{{{h['ns_steps']}}}({'u' if h['nesterov'] else 'v'})",
        "{O}",
        turned.float(),
    )
    rows, columns = p.shape
    rate = h["lr"] * math.sqrt(max(1, rows / columns))
    d.define(rows=float(rows), columns=float(columns))
    p = add_decay(d, p, h)
    d.add_result(
        r"\theta \leftarrow \theta - \eta \sqrt{\max(1, \mathrm{rows}/\mathrm{columns})}\,O",
        "{p} − {lr} · √(max(1, {rows} / {columns})) · {O}",
        p.add(turned, alpha=-rate),
    )


def _orthogonalize(matrix: Tensor, steps: int) -> Tensor:
    """As `_zeropower_via_newtonschulz` of torch/optim/_muon.py does it."""
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=_SMALLEST)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x.T if tall else x


MUON = OptimizerSpec(
    torch.optim.Muon,
    {
        **LR,
        **MOMENTUM,
        **DECAY,
        "nesterov": "look one momentum step ahead",
        "ns_steps": "how many Newton–Schulz steps make the matrix orthogonal",
    },
    _muon,
    note="Turns the momentum of a matrix into a nearly orthogonal one: all directions move alike.",
    state={"momentum_buffer": "Running average of the gradient"},
    term="muon",
    first=("lr", "momentum"),
    whole={"ns_steps": (1, 20)},
    elementwise=False,
    matrices=True,
)
