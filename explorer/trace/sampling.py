"""The result of a program as a function of one or two of its leaves.

The program runs as it stands, once for every value; nothing is recorded. If all
values at once, as one tensor, give the same where both were tried, a single run gives a fine grid.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch

from explorer.program import (
    Limits,
    Program,
    ProgramRefused,
    Run,
    Watcher,
    isolated,
    seed_generators,
)
from explorer.program.literals import leaf_literals

#: How many values of one leaf, and of each of two, are tried one after the other, as long as there
#: is time for more. Odd numbers, so that the middle is one of them.
COUNTS = {1: (9, 33, 121), 2: (13, 25, 41)}
#: How many of each are tried all at once; the first count's places are among them.
FINE = {1: 241, 2: 121}
#: How long all runs may take, in seconds.
SECONDS = 1.2


@dataclass(frozen=True)
class Samples:
    """The values of each leaf, and those of the result: `values[i, j]` at the first leaf's i-th and
    the second's j-th. NaN where the program fails or its result is not a real scalar."""

    names: tuple[str, ...]
    axes: tuple[np.ndarray, ...]
    values: np.ndarray

    def __post_init__(self) -> None:
        """A child may answer anything."""
        shape = tuple(len(axis) for axis in self.axes if axis.ndim == 1)
        is_plain = all(array.dtype.kind == "f" for array in (*self.axes, self.values))
        is_plain &= all(np.isfinite(axis).all() and len(axis) > 1 for axis in self.axes)
        if not (is_plain and len(self.names) == len(shape) and self.values.shape == shape):
            raise ValueError("not samples")


def sample(
    source: str,
    names: Sequence[str],
    ranges: Sequence[Sequence[float]],
    *,
    result: str,
    seed: int = 0,
    deadline: float | None = None,
) -> Samples:
    """Run a program for values of one or two leaves between the two numbers of their ranges.

    The leaves are those that `leaf_literals` finds, `result` is the name of the result. Fewer
    values are tried of a slow program. Raises ProgramRefused for text that is not Python,
    ValueError if a name is not that of a leaf.
    """
    text, variables = with_variables(source, names)
    runner = _Runner(Program(text), result, seed, deadline)
    leaves = len(names)
    until = time.monotonic() + SECONDS
    with isolated(seed):
        for count, more in zip(COUNTS[leaves], [*COUNTS[leaves][1:], 0], strict=True):
            started = time.monotonic()
            axes = tuple(np.linspace(low, high, count) for low, high in ranges)
            points = product(*(axis.tolist() for axis in axes))
            values = [runner.result(dict(zip(variables, point, strict=True))) for point in points]
            if count == COUNTS[leaves][0]:
                grid = np.array(values).reshape([count] * leaves)
                fine = _at_once(runner, variables, ranges, grid)
                if fine is not None:
                    return Samples(tuple(names), *fine)
            now = time.monotonic()
            if now + (now - started) * (more / count) ** leaves > until:
                break
    return Samples(tuple(names), axes, np.array(values).reshape([len(axis) for axis in axes]))


def with_variables(source: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """The text with a variable in place of each leaf's number, and the variables. Raises ValueError
    if a name is not that of a leaf."""
    literals = {each.name: each for each in leaf_literals(source)}
    if missing := [name for name in names if name not in literals]:
        raise ValueError(f"not a leaf made of one number: {', '.join(missing)}")
    lines, variables = source.split("\n"), {}
    chosen = {literals[name] for name in names}
    for literal in sorted(chosen, key=lambda each: (each.line, each.column), reverse=True):
        variable = f"{literal.name}_sample"
        while variable in source:
            variable += "_"
        line = lines[literal.line - 1]
        lines[literal.line - 1] = line[: literal.column] + variable + line[literal.end :]
        variables[literal.name] = variable
    return "\n".join(lines), [variables[name] for name in names]


def _at_once(
    runner: _Runner, variables: Sequence[str], ranges: Sequence[Sequence[float]], grid: np.ndarray
) -> tuple[tuple[np.ndarray, ...], np.ndarray] | None:
    """Axes and values of a fine grid from one run, if they agree with the coarse `grid`."""
    count = FINE[len(variables)]
    axes = tuple(np.linspace(low, high, count) for low, high in ranges)
    mesh = np.meshgrid(*axes, indexing="ij")
    values = runner.results({n: torch.from_numpy(m) for n, m in zip(variables, mesh, strict=True)})
    if values is None or values.shape != mesh[0].shape:
        return None
    every = (slice(None, None, (count - 1) // (len(grid) - 1)),) * len(variables)
    is_same = np.allclose(values[every], grid, rtol=1e-5, atol=1e-6, equal_nan=True)
    return (axes, values) if is_same else None


class _Runner:
    """Runs a program again and again, each time as if it was the first."""

    def __init__(self, program: Program, result: str, seed: int, deadline: float | None) -> None:
        self._run, self._result, self._seed = Run(program, Watcher(Limits(deadline))), result, seed

    def _value(self, variables: Mapping[str, Any]) -> Any:
        """What the program gives the result's name with these variables, even if it fails then."""
        self._run.begin(variables)
        seed_generators(self._seed)
        try:
            self._run.execute()
        except ProgramRefused as refused:
            self._run.error = refused.error
        return self._run.names.get(self._result)

    def results(self, variables: Mapping[str, torch.Tensor]) -> np.ndarray | None:
        """The result with tensors in the place of numbers, in single precision as numbers are."""
        single = {name: tensor.to(torch.get_default_dtype()) for name, tensor in variables.items()}
        # Whether it fails does not matter: backward does not start from many results, which are
        # there by then.
        value = self._value(single)
        if not isinstance(value, torch.Tensor) or value.is_complex():
            return None
        with suppress(RuntimeError, TypeError):  # numpy has no such arrays, as of sparse tensors
            return value.detach().resolve_neg().double().numpy()
        return None

    def result(self, variables: Mapping[str, float]) -> float:
        """The result with these variables; NaN if the program fails or has none."""
        value = self._value(variables)
        if self._run.error is None and isinstance(value, torch.Tensor) and not value.is_complex():
            with suppress(RuntimeError, ValueError, TypeError):
                return float(value.detach())
        return float("nan")
