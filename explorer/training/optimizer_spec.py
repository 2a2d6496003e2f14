"""What an optimizer is here: its class, its settings, and its rule, written out line by line.

`OptimizerSpec.update` repeats a step from the values before it, in the order and precision of the
real optimizer, so that every intermediate number can be shown.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.language.thread_safe_ast import get_source
from explorer.training.formatting import format_number
from explorer.training.history import to_numpy


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

    def __init__(self, p: Tensor, g: Tensor, hyper: Mapping[str, Any]) -> None:
        self.lines: list[DerivationLine] = []
        self.numbers: dict[str, float | np.ndarray] = {
            name: float(value) for name, value in hyper.items() if isinstance(value, int | float)
        }
        if "betas" in hyper:
            self.numbers["beta1"], self.numbers["beta2"] = hyper["betas"]
        self.define(p=p, g=g)

    def define(self, **values: float | Tensor) -> None:
        """Give these symbols a value without a line of their own."""
        for symbol, value in values.items():
            self.numbers[symbol] = to_numpy(value) if isinstance(value, Tensor) else value

    def add(self, symbol: str, meaning: str, formula: str, text: str, value: Tensor) -> Tensor:
        """Add a line that defines `symbol` anew, and return its value.

        `{symbol}` in `text` is a placeholder for a number known so far.
        """
        array = to_numpy(value)
        used = {key: n for key, n in self.numbers.items() if f"{{{key}}}" in text}
        self.lines.append(DerivationLine(symbol, meaning, formula, text, used, array))
        self.numbers[symbol] = array
        return value

    def add_result(self, formula: str, text: str, value: Tensor, note: str = "") -> None:
        """Add the last line: the parameter's new value."""
        self.add("new", f"new value{note}", formula, text, value)


#: Writes the lines of one step: (derivation, parameter, gradient, optimizer state before the
#: step, hyperparameters). The state is empty before the first step.
Rule = Callable[[Derivation, Tensor, Tensor, Mapping[str, Any], Mapping[str, Any]], None]


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


@dataclass(frozen=True)
class OptimizerSpec:
    """All that the project knows of an optimizer.

    `cls` is the class that really steps, torch's own or one defined here. `hyper` are the
    arguments of its constructor that a reader may set, each with its meaning. `rule` writes out
    one step.
    """

    cls: type[torch.optim.Optimizer]
    hyper: dict[str, str]
    rule: Rule

    @property
    def name(self) -> str:
        return self.cls.__name__

    @property
    def constructor(self) -> str:
        """The class as a script names it: "torch.optim.SGD", or "Lion" after its `source`."""
        return f"torch.optim.{self.name}" if self._is_torchs else self.name

    @property
    def source(self) -> str:
        """The class's definition for a script that needs only torch; empty for torch's own.

        The class may use `torch` and `Any` by these names, and nothing else of its module.
        """
        if self._is_torchs:
            return ""
        return f"from typing import Any\n\n\n{get_source(self.cls).strip()}\n\n"

    @property
    def _is_torchs(self) -> bool:
        return getattr(torch.optim, self.name, None) is self.cls

    def defaults(self) -> dict[str, Any]:
        """The class's defaults of the hyperparameters in `hyper`, by name."""
        parameters = inspect.signature(self.cls.__init__).parameters
        return {name: parameters[name].default for name in self.hyper}

    def make(self, parameters: Iterable[Tensor], hyper: Mapping[str, Any]) -> Any:
        """A real optimizer over one group of parameters."""
        make: Any = self.cls
        return make(parameters, **hyper)

    def validate(self, hyper: Mapping[str, Any]) -> dict[str, Any]:
        """All hyperparameters: those given, and defaults for the others.

        ValueError, with a sentence, for an unknown name, for what is not a finite number, and for
        what the class itself refuses (its words are quoted).
        """
        settings = self.defaults()
        for name, value in hyper.items():
            if name not in settings:
                raise ValueError(f"{self.name} has no {name}; it has {', '.join(settings)}.")
            settings[name] = _to_type_of(settings[name], name, value)
        try:
            self.make([torch.zeros(1, requires_grad=True)], settings)
        except (ValueError, RuntimeError) as error:  # the second for a number beyond float32
            raise ValueError(f"{self.name} does not accept this: {error}.") from None
        return settings

    def update(
        self,
        parameter: str,
        before: Tensor,
        grad: Tensor,
        state: Mapping[str, Any],
        hyper: Mapping[str, Any],
    ) -> Update:
        """The arithmetic of one step from the values before it; nothing given is changed.

        `state` is the optimizer's state of this parameter (empty before its first step). Complex
        numbers are treated as pairs, along a last axis of 2, as torch's optimizers do.
        """
        before, grad = _to_pairs(before), _to_pairs(grad)
        state = {k: _to_pairs(v) if isinstance(v, Tensor) else v for k, v in state.items()}
        derivation = Derivation(before, grad, hyper)
        with torch.no_grad():
            self.rule(derivation, before, grad, state, hyper)
        lines = tuple(derivation.lines)
        return Update(parameter, self.name, to_numpy(before), to_numpy(grad), lines)


def _to_pairs(tensor: Tensor) -> Tensor:
    return torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor


def _to_type_of(default: Any, name: str, value: Any) -> Any:
    """`value` as the type of the hyperparameter's default; ValueError where it has another."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}; it can be True or False.")
        return value
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple) or len(value) != len(default):
            raise ValueError(f"{name} is {value!r}; it takes {len(default)} numbers.")
        return tuple(_to_type_of(0.0, name, item) for item in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is {value!r}; it takes a number.")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}; it has to be a finite number.")
    return float(value)
