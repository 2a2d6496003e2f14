"""Models and their data: presets, per-layer records, hook events, cost, histograms, graphs.

`problem(name)` gives a preset, `inspect(model, *inputs)` reports on any model layer by layer.
torchvision is imported only when one of its classifiers is built.
"""

from explorer.networks.device import CPU, devices, on_device
from explorer.networks.folding import FoldedGraph, FoldedNode, fold
from explorer.networks.full_graph import FullGraph, full_graph
from explorer.networks.graph_dot import COLOURS, folded_dot
from explorer.networks.hook_memory import Held, gradients_held
from explorer.networks.hooks import ACTIONS, KINDS, Event, Hook, Kind
from explorer.networks.inspection import inspect
from explorer.networks.laboratory import (
    BackwardHooks,
    Change,
    Experiment,
    compare_backward_hooks,
    experiment,
)
from explorer.networks.presets import names, problem
from explorer.networks.records import (
    LayerError,
    LayerRecord,
    Memory,
    ParameterRecord,
    Report,
    Structure,
)
from explorer.networks.samples import Accumulated, SampledProblem, accumulate
from explorer.networks.statistics import Histogram, Statistics, histogram

__all__ = [
    "ACTIONS",
    "COLOURS",
    "CPU",
    "KINDS",
    "Accumulated",
    "BackwardHooks",
    "Change",
    "Event",
    "Experiment",
    "FoldedGraph",
    "FoldedNode",
    "FullGraph",
    "Held",
    "Histogram",
    "Hook",
    "Kind",
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
    "experiment",
    "fold",
    "folded_dot",
    "full_graph",
    "gradients_held",
    "histogram",
    "inspect",
    "names",
    "on_device",
    "problem",
]
