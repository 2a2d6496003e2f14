"""Which gradients met at a node: where a value was used several times, its gradients are added."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from explorer.trace.records import Array, BackwardPass


@dataclass(frozen=True)
class Path:
    """A gradient that reached a node: from which node, and for which of its results."""

    source: str
    slot: int
    grad: Array


def paths(passed: BackwardPass) -> dict[str, tuple[Path, ...]]:
    """For each node of a pass, the gradients handed to it, in the order they came.

    Their sum by `slot` is the node's gradient in, unless a hook changed it; the node where
    backward began has its starting gradient besides.
    """
    found: dict[str, list[Path]] = defaultdict(list)
    for step in passed.steps:
        for flow in step.grads_out:
            if flow.to is not None and flow.grad is not None:
                found[flow.to].append(Path(step.node, flow.slot, flow.grad))
    return {node: tuple(items) for node, items in found.items()}
