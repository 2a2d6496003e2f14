"""One backward pass, watched through hooks on the autograd nodes.

The hooks are put on when `.backward()` is called and taken off when it returns, so the forward
code is not touched. A node's prehook sees the gradient after all hooks of the reader's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch

from explorer.language import is_uninitialised
from explorer.trace.capture import Kept, keep
from explorer.trace.torchviz_graph import DrawnNode, draw, leaf_of, walk


@dataclass
class RawStep:
    """What the hooks saw at one node; `function` indexes the pass's nodes."""

    function: int
    grads_in: list[Kept | None]
    saved: dict[str, Any]
    grads_out: list[Kept | None] = field(default_factory=list)
    #: By the name it was saved under, the id of each saved tensor; and those torch refused to
    #: show, because they were changed in place or freed.
    sources: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    #: At AccumulateGrad: the leaf's `.grad` before and after.
    before: Kept | None = None
    after: Kept | None = None


@dataclass
class RawPass:
    """A pass as it was recorded; live nodes are kept to match them with tensors later."""

    number: int
    line: int | None
    call: str
    roots: list[torch.Tensor]
    functions: list[Any]
    drawn: list[DrawnNode]
    edges: list[tuple[int, int, str]]
    steps: list[RawStep] = field(default_factory=list)
    ours: bool = False
    #: By id, the record of each leaf as the pass found it.
    leaves: dict[int, Any] = field(default_factory=dict)

    def watched(self, run: Callable[[], Any]) -> Any:
        """Run the backward call with a hook on every node. No hook remains, whatever happens."""
        handles = []
        try:
            for index, node in enumerate(self.functions):
                handles.append(node.register_prehook(self._before(index, node)))
                handles.append(node.register_hook(self._after(index, node)))
            return run()
        finally:
            for handle in handles:
                handle.remove()

    def _before(self, index: int, node: Any) -> Callable[[Any], None]:
        def before(grads: Sequence[torch.Tensor | None]) -> None:
            with torch._C.DisableTorchFunction():
                step = RawStep(index, _keep(grads), {})
                step.saved = saved_values(node, step)
                step.before = _stored(node)
                if leaf_of(node) is not None:
                    # It may become .grad itself, and be added to in the next pass.
                    _read(step.grads_in)
                self.steps.append(step)

        return before

    def _after(self, index: int, node: Any) -> Callable[[Any, Any], None]:
        def after(grads_out: Sequence[torch.Tensor | None], _: Any) -> None:
            for step in reversed(self.steps):
                if step.function == index:
                    step.grads_out = _keep(grads_out)
                    step.after = _stored(node)
                    return

        return after


def begin(
    number: int,
    line: int | None,
    call: str,
    roots: Sequence[torch.Tensor],
    names: dict[str, torch.Tensor],
) -> RawPass:
    """Look at the graph behind `roots` before the pass frees what it saved."""
    functions = walk(roots)
    drawn, edges = draw(roots, names, functions)
    return RawPass(number, line, call, list(roots), functions, drawn, edges)


def _keep(grads: Sequence[torch.Tensor | None]) -> list[Kept | None]:
    return [None if grad is None else keep(grad) for grad in grads]


def _read(kept: Sequence[Kept | None]) -> None:
    for item in kept:
        if item is not None:
            item.array()


def _stored(node: Any) -> Kept | None:
    """The `.grad` of the leaf an AccumulateGrad node belongs to, as it is now."""
    leaf = leaf_of(node)
    if leaf is None or leaf.grad is None:
        return None
    stored = keep(leaf.grad)
    _read([stored])
    return stored


def saved_values(node: Any, step: RawStep) -> dict[str, Any]:
    """What a node kept from the forward pass, by autograd's names: tensors as `Kept`.

    A tensor changed in place since, or freed, cannot be read: it is left out, and `step` told.
    """
    saved: dict[str, Any] = {}
    for attribute, name in _saved_names(type(node)):
        if is_uninitialised(node, attribute):
            continue
        try:
            value = getattr(node, attribute)
        except RuntimeError:
            step.refused.append(name)
            continue
        if isinstance(value, torch.Tensor):
            saved[name] = keep(value)
            step.sources[name] = id(value)
        elif isinstance(value, bool | int | float | str) or value is None:
            saved[name] = _signed(value)
        elif isinstance(value, tuple | list) and len(value) <= 8:
            if name == "indices":  # one tensor for each axis, None where the whole axis is meant
                saved |= {
                    f"{name}[{i}]": None if t is None else keep(t) for i, t in enumerate(value)
                }
            else:
                saved[name] = [_signed(v) for v in value if isinstance(v, int | float | bool)]
    if not saved and hasattr(node, "saved_tensors"):  # a torch.autograd.Function of the reader's
        try:
            kept = node.saved_tensors
        except RuntimeError:
            step.refused.append("saved_tensors")
            return saved
        saved = {f"saved_tensors[{i}]": keep(t) for i, t in enumerate(kept) if t is not None}
    return saved


def _signed(value: Any) -> Any:
    """torch shows a negative axis as a number of 64 bits without a sign."""
    wrapped = isinstance(value, int) and value >= 2**63
    return value - 2**64 if wrapped else value


def _saved_names(kind: type) -> list[tuple[str, str]]:
    prefix = "_saved_"
    if kind not in _SAVED_NAMES:
        names = [name for name in dir(kind) if name.startswith(prefix)]
        _SAVED_NAMES[kind] = [(name, name.removeprefix(prefix)) for name in names]
    return _SAVED_NAMES[kind]


#: By the class of a node. A class of the reader's own must not be kept for it.
_SAVED_NAMES: WeakKeyDictionary[type, list[tuple[str, str]]] = WeakKeyDictionary()
