"""One plain sentence about each press: what it will do, and what it did."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from torch import Tensor

from explorer.program import ProgramError
from explorer.trace.text import join_names
from explorer.training.batches import whole_problem
from explorer.training.call_errors import preview_step_error
from explorer.training.clipping import Clip, derive_clip
from explorer.training.formatting import element_name, format_number, pluralize
from explorer.training.history import Press, press_title
from explorer.training.loop import TrainingLoop
from explorer.training.optimizer_spec import RULE_ERRORS


def preview_presses(loop: TrainingLoop) -> dict[str, str]:
    """What each press would do now, by action."""
    return {
        "zero_grad": f"zero_grad {_preview_zero_grad(loop)}",
        "forward": f"forward {_preview_forward(loop)}",
        "backward": f"backward {_preview_backward(loop)}",
        "clip": _preview_clip(loop),
        "step": f"step {_preview_step(loop)}",
        "schedule": _preview_schedule(loop),
        "iteration": f"One iteration is {join_names(_iteration(loop), 9)}.",
        "reset": f"reset will start again from {_start(loop)}.",
    }


def describe_press(loop: TrainingLoop, press: Press, done: int, error: ProgramError | None) -> str:
    """What this press has just done; `done` is the number of its actions that were."""
    wanted = len(press)
    if press.name == "iterate":
        return _describe_iterations(loop, wanted if error else done, done)
    if press.name == "perform":
        return f"Did {done} of {wanted}."
    if error is not None:
        return error.message
    if press.name == "redo":
        return f"Redid {press_title(press.actions)}."
    if press.name == "repeat":
        return ""
    ((action, argument),) = press.actions
    if action == "zero_grad":
        now = "None" if argument else "filled with zeros"
        return f"{_grads(loop.instance.parameters)} is now {now}."
    if action == "forward":
        loss = format_number(loop.track.loss.values[-1])
        batch = loop.instance.batch()
        if batch is None:
            return f"The loss is {loss}. The graph is ready for backward."
        return (
            f"The loss of {pluralize(len(batch.indices), 'sample')} is {loss}: batch "
            f"{batch.number:,} of {batch.of:,} in epoch {batch.epoch:,}. The graph is ready for "
            "backward."
        )
    if action == "backward":
        return _describe_backward(loop)
    if action == "step":
        return _describe_step(loop)
    if action == "clip":
        return _describe_clip(loop)
    if action == "schedule":
        return _describe_schedule(loop)
    if action == "set":
        assert isinstance(argument, dict)
        new = f"{_changes(loop, argument)} from the next step on."
        if "lr" in argument:
            new += _after_setting_lr(loop, argument.get("group", 0))
        return new
    if action == "move":
        return f"{_where(loop)}. The run starts here."
    return f"Started again from {_start(loop)}."


def _changes(loop: TrainingLoop, argument: dict[str, Any]) -> str:
    """The new settings, and of which parameters they are."""
    new = dict(argument)
    group = new.pop("group", 0)
    names = f" for {join_names(loop.groups()[group - 1].parameters)}" if group else ""
    return f"{', '.join(f'{k} is {v}' for k, v in new.items())}{names}"


def _start(loop: TrainingLoop) -> str:
    return "the point you chose" if "start" in loop.settings else f"seed {loop.seed}"


def _where(loop: TrainingLoop) -> str:
    """The parameters, as far as they are few."""
    parameters = loop.instance.parameters
    if sum(p.numel() for p in parameters.values()) > 3:
        return "The parameters are where you put them"
    return ", ".join(
        f"{element_name(name, index)} = {format_number(p[index].item())}"
        for name, p in parameters.items()
        for index in np.ndindex(*p.shape)
    )


def _describe_iterations(loop: TrainingLoop, wanted: int, done: int) -> str:
    track = loop.track
    loss = f" The last loss is {format_number(track.loss.values[-1])}." if done else ""
    if done < wanted:
        state = f"the state after iteration {done} is kept" if done else "nothing was changed"
        return f"Iteration {done + 1} of {wanted} failed; {state}.{loss}"
    if loop.scheduler:
        loss += f" lr is now {format_number(loop.hyper['lr'])}."
    return f"{pluralize(done, 'iteration')} done.{loss} {_sum_of(track.passes)}".strip()


def _iteration(loop: TrainingLoop) -> list[str]:
    """The calls of one iteration, in their order."""
    clip = [loop.settings["clip"]["name"]] if "clip" in loop.settings else []
    schedule = ["scheduler.step"] if loop.scheduler else []
    return ["zero_grad", "forward", "backward", *clip, "step", *schedule]


def _describe_backward(loop: TrainingLoop) -> str:
    parameters = loop.instance.parameters
    without = [name for name, p in parameters.items() if p.grad is None]
    if len(without) == len(parameters):
        return "No parameter received a gradient: the loss depends on none of them."
    name, parameter = next((n, p) for n, p in parameters.items() if p.grad is not None)
    assert parameter.grad is not None
    parts = [f"{_first(f'{name}.grad', parameter)} is {_number(parameter.grad)}."]
    if without:
        parts.append(f"The loss does not depend on {', '.join(without)}: .grad stays None.")
    parts += [_sum_of(loop.track.passes), "The graph is gone."]
    return " ".join(filter(None, parts))


def _describe_step(loop: TrainingLoop) -> str:
    parameters = loop.instance.parameters
    if all(p.grad is None for p in parameters.values()):
        return "Nothing changed: no parameter has a gradient. backward fills .grad."
    before = loop.last_step
    assert before is not None
    name, parameter = next((n, p) for n, p in parameters.items() if p.grad is not None)
    change = f"{_number(before.parameters[name])} → {_number(parameter)}"
    text = f"{_first(name, parameter)}: {change}."
    if before.evaluated is not None:
        text = f"step computed the loss {pluralize(before.evaluated.evaluations, 'time')}. {text}"
    same = all(bool((before.parameters[n] == p).all()) for n, p in parameters.items())
    return f"{text} Nothing moved: {_why_nothing_moved(loop)}." if same else text


def _why_nothing_moved(loop: TrainingLoop) -> str:
    if all(loop.hyper_of(name)["lr"] == 0 for name in loop.instance.parameters):
        return "lr is 0"
    if loop.spec.evaluates:
        return "the gradient or the change is below its tolerance"
    grads = [p.grad for p in loop.instance.parameters.values() if p.grad is not None]
    if all(not bool(grad.any()) for grad in grads):
        return "every gradient is 0"
    return "the update is too small to change these numbers"


def _sum_of(passes: int) -> str:
    return f".grad is now the sum of {passes} backward passes." if passes > 1 else ""


def _preview_zero_grad(loop: TrainingLoop) -> str:
    parameters = loop.instance.parameters
    if all(p.grad is None for p in parameters.values()):
        return "will change nothing: every .grad is None already."
    return f"clears {_grads(parameters)}."


def _preview_forward(loop: TrainingLoop) -> str:
    parameters = loop.instance.parameters
    name, parameter = next(iter(parameters.items()))
    point = f"{_first(name, parameter)} = {_number(parameter)}"
    if len(parameters) > 1 or parameter.numel() > 1:
        point += ", …"
    current = ", discarding the current one" if loop.graph == "live" else ""
    samples = " of the next batch" if whole_problem(loop.problem) is not loop.problem else ""
    return f"will compute the loss{samples} at {point} and build a new graph{current}."


def _preview_backward(loop: TrainingLoop) -> str:
    if loop.graph == "none":
        return "will fail: there is no graph. forward builds one."
    if loop.graph == "freed":
        return "will fail: the graph has been used. forward builds a new one."
    passes = loop.track.passes
    if passes:
        return f"will ADD the gradient to .grad, which already holds {_passes(passes)}."
    return f"will store the gradient of the loss in {_grads(loop.instance.parameters)}."


def _preview_step(loop: TrainingLoop) -> str:
    if loop.spec.evaluates:
        moves = pluralize(loop.hyper["max_iter"], "move")
        return f"will make up to {moves}, calling zero_grad, forward and backward itself for each."
    ready = {n: p for n, p in loop.instance.parameters.items() if p.grad is not None}
    if not ready:
        return "will change nothing: no parameter has a gradient. backward fills .grad."
    name, p = next(iter(ready.items()))
    grad, hyper = p.grad, loop.hyper_of(name)
    assert grad is not None
    label = _first(name, p)
    more = sum(q.numel() for q in ready.values()) - 1
    rest = f", and likewise for {pluralize(more, 'more number')}" if more else ""
    plain = not any(hyper.get(k) for k in ("momentum", "weight_decay"))
    if loop.spec.name == "SGD" and plain:
        verb, word = ("add", "to") if hyper["maximize"] else ("subtract", "from")
        product = f"{format_number(hyper['lr'])} · {_bracketed(_number(grad))}"
        return f"will {verb} {product} {word} {label}{rest}."
    if p.is_complex():
        return f"will move {label}{rest}."
    state = loop.optimizer.state.get(p, {})
    try:
        new = loop.spec.update(name, p.detach(), grad, state, hyper, most=1).after
    except RULE_ERRORS as error:
        return preview_step_error(error)
    return f"will move {label} from {_number(p)} to {format_number(new.reshape(-1)[0])}{rest}."


def _grads(parameters: dict[str, Tensor]) -> str:
    """The attributes by name, or how many parameters they belong to."""
    if len(parameters) > 3:
        return f".grad of {pluralize(len(parameters), 'parameter')}"
    return ", ".join(f"{name}.grad" for name in parameters)


def _passes(number: int) -> str:
    return "1 pass" if number == 1 else f"the sum of {number} passes"


def _first(name: str, tensor: Tensor) -> str:
    """The name of the first element."""
    return element_name(name, (0,) * tensor.dim())


def _number(tensor: Tensor) -> str:
    """The first element."""
    return format_number(tensor.detach().flatten()[0].item())


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("−") else number


# -- clipping and the scheduler --------------------------------------------------------------------


def _preview_clip(loop: TrainingLoop) -> str:
    if "clip" not in loop.settings:
        return "No clipping is chosen."
    name, grads = loop.settings["clip"]["name"], loop.grads()
    if not grads:
        verb = "change nothing" if name == "clip_grad_norm_" else "fail"
        return f"{name} will {verb}: no parameter has a gradient. backward fills .grad."
    clip = derive_clip(loop.settings["clip"], grads, 1)
    if clip is None:
        return f"{name} will fail: it does not accept these gradients."
    return f"{name} will {_clipping(loop, clip, grads, 'multiply', 'limit', 'change')}"


def _describe_clip(loop: TrainingLoop) -> str:
    grads = loop.clipped
    clip = derive_clip(loop.settings["clip"], grads, 1) if grads else None
    if clip is None or grads is None:
        return "Nothing changed: no parameter has a gradient. backward fills .grad."
    text = _clipping(loop, clip, grads, "multiplied", "limited", "changed")
    return f"{text[0].upper()}{text[1:]}"


def _clipping(
    loop: TrainingLoop, clip: Clip, grads: dict[str, Tensor], multiply: str, limit: str, none: str
) -> str:
    """What clipping does to these gradients, with the verbs of a forecast or of a report."""
    call = loop.settings["clip"]
    if "max_norm" in call:
        norm, factor = (clip.lines[i].value.item() for i in (-3, -1))
        shown, highest = format_number(norm), format_number(call["max_norm"])
        if not math.isfinite(norm):
            return f"{multiply} every .grad by {format_number(factor)}: their norm is {shown}."
        if factor == 1:
            return f"{none} nothing: the norm of the gradients, {shown}, is at most {highest}."
        text = f"{multiply} every .grad by {format_number(factor)}"
        if shown == highest:  # clipped already, and torch adds 1e-06 to the norm
            return f"{text} = {highest} / ({shown} + 1e−06): their norm is {highest} already."
        return f"{text}, because their norm, {shown}, is above {highest}."
    highest = call["clip_value"]
    outside = sum(int((grad.abs() > highest).sum()) for grad in grads.values())
    bounds = f"{format_number(-highest)} to {format_number(highest)}"
    if not outside:
        return f"{none} nothing: every number in .grad is from {bounds}."
    total = sum(grad.numel() for grad in grads.values())
    return f"{limit} {outside:,} of {pluralize(total, 'number')} in .grad to the range {bounds}."


def _preview_schedule(loop: TrainingLoop) -> str:
    if loop.scheduler is None:
        return "No scheduler is chosen."
    if loop.scheduler.spec.needs_loss and loop.loss is None:
        return "scheduler.step will fail: it compares losses, and there is none. Call forward."
    now = loop.hyper["lr"]
    try:
        new = loop.scheduler.next_lr(None if loop.loss is None else loop.loss.item())
    except ValueError:
        return "scheduler.step will fail: there is no learning rate for another step."
    same = f"leave lr at {format_number(now)}"
    change = f"change lr from {format_number(now)} to {format_number(new)}"
    first = " in the first group" if loop.groups() else ""
    text = f"scheduler.step will {same if new == now else change}{first}."
    return _joined(text, _too_early(loop))


def _describe_schedule(loop: TrainingLoop) -> str:
    groups, parts = loop.groups(), []
    changes = zip(loop.scheduled, loop.hyper_of_groups(), strict=True)
    for number, (before, now) in enumerate(changes):
        of = f" for {join_names(groups[number - 1].parameters)}" if number else ""
        parts += [
            f"{name}: {_shown(old)} → {_shown(now[name])}{of}"
            for name, old in before.items()
            if now[name] != old
        ]
    text = ", ".join(parts) if parts else f"lr stays {format_number(loop.hyper['lr'])}"
    return _joined(f"{text}.", _waits(loop), _too_early(loop))


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _waits(loop: TrainingLoop) -> str:
    """How long ReduceLROnPlateau has waited for a better loss."""
    assert loop.scheduler is not None
    scheduler = loop.scheduler.scheduler
    if not loop.scheduler.spec.needs_loss or not scheduler.num_bad_epochs:
        return ""
    waited = pluralize(scheduler.num_bad_epochs, "step")
    return f"{waited} without a better loss; lr changes after more than {scheduler.patience}."


def _too_early(loop: TrainingLoop) -> str:
    """What PyTorch warns of: the first learning rate is never used."""
    if loop.track.steps:
        return ""
    return "PyTorch warns here: call step first, or the first lr of the schedule is skipped."


def _after_setting_lr(loop: TrainingLoop, group: int) -> str:
    """What the scheduler will make of a learning rate that was set by hand; begins with a space."""
    if loop.scheduler is None or loop.scheduler.spec.needs_loss:
        return ""
    try:
        new = loop.scheduler.next_lr(group=group)
    except ValueError:
        return ""
    return f" The next scheduler.step makes it {format_number(new)}."


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return format_number(value) if isinstance(value, float) else str(value)
