"""Why a tensor has no gradient to show, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.trace.recorder import Recorder, Seen


@dataclass(frozen=True)
class Context:
    """What is known at the end of the run."""

    recorder: Recorder
    reached: frozenset[int]
    stored: bool

    @classmethod
    def of(cls, recorder: Recorder) -> Context:
        passes = [*recorder.first_passes, *([recorder.last_pass] if recorder.last_pass else [])]
        reached = frozenset(id(node) for raw in passes for node in raw.functions)
        stored = any(raw.call != "torch.autograd.grad" for raw in passes)
        return cls(recorder, reached, stored)


def why_none(seen: Seen, context: Context) -> str:
    """The reason, for a tensor whose gradient is None."""
    recorder = context.recorder
    if not seen.requires_grad:
        if not (seen.tensor.is_floating_point() or seen.tensor.is_complex()):
            return "It holds integers or truth values; only floating-point numbers have gradients."
        return "requires_grad is False, so autograd does not follow it."
    if not recorder.pass_count:
        return "No backward has run."
    if id(seen.tensor) in recorder.cleared:
        return f"zero_grad on line {recorder.cleared[id(seen.tensor)]} set it to None."
    if not context.stored:
        return "torch.autograd.grad returns gradients; it stores none in .grad."
    if seen.grad_fn is None:
        return "It has no part in what backward started from."
    if id(seen.grad_fn) in context.reached:
        return "The gradient did not flow through it."
    return "It is not on a path from the leaves to what backward started from."
