"""Observes one backward pass through hooks on the autograd nodes.

The hooks are registered when `.backward()` is called and removed when it returns, so the forward
code is not affected. A node's prehook receives the gradient after all hooks of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from explorer.program import unpacking_once, without_unpacking
from explorer.trace.recording.capture import CapturedValues, capture_values
from explorer.trace.recording.objects import is_uninitialised, quiet
from explorer.trace.recording.torchviz_graph import (
    DrawnNode,
    draw_graph,
    leaf_of,
    saved_names,
    signature,
    walk_graph,
)


@dataclass
class RawStep:
    """What the hooks received at one node; `function` is its index in the pass's `functions`."""

    function: int
    grads_in: list[CapturedValues | None]
    saved: dict[str, Any]
    grads_out: list[CapturedValues | None] = field(default_factory=list)
    #: What the node itself computed, where a hook of the program has changed it.
    computed: list[CapturedValues | None] | None = None
    #: The id of each saved tensor, by the name under which it was saved.
    sources: dict[str, int] = field(default_factory=dict)
    #: The names of saved tensors that cannot be read: they were changed in place or freed.
    unreadable: list[str] = field(default_factory=list)
    #: At AccumulateGrad: the leaf's `.grad` before and after the step.
    before: CapturedValues | None = None
    after: CapturedValues | None = None


@dataclass(eq=False)
class RawPass:
    """A pass as it was recorded; the live nodes are held to match them with tensors later."""

    number: int
    line: int | None
    call: str
    roots: list[torch.Tensor]
    functions: list[Any]
    drawn: list[DrawnNode]
    edges: list[tuple[int, int, str]]
    steps: list[RawStep] = field(default_factory=list)
    ours: bool = False
    signature: tuple[Any, ...] | None = None
    #: By id of a leaf: its record as it was when the pass began.
    leaves: dict[int, Any] = field(default_factory=dict)

    def run_with_hooks(self, run: Callable[[], Any]) -> Any:
        """Run the backward call with hooks on every node; they are removed even if it fails."""
        handles = []
        try:
            for index, node in enumerate(self.functions):
                handles.append(node.register_prehook(self._make_prehook(index, node)))
                handles.extend(self._register_hooks(index, node))
            return run()
        finally:
            for handle in handles:
                handle.remove()

    def _make_prehook(self, index: int, node: Any) -> Callable[[Any], None]:
        def prehook(grads: Sequence[torch.Tensor | None]) -> None:
            with quiet():
                step = RawStep(index, _capture_gradients(grads), {})
                with unpacking_once():
                    step.saved = saved_values(node, step)
                step.before = _stored_gradient(node)
                if leaf_of(node) is not None:
                    # It may become .grad itself, which the next pass changes in place.
                    _keep_values(step.grads_in)
                self.steps.append(step)

        return prehook

    def _register_hooks(self, index: int, node: Any) -> Iterator[RemovableHandle]:
        """One hook after those of the program; where there are any, one before them too."""
        computed: list[_Computed] = []

        def before_others(grads_out: Sequence[torch.Tensor | None], _: Any) -> None:
            with quiet():
                captured = _capture_gradients(grads_out)
                computed[:] = zip(grads_out, map(_version, grads_out), captured, strict=True)

        def hook(grads_out: Sequence[torch.Tensor | None], _: Any) -> None:
            for step in reversed(self.steps):
                if step.function == index:
                    with quiet():
                        step.grads_out = _capture_gradients(grads_out)
                        step.after = _stored_gradient(node)
                        # Without other hooks, nothing was computed before them.
                        if any(map(_is_changed, computed, grads_out)):
                            step.computed = [captured for _, _, captured in computed]
                        computed.clear()
                    return

        yield (handle := node.register_hook(hook))
        hooks = handle.hooks_dict_ref()  # of this node, in the order in which they are called
        if len(hooks) > 1:
            registered = [*hooks.items()]
            hooks.clear()
            yield node.register_hook(before_others)
            hooks.update(registered)


