"""The optimizers that can be stepped: one `OptimizerSpec` each, with its rule line by line.

The rules are those of PyTorch's documentation (https://docs.pytorch.org/docs/stable/optim.html),
in the order and precision in which torch computes them. Options that only choose an
implementation (foreach, fused, capturable, differentiable) and variants of a rule (amsgrad,
centered) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from explorer.training.optimizer_spec import Derivation, OptimizerSpec

State = Mapping[str, Any]
Hyper = Mapping[str, Any]


def _add_gradient(d: Derivation, p: Tensor, g: Tensor, h: Hyper) -> Tensor:
    """The gradient as the rules use it: its sign changed to climb, with weight decay added."""
    if h["maximize"]:
        g = d.add("g", "climb: the gradient's sign is changed", r"g \leftarrow -g", "−{g}", -g)
    if h["weight_decay"]:
        return d.add(
            "g",
            "gradient with weight decay",
            r"g \leftarrow g + \lambda\theta",
            "{g} + {weight_decay} · {p}",
            g.add(p, alpha=h["weight_decay"]),
        )
    return g


def _sgd(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Sutskever et al. 2013, https://proceedings.mlr.press/v28/sutskever13.html, with torch's
    convention for momentum: the learning rate multiplies the buffer."""
    g = _add_gradient(d, p, g, h)
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


