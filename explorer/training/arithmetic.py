"""The arithmetic of one optimizer step, written out beside the optimizer.

From the values before the step it repeats what `torch.optim` documents (see `rules`), in the same
order and precision, so that every intermediate number can be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Term
from explorer.training.numbers import to_numpy
from explorer.training.rules import RULES


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

    `state` is the optimizer's state of this parameter (empty before its first step). Complex
    numbers are taken as pairs, along a last axis of 2, as torch's optimizers do.
    """
    before, grad = _pairs(before), _pairs(grad)
    state = {key: _pairs(v) if isinstance(v, Tensor) else v for key, v in state.items()}
    derivation = Derivation(hyper)
    with torch.no_grad():
        RULES[optimizer](derivation, before, grad, state, hyper)
    return Update(parameter, optimizer, to_numpy(before), to_numpy(grad), tuple(derivation.terms))


def _pairs(tensor: Tensor) -> Tensor:
    return torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor
