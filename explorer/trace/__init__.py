"""From a program to its Trace: recording, hooks, torchviz graph, backward steps, checks.

`run` returns the Trace of a program, `prove` the same with its answers tried; `to_plain` and
`from_plain` convert it to JSON and back; `merge` draws one node in place of several. `check.check`
compares the program's gradients with central differences; `script.script` turns the Trace into a
plain PyTorch script.
"""

from explorer.program.figures import Figure
from explorer.trace.codec import from_plain, to_plain
from explorer.trace.in_place import record
from explorer.trace.proof.prove import prove
from explorer.trace.recording.pass_graph import dot_text, merge
from explorer.trace.records import (
    Answer,
    Array,
    BackwardPass,
    BackwardStep,
    Edge,
    Flow,
    Node,
    Plain,
    Summary,
    Symptom,
    TensorRecord,
    Trace,
)
from explorer.trace.running import run

__all__ = [
    "Answer",
    "Array",
    "BackwardPass",
    "BackwardStep",
    "Edge",
    "Figure",
    "Flow",
    "Node",
    "Plain",
    "Summary",
    "Symptom",
    "TensorRecord",
    "Trace",
    "dot_text",
    "from_plain",
    "merge",
    "prove",
    "record",
    "run",
    "to_plain",
]
