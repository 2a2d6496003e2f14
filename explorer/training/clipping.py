"""Clipping of gradients between backward and step: torch's own calls, and their arithmetic.

https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html and
https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_value_.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import utils

from explorer.training.arguments import Argument, CallSpec, call_code, split_name
from explorer.training.derivation import DerivationLine
from explorer.training.history import to_numpy

_DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils."

#: Gradients by the name of their parameter; those that are None are left out.
Grads = Mapping[str, Tensor]


@dataclass(frozen=True)
class Clip:
    """What one clipping does to all gradients.

    `lines` are about all of them together, each with one number: the norms and the factor. The
    last line of `grads[name]` is the new `.grad` of this parameter, `before` what it was.
    """

    name: str
    lines: tuple[DerivationLine, ...]
    before: dict[str, np.ndarray]
    grads: dict[str, DerivationLine]


@dataclass(frozen=True)
class ClipSpec(CallSpec):
    """One way to clip: `rule` writes out what torch's function does, in torch's order and
    precision."""

    rule: Callable[[Grads, Mapping[str, Any]], tuple[list[DerivationLine], dict[str, Any]]]

    def clip(self, parameters: Iterable[Tensor], arguments: Mapping[str, Any]) -> None:
        """The real call, which changes every `.grad`."""
        getattr(utils, self.name)(list(parameters), **_to_torch(arguments))

    def code(self, parameters: str, arguments: Mapping[str, Any]) -> str:
        """The line that does it; `parameters` is an expression for them."""
        code = call_code(getattr(utils, self.name), parameters, _to_torch(arguments))
        return f"torch.nn.utils.{code}".replace("=inf", '=float("inf")')


def _to_torch(arguments: Mapping[str, Any]) -> dict[str, float]:
    """The arguments as torch takes them: a norm is a number."""
    return {name: float(value) for name, value in arguments.items()}


def _derive_norm(grads: Grads, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Pascanu et al. 2013, https://proceedings.mlr.press/v28/pascanu13.html"""
    power, highest = float(arguments["norm_type"]), arguments["max_norm"]
    norms = [torch.linalg.vector_norm(grad, power) for grad in grads.values()]
    total = utils.get_total_norm(list(grads.values()), power)
    factor = highest / (total + 1e-6)
    lines = [
        _scalar(f"‖{name}.grad‖", "norm of one gradient", _NORMS[arguments["norm_type"]], "", {}, n)
        for name, n in zip(grads, norms, strict=True)
    ]
    number = float(total)
    lines += [
        _scalar(
            "‖g‖", "norm of all gradients together", _TOTALS[arguments["norm_type"]],
            *_total(power, list(map(float, norms))), total,
        ),
        _scalar(
            "k", "max_norm divided by the norm", r"k = c / (\|g\| + 10^{-6})",
            "{c} / ({n} + 1e−06)", {"c": highest, "n": number}, factor,
        ),
        _scalar(
            "factor", "at most 1: small gradients stay as they are", r"\min(1, k)",
            "min(1, {k})", {"k": float(factor)}, factor.clamp(max=1.0),
        ),
    ]  # fmt: skip
    clamped = factor.clamp(max=1.0)
    new = {
        name: _grad(r"g \leftarrow \min(1, k)\,g", "{k} · {g}", {"k": float(clamped)}, grad, after)
        for name, grad in grads.items()
        for after in [grad.clone().mul_(clamped)]  # in place, as torch: of the same dtype
    }
    return lines, new


_NORMS = {
    "1": r"\|g_i\|_1 = \sum |g|",
    "2": r"\|g_i\|_2 = \sqrt{\sum g^2}",
    "inf": r"\|g_i\|_\infty = \max |g|",
}

_TOTALS = {
    "1": r"\|g\| = \sum \|g_i\|_1",
    "2": r"\|g\| = \sqrt{\sum \|g_i\|_2^2}",
    "inf": r"\|g\| = \max \|g_i\|_\infty",
}


