r"""The factor on an edge: what a gradient is multiplied by where it passes to one input.

Every rule is linear in the gradient G that arrives: the factor is what the rule gives for G = 1.
An operation that works element by element has a number for each element; of any other the factor is
a matrix, the transposed Jacobian, of which `jacobian_rows` works out rows.
https://en.wikipedia.org/wiki/Chain_rule, https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.trace.records import Array, Flow, Plain
from explorer.trace.rules.rule import NotStated, Part, Rule, Values, summed_axes
from explorer.trace.rules.table import RULES, applied, compute

#: A gradient that a template multiplies by something, as `<G> * ` or above a fraction's line.
_TIMES_G = re.compile(r"<G> \* ")


@dataclass(frozen=True)
class Factor:
    """What the gradient on one edge is multiplied by.

    `entries` are the numbers, in the shape of the result; 0-dim where one number serves all
    elements, None where the factor is a matrix. `template` is the factor in letters, as in a rule:
    "\\cos(<a>)", and "" where it is 1. Over the axes `summed`, the products are added, because the
    input was broadcast along them. `words` says it where a formula would be longer: "copied".
    """

    template: str = ""
    entries: np.ndarray | None = None
    summed: tuple[int, ...] = ()
    words: str = ""

    def times(self, grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The gradient of an input of this shape, from that of the result."""
        if self.entries is None:
            raise NotStated("a matrix")
        product = grad * self.entries
        return product.sum(axis=self.summed, keepdims=True).reshape(shape)


def factors(
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
) -> list[Factor | None]:
    """The factor on each edge out of the node `name`: None where no gradient flowed, or no rule is
    known. Arguments as of `compute`."""
    found: list[Factor | None] = [None] * len(flows)
    rule = RULES.get(name)
    if rule is None:
        return found
    for values, part, _ in applied(rule, name, grads_in, flows, saved):
        try:
            found[values.slot] = _factor(rule, part, values)
        except NotStated:
            continue
    return found


def _factor(rule: Rule, part: Part, values: Values) -> Factor:
    grad = values.grads_in[0] if values.grads_in else None
    template = part.template(values)
    if rule.edge:
        return Factor(words=rule.edge if isinstance(rule.edge, str) else rule.edge(values))
    if not rule.elementwise or grad is None or part.value is None:
        return Factor(template)
    ones = Values([np.ones(grad.shape)], values.saved, values.shape, values.slot)
    with np.errstate(all="ignore"):
        entries = np.asarray(part.value(ones), dtype=np.float64)
    wide = np.broadcast_shapes(entries.shape, grad.shape)
    return Factor(without_gradient(template), _one(entries), summed_axes(wide, values.shape))


def _one(entries: np.ndarray) -> np.ndarray:
    """A single number where all entries are the same."""
    if entries.size and np.all(entries == entries.flat[0]):
        return entries.flat[0].reshape(())
    return entries


def without_gradient(template: str) -> str:
    """A rule's template for G = 1: `<G> * \\cos(<a>)` becomes `\\cos(<a>)`, `<G>` nothing."""
    left = _TIMES_G.sub("", template)
    return {"<G>": "", "-<G>": "-1"}.get(left, left.replace("<G>", "1"))


def jacobian_rows(
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
    slot: int,
    indices: Sequence[tuple[int, ...]],
) -> np.ndarray:
    """How much each element of the result counts for these elements of the input `slot`.

    A row of the result's shape for each; multiplied with G and added up it is the gradient of that
    element.
    Raises NotStated where the rule is not known, or a value too large to be kept.
    """
    grad = grads_in[0]
    if not isinstance(grad, np.ndarray):
        raise NotStated("no gradient, or one too large to be kept")
    rows = np.zeros((len(indices), *grad.shape))
    for place in np.ndindex(*grad.shape):
        unit = np.zeros(grad.shape)
        unit[place] = 1
        gradient = compute(name, [unit, *[None] * (len(grads_in) - 1)], flows, saved)[slot]
        if gradient is not None:
            rows[:, *place] = [gradient[index] for index in indices]
    return rows
