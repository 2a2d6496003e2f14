r"""What a rule is: for each input of an operation, the gradient passed to it.

In a template `<G>` is the gradient in, `<a>`, `<b>`, `<y>` the first input, the second and the
result where autograd saved them, `<n>` the exponent; `<A:mat1>` is the saved value `mat1` under
the letter A; `<axis>` is the axis it works along, from 0. ` * ` multiplies element by element
(shown as ⊙, or · beside a number); letters side by side are a matrix product; `[condition]` is 1
where it holds and 0 elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.trace.records import Array, Summary

#: Short letters for the names autograd gives.
ALIASES = {"a": "self", "b": "other", "y": "result", "n": "exponent"}


class NotStated(Exception):
    """The rule cannot be worked out here: a value is too large to be kept whole, or missing."""


class Values:
    """What a rule may use at one input: gradients in, saved values, the shape to give.

    Attributes are the saved values by name or alias, arrays in float64; `G` is the gradient of
    the first output, `Gs` of each (None where none came), `shape` the input's shape.
    """

    def __init__(
        self,
        grads_in: Sequence[Array | None],
        saved: Mapping[str, Any],
        shape: tuple[int, ...],
        slot: int = 0,
    ) -> None:
        self.grads_in, self.saved = grads_in, saved
        self.shape, self.slot = shape, slot

    @property
    def Gs(self) -> list[np.ndarray | None]:
        return [None if grad is None else whole(grad) for grad in self.grads_in]

    @property
    def G(self) -> np.ndarray:
        return whole(self.raw("G"))

    def raw(self, name: str) -> Any:
        """A value as it was kept, perhaps a Summary."""
        if name == "G":
            if not self.grads_in or self.grads_in[0] is None:
                raise NotStated("no gradient in")
            return self.grads_in[0]
        if name == "axis":
            return self._named_axes[0]
        key = name if name in self.saved else ALIASES.get(name, name)
        if key not in self.saved:
            raise NotStated(f"{key} was not saved")
        return self.saved[key]

    def __getattr__(self, name: str) -> Any:
        value = self.raw(name)
        return whole(value) if isinstance(value, np.ndarray | Summary) else value

    @property
    def axes(self) -> tuple[int, ...]:
        """The reduced axes, from 0; all of them if none is named, none of a 0-dim tensor."""
        return self._named_axes if self._rank else ()

    @property
    def _rank(self) -> int:
        grad = self.grads_in[0] if self.grads_in else None
        return max(len(self.shape), 0 if grad is None else len(grad.shape))

    @property
    def _named_axes(self) -> tuple[int, ...]:
        """As `axes`, but (0,) for the axis 0 of a 0-dim tensor."""
        dim = self.saved.get("dim")
        given = [dim] if isinstance(dim, int) else dim if isinstance(dim, list) else []
        named = sorted(int(d) % max(self._rank, 1) for d in given)
        return tuple(named) or tuple(range(len(self.shape)))

    @property
    def count(self) -> int:
        """How many elements were reduced into one."""
        return math.prod(self.shape[axis] for axis in self.axes)

    def back(self, reduced: np.ndarray) -> np.ndarray:
        """A reduced array with its axes of size 1 put back, ready to broadcast to `shape`."""
        if reduced.ndim == len(self.shape):
            return reduced
        kept = [1 if i in self.axes else n for i, n in enumerate(self.shape)]
        return reduced.reshape(kept)


def whole(value: Any) -> np.ndarray:
    """An array in float64; whole numbers and truth values as they are."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
        raise NotStated("a value that is complex, or too large to be kept whole")
    return value.astype(np.float64) if value.dtype.kind == "f" else value


Template = str | Callable[[Values], str]


@dataclass(frozen=True)
class Part:
    """The gradient passed to one input, called `letter`. `value` is None for words alone."""

    letter: str
    tex: Template
    value: Callable[[Values], Any] | None = None

    def template(self, values: Values) -> str:
        return self.tex if isinstance(self.tex, str) else self.tex(values)


@dataclass(frozen=True)
class Rule:
    """The parts by input. `repeat`: one part serves every input (cat, stack).

    `elementwise`: inputs were broadcast together, so a gradient is summed back to its input's
    shape. `words` says in plain words what the formula cannot, `edge` in two or three what becomes
    of the gradient on its way to an input, where that is shorter than a formula: "copied".
    """

    parts: tuple[Part, ...]
    words: str = ""
    elementwise: bool = False
    repeat: bool = False
    edge: Template = ""

    def part(self, slot: int) -> Part | None:
        if self.repeat:
            return self.parts[0]
        return self.parts[slot] if slot < len(self.parts) else None


def rule(words: str = "", *, edge: Template = "", repeat: bool = False, **inputs: Any) -> Rule:
    """A rule from `letter=(template, value)` for each input, in torch's order."""
    return Rule(_parts(inputs), words, repeat=repeat, edge=edge)


def each(words: str = "", **inputs: Any) -> Rule:
    """The same for an operation that works element by element, with broadcasting."""
    return Rule(_parts(inputs), words, elementwise=True)


def _parts(inputs: Mapping[str, Any]) -> tuple[Part, ...]:
    return tuple(
        Part(letter, *given) if isinstance(given, tuple) else Part(letter, given)
        for letter, given in inputs.items()
    )


def summed_axes(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `shape` over which a gradient is summed to get `target`."""
    lead = len(shape) - len(target)
    if lead < 0:
        return ()
    grown = [lead + i for i, n in enumerate(target) if n == 1 and shape[lead + i] != 1]
    return (*range(lead), *grown)


def sum_to(array: np.ndarray, target: tuple[int, ...]) -> np.ndarray:
    """Undo broadcasting: sum `array` to the shape `target`."""
    axes = summed_axes(array.shape, target)
    return array.sum(axis=axes, keepdims=True).reshape(target) if axes else array


def sum_tex(axes: Sequence[int], tex: str = "<G>") -> str:
    """The sum of `tex` over `axes`, in LaTeX; without any, `tex` itself."""
    if not axes:
        return tex
    below = ("axis " if len(axes) == 1 else "axes ") + ", ".join(map(str, axes))
    return rf"\textstyle\sum_{{\text{{{below}}}}} {tex}"


def summed_words(axes: Sequence[int]) -> str:
    """The same in words, for an edge."""
    if not axes:
        return "copied"
    return ("summed over axis " if len(axes) == 1 else "summed over axes ") + ", ".join(
        map(str, axes)
    )


def broadcast_words(v: Values) -> str:
    """In words, what `broadcast_tex` writes."""
    return summed_words(summed_axes(v.raw("G").shape, v.shape))


def broadcast_tex(v: Values) -> str:
    """G, summed over the axes the input was broadcast along."""
    return sum_tex(summed_axes(v.raw("G").shape, v.shape))
