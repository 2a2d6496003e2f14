"""Models and their data: presets, reports layer by layer, hook experiments, cost, graphs.

`problem(name)` gives a preset, `inspect(model, *inputs)` reports on any model layer by layer.
torchvision is imported only when one of its classifiers is built.
"""

from explorer.networks.graph_dot import COLOURS, folded_dot
from explorer.networks.graphs import FoldedGraph, FoldedNode, FullGraph, fold, full_graph
from explorer.networks.hook_experiments import (
    BackwardHookComparison,
    GradientChange,
    HookExperiment,
    HookMemory,
    compare_backward_hooks,
    measure_hook_memory,
    try_hooks,
)
from explorer.networks.hooks import (
    HOOK_ACTIONS,
    HOOK_KINDS,
    Hook,
    HookEvent,
    HookKind,
    HookValue,
)
from explorer.networks.inspection import inspect
from explorer.networks.presets import CPU, devices, names, on_device, problem
from explorer.networks.problems import AccumulationStep, SampledProblem, accumulate
from explorer.networks.records import (
    LayerError,
    LayerRecord,
    Memory,
    ParameterRecord,
    Report,
    Structure,
)
from explorer.networks.statistics import Histogram, Statistics, histogram

__all__ = [
    "COLOURS",
    "CPU",
    "HOOK_ACTIONS",
    "HOOK_KINDS",
    "AccumulationStep",
    "BackwardHookComparison",
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
    "LayerError",
    "LayerRecord",
    "Memory",
    "ParameterRecord",
    "Report",
    "SampledProblem",
    "Statistics",
    "Structure",
    "accumulate",
    "compare_backward_hooks",
    "devices",
    "fold",
    "folded_dot",
    "full_graph",
    "histogram",
    "inspect",
    "measure_hook_memory",
    "names",
    "on_device",
    "problem",
    "try_hooks",
]
