r"""A step's rule in LaTeX, with its letters and with its numbers, and worked out in numpy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.trace.records import Array, Flow, Plain, Summary
from explorer.trace.rules import (
    arithmetic,
    functions,
    indexing,
    layers,
    linear,
    losses,
    reductions,
    scans,
    shapes,
)
from explorer.trace.rules.latex import is_short, literal, scalar
from explorer.trace.rules.rule import (
    ALIASES,
    NotStated,
    Part,
    Rule,
    Values,
    sum_to,
    summed_axes,
)

RULES: dict[str, Rule] = {
    **arithmetic.RULES,
    **functions.RULES,
    **reductions.RULES,
    **scans.RULES,
    **indexing.RULES,
    **shapes.RULES,
    **linear.RULES,
    **losses.RULES,
    **layers.RULES,
}

#: Said of a node for which no short rule is kept here.
UNKNOWN = "There is no short rule for this operation here: see torch's documentation of it."

_FIELD = re.compile(r"<(?:([^<>:]+):)?(\w+)>")
_TIMES = re.compile(r"(\S+) \* (?=(\S+))")
#: Letters shown for saved values, where a template does not choose its own.
_LETTERS = {saved: letter for letter, saved in ALIASES.items()}


@dataclass(frozen=True)
class Statement:
    """The rule of one step: in letters, with its numbers, and what is to be said in words."""

    formula: str = ""
    numbers: str = ""
    words: str = ""


def state(
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
) -> Statement:
    """What the node `name` does with its gradient. Fields are empty where no rule is known."""
    rule = RULES.get(name)
    if rule is None:
        return Statement(words=UNKNOWN)
    formulas, numbers, words = [], [], [rule.words] if rule.words else []
    if all(flow.grad is None for flow in flows):
        words.append("No gradient is handed on.")
    for values, part, flow in _parts(rule, name, grads_in, flows, saved):
        try:
            formula, number, axes = _line(rule, values, part, flow.grad)
        except (NotStated, AttributeError, KeyError, TypeError):
            continue
        formulas.append(formula)
        numbers.append(number)
        if axes:
            words.append(_summed(part.letter, axes))
    return Statement(_aligned(formulas), _aligned(numbers), " ".join(dict.fromkeys(words)))


def stored(
    grads_in: Sequence[Array | None], before: Array | None, after: Array | None
) -> Statement:
    """What AccumulateGrad does: the old `.grad` plus the gradient, or the gradient itself."""
    grad = grads_in[0] if grads_in else None
    if before is None:
        formula, words = r"\text{.grad} = G", "The leaf's .grad was None: it becomes the gradient."
        numbers = rf"\text{{.grad}} = {_result(after if after is not None else grad)}"
    else:
        formula = r"\text{.grad} = \text{.grad}_{\text{old}} + G"
        words = "The leaf's .grad was not None: the gradient is added to it."
        numbers = (
            rf"\text{{.grad}} = {literal(before, 'g')} + {literal(grad, 'G')} = {_result(after)}"
        )
    return Statement(formula, numbers, words)


def own_backward(node: Any) -> tuple[str, int] | None:
    """The name and line of the reader's own backward, where the node is an autograd.Function."""
    kind = getattr(type(node), "_forward_cls", None)
    method = None if kind is None else getattr(kind, "backward", None)
    code = getattr(getattr(method, "__wrapped__", method), "__code__", None)
    return None if kind is None or code is None else (kind.__name__, code.co_firstlineno)


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
    found: list[np.ndarray | None] = [None] * len(flows)
    for values, part, _ in _parts(rule, name, grads_in, flows, saved):
        if part.value is None:
            raise NotStated(f"{name} is described in words only")
        with np.errstate(all="ignore"):
            result = np.asarray(part.value(values), dtype=np.float64)
        if rule.elementwise:
            wide = np.broadcast_shapes(result.shape, _shape(grads_in))
            result = sum_to(np.broadcast_to(result, wide), values.shape)
        found[values.slot] = result
    return found


def _shape(grads_in: Sequence[Array | None]) -> tuple[int, ...]:
    return () if not grads_in or grads_in[0] is None else tuple(grads_in[0].shape)


def _parts(
    rule: Rule,
    name: str,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
) -> list[tuple[Values, Part, Flow]]:
    """Each input that got a gradient, with its part of the rule."""
    found = []
    for slot, flow in enumerate(flows):
        part = rule.part(slot)
        if flow.grad is None or part is None:
            continue
        extra: dict[str, Any] = {**saved, ".name": name}
        if rule.repeat:
            extra[".start"] = _start(name, slot, grads_in, flows, saved)
        found.append((Values(grads_in, extra, tuple(flow.grad.shape), slot), part, flow))
    return found


