"""What holds NaN or infinity in a run, by identity, and how a sentence says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from explorer import limits
from explorer.trace.explain.expressions import name_in_text
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.capture import CapturedValues, to_numpy
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaf_of
from explorer.trace.records import Summary
from explorer.trace.text import join_names, number, shortened

#: Names in one sentence, which stays short.
MOST_NAMES = 5


def is_nonfinite(captured: CapturedValues | None) -> bool:
    """Whether values contain NaN or infinity."""
    array = None if captured is None else captured.array()
    if isinstance(array, Summary):
        return array.nonfinite > 0
    return _is_floating(array) and not bool(np.isfinite(array).all())


def has_nan(captured: CapturedValues | None) -> bool:
    """Whether values contain NaN; where only their number is known, what is not finite counts."""
    array = None if captured is None else captured.array()
    if isinstance(array, Summary):
        return array.nonfinite > 0
    return _is_floating(array) and bool(np.isnan(array).any())


def values_of(live: LiveTensor) -> np.ndarray | None:
    """The values of a tensor; of a large one, as long as it has not been changed since."""
    array = live.captured.array()
    if isinstance(array, Summary):
        tensor = live.tensor
        unchanged = not tensor.is_inference() and tensor._version == live.version
        is_readable = unchanged and tensor.numel() <= limits.MOST_SEARCHED_ELEMENTS
        array = to_numpy(tensor) if is_readable else None
    return array if isinstance(array, np.ndarray) and array.dtype.kind in "fiub" else None


def values_in(result: LiveTensor, source: LiveTensor) -> np.ndarray | None:
    """The values that an input had when an operation read it; None if its record is older."""
    is_current = not result.operation or id(source) in result.current_inputs
    return values_of(source) if is_current else None


def last_gradients(raw_pass: RawPass) -> Iterator[CapturedValues]:
    """The gradients at the ends of a pass: those passed on to a leaf, or to no step at all."""
    visited = {raw_pass.functions[step.function] for step in raw_pass.steps}
    for step in raw_pass.steps:
        targets = raw_pass.functions[step.function].next_functions
        for (target, _), kept in zip(targets, step.grads_out, strict=False):
            if kept is not None and (target not in visited or leaf_of(target) is not None):
                yield kept


@dataclass(frozen=True)
class Spoiled:
    """The names of what is not finite because of one origin: values, and leaves' gradients."""

    values: tuple[str, ...]
    gradients: tuple[str, ...]
    has_nan: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that show it."""
        return tuple(dict.fromkeys((*self.gradients, *self.values)))

    def sentence(self, but: str = "") -> str:
        """ " loss and w.grad are NaN because of it." """
        names = [name for name in self.values if name != but]
        names += [f"{name}.grad" for name in self.gradients]
        if not names:
            return ""
        verb = "is" if len(set(names)) == 1 else "are"
        what = "NaN" if self.has_nan else "not finite"
        return f" {join_names(names, MOST_NAMES)} {verb} {what} because of it."


def spoiled_by(
    origins: Iterable[LiveTensor], nodes: Iterable[Any], raw_pass: RawPass, analysis: RunAnalysis
) -> Spoiled:
    """What is not finite because of tensors, in forward, or nodes, in backward. A gradient counts
    if its leaf can be reached from one of them."""
    affected = {id(origin) for origin in origins}
    tensors = {id(origin.tensor) for origin in origins}
    for record in analysis.records if affected else ():
        if is_nonfinite(record.captured) and any(
            id(i) in affected or id(i.tensor) in tensors for i in record.inputs
        ):
            affected.add(id(record))
            tensors.add(id(record.tensor))
    values = {
        name: live
        for name, live in analysis.finals.items()
        if isinstance(live, LiveTensor)
        and (id(live) in affected or id(live.tensor) in tensors)
        and is_nonfinite(live.captured)
    }
    below = _below([*nodes, *_nodes_using(raw_pass, tensors, analysis)])
    gradients: dict[str, CapturedValues] = {}
    for step in raw_pass.steps:
        leaf = leaf_of(raw_pass.functions[step.function])
        kept = step.grads_in[0] if step.grads_in else None
        if leaf is None or kept is None or raw_pass.functions[step.function] not in below:
            continue
        if is_nonfinite(kept):
            gradients.setdefault(analysis.name_of(leaf), kept)
    found = [*(live.captured for live in values.values()), *gradients.values()]
    return Spoiled(tuple(values), tuple(gradients), any(map(has_nan, found)))


def _nodes_using(raw_pass: RawPass, tensors: set[int], analysis: RunAnalysis) -> list[Any]:
    """The nodes whose operation has one of these tensors as an input or a result."""
    return [
        node
        for node in raw_pass.functions
        for live in analysis.by_node.get(id(node), ())
        if id(live.tensor) in tensors or any(id(i.tensor) in tensors for i in live.inputs)
    ]


def _below(starts: list[Any]) -> set[Any]:
    """The nodes that a gradient reaches from these."""
    visited, waiting = set(starts), list(starts)
    while waiting:
        for target, _ in waiting.pop().next_functions:
            if target is not None and target not in visited:
                visited.add(target)
                waiting.append(target)
    return visited


def element_text(name: str, array: np.ndarray, here: np.ndarray) -> str:
    """Which element of a tensor has which value: "w[0] is 0", "2 elements of w are 0"."""
    value = number(array[here].flat[0] if array.shape == here.shape else array.flat[0])
    count = int(here.sum())
    if array.shape != here.shape or array.ndim == 0:
        return f"{name} is {value}" if array.size == 1 else f"{name} contains {value}"
    if count == 1 and name.isidentifier():
        place = ", ".join(str(int(i)) for i in np.argwhere(here)[0])
        return f"{name}[{place}] is {value}"
    if count == 1:
        return f"one element of {name} is {value}"
    same = bool((array[here] == array[here].flat[0]).all())
    verb = f"are {value}" if same else f"are like {value}"
    if count == array.size:
        return f"all elements of {name} {verb}" if same else f"{name} contains {value}"
    return f"{count} elements of {name} {verb}" if same else f"{name} contains {value}"


def _is_floating(array: Any) -> TypeGuard[np.ndarray]:
    return array is not None and array.dtype.kind in "fc"


def spoken(live: LiveTensor) -> str:
    """The name of a tensor in a sentence, as the program writes it."""
    return shortened(name_in_text(live))