def _total(power: float, norms: list[float]) -> tuple[str, dict[str, float]]:
    """How the norm of all comes from those of each; written out for at most six."""
    numbers = {f"n{i}": norm for i, norm in enumerate(norms)}
    shown = list(numbers)[:6]
    more = [] if len(shown) == len(numbers) else ["…"]
    numbers = {key: numbers[key] for key in shown}
    if power == 1:
        return " + ".join([f"{{{key}}}" for key in shown] + more), numbers
    if power == 2:
        return f"√({' + '.join([f'{{{key}}}²' for key in shown] + more)})", numbers
    return f"max({', '.join([f'{{{key}}}' for key in shown] + more)})", numbers


def _derive_value(grads: Grads, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Every element by itself."""
    c = arguments["clip_value"]
    new = {
        name: _grad(
            r"g \leftarrow \max(-c, \min(c, g))",
            "max(−{c}, min({c}, {g}))",
            {"c": c},
            grad,
            grad.clamp(min=-c, max=c),
        )
        for name, grad in grads.items()
    }
    return [], new


def _scalar(
    symbol: str, meaning: str, formula: str, text: str, numbers: Mapping[str, Any], value: Tensor
) -> DerivationLine:
    array = to_numpy(value)
    if not text:  # nothing to calculate with: the number alone
        text, numbers = "{v}", {"v": array}
    return DerivationLine(symbol, meaning, formula, text, dict(numbers), array)


def _grad(
    formula: str, text: str, numbers: Mapping[str, Any], grad: Tensor, new: Tensor
) -> DerivationLine:
    known = {**numbers, "g": to_numpy(grad)}
    return DerivationLine("grad", "gradient after clipping", formula, text, known, to_numpy(new))


_SPECS = (
    ClipSpec(
        "clip_grad_norm_",
        "clip_grad_norm_: shorten the gradient as a whole",
        {
            "max_norm": Argument("the highest norm of all gradients together", 1.0),
            "norm_type": Argument("which norm", "2", choices=("1", "2", "inf")),
        },
        r"g \leftarrow \min\left(1, \frac{c}{\|g\| + 10^{-6}}\right) g",
        f"{_DOCS}clip_grad_norm_.html",
        _derive_norm,
    ),
    ClipSpec(
        "clip_grad_value_",
        "clip_grad_value_: limit every element",
        {"clip_value": Argument("the largest absolute value of an element", 0.5)},
        r"g \leftarrow \max(-c, \min(c, g))",
        f"{_DOCS}clip_grad_value_.html",
        _derive_value,
    ),
)

#: By name, in the order they are offered.
CLIPPING = {spec.name: spec for spec in _SPECS}


def clip_spec(name: Any) -> ClipSpec:
    """The record of this function; ValueError, with a sentence, where there is none."""
    if not isinstance(name, str) or name not in CLIPPING:
        raise ValueError(f"There is no such clipping here; choose {' or '.join(CLIPPING)}.")
    return CLIPPING[name]


def validate_clip(given: Any) -> dict[str, Any]:
    """The clipping of a session, {"name": "clip_grad_norm_", "max_norm": 1.0}, with all
    arguments. ValueError, with a sentence."""
    if not isinstance(given, Mapping):
        raise ValueError('Clipping is given as {"name": "clip_grad_norm_", "max_norm": 1.0}.')
    name, arguments = split_name(given)
    spec = clip_spec(name)
    return {"name": spec.name, **spec.validate(arguments)}


def derive_clip(call: Mapping[str, Any], grads: Grads, most: int) -> Clip | None:
    """The arithmetic of one clipping; None without gradients, or where torch would refuse.

    Of gradients with more than `most` elements it holds the first of these, flattened.
    """
    if not grads:
        return None
    name, arguments = split_name(call)
    spec = clip_spec(name)
    try:
        lines, new = spec.rule(grads, arguments)
    except RuntimeError:
        return None
    new = {name: _first(line, most) for name, line in new.items()}
    before = {name: line.numbers["g"] for name, line in new.items()}
    return Clip(spec.name, tuple(lines), before, new)


def _first(line: DerivationLine, most: int) -> DerivationLine:
    if line.value.size <= most:
        return line
    cut = {k: n.ravel()[:most] if isinstance(n, np.ndarray) else n for k, n in line.numbers.items()}
    return replace(line, numbers=cut, value=line.value.ravel()[:most])
