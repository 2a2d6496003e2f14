"""What a parsed formula comes to, with arrays for its letters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tests.trace.tex import NotUnderstood, Tree


def _torch(function: Callable[..., torch.Tensor]) -> Callable[..., np.ndarray]:
    def call(*arrays: Any) -> np.ndarray:
        return function(*(torch.tensor(a, dtype=torch.float64) for a in arrays)).numpy()

    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "abs", "floor")
    },
    "ln": np.log,
    "sign": np.sign,
    "trunc": np.trunc,
    "clamp": lambda x, bound: np.clip(x, -bound, bound),
    "sigma": lambda x: 1 / (1 + np.exp(-x)),
    "Phi": _torch(torch.special.ndtr),
    "varphi": lambda x: np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
    "psi": _torch(torch.digamma),
    "psi'": _torch(lambda t: torch.polygamma(1, t)),
    "polygamma": lambda n, x: _torch(lambda t: torch.polygamma(int(n), t))(x),
    "I_1": _torch(torch.special.i1),
    "erfinv": _torch(torch.erfinv),
}


@dataclass
class Meaning:
    """What a formula speaks of: its letters, and the shape of the input whose gradient it is.

    `axes` are those a mean or a count runs over, `kept` those left by a sum that names none (the
    last ones if None). `operations` are functions, and words for places, of this rule alone.
    `matrices`: letters side by side are a matrix product, and a vector is a column.
    """

    letters: Mapping[str, Any]
    shape: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    kept: tuple[int, ...] | None = None
    matrices: bool = False
    operations: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


def evaluate(tree: Tree, meaning: Meaning) -> np.ndarray:
    """The gradient that a parsed formula gives, in the shape of the input where it can be."""
    letters = dict(meaning.letters)
    worker = _Worker(meaning, letters)
    _, main, named = tree
    for name, body in reversed(named):
        letters[name] = worker.work(body)
    with np.errstate(all="ignore"):
        result = np.asarray(worker.work(main), dtype=np.float64)
    if main[0] == "number" and result.ndim == 0:
        return np.broadcast_to(result, meaning.shape)
    return result.reshape(meaning.shape) if result.size == math.prod(meaning.shape) else result


class _Worker:
    """One formula at work: a method for each kind of tree that is no plain operation."""

    def __init__(self, meaning: Meaning, letters: dict[str, Any]) -> None:
        self.meaning, self.letters = meaning, letters

    def work(self, tree: Tree) -> Any:
        kind, *parts = tree
        if kind in _OPERATIONS:
            return _OPERATIONS[kind](*(self.work(part) for part in parts))
        return getattr(self, f"work_{kind}")(*parts)

    def work_number(self, number: Any) -> np.ndarray:
        return np.asarray(number)

    def work_letter(self, name: str) -> Any:
        constants = {"e": math.e, r"\pi": math.pi, r"\infty": math.inf, "nan": math.nan}
        if name not in self.letters and name not in constants:
            raise NotUnderstood(f"{name}: no letter of the rule; a function is \\operatorname")
        value = self.letters.get(name, constants.get(name))
        if isinstance(value, np.ndarray) and value.ndim == 1 and self.meaning.matrices:
            return value[:, None]  # a vector is a column
        return value

    def work_ones(self) -> np.ndarray:
        return np.ones(self.meaning.shape)

    def work_beside(self, left: Tree, right: Tree) -> Any:
        a, b = self.work(left), self.work(right)
        matrices = self.meaning.matrices and np.ndim(a) > 1 and np.ndim(b) > 1
        return a @ b if matrices else a * b

    def work_call(self, name: str, arguments: tuple[Tree, ...]) -> Any:
        function = self.meaning.operations.get(name) or FUNCTIONS.get(name)
        if function is None:
            raise NotUnderstood(f"{name}: not in FUNCTIONS of tests/trace/tex_values.py")
        return function(*(self.work(argument) for argument in arguments))

    def work_star(self, left: Tree, right: Tree) -> Any:
        return self.meaning.operations["star"](self.work(left), self.work(right))

    def work_star_top(self, left: Tree, right: Tree) -> Any:
        return self.meaning.operations["star_top"](self.work(left), self.work(right))

    def work_cross(self, left: Tree, right: Tree) -> Any:
        return self.meaning.operations["cross"](self.work(left), self.work(right))

    def work_tuple(self, *parts: Tree) -> tuple[int, ...]:
        return tuple(int(self.work(part)) for part in parts)

    # -- conditions

    def work_iverson(self, condition: Tree) -> np.ndarray:
        return np.asarray(self.work(condition)).astype(float)

    def work_compare(self, *chain: Any) -> Any:
        values = [self.work(part) for part in chain[::2]]
        holds = True
        for sign, a, b in zip(chain[1::2], values, values[1:], strict=False):
            holds = holds & _COMPARISONS[sign](a, b)
        return holds

    def work_finite(self, tree: Tree) -> Any:
        return np.isfinite(self.work(tree))

    def work_count(self, condition: Tree) -> Any:
        return self.work(condition).sum(axis=self.meaning.axes, keepdims=True)

    # -- sums

    def work_mean(self, tree: Tree) -> Any:
        return self.work(tree).mean(axis=self.meaning.axes, keepdims=True)

    def work_sum(self, below: str, tree: Tree) -> Any:
        value = self.work(tree)
        named = re.fullmatch(r"ax[ei]s ?([\d, ]+)", below)
        if named:
            return value.sum(axis=tuple(map(int, named[1].split(","))), keepdims=True)
        if below == r"j\gei":  # at every place i along the last axis but one, over j, the last
            size = value.shape[-1]
            return (value * np.tri(size).T).sum(-1, keepdims=True)
        if below:
            return self.meaning.operations[below](value)
        last = tuple(range(value.ndim - len(self.meaning.shape), value.ndim))
        kept = last if self.meaning.kept is None else self.meaning.kept
        return value.sum(axis=tuple(i for i in range(value.ndim) if i not in kept))

    # -- places

    def work_part(self, tree: Tree, location: Tree) -> Any:
        return self.work(tree)[self.index(location, np.shape(self.work(tree)))]

    def work_place(self, tree: Tree, location: Tree) -> Any:
        out = np.zeros(self.meaning.shape)
        np.add.at(out, self.index(location, out.shape), self.work(tree))
        return out

    def work_clear(self, tree: Tree, location: Tree) -> Any:
        out = np.array(self.work(tree), dtype=float)
        out[self.index(location, out.shape)] = 0
        return out

    def index(self, location: Tree, shape: tuple[int, ...]) -> Any:
        """What numpy takes for "at i of axis 1": a tuple of slices and arrays."""
        _, word, index, axis = location
        if word:
            return self.meaning.operations[word](None if index is None else self.work(index))
        if index[0] == "index":
            places = index[1]
            return places if axis is None else (*[slice(None)] * axis, *places)
        value = np.asarray(self.work(index))
        if value.dtype == bool:
            return np.broadcast_to(value, shape)
        if axis is None:
            return np.unravel_index(value % math.prod(shape), shape)
        if value.ndim < len(shape):
            return (*[slice(None)] * axis, value.reshape(-1))
        places = list(np.indices(value.shape))
        places[axis] = value
        return tuple(places)


def _transpose(value: np.ndarray) -> np.ndarray:
    return np.swapaxes(value, -1, -2) if value.ndim > 1 else value


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    ">": np.greater,
    "=": lambda a, b: np.isclose(a, b, rtol=1e-6),  # a result is kept in float32
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "!=": np.not_equal,
}
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "neg": np.negative,
    "mul": np.multiply,
    "div": np.divide,
    "pow": lambda a, b: np.asarray(a, float) ** b,
    "transpose": _transpose,
    "inverse": np.linalg.inv,
    "not": np.logical_not,
    "not nan": lambda x: ~np.isnan(x),
}
