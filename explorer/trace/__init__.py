"""Running code to a Trace: recording, hooks, torchviz graph, backward steps, checks."""

from explorer.trace.codec import from_plain, to_plain
from explorer.trace.records import (
    Array,
    BackwardPass,
    BackwardStep,
    Edge,
    Flow,
    Node,
    Plain,
    Summary,
    TensorRecord,
    Trace,
)

__all__ = [
    "Array",
    "BackwardPass",
    "BackwardStep",
    "Edge",
    "Flow",
    "Node",
    "Plain",
    "Summary",
    "TensorRecord",
    "Trace",
    "from_plain",
    "to_plain",
]
