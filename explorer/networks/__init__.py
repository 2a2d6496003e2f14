"""Models and their data: presets, reports layer by layer, hook experiments, cost, graphs.

`problem(name)` gives a preset, `from_program(text)` the network of a program, and
`inspect(model, *inputs)` reports on any model layer by layer.
torchvision is imported only when one of its classifiers is built.
"""

from explorer.networks.attention import AttentionLayer, AttentionMaps, attention_maps
from explorer.networks.from_program import from_program
from explorer.networks.graphs import (
    COLOURS,
    FoldedGraph,
    FoldedNode,
    FullGraph,
    fold,
    folded_dot,
    full_graph,
)
from explorer.networks.hooks import (
    HOOK_ACTIONS,
    HOOK_KINDS,
    GradientChange,
    Hook,
    HookEvent,
    HookExperiment,
    HookKind,
    HookMemory,
    HookValue,
    measure_hook_memory,
    try_hooks,
)
from explorer.networks.inspection import inspect
from explorer.networks.memory import MODES, KeptMemory, MemoryPoint, MemoryRun, trace_memory
from explorer.networks.presets import CPU, devices, names, on_device, problem
from explorer.networks.problems import SampledProblem
from explorer.networks.records import (
    LayerError,
    LayerRecord,
    Memory,
    ParameterRecord,
    Report,
    Structure,
)
from explorer.networks.statistics import Histogram, Statistics, histogram
from explorer.networks.time_steps import TimeSteps, gradients_over_time
from explorer.networks.training_steps import AccumulationStep, accumulate

__all__ = [
    "COLOURS",
    "CPU",
    "HOOK_ACTIONS",
    "HOOK_KINDS",
    "MODES",
    "AccumulationStep",
    "AttentionLayer",
    "AttentionMaps",
    "FoldedGraph",
    "FoldedNode",
    "FullGraph",
    "GradientChange",
    "Histogram",
    "Hook",
    "HookEvent",
    "HookExperiment",
    "HookKind",
    "HookMemory",
    "HookValue",
    "KeptMemory",
    "LayerError",
    "LayerRecord",
    "Memory",
    "MemoryPoint",
    "MemoryRun",
    "ParameterRecord",
    "Report",
    "SampledProblem",
    "Statistics",
    "Structure",
    "TimeSteps",
    "accumulate",
    "attention_maps",
    "devices",
    "fold",
    "folded_dot",
    "from_program",
    "full_graph",
    "gradients_over_time",
    "histogram",
    "inspect",
    "measure_hook_memory",
    "names",
    "on_device",
    "problem",
    "trace_memory",
    "try_hooks",
]
