r"""Rules for complex numbers.

Autograd passes on the conjugate Wirtinger derivative, so a function's derivative is conjugated
before it multiplies the gradient: https://docs.pytorch.org/docs/stable/notes/autograd.html#autograd-for-complex-numbers
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from explorer.trace.records import Array, Flow, Plain
from explorer.trace.rules.rule import sum_to

WORDS = (
    "For complex numbers the derivative is conjugated: a step against the gradient, "
    "z - lr * z.grad, then lowers the loss."
)
Saved = Mapping[str, Any]
#: By node, for each input: its letter, the formula, and the same in numpy.
_Rule = tuple[tuple[str, str, Callable[[Any, Saved], Any]], ...]


def _times(tex: str, derivative: Callable[[Saved], Any]) -> _Rule:
    """A function of one number: its derivative is conjugated."""
    return (
        (
            "a",
            rf"G \odot \overline{{{tex}}}",
            lambda g, saved: g * np.conj(derivative(saved)),
        ),
    )


_RULES: dict[str, _Rule] = {
    "AddBackward0": (("a", "G", lambda g, s: g), ("b", "G", lambda g, s: g)),
    "SubBackward0": (("a", "G", lambda g, s: g), ("b", "-G", lambda g, s: -g)),
    "MulBackward0": (
        ("a", r"G \odot \overline{b}", lambda g, s: g * np.conj(s["other"])),
        ("b", r"G \odot \overline{a}", lambda g, s: g * np.conj(s["self"])),
    ),
    "DivBackward0": (
        ("a", r"\frac{G}{\overline{b}}", lambda g, s: g / np.conj(s["other"])),
        (
            "b",
            r"-G \odot \overline{\left(\frac{a}{b^2}\right)}",
            lambda g, s: -g * np.conj(s["self"] / s["other"] ** 2),
        ),
    ),
    "NegBackward0": (("a", "-G", lambda g, s: -g),),
    "ConjBackward0": (("a", r"\overline{G}", lambda g, s: np.conj(g)),),
    "RealBackward0": (("a", "G", lambda g, s: g),),
    "ImagBackward0": (("a", r"i \cdot G", lambda g, s: 1j * g),),
    "SumBackward0": (("a", r"G \cdot \mathbf{1}", lambda g, s: g),),
    "AbsBackward0": (
        ("a", r"G \odot \frac{a}{|a|}", lambda g, s: g * s["self"] / np.abs(s["self"])),
    ),
    "PowBackward0": _times(
        r"n \, a^{n-1}", lambda s: s["exponent"] * s["self"] ** (s["exponent"] - 1)
    ),
    "ExpBackward0": _times("y", lambda s: s["result"]),
    "LogBackward0": _times(r"\frac{1}{a}", lambda s: 1 / s["self"]),
    "SinBackward0": _times(r"\cos(a)", lambda s: np.cos(s["self"])),
    "CosBackward0": _times(r"(-\sin(a))", lambda s: -np.sin(s["self"])),
    "TanhBackward0": _times("(1 - y^2)", lambda s: 1 - s["result"] ** 2),
    "SqrtBackward0": _times(r"\frac{1}{2 y}", lambda s: 1 / (2 * s["result"])),
    "ReciprocalBackward0": _times("(-y^2)", lambda s: -(s["result"] ** 2)),
}


def is_complex(
    grads_in: Sequence[Array | None], flows: Sequence[Flow], saved: Mapping[str, Array | Plain]
) -> bool:
    """Whether a step had to do with complex numbers."""
    arrays = (*grads_in, *(flow.grad for flow in flows), *saved.values())
    return any(isinstance(a, np.ndarray) and a.dtype.kind == "c" for a in arrays)


def formulas(
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
) -> list[str]:
    """The formula of each input that got a gradient; none unless all give what autograd did."""
    lines = []
    for (letter, tex, value), flow in zip(_RULES.get(name, ()), flows, strict=False):
        if flow.grad is None:
            continue
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(value(grads_in[0], saved))
            is_right = _is_passed_on(result, grads_in[0], flow.grad)
        except (KeyError, TypeError, ValueError):
            is_right = False
        if not is_right:
            return []
        lines.append(rf"\frac{{\partial L}}{{\partial {letter}}} &= {tex}")
    return lines


def _is_passed_on(result: np.ndarray, came_in: Any, passed_on: Any) -> bool:
    """Whether a rule's result is this gradient: summed over broadcast axes, and of a real input
    the real part."""
    wide = np.broadcast_shapes(result.shape, came_in.shape, passed_on.shape)
    summed = sum_to(np.broadcast_to(result, wide), passed_on.shape)
    if passed_on.dtype.kind != "c":
        summed = summed.real
    return bool(np.allclose(summed, passed_on, rtol=1e-3, atol=1e-5, equal_nan=True))
