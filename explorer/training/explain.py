"""One plain sentence about each press: what it will do, and what it did."""

from __future__ import annotations

from torch import Tensor

from explorer.training.arithmetic import update
from explorer.training.live_session import Machine
from explorer.training.numbers import count, element, in_words


def before_press(machine: Machine) -> dict[str, str]:
    """What each press would do now, by action."""
    return {
        "zero_grad": f"zero_grad {_zero_grad(machine)}",
        "forward": f"forward {_forward(machine)}",
        "backward": f"backward {_backward(machine)}",
        "step": f"step {_step(machine)}",
        "iteration": "One iteration is zero_grad, forward, backward and step.",
        "reset": f"reset will start again from seed {machine.seed}, with the same first numbers.",
    }


def after(machine: Machine, action: str, argument: object) -> str:
    """What this action has just done."""
    parameters = machine.live.parameters
    if action == "zero_grad":
        now = "None" if argument else "filled with zeros"
        return f".grad of {_names(parameters)} is {now} now."
    if action == "forward":
        return f"The loss is {in_words(machine.track.losses[-1])}. Its graph waits for backward."
    if action == "backward":
        return _after_backward(machine)
    if action == "step":
        return _after_step(machine)
    if action == "set":
        assert isinstance(argument, dict)
        return f"{', '.join(f'{k} is {v}' for k, v in argument.items())} from the next step on."
    return f"Started again from seed {machine.seed}."


def after_iterations(machine: Machine, wanted: int, done: int) -> str:
    """What `iterate` did; `done` may be fewer than `wanted`."""
    track = machine.track
    loss = f" The last loss is {in_words(track.losses[-1])}." if done else ""
    if done < wanted:
        kept = f"the state after iteration {done} is kept" if done else "nothing was changed"
        return f"Iteration {done + 1} of {wanted} failed; {kept}.{loss}"
    return f"{count(done, 'iteration')} done.{loss} {_sum_of(track.passes)}".strip()


def _after_backward(machine: Machine) -> str:
    parameters = machine.live.parameters
    without = [name for name, p in parameters.items() if p.grad is None]
    if len(without) == len(parameters):
        return "No parameter received a gradient: the loss depends on none of them."
    name, parameter = next((n, p) for n, p in parameters.items() if p.grad is not None)
    assert parameter.grad is not None
    parts = [f".grad of {_first(name, parameter)} is {_number(parameter.grad)}."]
    if without:
        parts.append(f"{', '.join(without)} took no part, so .grad stays None there.")
    parts += [_sum_of(machine.track.passes), "The graph is gone."]
    return " ".join(filter(None, parts))


def _after_step(machine: Machine) -> str:
    parameters = machine.live.parameters
    if all(p.grad is None for p in parameters.values()):
        return "Nothing changed: no parameter has a gradient. backward fills .grad."
    before = machine.last_step
    assert before is not None
    name, parameter = next((n, p) for n, p in parameters.items() if p.grad is not None)
    change = f"{_number(before.parameters[name])} → {_number(parameter)}"
    text = f"{_first(name, parameter)}: {change}."
    same = all(bool((before.parameters[n] == p).all()) for n, p in parameters.items())
    return f"{text} Nothing moved: {_why_still(machine)}." if same else text


def _why_still(machine: Machine) -> str:
    if machine.hyper["lr"] == 0:
        return "lr is 0"
    grads = [p.grad for p in machine.live.parameters.values() if p.grad is not None]
    if all(not bool(grad.any()) for grad in grads):
        return "every gradient is 0"
    return "the update is too small to change these numbers"


def _sum_of(passes: int) -> str:
    return f".grad is now the sum of {passes} backward passes." if passes > 1 else ""


def _zero_grad(machine: Machine) -> str:
    parameters = machine.live.parameters
    if all(p.grad is None for p in parameters.values()):
        return "will change nothing: every .grad is None already."
    return f"will forget .grad of {_names(parameters)}."


def _forward(machine: Machine) -> str:
    name, parameter = next(iter(machine.live.parameters.items()))
    where = f"{_first(name, parameter)} = {_number(parameter)}"
    if len(machine.live.parameters) > 1 or parameter.numel() > 1:
        where += ", …"
    dropped = "; the graph that is waiting is dropped" if machine.graph == "live" else ""
    return f"will compute the loss at {where} and make its graph{dropped}."


def _backward(machine: Machine) -> str:
    if machine.graph == "none":
        return "will fail: there is no graph. forward makes one."
    if machine.graph == "freed":
        return "will fail: the graph has been used. forward makes a new one."
    passes = machine.track.passes
    if passes:
        held = "1 pass" if passes == 1 else f"{passes} passes"
        return f"will ADD the gradient to .grad, which holds {held} already."
    return f"will put the gradient of the loss into .grad of {_names(machine.live.parameters)}."


def _step(machine: Machine) -> str:
    parameters, hyper = machine.live.parameters, machine.hyper
    ready = {name: p for name, p in parameters.items() if p.grad is not None}
    if not ready:
        return "will change nothing: no parameter has a gradient. backward fills .grad."
    name, p = next(iter(ready.items()))
    grad = p.grad
    assert grad is not None
    label = _first(name, p)
    more = sum(q.numel() for q in ready.values()) - 1
    rest = f", and likewise for {count(more, 'more number')}" if more else ""
    plain = not any(hyper.get(k) for k in ("momentum", "weight_decay"))
    if machine.optimizer_name == "SGD" and plain:
        verb, word = ("add", "to") if hyper["maximize"] else ("subtract", "from")
        product = f"{in_words(hyper['lr'])} · {_bracketed(_number(grad))}"
        return f"will {verb} {product} {word} {label}{rest}."
    if p.is_complex():
        return f"will move {label}{rest}."
    state = {
        k: v.flatten()[:1] if isinstance(v, Tensor) and v.shape == p.shape else v
        for k, v in machine.optimizer.state.get(p, {}).items()
    }
    first = p.detach().flatten()[:1], grad.flatten()[:1]
    try:
        new = update(name, machine.optimizer_name, *first, state, hyper).after
    except RuntimeError:  # torch refuses a number beyond the dtype
        return "will fail: a setting is too large for the parameters' dtype."
    return f"will move {label} from {_number(p)} to {in_words(new[0])}{rest}."


def _names(parameters: dict[str, Tensor]) -> str:
    names = list(parameters)
    return ", ".join(names) if len(names) <= 3 else count(len(names), "parameter")


def _first(name: str, tensor: Tensor) -> str:
    return element(name, (0,) * tensor.dim())


def _number(tensor: Tensor) -> str:
    """The first element."""
    return in_words(tensor.detach().flatten()[0].item())


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("−") else number
