"""The arithmetic of one optimizer step, written out beside the optimizer.

Each rule repeats, from the values before the step, what `torch.optim` documents, in the same
order and precision, so that every intermediate number can be shown. The rules are those of the
pages torch.optim.SGD, Adam, AdamW, RMSprop and Adagrad in PyTorch's documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.training.numbers import in_words, to_numpy


@dataclass(frozen=True)
class Term:
    """One line of the arithmetic.

    `formula` is LaTeX; `text` has places for the numbers in `numbers`, each either one number or
    an array shaped like the parameter; `value` is what the line gives.
    """

    symbol: str
    meaning: str
    formula: str
    text: str
    numbers: dict[str, float | np.ndarray]
    value: np.ndarray

    def at(self, index: tuple[int, ...]) -> str:
        """The line for one element, such as "10 − 0.2 · 20 = 6"."""
        words = {
            key: in_words(number[index] if isinstance(number, np.ndarray) else number)
            for key, number in self.numbers.items()
        }
        inner = {k: f"({w})" if w.startswith("−") else w for k, w in words.items()}
        line = self.text.format(**inner)
        for word in words.values():
            if line.startswith(f"({word})"):
                line = word + line[len(word) + 2 :]
        result = in_words(self.value[index])
        return line if line == result else f"{line} = {result}"


@dataclass(frozen=True)
class Update:
    """What one step does to one parameter. Arrays have the parameter's shape and dtype.

    The last term is the new value. `after` is what the arithmetic gives, not the optimizer.
    """

    parameter: str
    optimizer: str
    before: np.ndarray
    grad: np.ndarray
    terms: tuple[Term, ...]

    @property
    def after(self) -> np.ndarray:
        return self.terms[-1].value

    def at(self, index: tuple[int, ...]) -> tuple[str, ...]:
        """Every line with the numbers of one element."""
        return tuple(f"{term.symbol} = {term.at(index)}" for term in self.terms)


def update(
    parameter: str,
    optimizer: str,
    before: Tensor,
    grad: Tensor,
    state: Mapping[str, Any],
    hyper: Mapping[str, Any],
) -> Update:
    """The arithmetic of one step from the values before it; nothing given is changed.

    `state` is the optimizer's state of this parameter (empty before its first step).
    """
    sheet = _Sheet(hyper)
    with torch.no_grad():
        RULES[optimizer](sheet, before, grad, state, hyper)
    return Update(parameter, optimizer, to_numpy(before), to_numpy(grad), tuple(sheet.terms))


class _Sheet:
    """Collects the lines, and the numbers known so far by symbol."""

    def __init__(self, hyper: Mapping[str, Any]) -> None:
        self.terms: list[Term] = []
        self.numbers: dict[str, float | np.ndarray] = {
            name: float(value) for name, value in hyper.items() if isinstance(value, int | float)
        }
        if "betas" in hyper:
            self.numbers["beta1"], self.numbers["beta2"] = hyper["betas"]

    def know(self, **values: float | Tensor) -> None:
        for name, value in values.items():
            self.numbers[name] = to_numpy(value) if isinstance(value, Tensor) else value

    def line(self, symbol: str, meaning: str, formula: str, text: str, value: Tensor) -> Tensor:
        array = to_numpy(value)
        used = {key: n for key, n in self.numbers.items() if f"{{{key}}}" in text}
        self.terms.append(Term(symbol, meaning, formula, text, used, array))
        self.numbers[symbol] = array
        return value


_NEW = "new"


def _gradient(sheet: _Sheet, p: Tensor, g: Tensor, hyper: Mapping[str, Any]) -> Tensor:
    """The gradient as the rules use it: turned round to climb, with weight decay added."""
    sheet.know(p=p, g=g)
    if hyper["maximize"]:
        g = sheet.line("g", "climb: the gradient turned round", r"g \leftarrow -g", "−{g}", -g)
    if hyper["weight_decay"]:
        return sheet.line(
            "g",
            "gradient with weight decay",
            r"g \leftarrow g + \lambda\theta",
            "{g} + {weight_decay} · {p}",
            g.add(p, alpha=hyper["weight_decay"]),
        )
    return g


def _sgd(
    sheet: _Sheet, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    g = _gradient(sheet, p, g, h)
    symbol = "g"
    if h["momentum"]:
        kept = state.get("momentum_buffer")
        if kept is None:
            v = sheet.line("v", "momentum buffer, first step", r"v \leftarrow g", "{g}", g)
        else:
            sheet.know(v=kept)
            v = sheet.line(
                "v",
                "momentum buffer",
                r"v \leftarrow \mu v + (1-\tau)\,g",
                "{momentum} · {v} + (1 − {dampening}) · {g}",
                kept.mul(h["momentum"]).add(g, alpha=1 - h["dampening"]),
            )
        if h["nesterov"]:
            g = sheet.line(
                "g",
                "Nesterov: one momentum step ahead",
                r"g \leftarrow g + \mu v",
                "{g} + {momentum} · {v}",
                g.add(v, alpha=h["momentum"]),
            )
        else:
            g, symbol = v, "v"
    sheet.line(
        _NEW,
        "new value",
        rf"\theta \leftarrow \theta - \eta\,{symbol}",
        f"{{p}} − {{lr}} · {{{symbol}}}",
        p.add(g, alpha=-h["lr"]),
    )


def _adam(
    sheet: _Sheet, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    _adam_moments(sheet, p, _gradient(sheet, p, g, h), state, h)


def _adamw(
    sheet: _Sheet, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    g = _gradient(sheet, p, g, {**h, "weight_decay": 0})
    if h["weight_decay"]:
        p = sheet.line(
            "p",
            "decoupled weight decay",
            r"\theta \leftarrow \theta\,(1 - \eta\lambda)",
            "{p} · (1 − {lr} · {weight_decay})",
            p.mul(1 - h["lr"] * h["weight_decay"]),
        )
    _adam_moments(sheet, p, g, state, h)


def _adam_moments(
    sheet: _Sheet, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    beta1, beta2 = h["betas"]
    m, v = state.get("exp_avg", torch.zeros_like(p)), state.get("exp_avg_sq", torch.zeros_like(p))
    t = float(state.get("step", 0.0)) + 1
    sheet.know(m=m, v=v, t=t)
    m = sheet.line(
        "m",
        "average of the gradient (exp_avg)",
        r"m \leftarrow \beta_1 m + (1-\beta_1)\,g",
        "{beta1} · {m} + (1 − {beta1}) · {g}",
        m.lerp(g, 1 - beta1),
    )
    v = sheet.line(
        "v",
        "average of its square (exp_avg_sq)",
        r"v \leftarrow \beta_2 v + (1-\beta_2)\,g^2",
        "{beta2} · {v} + (1 − {beta2}) · {g}²",
        v.mul(beta2).addcmul(g, g, value=1 - beta2),
    )
    correction1, correction2 = 1 - beta1**t, 1 - beta2**t
    sheet.line(
        "m̂",
        f"bias-corrected, step {t:.0f}",
        r"\hat m = m / (1-\beta_1^t)",
        "{m} / (1 − {beta1}^{t})",
        m / correction1,
    )
    root = v.sqrt() / correction2**0.5
    sheet.line(
        "√v̂",
        f"root of the bias-corrected square, step {t:.0f}",
        r"\sqrt{\hat v} = \sqrt{v / (1-\beta_2^t)}",
        "√({v} / (1 − {beta2}^{t}))",
        root,
    )
    sheet.line(
        _NEW,
        "new value",
        r"\theta \leftarrow \theta - \eta\,\hat m / (\sqrt{\hat v} + \epsilon)",
        "{p} − {lr} · {m̂} / ({√v̂} + {eps})",
        p.addcdiv(m, root.add(h["eps"]), value=-(h["lr"] / correction1)),
    )


def _rmsprop(
    sheet: _Sheet, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    g = _gradient(sheet, p, g, h)
    v = state.get("square_avg", torch.zeros_like(p))
    sheet.know(v=v)
    v = sheet.line(
        "v",
        "average of the squared gradient (square_avg)",
        r"v \leftarrow \alpha v + (1-\alpha)\,g^2",
        "{alpha} · {v} + (1 − {alpha}) · {g}²",
        v.mul(h["alpha"]).addcmul(g, g, value=1 - h["alpha"]),
    )
    root = v.sqrt().add(h["eps"])
    if h["momentum"]:
        b = state.get("momentum_buffer", torch.zeros_like(p))
        sheet.know(b=b)
        b = sheet.line(
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
    sheet.line(_NEW, "new value", rf"\theta \leftarrow \theta - {formula}", text, new)


def _adagrad(
    sheet: _Sheet, p: Tensor, g: Tensor, state: Mapping[str, Any], h: Mapping[str, Any]
) -> None:
    g = _gradient(sheet, p, g, h)
    s = state.get("sum", torch.full_like(p, h["initial_accumulator_value"]))
    done = float(state.get("step", 0.0))
    rate = h["lr"] / (1 + done * h["lr_decay"])
    sheet.know(s=s, rate=rate)
    s = sheet.line(
        "s",
        "sum of squared gradients (sum)",
        r"s \leftarrow s + g^2",
        "{s} + {g}²",
        s.addcmul(g, g, value=1),
    )
    sheet.line(
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
