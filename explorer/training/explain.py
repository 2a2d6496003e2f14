"""One plain sentence about each press: what it will do, and what it did."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from explorer.trace.text import join_names
from explorer.training.batches import whole_problem
from explorer.training.call_errors import preview_step_error
from explorer.training.explain_options import (
    after_setting_lr,
    describe_clip,
    describe_schedule,
    preview_clip,
    preview_schedule,
)
from explorer.training.formatting import element_name, format_number, pluralize
from explorer.training.live_session import LiveSession
from explorer.training.optimizer_spec import RULE_ERRORS


def preview_presses(session: LiveSession) -> dict[str, str]:
    """What each press would do now, by action."""
    return {
        "zero_grad": f"zero_grad {_preview_zero_grad(session)}",
        "forward": f"forward {_preview_forward(session)}",
        "backward": f"backward {_preview_backward(session)}",
        "clip": preview_clip(session),
        "step": f"step {_preview_step(session)}",
        "schedule": preview_schedule(session),
        "iteration": f"One iteration is {join_names(_iteration(session), 9)}.",
        "reset": f"reset will start again from {_start(session)}.",
    }


def describe_press(session: LiveSession, action: str, argument: object) -> str:
    """What this action has just done."""
    if action == "zero_grad":
        now = "None" if argument else "filled with zeros"
        return f"{_grads(session.instance.parameters)} is now {now}."
    if action == "forward":
        loss = format_number(session.track.losses[-1])
        batch = session.instance.batch()
        if batch is None:
            return f"The loss is {loss}. The graph is ready for backward."
        return (
            f"The loss of {pluralize(len(batch.indices), 'sample')} is {loss}: batch "
            f"{batch.number:,} of {batch.of:,} in epoch {batch.epoch:,}. The graph is ready for "
            "backward."
        )
    if action == "backward":
        return _describe_backward(session)
    if action == "step":
        return _describe_step(session)
    if action == "clip":
        return describe_clip(session)
    if action == "schedule":
        return describe_schedule(session)
    if action == "set":
        assert isinstance(argument, dict)
        new = f"{_changes(session, argument)} from the next step on."
        if "lr" in argument:
            new += after_setting_lr(session, argument.get("group", 0))
        return new
    if action == "move":
        return f"{_where(session)}. The run starts here."
    return f"Started again from {_start(session)}."


def _changes(session: LiveSession, argument: dict[str, Any]) -> str:
    """The new settings, and of which parameters they are."""
    new = dict(argument)
    group = new.pop("group", 0)
    names = f" for {join_names(session.groups()[group - 1].parameters)}" if group else ""
    return f"{', '.join(f'{k} is {v}' for k, v in new.items())}{names}"


def _start(session: LiveSession) -> str:
    return "the point you chose" if "start" in session.options else f"seed {session.seed}"


def _where(session: LiveSession) -> str:
    """The parameters, as far as they are few."""
    parameters = session.instance.parameters
    if sum(p.numel() for p in parameters.values()) > 3:
        return "The parameters are where you put them"
    return ", ".join(
        f"{element_name(name, index)} = {format_number(p[index].item())}"
        for name, p in parameters.items()
        for index in np.ndindex(*p.shape)
    )


def describe_iterations(session: LiveSession, wanted: int, done: int) -> str:
    """What `iterate` did; `done` may be fewer than `wanted`."""
    track = session.track
    loss = f" The last loss is {format_number(track.losses[-1])}." if done else ""
    if done < wanted:
        state = f"the state after iteration {done} is kept" if done else "nothing was changed"
        return f"Iteration {done + 1} of {wanted} failed; {state}.{loss}"
    if session.schedule:
        loss += f" lr is now {format_number(session.hyper['lr'])}."
    return f"{pluralize(done, 'iteration')} done.{loss} {_sum_of(track.passes)}".strip()


def _iteration(session: LiveSession) -> list[str]:
    """The calls of one iteration, in their order."""
    clip = [session.options["clip"]["name"]] if "clip" in session.options else []
    schedule = ["scheduler.step"] if session.schedule else []
    return ["zero_grad", "forward", "backward", *clip, "step", *schedule]


def _describe_backward(session: LiveSession) -> str:
    parameters = session.instance.parameters
    without = [name for name, p in parameters.items() if p.grad is None]
    if len(without) == len(parameters):
        return "No parameter received a gradient: the loss depends on none of them."
    name, parameter = next((n, p) for n, p in parameters.items() if p.grad is not None)
    assert parameter.grad is not None
    parts = [f"{_first(f'{name}.grad', parameter)} is {_number(parameter.grad)}."]
    if without:
        parts.append(f"The loss does not depend on {', '.join(without)}: .grad stays None.")
    parts += [_sum_of(session.track.passes), "The graph is gone."]
    return " ".join(filter(None, parts))


def _describe_step(session: LiveSession) -> str:
    parameters = session.instance.parameters
    if all(p.grad is None for p in parameters.values()):
        return "Nothing changed: no parameter has a gradient. backward fills .grad."
    before = session.last_step
    assert before is not None
    name, parameter = next((n, p) for n, p in parameters.items() if p.grad is not None)
    change = f"{_number(before.parameters[name])} → {_number(parameter)}"
    text = f"{_first(name, parameter)}: {change}."
    if before.evaluated is not None:
        text = f"step computed the loss {pluralize(before.evaluated.evaluations, 'time')}. {text}"
    same = all(bool((before.parameters[n] == p).all()) for n, p in parameters.items())
    return f"{text} Nothing moved: {_why_nothing_moved(session)}." if same else text


def _why_nothing_moved(session: LiveSession) -> str:
    if all(session.settings_of(name)["lr"] == 0 for name in session.instance.parameters):
        return "lr is 0"
    if session.spec.evaluates:
        return "the gradient or the change is below its tolerance"
    grads = [p.grad for p in session.instance.parameters.values() if p.grad is not None]
    if all(not bool(grad.any()) for grad in grads):
        return "every gradient is 0"
    return "the update is too small to change these numbers"


def _sum_of(passes: int) -> str:
    return f".grad is now the sum of {passes} backward passes." if passes > 1 else ""


def _preview_zero_grad(session: LiveSession) -> str:
    parameters = session.instance.parameters
    if all(p.grad is None for p in parameters.values()):
        return "will change nothing: every .grad is None already."
    return f"clears {_grads(parameters)}."


def _preview_forward(session: LiveSession) -> str:
    parameters = session.instance.parameters
    name, parameter = next(iter(parameters.items()))
    point = f"{_first(name, parameter)} = {_number(parameter)}"
    if len(parameters) > 1 or parameter.numel() > 1:
        point += ", …"
    current = ", discarding the current one" if session.graph == "live" else ""
    samples = " of the next batch" if whole_problem(session.problem) is not session.problem else ""
    return f"will compute the loss{samples} at {point} and build a new graph{current}."


def _preview_backward(session: LiveSession) -> str:
    if session.graph == "none":
        return "will fail: there is no graph. forward builds one."
    if session.graph == "freed":
        return "will fail: the graph has been used. forward builds a new one."
    passes = session.track.passes
    if passes:
        return f"will ADD the gradient to .grad, which already holds {_passes(passes)}."
    return f"will store the gradient of the loss in {_grads(session.instance.parameters)}."


def _preview_step(session: LiveSession) -> str:
    if session.spec.evaluates:
        moves = pluralize(session.hyper["max_iter"], "move")
        return f"will make up to {moves}, calling zero_grad, forward and backward itself for each."
    ready = {n: p for n, p in session.instance.parameters.items() if p.grad is not None}
    if not ready:
        return "will change nothing: no parameter has a gradient. backward fills .grad."
    name, p = next(iter(ready.items()))
    grad, hyper = p.grad, session.settings_of(name)
    assert grad is not None
    label = _first(name, p)
    more = sum(q.numel() for q in ready.values()) - 1
    rest = f", and likewise for {pluralize(more, 'more number')}" if more else ""
    plain = not any(hyper.get(k) for k in ("momentum", "weight_decay"))
    if session.spec.name == "SGD" and plain:
        verb, word = ("add", "to") if hyper["maximize"] else ("subtract", "from")
        product = f"{format_number(hyper['lr'])} · {_bracketed(_number(grad))}"
        return f"will {verb} {product} {word} {label}{rest}."
    if p.is_complex():
        return f"will move {label}{rest}."
    state = session.optimizer.state.get(p, {})
    try:
        new = session.spec.update(name, p.detach(), grad, state, hyper, most=1).after
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
