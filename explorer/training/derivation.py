"""The arithmetic of one step, written out line by line with its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from explorer.training.formatting import format_number
from explorer.training.history import to_numpy

State = Mapping[str, Any]
Hyper = Mapping[str, Any]


@dataclass(frozen=True)
class DerivationLine:
    """One line of the arithmetic.

    `formula` is LaTeX; `text` has placeholders for the numbers in `numbers`, each either one
    number or an array shaped like the parameter; `value` is the line's result.
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
            key: format_number(number[index] if isinstance(number, np.ndarray) else number)
            for key, number in self.numbers.items()
        }
        inner = {k: f"({w})" if w.startswith("−") else w for k, w in words.items()}
        # Not str.format: the text may come from a child, and a placeholder may ask for any width.
        line = re.sub(r"{([^{}]+)}", lambda place: inner.get(place[1], place[0]), self.text)
        for word in words.values():
            if line.startswith(f"({word})"):
                line = word + line[len(word) + 2 :]
        result = format_number(self.value[index])
        return line if line == result else f"{line} = {result}"


class Derivation:
    """Collects the lines of one step, and the numbers known so far by symbol.

    From the start these are the hyperparameters (`betas` as `beta1` and `beta2`), the parameter
    `p` and its gradient `g`.
    """

    def __init__(self, p: Tensor, g: Tensor, hyper: Hyper) -> None:
        self.lines: list[DerivationLine] = []
        self.shape = tuple(p.shape)
        self.numbers: dict[str, float | np.ndarray] = {
            name: float(value) for name, value in hyper.items() if isinstance(value, int | float)
        }
        if "betas" in hyper:
            self.numbers["beta1"], self.numbers["beta2"] = hyper["betas"]
        self.define(p=p, g=g)

    def define(self, **values: float | Tensor) -> None:
        """Give these symbols a value without a line of their own."""
        for symbol, value in values.items():
            self.numbers[symbol] = self._array(value) if isinstance(value, Tensor) else value

    def add(self, symbol: str, meaning: str, formula: str, text: str, value: Tensor) -> Tensor:
        """Add a line that defines `symbol` anew, and return its value.

        `{symbol}` in `text` is a placeholder for a number known so far.
        """
        array = self._array(value)
        self._append(symbol, meaning, formula, text, array)
        self.numbers[symbol] = array
        return value

    def add_number(self, symbol: str, meaning: str, formula: str, text: str, value: float) -> float:
        """Add a line whose result is one number, the same for every element."""
        self._append(symbol, meaning, formula, text, np.full(self.shape, value))
        self.numbers[symbol] = value
        return value

    def add_result(self, formula: str, text: str, value: Tensor, note: str = "") -> None:
        """Add the last line: the parameter's new value."""
        self.add("new", f"new value{note}", formula, text, value)

    def _append(
        self, symbol: str, meaning: str, formula: str, text: str, array: np.ndarray
    ) -> None:
        used = {key: n for key, n in self.numbers.items() if f"{{{key}}}" in text}
        self.lines.append(DerivationLine(symbol, meaning, formula, text, used, array))

    def _array(self, value: Tensor) -> np.ndarray:
        """A copy in the parameter's shape: what a row or a column shares is repeated."""
        array = to_numpy(value)
        same = array.shape == self.shape
        return array if same else np.broadcast_to(array, self.shape).copy()


#: Writes the lines of one step: (derivation, parameter, gradient, optimizer state before the
#: step, hyperparameters). The state is empty before the first step.
Rule = Callable[[Derivation, Tensor, Tensor, State, Hyper], None]


@dataclass(frozen=True)
class Update:
    """What one step does to one parameter. Arrays have the parameter's shape and dtype.

    The last line is the new value. `after` is the result of the arithmetic, not of the optimizer.
    """

    parameter: str
    optimizer: str
    before: np.ndarray
    grad: np.ndarray
    lines: tuple[DerivationLine, ...]

    @property
    def after(self) -> np.ndarray:
        return self.lines[-1].value

    def at(self, index: tuple[int, ...]) -> tuple[str, ...]:
        """Every line with the numbers of one element."""
        return tuple(f"{line.symbol} = {line.at(index)}" for line in self.lines)

    def first(self, most: int) -> Update:
        """The same of the first elements only, flattened."""

        def cut(value: float | np.ndarray) -> Any:
            return value.reshape(-1)[:most] if isinstance(value, np.ndarray) else value

        lines = tuple(
            replace(
                line, numbers={k: cut(n) for k, n in line.numbers.items()}, value=cut(line.value)
            )
            for line in self.lines
        )
        return replace(self, before=cut(self.before), grad=cut(self.grad), lines=lines)


def flat_index(values: np.ndarray, place: int, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where the arithmetic's `values` have the number at this `place`, flattened, of a parameter of
    this shape: they may be flattened too, or hold complex numbers as pairs, of which the real part
    is meant. None where they hold the first numbers only."""
    index = tuple(int(i) for i in np.unravel_index(place, shape)) if shape else ()
    if values.shape[: len(shape)] == tuple(shape):
        return index + (0,) * (values.ndim - len(shape))
    if place >= len(values):
        return None
    return (place, *(0,) * (np.ndim(values) - 1))
