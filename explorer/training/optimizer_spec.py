"""What an optimizer is here: its class, its hyperparameters, its state, and its rule, line by line.

`OptimizerSpec.update` repeats a step from the values before it, in the order and precision of the
real optimizer, so that every intermediate number can be shown.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from explorer.program import ProgramError, ProgramRefused
from explorer.program.parsing import get_source
from explorer.trace.text import join_names
from explorer.training.derivation import Derivation, Rule, Update
from explorer.training.history import to_numpy

#: Hyperparameters of several numbers, and what each number is called.
PARTS: dict[str, tuple[str, ...]] = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_min", "step_max"),
}
#: What a rule raises where the optimizer itself would fail: a number beyond the dtype, a buffer
#: that a setting needs and that was not made at the first step.
RULE_ERRORS = (RuntimeError, ArithmeticError, KeyError)


@dataclass(frozen=True)
class OptimizerSpec:
    """All that the project knows of an optimizer.

    `cls` is the class that really steps, torch's own or one defined here. `hyper` are the
    arguments of its constructor that a reader may set, each with its meaning: `first` are those
    that matter most, `whole` those that take a whole number, with its range, and `choices` those
    that take one of a few values. `rule` writes out one step. `state` says what the optimizer
    keeps between steps, by the names torch uses; `term` is the glossary's term for it.

    `lr_like` tells which learning rate suits: "sgd" where a step is proportional to the gradient,
    "adaptive" where it is not, "tenth" of that where steps are longer than Adam's, "smaller" of the
    two where it is not at first, "own" where the class's default is meant to stay.

    An `elementwise` rule gives the same for a part of a parameter as for the whole. Of a `matrices`
    optimizer every parameter must be one. One that `evaluates` computes the loss itself, as often
    as it likes: its `step` takes a closure, and its rule is given the result (`Evaluated`).
    """

    cls: type[torch.optim.Optimizer]
    hyper: dict[str, str]
    rule: Rule
    note: str = ""
    state: dict[str, str] = field(default_factory=dict)
    term: str = "optimizer"
    first: tuple[str, ...] = ("lr",)
    lr_like: str = "adaptive"
    whole: dict[str, tuple[int, int]] = field(default_factory=dict)
    choices: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    elementwise: bool = True
    matrices: bool = False
    evaluates: bool = False

    @property
    def name(self) -> str:
        return self.cls.__name__

    @property
    def rare(self) -> tuple[str, ...]:
        """The hyperparameters that are not shown first."""
        return tuple(name for name in self.hyper if name not in self.first)

    @property
    def constructor(self) -> str:
        """The class as a script names it: "torch.optim.SGD", or "Lion" after its `source`."""
        return f"torch.optim.{self.name}" if self.is_torchs else self.name

    @property
    def source(self) -> str:
        """The class's definition for a script that needs only torch; empty for torch's own.

        The class may use `torch` and `Any` by these names, and nothing else of its module.
        """
        if self.is_torchs:
            return ""
        return f"from typing import Any\n\n\n{get_source(self.cls).strip()}\n\n"

    @property
    def is_torchs(self) -> bool:
        """Whether torch has it."""
        return getattr(torch.optim, self.name, None) is self.cls

    def defaults(self) -> dict[str, Any]:
        """The class's defaults of the hyperparameters in `hyper`, by name."""
        parameters = inspect.signature(self.cls.__init__).parameters
        return {name: parameters[name].default for name in self.hyper}

    def suggest_lr(self, sgd_lr: float, adaptive_lr: float) -> float:
        """The learning rate to begin with on a problem, of the two that it suggests."""
        return {
            "sgd": sgd_lr,
            "adaptive": adaptive_lr,
            "tenth": adaptive_lr / 10,
            "smaller": min(sgd_lr, adaptive_lr),
            "own": float(self.defaults()["lr"]),
        }[self.lr_like]

    def make(self, parameters: Iterable[Any], hyper: Mapping[str, Any]) -> Any:
        """A real optimizer over these parameters, or groups of them."""
        make: Any = self.cls
        return make(parameters, **hyper)

    def check_parameters(self, parameters: Mapping[str, Tensor]) -> None:
        """ProgramRefused, with a sentence, where the optimizer cannot step these."""
        others = [name for name, p in parameters.items() if p.dim() != 2]
        if self.matrices and others:
            is_are = "is not a matrix" if len(others) == 1 else "are not matrices"
            raise ProgramRefused(
                ProgramError(
                    f"{self.name} steps matrices only, and {join_names(others, 3)} {is_are}.",
                    hint="Choose another optimizer, or a problem whose parameters all have two "
                    "axes.",
                )
            )

    def validate(self, hyper: Mapping[str, Any]) -> dict[str, Any]:
        """All hyperparameters: those given, and defaults for the others.

        ValueError, with a sentence, for an unknown name, for what is not a finite number, and for
        what the class itself refuses (its words are quoted).
        """
        complete = self.defaults()
        for name, value in hyper.items():
            if name not in complete:
                raise ValueError(f"{self.name} has no {name}; it has {', '.join(complete)}.")
            complete[name] = self._convert(complete[name], name, value)
        try:
            self.make([torch.zeros(1, 1, requires_grad=True)], complete)
        except (ValueError, RuntimeError) as error:  # the second for a number beyond float32
            raise ValueError(f"{self.name} does not accept this: {error}.") from None
        return complete

    def _convert(self, default: Any, name: str, value: Any) -> Any:
        """The value in the type this hyperparameter has; ValueError where it cannot be one."""
        if name in self.whole:
            low, high = self.whole[name]
            if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
                raise ValueError(f"{name} is {value!r}; it takes a whole number.")
            if not low <= value <= high:
                raise ValueError(f"{name} can be from {low} to {high}.")
            return int(value)
        if name in self.choices:
            if (value is not None and type(value) is not str) or value not in self.choices[name]:
                raise ValueError(f"{name} can be {' or '.join(map(repr, self.choices[name]))}.")
            return value
        return _to_type_of(default, name, value)

    def update(
        self,
        parameter: str,
        before: Tensor,
        grad: Tensor,
        state: Mapping[str, Any],
        hyper: Mapping[str, Any],
        most: int | None = None,
    ) -> Update:
        """The arithmetic of one step from the values before it; nothing given is changed.

        `state` is the optimizer's state of this parameter (empty before its first step). Complex
        numbers are treated as pairs, along a last axis of 2, as torch's optimizers do. `most`
        limits it to the first elements, flattened. Raises one of `RULE_ERRORS` where the optimizer
        would fail.
        """
        cut = most is not None and before.numel() > most
        if cut and self.elementwise:
            shape = before.shape
            before, grad = before.flatten()[:most], grad.flatten()[:most]
            state = {
                key: item.flatten()[:most]
                if isinstance(item, Tensor) and item.shape == shape
                else item
                for key, item in state.items()
            }
        before, grad = _to_pairs(before), _to_pairs(grad)
        state = {k: _to_pairs(v) if isinstance(v, Tensor) else v for k, v in state.items()}
        derivation = Derivation(before, grad, hyper)
        with torch.no_grad():
            self.rule(derivation, before, grad, state, hyper)
        lines = tuple(derivation.lines)
        update = Update(parameter, self.name, to_numpy(before), to_numpy(grad), lines)
        return update.first(most) if cut and most is not None else update


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
