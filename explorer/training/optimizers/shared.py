"""What the rules of several optimizers have in common."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State

LR = {"lr": "learning rate: the factor before the gradient"}
MOMENTUM = {"momentum": "how much of the last direction is kept"}
DECAY = {"weight_decay": "how strongly parameters are pulled towards 0"}
DECOUPLED = {
    "decoupled_weight_decay": "shrink the parameter itself, as AdamW does, not through the gradient"
}
MAXIMIZE = {"maximize": "climb instead of descend"}
EPS = {"eps": "added to the denominator against division by 0"}
BETAS = {"betas": "how slowly the averages of the gradient and of its square forget"}

#: What the buffers hold, by torch's names for them.
STEP = {"step": "How many steps this parameter has taken"}
EXP_AVG = {"exp_avg": "Running average of the gradient"}
EXP_AVG_SQ = {"exp_avg_sq": "Running average of the squared gradient"}


def read_buffer(state: State, name: str, p: Tensor) -> Tensor:
    """The buffer of this name; zeros before the first step.

    KeyError where the optimizer has stepped without it: torch makes its buffers at the first step,
    and fails where a setting that needs another is switched on later.
    """
    buffer: Tensor = state[name] if state else torch.zeros_like(p)
    return buffer


def next_step(state: State) -> float:
    """The number of this step: 1 for the first."""
    return float(state.get("step", 0.0)) + 1


def add_sign(d: Derivation, g: Tensor, h: Hyper) -> Tensor:
    """The gradient, its sign changed to climb."""
    if not h["maximize"]:
        return g
    return d.add("g", "climb: the gradient's sign is changed", r"g \leftarrow -g", "−{g}", -g)


def add_gradient(d: Derivation, p: Tensor, g: Tensor, h: Hyper) -> Tensor:
    """The gradient as the rules use it: its sign changed to climb, with weight decay added."""
    g = add_sign(d, g, h)
    if not h["weight_decay"]:
        return g
    return d.add(
        "g",
        "gradient with weight decay",
        r"g \leftarrow g + \lambda\theta",
        "{g} + {weight_decay} · {p}",
        g.add(p, alpha=h["weight_decay"]),
    )


def add_decay(d: Derivation, p: Tensor, h: Hyper) -> Tensor:
    """The parameter, made smaller by decoupled weight decay."""
    if not h["weight_decay"]:
        return p
    return d.add(
        "p",
        "decoupled weight decay",
        r"\theta \leftarrow \theta\,(1 - \eta\lambda)",
        "{p} · (1 − {lr} · {weight_decay})",
        p.mul(1 - h["lr"] * h["weight_decay"]),
    )


def add_decayed(d: Derivation, p: Tensor, g: Tensor, h: Hyper) -> tuple[Tensor, Tensor]:
    """Parameter and gradient with weight decay in one of its two forms."""
    if h["decoupled_weight_decay"]:
        g = add_sign(d, g, h)
        return add_decay(d, p, h), g
    return p, add_gradient(d, p, g, h)


def add_average(d: Derivation, g: Tensor, state: State, beta: float) -> Tensor:
    """The running average of the gradient, `exp_avg`."""
    m = read_buffer(state, "exp_avg", g)
    d.define(m=m)
    return d.add(
        "m",
        "average of the gradient (exp_avg)",
        r"m \leftarrow \beta_1 m + (1-\beta_1)\,g",
        "{beta1} · {m} + (1 − {beta1}) · {g}",
        m.lerp(g, 1 - beta),
    )


def add_square(d: Derivation, g: Tensor, state: State, beta: float) -> Tensor:
    """The running average of the squared gradient, `exp_avg_sq`."""
    v = read_buffer(state, "exp_avg_sq", g)
    d.define(v=v)
    return d.add(
        "v",
        "average of its square (exp_avg_sq)",
        r"v \leftarrow \beta_2 v + (1-\beta_2)\,g^2",
        "{beta2} · {v} + (1 − {beta2}) · {g}²",
        v.mul(beta).addcmul(g, g, value=1 - beta),
    )
