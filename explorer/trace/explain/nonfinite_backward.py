"""NaN and infinity that backward makes of finite numbers: infinite slopes, and 0 · ∞ behind a
branch that is not taken.

Asked at https://github.com/pytorch/pytorch/pull/2775
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from explorer.trace.explain.cures import with_cures
from explorer.trace.explain.expressions import (
    operations_for,
    same_operation,
)
from explorer.trace.explain.nonfinite_backward_cures import (
    CHOOSERS,
    NonfiniteOrigin,
    backward_cures,
)
from explorer.trace.explain.nonfinite_causes import BACKWARD, backward_cause
from explorer.trace.explain.nonfinite_cures import from_the_start
from explorer.trace.explain.nonfinite_origin import inputs_of, reason_of, walk_back
from explorer.trace.explain.nonfinite_values import (
    Spoiled,
    element_text,
    has_nan,
    is_nonfinite,
    spoiled_by,
    spoken,
    values_in,
)
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.passes import RawPass, RawStep
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaf_of
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names, shortened

#: Origins that one change removes: nobody would read a longer one.
MOST_ORIGINS = 6


def explain(raw_pass: RawPass, analysis: RunAnalysis) -> Iterator[tuple[Any, Answer]]:
    """The answer for a pass whose root is finite, with what it is about."""
    origins = list(_origins(raw_pass, analysis))
    if not origins:
        return
    first = origins[0]
    spoiled = spoiled_by([], [o.node for o in origins], raw_pass, analysis)
    own = spoiled_by([], [first.node], raw_pass, analysis)
    gradients = spoiled.gradients
    subject = f"{gradients[0]}.grad" if gradients else "a gradient"
    state = "NaN" if spoiled.has_nan or not gradients else "infinite"
    verb = "is"
    if len(gradients) > 1:
        subject = join_names([f"{name}.grad" for name in gradients], 3)
        verb = "are"
    answer = Answer(
        key="nonfinite.backward",
        title=f"Why {verb} {subject} {state} although the result is a number?",
        text=_text(first, own, analysis) + _rest(origins, own, spoiled),
        cure="",
        line=first.line or raw_pass.line,
        names=_names(first),
        glossary="nan",
        symptom=Symptom("nonfinite", spoiled.names),
    )
    yield (
        (first.line, type(first.node).__name__),
        with_cures(answer, backward_cures(origins, analysis), is_certain=True),
    )


def _origins(raw_pass: RawPass, analysis: RunAnalysis) -> Iterator[NonfiniteOrigin]:
    owners = owners_of(raw_pass, analysis)
    users: dict[Any, list[Any]] = {}
    for node in raw_pass.functions:
        for source, _ in node.next_functions:
            users.setdefault(source, []).append(node)
    steps = {raw_pass.functions[step.function]: step for step in raw_pass.steps}
    count, chooser = 0, None
    for step in raw_pass.steps:
        bad_out = [kept for kept in step.grads_out if is_nonfinite(kept)]
        if not bad_out:
            continue
        node = raw_pass.functions[step.function]
        if any(map(is_nonfinite, step.grads_in)):
            # It would be the next one, as soon as the first is made safe.
            slope = BACKWARD.get(type(node).__name__)
            captured = step.saved.get(slope.saved) if slope is not None and count else None
            array = captured.array() if isinstance(captured, CapturedValues) else None
            exponent = step.saved.get("exponent")
            is_smooth = isinstance(exponent, int | float) and exponent >= 1
            if slope is None or is_smooth or not isinstance(array, np.ndarray):
                continue
            if bool(np.any(slope.holds(array))):
                yield NonfiniteOrigin(node, step, owners.get(node), slope, None, chooser)
            continue
        kept = bad_out[0].array() if bad_out[0] is not None else None
        cause = None
        if isinstance(kept, np.ndarray):
            saved = {k: v.array() for k, v in step.saved.items() if isinstance(v, CapturedValues)}
            cause = backward_cause(type(node).__name__, saved, ~np.isfinite(kept))
        chooser = _chooser(node, step, steps, users) if isinstance(kept, np.ndarray) else None
        slope, here = cause if cause is not None else (None, None)
        live = owners.get(node)
        value = _bad_value(live, analysis) if slope is None and live is not None else None
        yield NonfiniteOrigin(node, step, live, slope, here, chooser, value)
        count += 1
        if count == MOST_ORIGINS:
            return


def _bad_value(live: LiveTensor, analysis: RunAnalysis) -> LiveTensor | None:
    """An input or the result of an operation that is not finite."""
    return next((v for v in (*inputs_of(live, analysis), live) if is_nonfinite(v.captured)), None)


def owners_of(raw_pass: RawPass, analysis: RunAnalysis) -> dict[Any, LiveTensor]:
    """By node: the result of the operation that it belongs to. An operation such as normalize has
    several nodes, and only the last is known by its result."""
    owners: dict[Any, LiveTensor] = {}
    for node in raw_pass.functions:  # users come before what they use
        live = analysis.result_of_node(node)
        if live is not None:
            owners[node] = live
        owner = owners.get(node)
        for source, _ in node.next_functions if owner is not None else ():
            is_inner = source is not None and "line" not in source.metadata
            if is_inner and leaf_of(source) is None and owner is not None:
                owners.setdefault(source, owner)
    return owners


def _chooser(
    node: Any, step: RawStep, steps: dict[Any, RawStep], users: dict[Any, list[Any]]
) -> Any:
    """The node because of which a gradient of 0 arrives where NaN is passed on; None if something
    else arrives there."""
    incoming, outgoing = _array(step.grads_in), _array(step.grads_out, is_bad=True)
    if incoming is None or outgoing is None or not np.isnan(outgoing).any():
        return None
    if incoming.shape == outgoing.shape:
        if (incoming[np.isnan(outgoing)] != 0).any():
            return None
    elif incoming.any():
        return None
    here = np.isnan(outgoing) if incoming.shape == outgoing.shape else None
    current = node
    for _ in range(len(steps)):
        above = users.get(current, [])
        if len(above) != 1 or above[0] not in steps:
            return None
        current = above[0]
        arrived = _array(steps[current].grads_in)
        if arrived is None:
            return None
        is_same = here is not None and arrived.shape == here.shape
        if arrived[here].any() if is_same else arrived.any():
            return current
    return None


def _array(captures: list[CapturedValues | None], *, is_bad: bool = False) -> np.ndarray | None:
    """The first gradient, or the first that is not finite, if all its values are known."""
    kept = next((k for k in captures if k is not None and (not is_bad or is_nonfinite(k))), None)
    array = kept.array() if kept is not None else None
    return array if isinstance(array, np.ndarray) else None


# -- sentences ----------------------------------------------------------------------------------


def _text(origin: NonfiniteOrigin, spoiled: Spoiled, analysis: RunAnalysis) -> str:
    live, slope = origin.live, origin.slope
    place = f"line {origin.line}" if origin.line else "backward"
    name = live.name if live is not None else type(origin.node).__name__
    if origin.value is not None:
        return _value_text(origin, analysis) + spoiled.sentence()
    if slope is None:
        text = (
            f"In backward, {type(origin.node).__name__} ({shortened(name)}, {place}) "
            "is the first to pass on a gradient that is not finite."
        )
        if _has_equal_values(origin.step):
            text = (
                f"Two eigenvalues or singular values of {shortened(name)} ({place}) are equal. "
                "The slope of the vectors divides by their difference, which is 0."
            )
        return text + spoiled.sentence()
    result = spoken(live) if live is not None else name
    text = f"Line {origin.line} computes {result}, {_operand_text(origin)}: {slope.text}."
    return text + _arrives(origin, "∞") + spoiled.sentence()


def _rest(origins: list[NonfiniteOrigin], own: Spoiled, spoiled: Spoiled) -> str:
    """Where the gradients get it from that the first operation does not reach."""
    names = [f"{name}.grad" for name in spoiled.gradients if name not in own.gradients]
    lines = sorted({o.line for o in origins[1:] if o.line and o.line != origins[0].line})
    if not names or len(lines) != 1:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return f" {join_names(names, 3)} {verb} not finite because of line {lines[0]}."


def _has_equal_values(step: RawStep) -> bool:
    """Whether a decomposition saved two equal eigenvalues or singular values."""
    for name in ("eigenvalues", "L", "S"):
        captured = step.saved.get(name)
        array = captured.array() if isinstance(captured, CapturedValues) else None
        if isinstance(array, np.ndarray) and array.size > 1:
            return bool((np.diff(np.sort(array, axis=-1), axis=-1) == 0).any())
    return False


def _arrives(origin: NonfiniteOrigin, factor: str) -> str:
    """Why a gradient of 0 becomes NaN all the same."""
    if origin.chooser is None:
        return ""
    reason = CHOOSERS.get(type(origin.chooser).__name__, "")
    line = origin.chooser.metadata.get("line")
    start = f" {reason.format(line=line)}, so a" if reason and line else " A"
    return f"{start} gradient of 0 arrives, and 0 · {factor} is NaN."


def _value_text(origin: NonfiniteOrigin, analysis: RunAnalysis) -> str:
    """A value that is not finite, on which the result does not depend, but a slope does."""
    assert origin.value is not None
    first = walk_back(origin.value, analysis)
    inputs = inputs_of(first, analysis)
    what = "NaN" if has_nan(first.captured) else "an infinity"
    line = first.statement if first.operation else first.line
    reason = reason_of(first, same_operation(first.operation) or _name_of(first, analysis), inputs)
    if not inputs and not first.operation:
        text = from_the_start(first, what, analysis)[0]
    else:
        text = f"{shortened(first.name)} (line {line}) contains {what}"
        text += f": {reason}." if reason else "."
    used = shortened(origin.live.name) if origin.live is not None else "an operation"
    where = f" The result is finite, but the slope of {used} (line {origin.line}) contains it"
    text += f"{where}." if first is not origin.live else ""
    return text + _arrives(origin, "NaN" if what == "NaN" else "∞")


def _name_of(live: LiveTensor, analysis: RunAnalysis) -> str:
    found = operations_for(analysis.as_typed, live)
    return found[0].name if found else ""


def _operand_text(origin: NonfiniteOrigin) -> str:
    """At which value of which tensor the slope is not finite."""
    live, slope = origin.live, origin.slope
    assert slope is not None
    if slope.value == "too large":
        return "which is infinite"
    if live is None or not live.inputs:
        return f"and its input contains {slope.value}"
    operand = live.inputs[_position(live)]
    array, here = values_in(live, operand), origin.here
    name = spoken(operand)
    if array is not None and here is not None and array.shape == here.shape:
        return f"and {element_text(name, array, here)}"
    return f"and {name} contains {slope.value}"


def _position(live: LiveTensor) -> int:
    is_quotient = same_operation(live.operation) in ("div", "reciprocal")
    return -1 if is_quotient else 0


def _names(origin: NonfiniteOrigin) -> tuple[str, ...]:
    live = origin.live
    if live is None:
        return ()
    inputs = [live.inputs[_position(live)].name] if live.inputs else []
    return tuple(dict.fromkeys((*inputs, live.name)))