def _adam(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Kingma and Ba 2015, https://arxiv.org/abs/1412.6980"""
    _add_moments(d, p, _add_gradient(d, p, g, h), state, h)


def _adamw(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Loshchilov and Hutter 2019, https://arxiv.org/abs/1711.05101"""
    g = _add_gradient(d, p, g, {**h, "weight_decay": 0})
    if h["weight_decay"]:
        p = d.add(
            "p",
            "decoupled weight decay",
            r"\theta \leftarrow \theta\,(1 - \eta\lambda)",
            "{p} · (1 − {lr} · {weight_decay})",
            p.mul(1 - h["lr"] * h["weight_decay"]),
        )
    _add_moments(d, p, g, state, h)


def _add_moments(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """What Adam and AdamW do alike."""
    beta1, beta2 = h["betas"]
    m, v = state.get("exp_avg", torch.zeros_like(p)), state.get("exp_avg_sq", torch.zeros_like(p))
    t = float(state.get("step", 0.0)) + 1
    d.define(m=m, v=v, t=t)
    m = d.add(
        "m",
        "average of the gradient (exp_avg)",
        r"m \leftarrow \beta_1 m + (1-\beta_1)\,g",
        "{beta1} · {m} + (1 − {beta1}) · {g}",
        m.lerp(g, 1 - beta1),
    )
    v = d.add(
        "v",
        "average of its square (exp_avg_sq)",
        r"v \leftarrow \beta_2 v + (1-\beta_2)\,g^2",
        "{beta2} · {v} + (1 − {beta2}) · {g}²",
        v.mul(beta2).addcmul(g, g, value=1 - beta2),
    )
    correction1, correction2 = 1 - beta1**t, 1 - beta2**t
    d.add(
        "m̂",
        f"bias-corrected, step {t:.0f}",
        r"\hat m = m / (1-\beta_1^t)",
        "{m} / (1 − {beta1}^{t})",
        m / correction1,
    )
    root = v.sqrt() / correction2**0.5
    d.add(
        "√v̂",
        f"root of the bias-corrected square, step {t:.0f}",
        r"\sqrt{\hat v} = \sqrt{v / (1-\beta_2^t)}",
        "√({v} / (1 − {beta2}^{t}))",
        root,
    )
    d.add_result(
        r"\theta \leftarrow \theta - \eta\,\hat m / (\sqrt{\hat v} + \epsilon)",
        "{p} − {lr} · {m̂} / ({√v̂} + {eps})",
        p.addcdiv(m, root.add(h["eps"]), value=-(h["lr"] / correction1)),
    )


def _rmsprop(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Hinton, https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf"""
    g = _add_gradient(d, p, g, h)
    v = state.get("square_avg", torch.zeros_like(p))
    d.define(v=v)
    v = d.add(
        "v",
        "average of the squared gradient (square_avg)",
        r"v \leftarrow \alpha v + (1-\alpha)\,g^2",
        "{alpha} · {v} + (1 − {alpha}) · {g}²",
        v.mul(h["alpha"]).addcmul(g, g, value=1 - h["alpha"]),
    )
    root = v.sqrt().add(h["eps"])
    if h["momentum"]:
        b = state.get("momentum_buffer", torch.zeros_like(p))
        d.define(b=b)
        b = d.add(
            "b",
            "momentum buffer",
            r"b \leftarrow \mu b + g / (\sqrt v + \epsilon)",
            "{momentum} · {b} + {g} / (√{v} + {eps})",
            b.mul(h["momentum"]).addcdiv(g, root),
        )
        d.add_result(
            r"\theta \leftarrow \theta - \eta\,b",
            "{p} − {lr} · {b}",
            p.add(b, alpha=-h["lr"]),
        )
    else:
        d.add_result(
            r"\theta \leftarrow \theta - \eta\,g / (\sqrt v + \epsilon)",
            "{p} − {lr} · {g} / (√{v} + {eps})",
            p.addcdiv(g, root, value=-h["lr"]),
        )


def _adagrad(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Duchi et al. 2011, https://jmlr.org/papers/v12/duchi11a.html"""
    g = _add_gradient(d, p, g, h)
    s = state.get("sum", torch.full_like(p, h["initial_accumulator_value"]))
    steps = float(state.get("step", 0.0))
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


_LR = {"lr": "learning rate: the factor before the gradient"}
_MOMENTUM = {"momentum": "how much of the last direction is kept"}
_DECAY = {"weight_decay": "how strongly parameters are pulled towards 0"}
_MAXIMIZE = {"maximize": "climb instead of descend"}
_EPS = {"eps": "added to the denominator against division by 0"}
_BETAS = {"betas": "how slowly the averages of the gradient and of its square forget"}

_SPECS = (
    OptimizerSpec(
        torch.optim.SGD,
        {
            **_LR,
            **_MOMENTUM,
            "dampening": "how much of the new gradient is left out of the momentum buffer",
            **_DECAY,
            "nesterov": "look one momentum step ahead",
            **_MAXIMIZE,
        },
        _sgd,
    ),
    OptimizerSpec(torch.optim.Adam, {**_LR, **_BETAS, **_EPS, **_DECAY, **_MAXIMIZE}, _adam),
    OptimizerSpec(torch.optim.AdamW, {**_LR, **_BETAS, **_EPS, **_DECAY, **_MAXIMIZE}, _adamw),
    OptimizerSpec(
        torch.optim.RMSprop,
        {
            **_LR,
            "alpha": "how slowly the average of the squared gradient forgets",
            **_EPS,
            **_DECAY,
            **_MOMENTUM,
            **_MAXIMIZE,
        },
        _rmsprop,
    ),
    OptimizerSpec(
        torch.optim.Adagrad,
        {
            **_LR,
            "lr_decay": "how the learning rate falls with the number of steps",
            **_DECAY,
            "initial_accumulator_value": "where the sum of squared gradients starts",
            **_EPS,
            **_MAXIMIZE,
        },
        _adagrad,
    ),
)

#: By name, in the order they are offered; the first is the default.
OPTIMIZERS = {spec.name: spec for spec in _SPECS}


def optimizer_spec(name: str) -> OptimizerSpec:
    """The record of this optimizer; ValueError, with a sentence, where there is none."""
    if name not in OPTIMIZERS:
        raise ValueError(f"There is no optimizer {name!r} here; choose {', '.join(OPTIMIZERS)}.")
    return OPTIMIZERS[name]
