"""One plain sentence about each press: what it will do, and what it did."""

from __future__ import annotations

from torch import Tensor

from explorer.training.formatting import element_name, format_number, pluralize
from explorer.training.live_session import LiveSession


def preview_presses(session: LiveSession) -> dict[str, str]:
    """What each press would do now, by action."""
    return {
        "zero_grad": f"zero_grad {_preview_zero_grad(session)}",
        "forward": f"forward {_preview_forward(session)}",
        "backward": f"backward {_preview_backward(session)}",
        "step": f"step {_preview_step(session)}",
        "iteration": "One iteration is zero_grad, forward, backward and step.",
        "reset": f"reset will start again from seed {session.seed}, with the same initial values.",
    }


def describe_press(session: LiveSession, action: str, argument: object) -> str:
    """What this action has just done."""
    if action == "zero_grad":
        now = "None" if argument else "filled with zeros"
        return f"{_grads(session.instance.parameters)} is now {now}."
    if action == "forward":
        loss = format_number(session.track.losses[-1])
        return f"The loss is {loss}. The graph is ready for backward."
    if action == "backward":
        return _describe_backward(session)
    if action == "step":
        return _describe_step(session)
    if action == "set":
        assert isinstance(argument, dict)
        return f"{', '.join(f'{k} is {v}' for k, v in argument.items())} from the next step on."
    return f"Started again from seed {session.seed}."


def describe_iterations(session: LiveSession, wanted: int, done: int) -> str:
    """What `iterate` did; `done` may be fewer than `wanted`."""
    track = session.track
    loss = f" The last loss is {format_number(track.losses[-1])}." if done else ""
    if done < wanted:
        state = f"the state after iteration {done} is kept" if done else "nothing was changed"
        return f"Iteration {done + 1} of {wanted} failed; {state}.{loss}"
    return f"{pluralize(done, 'iteration')} done.{loss} {_sum_of(track.passes)}".strip()


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
    same = all(bool((before.parameters[n] == p).all()) for n, p in parameters.items())
    return f"{text} Nothing moved: {_why_nothing_moved(session)}." if same else text


def _why_nothing_moved(session: LiveSession) -> str:
    if session.hyper["lr"] == 0:
        return "lr is 0"
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
    return f"will compute the loss at {point} and build a new graph{current}."


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
    hyper = session.hyper
    ready = {n: p for n, p in session.instance.parameters.items() if p.grad is not None}
    if not ready:
        return "will change nothing: no parameter has a gradient. backward fills .grad."
    name, p = next(iter(ready.items()))
    grad = p.grad
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
    state = {
        k: v.flatten()[:1] if isinstance(v, Tensor) and v.shape == p.shape else v
        for k, v in session.optimizer.state.get(p, {}).items()
    }
    first = p.detach().flatten()[:1], grad.flatten()[:1]
    try:
        new = session.spec.update(name, *first, state, hyper).after
    except RuntimeError:  # torch refuses a number beyond the dtype
        return "will fail: a setting is too large for the parameters' dtype."
    return f"will move {label} from {_number(p)} to {format_number(new[0])}{rest}."


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
