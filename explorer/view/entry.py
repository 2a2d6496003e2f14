"""One entry of a gradient where the factor is a matrix: its row of the Jacobian, times the gradient
that arrives.

The gradient of an entry x[i] is the sum over the result's elements y[j] of how much x[i] counts
for each, ∂y[j]/∂x[i], times the gradient that arrived there
(https://en.wikipedia.org/wiki/Jacobian_matrix_and_determinant).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from explorer import limits
from explorer.trace import BackwardPass, BackwardStep
from explorer.trace.rules.factors import factors, jacobian_rows
from explorer.trace.rules.rule import NotStated
from explorer.trace.text import number
from explorer.view.edge_factors import program_names

#: Most terms of the sum that are written out.
_TERMS = 8


@dataclass(frozen=True)
class MatrixInput:
    """An input of a step whose factor is a matrix: its place among the inputs, the program's name
    for it, and the shape of its gradient."""

    slot: int
    name: str
    shape: tuple[int, ...]

    @property
    def entries(self) -> list[tuple[int, ...]]:
        """The indices of its elements, as many as are offered."""
        count = min(math.prod(self.shape), limits.ENTRIES)
        return [tuple(map(int, np.unravel_index(i, self.shape))) for i in range(count)]


def matrix_inputs(step: BackwardStep, shown: BackwardPass) -> list[MatrixInput]:
    """The inputs of a step of which one entry can be followed."""
    grad = step.grads_in[0] if len(step.grads_in) == 1 else None
    if not isinstance(grad, np.ndarray) or not 0 < grad.size <= limits.ENTRIES or step.own:
        return []
    program = program_names(shown)
    given = factors(step.name, step.grads_in, step.grads_out, step.saved)
    found = []
    for slot, (factor, flow) in enumerate(zip(given, step.grads_out, strict=True)):
        node = program.nodes.get(flow.to or "")
        if factor is None or factor.entries is not None or factor.words or node is None:
            continue
        if isinstance(flow.grad, np.ndarray) and flow.grad.size:
            found.append(MatrixInput(slot, program.name(node) or "input", flow.grad.shape))
    return found


def entries_html(
    step: BackwardStep, chosen: MatrixInput, indices: Sequence[tuple[int, ...]]
) -> list[str]:
    """The sums that give these entries. Empty where the rule is not known."""
    grad, given = step.grads_in[0], step.grads_out[chosen.slot].grad
    assert isinstance(grad, np.ndarray)
    assert isinstance(given, np.ndarray)
    try:
        arguments = step.name, step.grads_in, step.grads_out, step.saved
        rows = jacobian_rows(*arguments, chosen.slot, indices)
    except NotStated:
        return [""] * len(indices)
    return [
        _entry(chosen, index, row, grad, float(given[index]))
        for index, row in zip(indices, rows, strict=True)
    ]


def _entry(
    chosen: MatrixInput, index: tuple[int, ...], row: np.ndarray, grad: np.ndarray, passed: float
) -> str:
    """The sum that gives one entry: a term for each element of the result that it counts for."""
    places = [place for place in np.ndindex(*row.shape) if row[place] != 0]
    terms = [f"{_signed(float(row[place]))} · {_signed(float(grad[place]))}" for place in places]
    where = f"{chosen.name}[{', '.join(map(str, index))}]" if index else chosen.name
    left = len(row.flat) - len(places)
    total = float((row * grad).sum())
    hooked = (
        ""
        if np.isclose(total, passed, 1e-3, 1e-6)
        else f", which a hook changed to {number(passed)}"
    )
    zero = " By the others, the derivative is 0." if left else ""
    return (
        f'<div class="ax-entry"><div><code>{escape(where)}</code>: for each element of the result, '
        f"its derivative by this entry, times the gradient that arrived there.{zero}"
        f'</div><div class="ax-value">{escape(_sum(terms))} = {number(total)}{hooked}</div>'
        "</div>"
    )


def _sum(terms: Sequence[str]) -> str:
    if len(terms) > _TERMS:
        terms = [*terms[: _TERMS - 1], f"… ({len(terms) - _TERMS + 1} more)"]
    return " + ".join(terms) or "0"


def _signed(value: float) -> str:
    text = number(value)
    return f"({text})" if text.startswith("-") else text
