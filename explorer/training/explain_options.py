"""One sentence about clipping and about the scheduler: what each will do, and what it did."""

from __future__ import annotations

import math

from torch import Tensor

from explorer.trace.text import join_names
from explorer.training.clipping import Clip, derive_clip
from explorer.training.formatting import format_number, pluralize
from explorer.training.live_session import LiveSession


def preview_clip(session: LiveSession) -> str:
    if "clip" not in session.options:
        return "No clipping is chosen."
    name, grads = session.options["clip"]["name"], session.grads()
    if not grads:
        verb = "change nothing" if name == "clip_grad_norm_" else "fail"
        return f"{name} will {verb}: no parameter has a gradient. backward fills .grad."
    clip = derive_clip(session.options["clip"], grads, 1)
    if clip is None:
        return f"{name} will fail: it does not accept these gradients."
    return f"{name} will {_clipping(session, clip, grads, 'multiply', 'limit', 'change')}"


def describe_clip(session: LiveSession) -> str:
    grads = session.clipped
    clip = derive_clip(session.options["clip"], grads, 1) if grads else None
    if clip is None or grads is None:
        return "Nothing changed: no parameter has a gradient. backward fills .grad."
    text = _clipping(session, clip, grads, "multiplied", "limited", "changed")
    return f"{text[0].upper()}{text[1:]}"


def _clipping(
    session: LiveSession, clip: Clip, grads: dict[str, Tensor], multiply: str, limit: str, none: str
) -> str:
    """What clipping does to these gradients, with the verbs of a forecast or of a report."""
    settings = session.options["clip"]
    if "max_norm" in settings:
        norm, factor = (clip.lines[i].value.item() for i in (-3, -1))
        shown, highest = format_number(norm), format_number(settings["max_norm"])
        if not math.isfinite(norm):
            return f"{multiply} every .grad by {format_number(factor)}: their norm is {shown}."
        if factor == 1:
            return f"{none} nothing: the norm of the gradients, {shown}, is at most {highest}."
        text = f"{multiply} every .grad by {format_number(factor)}"
        if shown == highest:  # clipped already, and torch adds 1e-06 to the norm
            return f"{text} = {highest} / ({shown} + 1e−06): their norm is {highest} already."
        return f"{text}, because their norm, {shown}, is above {highest}."
    highest = settings["clip_value"]
    outside = sum(int((grad.abs() > highest).sum()) for grad in grads.values())
    bounds = f"{format_number(-highest)} to {format_number(highest)}"
    if not outside:
        return f"{none} nothing: every number in .grad is from {bounds}."
    total = sum(grad.numel() for grad in grads.values())
    return f"{limit} {outside:,} of {pluralize(total, 'number')} in .grad to the range {bounds}."


def preview_schedule(session: LiveSession) -> str:
    if session.schedule is None:
        return "No scheduler is chosen."
    if session.schedule.spec.needs_loss and session.loss is None:
        return "scheduler.step will fail: it compares losses, and there is none. Call forward."
    now = session.hyper["lr"]
    try:
        new = session.schedule.next_lr(None if session.loss is None else session.loss.item())
    except ValueError:
        return "scheduler.step will fail: there is no learning rate for another step."
    same = f"leave lr at {format_number(now)}"
    change = f"change lr from {format_number(now)} to {format_number(new)}"
    first = " in the first group" if session.groups() else ""
    text = f"scheduler.step will {same if new == now else change}{first}."
    return _joined(text, _too_early(session))


def describe_schedule(session: LiveSession) -> str:
    groups, parts = session.groups(), []
    for number, (before, now) in enumerate(zip(session.scheduled, session.settings(), strict=True)):
        of = f" for {join_names(groups[number - 1].parameters)}" if number else ""
        parts += [
            f"{name}: {_shown(old)} → {_shown(now[name])}{of}"
            for name, old in before.items()
            if now[name] != old
        ]
    text = ", ".join(parts) if parts else f"lr stays {format_number(session.hyper['lr'])}"
    return _joined(f"{text}.", _waits(session), _too_early(session))


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _waits(session: LiveSession) -> str:
    """How long ReduceLROnPlateau has waited for a better loss."""
    assert session.schedule is not None
    scheduler = session.schedule.scheduler
    if not session.schedule.spec.needs_loss or not scheduler.num_bad_epochs:
        return ""
    waited = pluralize(scheduler.num_bad_epochs, "step")
    return f"{waited} without a better loss; lr changes after more than {scheduler.patience}."


def _too_early(session: LiveSession) -> str:
    """What PyTorch warns of: the first learning rate is never used."""
    if session.track.steps:
        return ""
    return "PyTorch warns here: call step first, or the first lr of the schedule is skipped."


def after_setting_lr(session: LiveSession, group: int) -> str:
    """What the scheduler will make of a learning rate that was set by hand; begins with a space."""
    if session.schedule is None or session.schedule.spec.needs_loss:
        return ""
    try:
        new = session.schedule.next_lr(group=group)
    except ValueError:
        return ""
    return f" The next scheduler.step makes it {format_number(new)}."


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return format_number(value) if isinstance(value, float) else str(value)
