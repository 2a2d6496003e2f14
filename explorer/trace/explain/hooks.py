"""What hooks did to gradients, and what they could not yet see."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from explorer.trace.explain import misplaced_hooks
from explorer.trace.explain.looked_at import names_looked_at
from explorer.trace.explain.run_analysis import RunAnalysis, is_small_array, short_text
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.events import HookCall
from explorer.trace.records import Answer


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """A returned tensor, a forgotten return, `.grad` read too early, the order of several."""
    calls = analysis.recorder.events.hook_calls
    shows_gradient = any(name.endswith(".grad") for name in names_looked_at(analysis))
    for call in calls:
        if call.is_replaced or call.is_in_place:
            if shows_gradient and not _is_same(call):
                yield _replaced(call)
        elif call.dropped:
            yield _dropped(call)
        if call.read_grad:
            yield _too_early(call)
    yield from _order(calls)
    yield from misplaced_hooks.explain(analysis)


def _is_same(call: HookCall) -> bool:
    """Whether the hook left the gradient as it was, returned or not."""
    received, returned = call.gradient, call.returned
    if isinstance(received, CapturedValues) and isinstance(returned, CapturedValues):
        first, second = received.array(), returned.array()
        return is_small_array(first) and is_small_array(second) and np.array_equal(first, second)
    return False


def _replaced(call: HookCall) -> Answer:
    values = ""
    if isinstance(call.gradient, CapturedValues) and isinstance(call.returned, CapturedValues):
        values = f": {short_text(call.gradient.array())} became {short_text(call.returned.array())}"
    changed = f"{call.name}.grad" if call.is_leaf else f"the gradient before {call.name}"
    passed_on = f" Everything that {call.name} was computed from gets the new gradient."
    passed_on = "" if call.is_leaf else passed_on
    how = "returned a tensor, which replaced the gradient"
    cure = "let it return None"
    if call.is_in_place:
        how, cure = "changed the gradient in place", "let it change a copy, and return None"
    return Answer(
        key="hooks.replaced",
        title=f"Why is {changed} not what the formula says?",
        text=f"A hook on {call.name} {how}{values}.{passed_on}",
        cure=f"If the hook should only look at the gradient, {cure}.",
        line=call.line,
        names=(call.name,),
        glossary="hook",
    )


def _dropped(call: HookCall) -> Answer:
    return Answer(
        key="hooks.dropped",
        title=f"Why does the hook on {call.name} change nothing?",
        text=f"It gives {call.dropped} a new value but returns None, and None leaves the gradient "
        "unchanged.",
        cure=f"End the hook with: return {call.dropped}",
        line=call.line,
        names=(call.name,),
        glossary="hook",
    )


def _too_early(call: HookCall) -> Answer:
    return Answer(
        key="hooks.early",
        title=f"Why is {call.name}.grad None inside the hook?",
        text=f"A hook on {call.name} runs before {call.name}.grad is written. The gradient is "
        "passed "
        "to the hook as its argument.",
        cure="Use the argument, or register_post_accumulate_grad_hook, whose hook runs after .grad "
        "is written.",
        line=call.read_grad,
        names=(call.name,),
        glossary="hook",
    )


def _order(calls: list[HookCall]) -> Iterator[Answer]:
    for names in {id(call.hooks): call.hooks for call in calls}.values():
        same_tensor = [call for call in calls if call.hooks is names]
        replaced = any(call.is_replaced for call in same_tensor[:-1])
        if len(names) > 1 and len(same_tensor) > 1 and replaced:
            name = same_tensor[0].name
            yield Answer(
                key="hooks.order",
                title=f"Which gradient does each hook on {name} see?",
                text=f"The {len(names)} hooks run in the order in which they were registered. Each "
                "one "
                f"receives what the hook before it returned; what the last one returns goes to "
                f"{name}.grad or to the next node.",
                cure="",
                line=same_tensor[0].line,
                names=(name,),
                glossary="hook",
            )