def start_pass(
    number: int,
    line: int | None,
    call: str,
    roots: Sequence[torch.Tensor],
    names: dict[str, torch.Tensor],
    earlier: Sequence[RawPass] = (),
) -> RawPass:
    """Record the graph behind `roots` before the pass frees its saved tensors; with the drawing of
    an `earlier` pass, if it is the same."""
    functions = walk_graph(roots)
    with without_unpacking():
        known = signature(roots, names, functions)
        same = next((raw for raw in earlier if known is not None and known == raw.signature), None)
        if same is not None:
            drawn, edges = same.drawn, same.edges
        else:
            drawn, edges = draw_graph(roots, names, functions)
    return RawPass(number, line, call, list(roots), functions, drawn, edges, signature=known)


def mark_nodes(raw: RawPass) -> None:
    """Store on each node of a pass that the pass includes it. A node keeps its first, and the
    latest two."""
    for node in raw.functions:
        earlier = node.metadata.get("passes", ())
        latest = (*earlier[1:][-1:], (raw.number, raw.line))
        node.metadata["passes"] = (*earlier[:1], *latest)


def pass_before(node: Any, number: int) -> tuple[int, int | None] | None:
    """The number and the line of the latest pass before this one that included a node."""
    earlier = [known for known in node.metadata.get("passes", ()) if known[0] < number]
    return earlier[-1] if earlier else None


def _capture_gradients(grads: Sequence[torch.Tensor | None]) -> list[CapturedValues | None]:
    return [None if grad is None else capture_values(grad) for grad in grads]


#: A gradient as the node computed it: the tensor, its version, and its values.
_Computed = tuple[torch.Tensor | None, int, CapturedValues | None]


def _is_changed(computed: _Computed, grad: torch.Tensor | None) -> bool:
    """Whether hooks have made another gradient of it; a copy with the same values is none."""
    before, version, captured = computed
    if before is grad:
        return version != _version(grad)
    return captured is None or grad is None or not captured.still_equals(grad)


def _version(grad: torch.Tensor | None) -> int:
    """How often it was changed in place; in inference mode nothing counts that."""
    return 0 if grad is None or grad.is_inference() else grad._version


def _keep_values(captures: Sequence[CapturedValues | None]) -> None:
    """Keep the values of large tensors: they may be changed in place later."""
    for captured in captures:
        if captured is not None:
            captured.keep()


def _stored_gradient(node: Any) -> CapturedValues | None:
    """The `.grad` of the leaf an AccumulateGrad node belongs to, as it is now."""
    leaf = leaf_of(node)
    if leaf is None or leaf.grad is None:
        return None
    captured = capture_values(leaf.grad)
    _keep_values([captured])
    return captured


def saved_values(node: Any, step: RawStep) -> dict[str, Any]:
    """What a node saved in the forward pass, by autograd's names; tensors as `CapturedValues`.

    A tensor that has since been changed in place or freed cannot be read: it is left out, and
    its name is added to `step.unreadable`.
    """
    saved: dict[str, Any] = {}
    for attribute, name in saved_names(type(node)):
        if is_uninitialised(node, attribute):
            continue
        try:
            value = getattr(node, attribute)
        except RuntimeError:
            step.unreadable.append(name)
            continue
        if isinstance(value, torch.Tensor):
            saved[name] = capture_values(value)
            step.sources[name] = id(value)
        elif isinstance(value, bool | int | float | str) or value is None:
            saved[name] = _signed(value)
        elif isinstance(value, tuple | list) and len(value) <= 8:
            if name == "indices":  # one tensor for each axis, None for a whole axis
                for i, t in enumerate(value):
                    saved[f"{name}[{i}]"] = None if t is None else capture_values(t)
            else:
                saved[name] = [_signed(v) for v in value if isinstance(v, int | float | bool)]
    if not saved:  # the program's own autograd.Function
        try:
            tensors = getattr(node, "saved_tensors", None)
        except RuntimeError:
            step.unreadable.append("saved_tensors")
            return saved
        if tensors is None:
            return saved
        saved = {
            f"saved_tensors[{i}]": capture_values(t) for i, t in enumerate(tensors) if t is not None
        }
    return saved


def _signed(value: Any) -> Any:
    """The value; torch returns a negative axis as an unsigned 64-bit number."""
    is_negative = isinstance(value, int) and value >= 2**63
    return value - 2**64 if is_negative else value
