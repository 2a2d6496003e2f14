"""The runs behind the page: each a plain result for all readers. No Streamlit here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from explorer.networks import (
    AccumulationStep,
    BackwardHookComparison,
    FullGraph,
    Histogram,
    Hook,
    HookExperiment,
    HookMemory,
    Report,
    SampledProblem,
    accumulate,
    compare_backward_hooks,
    full_graph,
    histogram,
    inspect,
    measure_hook_memory,
    on_device,
    problem,
    try_hooks,
)
from explorer.training.problem import random_stream
from explorer.ui.network.job_queue import Abandoned, NetworkJob
from explorer.ui.network.settings import Setting, make_network, make_on_meta, make_problem

#: Numbers of bins that a histogram can have.
BINS = (10, 40)

#: By parameter and number of bins; None where no gradient is finite.
Histograms = Mapping[str, Mapping[int, Histogram | None]]


@dataclass(frozen=True, eq=False)
class InspectedNetwork:
    """A report, with histograms instead of the gradients, which can take 500 MB."""

    report: Report
    histograms: Histograms


@dataclass(frozen=True, eq=False)
class AccumulationRun:
    """Every step of an accumulation, without its arrays, and histograms of the last gradients."""

    steps: tuple[AccumulationStep, ...]
    histograms: Histograms


def inspect_on_meta(setting: Setting, job: NetworkJob) -> Report:
    """Structure and cost, without values."""
    job.report("Reading the structure")
    network = make_on_meta(setting)
    return inspect(network.model, *network.inputs, loss=network.criterion)


def inspect_network(setting: Setting, job: NetworkJob) -> InspectedNetwork:
    """One forward and backward of the first samples, layer by layer."""
    job.report("Building the network")
    with random_stream(0):
        network = on_device(make_problem(setting).make(), setting.device)
        progress = _Progress(network.model, job)
        report = inspect(network.model, *network.inputs, loss=network.criterion)
        progress.end()
    return InspectedNetwork(replace(report, gradients={}), make_histograms(report.gradients, job))


def make_histograms(gradients: Mapping[str, Any], job: NetworkJob) -> Histograms:
    """Histograms of every parameter's gradient."""
    histograms = {}
    for i, (name, values) in enumerate(gradients.items()):
        job.report("Computing histograms", i / len(gradients))
        histograms[name] = {bins: _histogram(values, bins) for bins in BINS}
    return histograms


def _histogram(values: Any, bins: int) -> Histogram | None:
    try:
        return histogram(values, bins)
    except ValueError:
        return None


def draw_full_graph(setting: Setting, job: NetworkJob) -> FullGraph:
    """Every node of the autograd graph, as torchviz draws it."""
    job.report("Drawing the graph")
    network = make_network(setting)
    return full_graph(network.model, *network.inputs, loss=network.criterion, seed=0)


def accumulate_samples(
    setting: Setting, n: int, every: int | None, lr: float, job: NetworkJob
) -> AccumulationRun:
    """Pass n samples one at a time; `job.parts` grows, and it ends early when nobody waits."""
    changed = make_problem(setting)
    if not isinstance(changed, SampledProblem):
        raise ValueError(f"{setting.name} has no separate samples")
    gradients: Mapping[str, Any] = {}
    job.report(f"Sample 1 of {n}", 0.0)
    for step in accumulate(changed, n, every=every, lr=lr):
        gradients = step.gradients or gradients
        job.parts.append(replace(step, gradients={}))
        job.report(f"Sample {step.sample} of {n}", step.sample / n)
        if not job.wanted:
            raise Abandoned
    return AccumulationRun(tuple(job.parts), make_histograms(gradients, job))


def run_hooks(setting: Setting, hooks: tuple[Hook, ...], job: NetworkJob) -> HookExperiment:
    """The same run without and with hooks."""
    job.report("Running without and with the hooks")
    network = make_network(setting)
    return try_hooks(network.model, *network.inputs, hooks=hooks, loss=network.criterion)


def measure_memory(setting: Setting, job: NetworkJob) -> tuple[HookMemory, ...]:
    """How much memory three ways of reading gradients keep."""
    job.report("Running three times")
    network = make_network(setting)
    return measure_hook_memory(network.model, *network.inputs, loss=network.criterion)


def compare_on_testnet(job: NetworkJob) -> dict[str, BackwardHookComparison]:
    """The full and the deprecated backward hook on TestNet, with and without its division."""
    job.report("Running TestNet")
    presets = [problem(name) for name in ("TestNet", "TestNet without the division")]
    return {
        p.name: compare_backward_hooks(p.model, *p.inputs, loss=p.network.criterion)
        for p in presets
    }


class _Progress:
    """Reports to the job how many layers forward has passed."""

    def __init__(self, model: nn.Module, job: NetworkJob) -> None:
        leaves = [module for module in model.modules() if not module._modules]
        self._job, self._total, self._count = job, len(leaves), 0
        self._handles = [leaf.register_forward_hook(self._count_layer) for leaf in leaves]
        job.report("Forward", 0.0)

    def _count_layer(self, *ignored: Any) -> None:
        self._count += 1
        if self._count < self._total:
            self._job.report("Forward", self._count / self._total)
        else:
            self._job.report("Backward")

    def end(self) -> None:
        for handle in self._handles:
            handle.remove()