def _start(
    name: str,
    slot: int,
    grads_in: Sequence[Array | None],
    flows: Sequence[Flow],
    saved: Mapping[str, Array | Plain],
) -> Any:
    """Where an input of cat begins: after those before it. None if a size is not known."""
    shapes = [None if flow.grad is None else tuple(flow.grad.shape) for flow in flows]
    total = _shape(grads_in)
    if name == "BlockDiagBackward0":
        if None in shapes[:slot]:
            return None
        before = [(1,) * (2 - len(s)) + s for s in shapes[:slot] if s is not None]
        return [sum(s[0] for s in before), sum(s[1] for s in before)]
    dim = saved.get("dim")
    if name != "CatBackward0" or not isinstance(dim, int):
        return None
    axis = dim % len(total)
    if None not in shapes[:slot]:
        return sum(s[axis] for s in shapes[:slot] if s is not None)
    if None not in shapes[slot:]:
        return total[axis] - sum(s[axis] for s in shapes[slot:] if s is not None)
    return None


# -- writing ------------------------------------------------------------------------------------


def _line(
    rule: Rule, values: Values, part: Part, result: Array | None
) -> tuple[str, str, tuple[int, ...]]:
    """One input's formula and numbers, and the axes it was summed over for broadcasting."""
    template = part.template(values)
    grad = values.grads_in[0] if values.grads_in else None
    axes: tuple[int, ...] = ()
    if rule.elementwise and grad is not None:
        axes = summed_axes(tuple(grad.shape), values.shape)
    if axes:
        below = ", ".join(map(str, axes))
        template = rf"\textstyle\sum_{{\text{{axis {below}}}}} ({template})"
    left = rf"\frac{{\partial L}}{{\partial {part.letter}}}"
    formula = f"{left} &= {_filled(template, values, None)}"
    place = _first(rule, values, result) if not axes else None
    written = _filled(template, values, place if place is not None else ())
    index = "" if place is None else f"[{', '.join(map(str, place))}]"
    got = _result(result if place is None else _at(result, place))
    equals = "" if template == "<G>" else f" = {got}"
    return formula, f"{left}{index} &= {written}{equals}", axes


def _filled(template: str, values: Values, place: tuple[int, ...] | None) -> str:
    """The template with letters (`place` None), all numbers (()), or those of one element."""

    def piece(match: re.Match[str]) -> str:
        letter, name = match.groups()
        shown = letter or _LETTERS.get(name, name)
        if len(shown) > 1 and not shown.startswith("\\") and not letter:
            shown = rf"\text{{{shown.replace('_', ' ')}}}"
        value = values.raw(name)
        if place is None and not (len(shown) > 1 and isinstance(value, int | float)):
            return shown
        return literal(_at(value, place) if place else value, shown)

    def times(match: re.Match[str]) -> str:
        left, right = match.groups()
        ends = re.search(r"(?:^|[{(-])[\d.]+$", left) or re.match(r"[\d.]+[)}]*$", right)
        scalar = bool(ends or place) or _is_number(left, values) or _is_number(right, values)
        return f"{left} {'·' if scalar else '⊙'} "

    signed = _TIMES.sub(times, template)
    filled = _FIELD.sub(piece, signed)
    return filled.replace("·", r"\cdot").replace("⊙", r"\odot")


def _is_number(text: str, values: Values) -> bool:
    """Whether what stands beside a product sign is a single number."""
    fields = _FIELD.findall(text)
    return bool(fields) and all(
        not isinstance(values.raw(name), np.ndarray | Summary) or values.raw(name).ndim == 0
        if not isinstance(values.raw(name), Summary)
        else False
        for _, name in fields
    )


def _first(rule: Rule, values: Values, result: Array | None) -> tuple[int, ...] | None:
    """Large arrays of an element-wise rule are shown at their first element: where that is."""
    if not rule.elementwise or result is None or is_short(result):
        return None
    return (0,) * len(result.shape)


def _at(value: Any, place: tuple[int, ...]) -> Any:
    """The element a broadcast array has at `place`."""
    if isinstance(value, Summary):
        value = value.corner
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    return value[(0,) * value.ndim] if value.size else value


def _result(result: Any) -> str:
    if result is None:
        return ""
    if not isinstance(result, np.ndarray | Summary) or not result.shape:
        return scalar(result[()] if isinstance(result, np.ndarray) else result)
    if is_short(result):
        return literal(result, "")
    return rf"\text{{{' × '.join(map(str, result.shape))} numbers}}"


def _summed(letter: str, axes: tuple[int, ...]) -> str:
    which = ("axis " if len(axes) == 1 else "axes ") + ", ".join(map(str, axes))
    return f"Summed over {which}, because {letter} was broadcast."


def _aligned(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    if len(lines) == 1:
        return lines[0].replace(" &= ", " = ", 1)
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"
