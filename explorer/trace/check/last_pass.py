"""A recorder that keeps what the last backward sent to each leaf, and a tape of the operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from explorer.language import Environment
from explorer.trace.check.tape import Tape
from explorer.trace.recorder import ProgramRecorder
from explorer.trace.running import Upstream, _gradient
from explorer.trace.torchviz_graph import leaf_of, walk


@dataclass
class Last:
    """The last backward: its roots, the gradients it started from, and what reached each leaf."""

    number: int
    roots: list[torch.Tensor]
    starts: list[torch.Tensor | None]
    grads: dict[int, torch.Tensor]
    leaves: dict[int, torch.Tensor]


class PassKeeper(ProgramRecorder):
    """A recorder that keeps the last pass's gradients whole, and a tape of the operations."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(**limits)
        self.tape = Tape(lambda: self.line)
        self.last: Last | None = None
        self.upstream: Upstream = None
        self._asked: tuple[Any, Any] = (None, None)

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        if what in _GIVEN:
            place, name = _GIVEN[what]
            starts = args[place] if len(args) > place else kwargs.get(name)
            inputs = args[1] if len(args) > 1 else kwargs.get("inputs")
            self._asked = (starts, inputs)
        return super().call(what, receiver, function, *args, **kwargs)

    def backward(
        self, what: str, roots: list[torch.Tensor], run: Callable[[], Any], ours: bool = False
    ) -> Any:
        starts, inputs = self._asked if not ours else (None, None)
        if ours and self.upstream is not None:
            seen = self.find(roots[0])
            starts = None if seen is None else _gradient(seen, self.upstream)
        given = list(starts) if isinstance(starts, list | tuple) else [starts]
        last = Last(self.pass_count + 1, roots, given + [None] * len(roots), {}, {})
        with torch._C.DisableTorchFunction():
            leaves = [(node, leaf_of(node)) for node in walk(roots)]
            handles = [
                node.register_prehook(_keeper(last, leaf))
                for node, leaf in leaves
                if leaf is not None
            ]
        try:
            result = super().backward(what, roots, run, ours)
        finally:
            for handle in handles:
                handle.remove()
        if what == "torch.autograd.grad":
            wanted: list[Any] = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
            for leaf, grad in zip(wanted, result, strict=False):
                if leaf.grad_fn is None:
                    _keeper(last, leaf)((grad,))
        self.last = last
        return result


#: Where each call takes the gradient to start from: its position and its name.
_GIVEN = {
    "Tensor.backward": (0, "gradient"),
    "torch.autograd.grad": (2, "grad_outputs"),
    "torch.autograd.backward": (1, "grad_tensors"),
}


def _keeper(last: Last, leaf: torch.Tensor) -> Callable[[Any], None]:
    def keep(grads: Sequence[torch.Tensor | None]) -> None:
        if grads[0] is not None:
            with torch._C.DisableTorchFunction():
                last.grads[id(leaf)] = grads[0].detach().clone()
                last.leaves[id(leaf)] = leaf

    return keep


def watch_apply(environment: Environment, tape: Tape) -> None:
    """autograd.Function.apply is no torch function: hand its calls to the tape ourselves."""
    get = environment.names[".get"]

    def reading(receiver: Any, name: str) -> Any:
        value = get(receiver, name)
        if name != "apply" or not isinstance(receiver, type):
            return value
        return lambda *args, **kwargs: tape.call(value, args, kwargs)

    environment.names[".get"] = reading
