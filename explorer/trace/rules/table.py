"""The table of all rules, and a rule worked out in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from explorer.trace.records import Array, Flow, Plain
from explorer.trace.rules import (
    arithmetic,
    functions,
    indexing,
    layers,
    linear,
    losses,
    reductions,
    shapes,
)
from explorer.trace.rules.rule import NotStated, Part, Rule, Values, sum_to, whole

#: The shape of an empty tensor that `cat` skips, beside tensors of any other shape.
SKIPPED = (0,)

RULES: dict[str, Rule] = {
    **arithmetic.RULES,
    **functions.RULES,
    **reductions.RULES,
    **indexing.RULES,
    **shapes.RULES,
    **linear.RULES,
    **losses.RULES,
    **layers.RULES,
}


def compute(
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
) -> list[np.ndarray | None]:
    """The gradients out as the rule gives them, in float64: one for each flow, None where none
    flowed. Raises NotStated where the rule is not known, or a value too large to be kept."""
    rule = RULES.get(name)
    if rule is None:
        raise NotStated(name)
    gradients: list[np.ndarray | None] = [None] * len(flows)
    for values, part, _ in applied(rule, name, grads_in, flows, saved):
        if part.value is None:
            raise NotStated(f"{name} is described in words only")
        with np.errstate(all="ignore"):
            result = np.asarray(part.value(_lifted(values)), dtype=np.float64)
        if rule.elementwise:
            wide = np.broadcast_shapes(result.shape, _shape(grads_in))
            result = sum_to(np.broadcast_to(result, wide), values.shape)
        gradients[values.slot] = result if values.shape else result.reshape(())
    return gradients


def _lifted(v: Values) -> Values:
    """A 0-dim input under a 0-dim result as torch takes it: as one of a single element, with the
    axis 0."""
    has_axis = v.saved.get("dim") is not None or v.saved.get("dims")
    if v.shape or not has_axis or _shape(v.grads_in):
        return v
    saved = {k: np.atleast_1d(s) if isinstance(s, np.ndarray) else s for k, s in v.saved.items()}
    grads = [grad if grad is None else np.atleast_1d(whole(grad)) for grad in v.grads_in]
    return Values(grads, saved, (1,), v.slot)


def _shape(grads_in: Sequence[Array | None]) -> tuple[int, ...]:
    return () if not grads_in or grads_in[0] is None else tuple(grads_in[0].shape)


def applied(
    rule: Rule,
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
) -> list[tuple[Values, Part, Flow]]:
    """Each input that got a gradient, with its part of the rule; there is nothing to say of one
    without elements."""
    inputs = []
    shapes = [None if flow.grad is None else tuple(flow.grad.shape) for flow in flows]
    for slot, flow in enumerate(flows):
        part = rule.part(slot)
        if flow.grad is None or part is None or 0 in flow.grad.shape:
            continue
        extra: dict[str, Any] = {**saved, ".name": name}
        if rule.repeat:
            extra[".start"] = _start(name, slot, _shape(grads_in), shapes, saved)
        inputs.append((Values(grads_in, extra, tuple(flow.grad.shape), slot), part, flow))
    return inputs


def _start(
    name: str,
    slot: int,
    total: tuple[int, ...],
    shapes: Sequence[tuple[int, ...] | None],
    saved: Mapping[str, Array | Plain],
) -> Any:
    """Where an input of cat begins: after those before it. None if a size is not known."""
    if name == "BlockDiagBackward0":
        if None in shapes[:slot]:
            return None
        before = [(1,) * (2 - len(s)) + s for s in shapes[:slot] if s is not None]
        return [sum(s[0] for s in before), sum(s[1] for s in before)]
    dim = saved.get("dim")
    if name != "CatBackward0" or not isinstance(dim, int) or not total:
        return None
    axis = dim % len(total)
    if None not in shapes[:slot]:
        return sum(s[axis] for s in shapes[:slot] if s is not None and s != SKIPPED)
    if None not in shapes[slot:]:
        rest = sum(s[axis] for s in shapes[slot:] if s is not None and s != SKIPPED)
        return total[axis] - rest
    return None
