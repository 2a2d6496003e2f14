"""The lines of a calculation, with the numbers they were worked out from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
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


class Derivation:
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
