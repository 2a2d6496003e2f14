"""Steps divided by the root of squared gradients: RMSprop, Adagrad and Adadelta."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers.shared import (
    DECAY,
    EPS,
    LR,
    MAXIMIZE,
    MOMENTUM,
    STEP,
    add_gradient,
    next_step,
    read_buffer,
)


def _rmsprop(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Hinton, https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf. `centered`:
    Graves 2013, https://arxiv.org/abs/1308.0850"""
    g = add_gradient(d, p, g, h)
    v = read_buffer(state, "square_avg", p)
    d.define(v=v)
    v = d.add(
        "v",
        "average of the squared gradient (square_avg)",
        r"v \leftarrow \alpha v + (1-\alpha)\,g^2",
        "{alpha} · {v} + (1 − {alpha}) · {g}²",
        v.mul(h["alpha"]).addcmul(g, g, value=1 - h["alpha"]),
    )
    symbol = "v"
    if h["centered"]:
        mean = read_buffer(state, "grad_avg", p)
        d.define(m=mean)
        mean = d.add(
            "m",
            "average of the gradient (grad_avg)",
            r"m \leftarrow \alpha m + (1-\alpha)\,g",
            "{alpha} · {m} + (1 − {alpha}) · {g}",
            mean.lerp(g, 1 - h["alpha"]),
        )
        v, symbol = v.addcmul(mean, mean, value=-1), "c"
        d.add("c", "variance of the gradient", r"c = v - m^2", "{v} − {m}²", v)
    root = v.sqrt().add(h["eps"])
    if h["momentum"]:
        b = read_buffer(state, "momentum_buffer", p)
        d.define(b=b)
        b = d.add(
            "b",
            "momentum buffer",
            rf"b \leftarrow \mu b + g / (\sqrt {symbol} + \epsilon)",
            f"{{momentum}} · {{b}} + {{g}} / (√{{{symbol}}} + {{eps}})",
            b.mul(h["momentum"]).addcdiv(g, root),
        )
        d.add_result(
            r"\theta \leftarrow \theta - \eta\,b",
            "{p} − {lr} · {b}",
            p.add(b, alpha=-h["lr"]),
        )
    else:
        d.add_result(
            rf"\theta \leftarrow \theta - \eta\,g / (\sqrt {symbol} + \epsilon)",
            f"{{p}} − {{lr}} · {{g}} / (√{{{symbol}}} + {{eps}})",
            p.addcdiv(g, root, value=-h["lr"]),
        )


def _adagrad(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Duchi et al. 2011, https://jmlr.org/papers/v12/duchi11a.html"""
    g = add_gradient(d, p, g, h)
    s = state.get("sum", torch.full_like(p, h["initial_accumulator_value"]))
    steps = next_step(state) - 1
    rate = h["lr"] / (1 + steps * h["lr_decay"])
    d.define(s=s, rate=rate)
    s = d.add(
        "s",
        "sum of squared gradients (sum)",
        r"s \leftarrow s + g^2",
        "{s} + {g}²",
        s.addcmul(g, g, value=1),
    )
    d.add_result(
        r"\theta \leftarrow \theta - \tilde\eta\,g / (\sqrt s + \epsilon)",
        "{p} − {rate} · {g} / (√{s} + {eps})",
        p.addcdiv(g, s.sqrt().add(h["eps"]), value=-rate),
        f", with lr / (1 + {steps:.0f} · lr_decay) as the rate",
    )


def _adadelta(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Zeiler 2012, https://arxiv.org/abs/1212.5701"""
    g = add_gradient(d, p, g, h)
    v, u = read_buffer(state, "square_avg", p), read_buffer(state, "acc_delta", p)
    d.define(v=v, u=u)
    v = d.add(
        "v",
        "average of the squared gradient (square_avg)",
        r"v \leftarrow \rho v + (1-\rho)\,g^2",
        "{rho} · {v} + (1 − {rho}) · {g}²",
        v.mul(h["rho"]).addcmul(g, g, value=1 - h["rho"]),
    )
    change = d.add(
        "Δ",
        "as large as recent changes",
        r"\Delta = \frac{\sqrt{u + \epsilon}}{\sqrt{v + \epsilon}}\,g",
        "√({u} + {eps}) / √({v} + {eps}) · {g}",
        u.add(h["eps"]).sqrt().div(v.add(h["eps"]).sqrt()).mul(g),
    )
    d.add(
        "u",
        "average of its square (acc_delta)",
        r"u \leftarrow \rho u + (1-\rho)\,\Delta^2",
        "{rho} · {u} + (1 − {rho}) · {Δ}²",
        u.mul(h["rho"]).addcmul(change, change, value=1 - h["rho"]),
    )
    d.add_result(
        r"\theta \leftarrow \theta - \eta\,\Delta",
        "{p} − {lr} · {Δ}",
        p.add(change, alpha=-h["lr"]),
    )


_SQUARE_AVG = {"square_avg": "Running average of the squared gradient"}

RMSPROP = OptimizerSpec(
    torch.optim.RMSprop,
    {
        **LR,
        "alpha": "how slowly the average of the squared gradient forgets",
        **EPS,
        **DECAY,
        **MOMENTUM,
        "centered": "subtract the squared average of the gradient: divide by its spread alone",
        **MAXIMIZE,
    },
    _rmsprop,
    note="Divides the gradient by a running root mean square of it.",
    state={
        **STEP,
        **_SQUARE_AVG,
        "grad_avg": "Running average of the gradient (centered)",
        "momentum_buffer": "The direction so far: past steps, summed with fading weight",
    },
    term="adaptive",
    first=("lr", "alpha", "momentum"),
    lr_like="tenth",
)
ADAGRAD = OptimizerSpec(
    torch.optim.Adagrad,
    {
        **LR,
        "lr_decay": "how the learning rate falls with the number of steps",
        **DECAY,
        "initial_accumulator_value": "where the sum of squared gradients starts",
        **EPS,
        **MAXIMIZE,
    },
    _adagrad,
    note="Divides the gradient by the root of all its squares so far, so its rate only falls.",
    state={**STEP, "sum": "Sum of all squared gradients"},
    term="adaptive",
)
ADADELTA = OptimizerSpec(
    torch.optim.Adadelta,
    {
        **LR,
        "rho": "how slowly the averages of the squared gradient and change forget",
        "eps": "added under both roots: it decides how large the first steps are",
        **DECAY,
        **MAXIMIZE,
    },
    _adadelta,
    note="Scales the gradient so that changes are about as large as recent ones.",
    state={**STEP, **_SQUARE_AVG, "acc_delta": "Running average of the squared change"},
    term="adaptive",
    first=("lr", "rho"),
    lr_like="own",
)
