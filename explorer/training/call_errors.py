"""Why torch refused a call of training, in a sentence, and what to do."""

from __future__ import annotations

from explorer.program import ProgramError
from explorer.program.error_messages import short_text

_TWICE = "backward through the graph a second time"
_REFUSALS = (
    (
        _TWICE,
        "This graph has been used: backward freed the values it had saved.",
        "Call forward again: it builds a new graph.",
    ),
    (
        "modified by an inplace operation",
        "A value saved in the graph was changed after forward, so its gradient would be wrong.",
        "Call forward again, then backward, and only then step.",
    ),
    (
        "does not require grad",
        "The loss depends on no parameter, so there is no graph to go back through.",
        "Compute the loss from the parameters.",
    ),
)


def explain_step_error(error: Exception) -> ProgramError:
    """Why the optimizer could not step, and what to do."""
    message, hint = "The optimizer could not step.", ""
    if isinstance(error, KeyError):
        message = f"The optimizer has no {error.args[0]}: it makes its buffers at its first step."
        hint = "Reset the run: the setting that needs this buffer was switched on later."
    elif isinstance(error, ArithmeticError) or "overflow" in str(error):
        hint = "A setting is too large for the parameters' dtype. Lower lr."
    return ProgramError(message, hint=hint, detail=short_text(error))


def preview_step_error(error: Exception) -> str:
    """That a step taken now would fail, and why."""
    if isinstance(error, KeyError):
        return f"will fail: the optimizer has no {error.args[0]}. Reset the run to make it."
    return "will fail: a setting is too large for the parameters' dtype."


def explain_backward_error(detail: str, used: bool) -> ProgramError:
    """Why torch refused a backward, in a sentence, and what to do; `used` says whether one of our
    own actions has been through the graph."""
    for pattern, message, hint in _REFUSALS:
        if pattern in detail:
            if pattern == _TWICE and not used:
                message = "The loss code calls backward itself, so its graph has been used."
                hint = "Remove that call from the loss code: here you press backward yourself."
            return ProgramError(message, hint=hint, detail=detail)
    return ProgramError("The backward pass failed.", detail=detail)
