"""Checks of what a child has sent about a reader's network, after the codec has checked its types.

A child can answer anything; a page draws what passes here without checking it again.
`explorer.trace.validation` bounds texts, counts and arrays; this adds what refers to something
else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from explorer import limits
from explorer.networks.attention import AttentionLayer
from explorer.networks.graphs import FullGraph
from explorer.networks.memory import (
    BACKWARD,
    FORWARD,
    MODES,
    RECOMPUTATION,
    MemoryPoint,
    MemoryRun,
)
from explorer.networks.normalisation import Moments
from explorer.networks.records import Report, Structure
from explorer.networks.settings import PresetFacts
from explorer.networks.statistics import Histogram
from explorer.networks.time_steps import GAINS, TimeSteps
from explorer.networks.training_steps import (
    BINS,
    TrainingStep,
)
from explorer.trace.validation import require
from explorer.trace.validation import validate as validate_sizes

T = TypeVar("T")


def validate(value: T) -> T:
    """The value, if a run could have given it. Raises ValueError."""
    validate_sizes(value, elements=limits.MOST_RESULT_ELEMENTS)
    _check(value)
    return value


def _check(value: Any) -> None:
    if isinstance(value, tuple | list):
        for item in value:
            _check(item)
    elif isinstance(value, Mapping):
        _check(tuple(value.values()))
    elif dataclasses.is_dataclass(value):
        _RULES.get(type(value), bool)(value)
        _check(vars(value))


def _check_report(report: Report) -> None:
    names = {parameter.name for parameter in report.parameters}
    require(len(names) == len(report.parameters), "parameters")
    for layer in report.layers:
        sizes = (layer.params, layer.shared, layer.macs or 0, layer.memory, layer.call or 0)
        require(min(sizes) >= 0, "layers")


def _check_structure(structure: Structure) -> None:
    calls, operations = len(structure.calls), len(structure.operations)
    for position, call in enumerate(structure.calls):
        require(call.parent is None or 0 <= call.parent < position, "calls")
    require(not structure.operations or calls > 0, "calls")
    for operation in structure.operations:
        require(operation.call is None or 0 <= operation.call < calls, "operations")
    for edge in structure.edges:
        require(len(edge) == 2 and all(type(end) is int for end in edge), "edges")
        require(all(0 <= end < operations for end in edge), "edges")


def _check_full_graph(graph: FullGraph) -> None:
    nodes = {node.id for node in graph.nodes}
    require(len(nodes) == len(graph.nodes), "nodes")
    require(all(edge.source in nodes and edge.target in nodes for edge in graph.edges), "edges")


def _check_histogram(histogram: Histogram) -> None:
    require(histogram.counts.ndim == 1 and histogram.counts.dtype.kind in "iu", "counts")
    require(histogram.edges.shape == (len(histogram.counts) + 1,), "edges")
    require(histogram.edges.dtype.kind == "f", "edges")


def _check_facts(facts: PresetFacts) -> None:
    require(len(facts.shape) <= 16 and all(0 <= size <= 2**31 for size in facts.shape), "shape")
    require(facts.samples == 0 or 2 <= facts.samples <= 2**24, "samples")
    require(facts.batch == facts.samples, "batch")


def _check_memory(run: MemoryRun) -> None:
    sizes = (run.parameters, run.inputs, run.forward_steps, run.steps, run.macs or 0)
    require(min(sizes) >= 0 and len(run.points) <= limits.MOST_MEMORY_POINTS + 1, "memory")
    require(run.mode in MODES, "mode")
    require((run.peak is None) == (not run.points), "peak")
    require(all(layer.bytes >= 0 for layer in run.kept), "memory")


def _check_memory_point(point: MemoryPoint) -> None:
    require(min(point.step, point.bytes, point.saved, point.gradients) >= 0, "memory")
    require(point.during in (FORWARD, RECOMPUTATION, BACKWARD), "pass")


def _check_attention(layer: AttentionLayer) -> None:
    require(layer.weights.ndim == 3 and layer.masked.shape == layer.weights.shape, "attention")
    heads, queries, keys = layer.weights.shape
    require(layer.masked.dtype == bool and min(heads, queries, keys) > 0, "attention")
    require(max(queries, keys) <= limits.MOST_ATTENTION_POSITIONS, "attention")
    require(len(layer.tokens) == 2, "attention")
    require(layer.tokens[0] >= queries and layer.tokens[1] >= keys, "attention")
    for values, tokens in zip(
        (layer.query, layer.key, layer.value, *layer.gradients),
        (queries, keys, keys) * 2,
        strict=True,
    ):
        if values is not None:
            require(values.ndim == 3 and values.shape[:2] == (heads, tokens), "attention")
            require(values.dtype.kind == "f", "attention")


def _check_time_steps(run: TimeSteps) -> None:
    require(0 < len(run.gains) <= len(GAINS), "gains")
    require(all(0 < gain <= max(GAINS) for gain in run.gains), "gains")
    for layer in run.layers:
        shape = (len(run.gains), layer.hidden.shape[-1])
        require(0 < shape[1] <= limits.MOST_TIME_STEPS, "steps")
        for norms in (layer.hidden, layer.cell, layer.linear):
            require(norms is None or (norms.shape == shape and norms.dtype.kind == "f"), "steps")


def _check_moments(moments: Moments) -> None:
    require(moments.means.ndim == 2 and min(moments.means.shape) > 0, "norms")
    for table in (moments.of_rows, moments.of_channels):
        require(table.ndim == 2 and table.shape[1] == 2 and len(table) > 0, "norms")
    every = (moments.means, moments.of_rows, moments.of_channels)
    require(all(array.dtype.kind == "f" for array in every), "norms")


def _check_training(step: TrainingStep) -> None:
    rows = len(step.names)
    require(step.counts.shape == (rows, BINS) and step.counts.dtype.kind in "iu", "counts")
    require(rows <= limits.MOST_TRAINING_PARAMETERS and len(set(step.names)) == rows, "names")
    require({len(step.zeros), len(step.lost), len(step.norms)} == {rows}, "rows")
    require(not rows or step.counts.min() >= 0, "counts")
    require(1 <= step.step <= step.total <= limits.MOST_TRAINING_STEPS, "steps")


#: What is checked of each kind of result, besides sizes.
_RULES: Mapping[type, Callable[[Any], object]] = {
    Report: _check_report,
    Structure: _check_structure,
    FullGraph: _check_full_graph,
    PresetFacts: _check_facts,
    Histogram: _check_histogram,
    MemoryRun: _check_memory,
    MemoryPoint: _check_memory_point,
    TrainingStep: _check_training,
    AttentionLayer: _check_attention,
    TimeSteps: _check_time_steps,
    Moments: _check_moments,
}
