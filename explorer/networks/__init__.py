"""Models and their data: presets, reports layer by layer, hooks at work, cost, graphs.

`problem(name)` gives a preset, `from_program(text)` the network of a program, and
`inspect(model, *inputs)` reports on any model layer by layer; `try_hooks`, `trace_memory`,
`attention_maps`, `gradients_over_time` and `full_graph` look at one pass in other ways. `fold`
makes a graph of a report's structure.
torchvision is imported only when one of its classifiers is built.
"""

from explorer.networks.attention import attention_maps
from explorer.networks.from_program import from_program
from explorer.networks.graphs import COLOURS, fold, folded_dot, full_graph
from explorer.networks.hooks import (
    HOOK_ACTIONS,
    HOOK_KINDS,
    Hook,
    measure_hook_memory,
    try_hooks,
)
from explorer.networks.inspection import inspect
from explorer.networks.memory import trace_memory
from explorer.networks.presets import CPU, devices, names, on_device, problem
from explorer.networks.problems import SampledProblem
from explorer.networks.records import Report
from explorer.networks.statistics import histogram
from explorer.networks.time_steps import gradients_over_time
from explorer.networks.training_steps import accumulate

__all__ = [
    "COLOURS",
    "CPU",
    "HOOK_ACTIONS",
    "HOOK_KINDS",
    "Hook",
    "Report",
    "SampledProblem",
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
