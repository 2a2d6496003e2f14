"""The optimizers that can be stepped and their hyperparameters; settings checked and named."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

#: Hyperparameters of each optimizer. Options that only choose an implementation (foreach, fused,
#: capturable, differentiable) and variants of the rule (amsgrad, centered) are left out.
HYPER: dict[str, tuple[str, ...]] = {
    "SGD": ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize"),
    "Adam": ("lr", "betas", "eps", "weight_decay", "maximize"),
    "AdamW": ("lr", "betas", "eps", "weight_decay", "maximize"),
    "RMSprop": ("lr", "alpha", "eps", "weight_decay", "momentum", "maximize"),
    "Adagrad": ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps", "maximize"),
}

#: What each hyperparameter does, for help texts.
MEANING = {
    "lr": "learning rate: the factor before the gradient",
    "momentum": "how much of the last direction is kept",
    "dampening": "how much of the new gradient is left out of the momentum buffer",
    "weight_decay": "how strongly parameters are pulled towards 0",
    "nesterov": "look one momentum step ahead",
    "maximize": "climb instead of descend",
    "betas": "how slowly the averages of the gradient and of its square forget",
    "alpha": "how slowly the average of the squared gradient forgets",
    "eps": "added to the denominator against division by 0",
    "lr_decay": "how the learning rate falls with the number of steps",
    "initial_accumulator_value": "where the sum of squared gradients starts",
}


def defaults(optimizer: str) -> dict[str, Any]:
    """torch's defaults of the hyperparameters in `HYPER`, by name."""
    signature = inspect.signature(_class(optimizer).__init__)
    return {name: signature.parameters[name].default for name in HYPER[optimizer]}


def make(optimizer: str, parameters: Iterable[Tensor], hyper: dict[str, Any]) -> Any:
    """A real `torch.optim` object over one group of parameters."""
    return _class(optimizer)(parameters, **hyper)


def checked(optimizer: str, hyper: dict[str, Any]) -> dict[str, Any]:
    """All hyperparameters of this optimizer: those given, and defaults for the others.

    ValueError, with a sentence, for an unknown optimizer or name, for what is not a finite number,
    and for what torch itself refuses (its words are quoted).
    """
    known = defaults(optimizer)
    for name, value in hyper.items():
        if name not in known:
            raise ValueError(f"{optimizer} has no {name}; it has {', '.join(known)}.")
        known[name] = _number(name, value, like=known[name])
    try:
        make(optimizer, [torch.zeros(1, requires_grad=True)], known)
    except (ValueError, RuntimeError) as error:  # the second for a number beyond float32
        raise ValueError(f"{optimizer} does not accept this: {error}.") from None
    return known


def checked_seed(seed: Any) -> int:
    """A seed; ValueError, with a sentence, for what torch's generator would not take."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ValueError(f"The seed is {seed!r}; it has to be a whole number from 0 to 2⁶³ − 1.")
    return seed


def checked_count(n: Any) -> int:
    """A number of iterations; ValueError, with a sentence, for anything else."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"iterate takes a whole number of 1 or more, not {n!r}.")
    return n


def _class(optimizer: str) -> Any:
    if optimizer not in HYPER:
        raise ValueError(f"There is no optimizer {optimizer!r} here; choose {', '.join(HYPER)}.")
    return getattr(torch.optim, optimizer)


def _number(name: str, value: Any, like: Any) -> Any:
    """`value` as the type that `like`, the default, has."""
    if isinstance(like, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}; it can be True or False.")
        return value
    if isinstance(like, tuple):
        if not isinstance(value, list | tuple) or len(value) != len(like):
            raise ValueError(f"{name} is {value!r}; it takes {len(like)} numbers.")
        return tuple(_number(name, item, like=0.0) for item in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is {value!r}; it takes a number.")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}; it has to be a finite number.")
    return float(value)
