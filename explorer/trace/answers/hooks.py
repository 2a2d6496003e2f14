"""What hooks did to gradients, and what they could not yet see."""

from __future__ import annotations

from collections.abc import Iterator

from explorer.trace.capture import Kept
from explorer.trace.events import HookCall
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, short


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """A returned tensor, a forgotten return, `.grad` read too early, the order of several."""
    calls = analysis.recorder.events.hook_calls
    for call in calls:
        if call.is_replaced:
            yield _replaced(call)
        elif call.dropped:
            yield _dropped(call)
        if call.read_grad:
            yield _too_early(call)
    yield from _order(calls)


def _replaced(call: HookCall) -> Answer:
    values = ""
    if isinstance(call.gradient, Kept) and isinstance(call.returned, Kept):
        values = f": {short(call.gradient.array())} became {short(call.returned.array())}"
    what = f"{call.name}.grad" if call.is_leaf else f"the gradient before {call.name}"
    return Answer(
        "hooks.replaced",
        f"Why is {what} not what the formula says?",
        f"A hook on {call.name} returned a tensor, and that takes the gradient's place{values}. "
        "Everything before it in the graph gets the new one.",
        "If it was only meant to look, let the hook return None.",
        call.line,
        (call.name,),
        "hook",
    )


def _dropped(call: HookCall) -> Answer:
    return Answer(
        "hooks.dropped",
        f"Why does the hook on {call.name} change nothing?",
        f"It gives {call.dropped} a new value and returns None. None means: leave the gradient as "
        "it is.",
        f"End the hook with: return {call.dropped}",
        call.line,
        (call.name,),
        "hook",
    )


def _too_early(call: HookCall) -> Answer:
    return Answer(
        "hooks.early",
        f"Why is {call.name}.grad None inside the hook?",
        f"A hook on {call.name} runs before {call.name}.grad is written. The gradient is the "
        "hook's argument.",
        "Use the argument, or register_post_accumulate_grad_hook, which runs afterwards.",
        call.read_grad,
        (call.name,),
        "hook",
    )


def _order(calls: list[HookCall]) -> Iterator[Answer]:
    for names in {id(call.hooks): call.hooks for call in calls}.values():
        mine = [call for call in calls if call.hooks is names]
        if len(names) > 1 and len(mine) > 1 and any(call.is_replaced for call in mine[:-1]):
            name = mine[0].name
            yield Answer(
                "hooks.order",
                f"Which of the hooks on {name} sees which gradient?",
                f"The {len(names)} hooks run in the order they were registered. Each gets what the "
                f"one before it returned; {name}.grad, or the next node, gets the last.",
                "",
                mine[0].line,
                (name,),
                "hook",
            )
