"""The rules of the optimizers, line by line.

They are those of the pages torch.optim.SGD, Adam, AdamW, RMSprop and Adagrad in PyTorch's
documentation. Each rule takes the sheet to write on, parameter, gradient and state before the
step, and the hyperparameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from explorer.training.derivation import Derivation

_NEW = "new"


def _gradient(derivation: Derivation, p: Tensor, g: Tensor, hyper: Mapping[str, Any]) -> Tensor:
    """The gradient as the rules use it: turned round to climb, with weight decay added."""
    derivation.know(p=p, g=g)
    if hyper["maximize"]:
        g = derivation.line("g", "climb: the gradient turned round", r"g \leftarrow -g", "−{g}", -g)
    if hyper["weight_decay"]:
        return derivation.line(
            "g",
            "gradient with weight decay",
            r"g \leftarrow g + \lambda\theta",
            "{g} + {weight_decay} · {p}",
            g.add(p, alpha=hyper["weight_decay"]),
        )
    return g


def _sgd(
    derivation: Derivation, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    g = _gradient(derivation, p, g, h)
    symbol = "g"
    if h["momentum"]:
        kept = state.get("momentum_buffer")
        if kept is None:
            v = derivation.line("v", "momentum buffer, first step", r"v \leftarrow g", "{g}", g)
        else:
            derivation.know(v=kept)
            v = derivation.line(
                "v",
                "momentum buffer",
                r"v \leftarrow \mu v + (1-\tau)\,g",
                "{momentum} · {v} + (1 − {dampening}) · {g}",
                kept.mul(h["momentum"]).add(g, alpha=1 - h["dampening"]),
            )
        if h["nesterov"]:
            g = derivation.line(
                "g",
                "Nesterov: one momentum step ahead",
                r"g \leftarrow g + \mu v",
                "{g} + {momentum} · {v}",
                g.add(v, alpha=h["momentum"]),
            )
        else:
            g, symbol = v, "v"
    derivation.line(
        _NEW,
        "new value",
        rf"\theta \leftarrow \theta - \eta\,{symbol}",
        f"{{p}} − {{lr}} · {{{symbol}}}",
        p.add(g, alpha=-h["lr"]),
    )


def _adam(
    derivation: Derivation, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    _adam_moments(derivation, p, _gradient(derivation, p, g, h), state, h)


def _adamw(
    derivation: Derivation, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    g = _gradient(derivation, p, g, {**h, "weight_decay": 0})
    if h["weight_decay"]:
        p = derivation.line(
            "p",
            "decoupled weight decay",
            r"\theta \leftarrow \theta\,(1 - \eta\lambda)",
            "{p} · (1 − {lr} · {weight_decay})",
            p.mul(1 - h["lr"] * h["weight_decay"]),
        )
    _adam_moments(derivation, p, g, state, h)


def _adam_moments(
    derivation: Derivation, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    beta1, beta2 = h["betas"]
    m, v = state.get("exp_avg", torch.zeros_like(p)), state.get("exp_avg_sq", torch.zeros_like(p))
    t = float(state.get("step", 0.0)) + 1
    derivation.know(m=m, v=v, t=t)
    m = derivation.line(
        "m",
        "average of the gradient (exp_avg)",
        r"m \leftarrow \beta_1 m + (1-\beta_1)\,g",
        "{beta1} · {m} + (1 − {beta1}) · {g}",
        m.lerp(g, 1 - beta1),
    )
    v = derivation.line(
        "v",
        "average of its square (exp_avg_sq)",
        r"v \leftarrow \beta_2 v + (1-\beta_2)\,g^2",
        "{beta2} · {v} + (1 − {beta2}) · {g}²",
        v.mul(beta2).addcmul(g, g, value=1 - beta2),
    )
    correction1, correction2 = 1 - beta1**t, 1 - beta2**t
    derivation.line(
        "m̂",
        f"bias-corrected, step {t:.0f}",
        r"\hat m = m / (1-\beta_1^t)",
        "{m} / (1 − {beta1}^{t})",
        m / correction1,
    )
    root = v.sqrt() / correction2**0.5
    derivation.line(
        "√v̂",
        f"root of the bias-corrected square, step {t:.0f}",
        r"\sqrt{\hat v} = \sqrt{v / (1-\beta_2^t)}",
        "√({v} / (1 − {beta2}^{t}))",
        root,
    )
    derivation.line(
        _NEW,
        "new value",
        r"\theta \leftarrow \theta - \eta\,\hat m / (\sqrt{\hat v} + \epsilon)",
        "{p} − {lr} · {m̂} / ({√v̂} + {eps})",
        p.addcdiv(m, root.add(h["eps"]), value=-(h["lr"] / correction1)),
    )


def _rmsprop(
    derivation: Derivation, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    g = _gradient(derivation, p, g, h)
    v = state.get("square_avg", torch.zeros_like(p))
    derivation.know(v=v)
    v = derivation.line(
        "v",
        "average of the squared gradient (square_avg)",
        r"v \leftarrow \alpha v + (1-\alpha)\,g^2",
        "{alpha} · {v} + (1 − {alpha}) · {g}²",
        v.mul(h["alpha"]).addcmul(g, g, value=1 - h["alpha"]),
    )
    root = v.sqrt().add(h["eps"])
    if h["momentum"]:
        b = state.get("momentum_buffer", torch.zeros_like(p))
        derivation.know(b=b)
        b = derivation.line(
            "b",
            "momentum buffer",
            r"b \leftarrow \mu b + g / (\sqrt v + \epsilon)",
            "{momentum} · {b} + {g} / (√{v} + {eps})",
            b.mul(h["momentum"]).addcdiv(g, root),
        )
        new, formula, text = p.add(b, alpha=-h["lr"]), r"\eta\,b", "{p} − {lr} · {b}"
    else:
        new = p.addcdiv(g, root, value=-h["lr"])
        formula = r"\eta\,g / (\sqrt v + \epsilon)"
        text = "{p} − {lr} · {g} / (√{v} + {eps})"
    derivation.line(_NEW, "new value", rf"\theta \leftarrow \theta - {formula}", text, new)


def _adagrad(
    derivation: Derivation, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    g = _gradient(derivation, p, g, h)
    s = state.get("sum", torch.full_like(p, h["initial_accumulator_value"]))
    done = float(state.get("step", 0.0))
    rate = h["lr"] / (1 + done * h["lr_decay"])
    derivation.know(s=s, rate=rate)
    s = derivation.line(
        "s",
        "sum of squared gradients (sum)",
        r"s \leftarrow s + g^2",
        "{s} + {g}²",
        s.addcmul(g, g, value=1),
    )
    derivation.line(
        _NEW,
        f"new value, with lr / (1 + {done:.0f} · lr_decay) as the rate",
        r"\theta \leftarrow \theta - \tilde\eta\,g / (\sqrt s + \epsilon)",
        "{p} − {rate} · {g} / (√{s} + {eps})",
        p.addcdiv(g, s.sqrt().add(h["eps"]), value=-rate),
    )


#: One rule per optimizer of `optimizers.HYPER`.
RULES: dict[str, Callable[..., None]] = {
    "SGD": _sgd,
    "Adam": _adam,
    "AdamW": _adamw,
    "RMSprop": _rmsprop,
    "Adagrad": _adagrad,
}
