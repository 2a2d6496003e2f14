"""Steps along the gradient: SGD with momentum, and ASGD, which averages where it has been."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers.shared import (
    DECAY,
    LR,
    MAXIMIZE,
    MOMENTUM,
    STEP,
    add_gradient,
)


def _sgd(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Sutskever et al. 2013, https://proceedings.mlr.press/v28/sutskever13.html, with torch's
    convention for momentum: the learning rate multiplies the buffer."""
    g = add_gradient(d, p, g, h)
    symbol = "g"
    if h["momentum"]:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            v = d.add("v", "momentum buffer, first step", r"v \leftarrow g", "{g}", g)
        else:
            d.define(v=buffer)
            v = d.add(
                "v",
                "momentum buffer",
                r"v \leftarrow \mu v + (1-\tau)\,g",
                "{momentum} · {v} + (1 − {dampening}) · {g}",
                buffer.mul(h["momentum"]).add(g, alpha=1 - h["dampening"]),
            )
        if h["nesterov"]:
            g = d.add(
                "g",
                "Nesterov: one momentum step ahead",
                r"g \leftarrow g + \mu v",
                "{g} + {momentum} · {v}",
                g.add(v, alpha=h["momentum"]),
            )
        else:
            g, symbol = v, "v"
    d.add_result(
        rf"\theta \leftarrow \theta - \eta\,{symbol}",
        f"{{p}} − {{lr}} · {{{symbol}}}",
        p.add(g, alpha=-h["lr"]),
    )


def _asgd(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Polyak and Juditsky 1992, https://doi.org/10.1137/0330046. torch computes the rate of a step
    at the end of the one before; the first is `lr`, in single precision."""
    g = add_gradient(d, p, g, h)
    rate = state["eta"] if state else torch.tensor(h["lr"])
    eta = rate.item()
    d.define(η=eta)
    d.add_number(
        "η",
        "rate (eta), computed in the step before",
        r"\eta_t = \mathit{lr} / (1 + \lambda_d\,\mathit{lr}\,(t-1))^{\alpha}",
        "{η}",
        eta,
    )
    p = d.add(
        "p",
        "decay",
        r"\theta \leftarrow \theta\,(1 - \lambda_d\eta_t)",
        "{p} · (1 − {lambd} · {η})",
        p.mul(1 - h["lambd"] * eta),
    )
    new = p.add(g, alpha=-eta)
    d.define(x=new)
    if state and state["mu"].item() != 1:
        d.define(a=state["ax"], w=state["mu"].item())
        d.add(
            "a",
            "average of the values, x is the new one (ax)",
            r"\bar\theta \leftarrow \bar\theta + \mu_t\,(x - \bar\theta)",
            "{a} + {w} · ({x} − {a})",
            state["ax"].add(new.sub(state["ax"]).mul(state["mu"])),
        )
    d.add_result(r"\theta \leftarrow \theta - \eta_t\,g", "{p} − {η} · {g}", new)


SGD = OptimizerSpec(
    torch.optim.SGD,
    {
        **LR,
        **MOMENTUM,
        "dampening": "how much of the new gradient is left out of the momentum buffer",
        **DECAY,
        "nesterov": "look one momentum step ahead",
        **MAXIMIZE,
    },
    _sgd,
    note="Moves against the gradient; momentum keeps part of the last direction.",
    state={"momentum_buffer": "The direction so far: past gradients, summed with fading weight"},
    term="momentum",
    first=("lr", "momentum"),
    lr_like="sgd",
)
ASGD = OptimizerSpec(
    torch.optim.ASGD,
    {
        **LR,
        "lambd": "how strongly each step pulls the parameter towards 0",
        "alpha": "the power with which the rate falls",
        "t0": "the step after which the average (ax) begins",
        **DECAY,
        **MAXIMIZE,
    },
    _asgd,
    note="Plain gradient descent that also averages the places it has been.",
    state={
        **STEP,
        "eta": "The rate of the next step",
        "mu": "The weight of the next value in the average",
        "ax": "The average of the parameter; equal to it until step t0",
    },
    term="averaging",
    lr_like="sgd",
)
