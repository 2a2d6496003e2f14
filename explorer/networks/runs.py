"""The runs behind the Network page: each takes a setting and gives a plain result.

`RUNS` names them. A preset runs in the app; the network of a reader's program runs in a child,
which is asked for a run by its name: `perform` does one, `read_run` checks what came back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from torch import nn

from explorer.networks.architecture_runs import (
    compare_normalisation,
    find_attention,
    follow_time_steps,
    train_autoencoder,
)
from explorer.networks.graphs import FullGraph, full_graph
from explorer.networks.hook_experiments import (
    BackwardHookComparison,
    HookExperiment,
    HookMemory,
    compare_backward_hooks,
    measure_hook_memory,
    try_hooks,
)
from explorer.networks.hooks import Hook
from explorer.networks.inspection import inspect
from explorer.networks.job import Abandoned, Job
from explorer.networks.memory import MemoryRun, trace_memory
from explorer.networks.presets import on_device, problem
from explorer.networks.problems import AccumulationStep, SampledProblem, accumulate
from explorer.networks.records import Report
from explorer.networks.setting import (
    PresetFacts,
    Setting,
    describe_program,
    make_network,
    make_on_meta,
    make_problem,
)
from explorer.networks.statistics import Histogram, histogram
from explorer.networks.training_histograms import TrainingHistograms, train_for_histograms
from explorer.networks.validation import validate
from explorer.trace import from_plain
from explorer.training.problem import random_stream

#: Numbers of bins that a histogram can have.
BINS = (10, 40)

#: By parameter, one for each number of `BINS`; None where no gradient is finite.
Histograms = Mapping[str, tuple[Histogram | None, ...]]


@dataclass(frozen=True, eq=False)
class InspectedNetwork:
    """A report, with histograms instead of the gradients, which can take 500 MB."""

    report: Report
    histograms: Histograms


@dataclass(frozen=True, eq=False)
class InspectedProgram:
    """The network of a reader's program: what is known of it, and its report."""

    facts: PresetFacts
    inspected: InspectedNetwork


@dataclass(frozen=True, eq=False)
class AccumulationRun:
    """Every step of an accumulation, without its arrays, and histograms of the last gradients."""

    steps: tuple[AccumulationStep, ...]
    histograms: Histograms


def inspect_on_meta(setting: Setting, job: Job) -> Report:
    """Structure and cost, without values."""
    job.report("Reading the structure")
    network = make_on_meta(setting)
    return inspect(network.model, *network.inputs, loss=network.criterion)


def inspect_network(setting: Setting, job: Job) -> InspectedNetwork:
    """One forward and backward of the first samples, layer by layer."""
    job.report("Building the network")
    with random_stream(0):
        network = on_device(make_problem(setting).make(), setting.device)
        progress = _Progress(network.model, job)
        report = inspect(network.model, *network.inputs, loss=network.criterion)
        progress.end()
    return InspectedNetwork(replace(report, gradients={}), make_histograms(report.gradients, job))


def inspect_program(setting: Setting, job: Job) -> InspectedProgram:
    """The facts of a program's network, and one forward and backward of it."""
    own = make_problem(setting)
    with random_stream(0):
        network = own.make()
        job.report("Forward and backward")
        report = inspect(network.model, *network.inputs, loss=network.criterion)
    histograms = make_histograms(report.gradients, job)
    inspected = InspectedNetwork(replace(report, gradients={}), histograms)
    return InspectedProgram(describe_program(own, network), inspected)


def make_histograms(gradients: Mapping[str, Any], job: Job) -> Histograms:
    """Histograms of every parameter's gradient."""
    histograms = {}
    for i, (name, values) in enumerate(gradients.items()):
        job.report("Computing histograms", i / len(gradients))
        histograms[name] = tuple(_histogram(values, bins) for bins in BINS)
    return histograms


def _histogram(values: Any, bins: int) -> Histogram | None:
    try:
        return histogram(values, bins)
    except ValueError:
        return None


def draw_full_graph(setting: Setting, job: Job) -> FullGraph:
    """Every node of the autograd graph, as torchviz draws it."""
    job.report("Drawing the graph")
    network = make_network(setting)
    return full_graph(network.model, *network.inputs, loss=network.criterion, seed=0)


def accumulate_samples(
    setting: Setting, job: Job, *, n: int, every: int | None, lr: float
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
            raise Abandoned(AccumulationRun(tuple(job.parts), {}))
    return AccumulationRun(tuple(job.parts), make_histograms(gradients, job))


def train_steps(
    setting: Setting, job: Job, *, steps: int, optimizer: str, lr: float
) -> TrainingHistograms:
    """Train for some steps and count the gradients; `job.parts` grows."""
    job.report(f"Step 1 of {steps}", 0.0)
    changed = make_problem(setting)
    for step in train_for_histograms(changed, steps, optimizer=optimizer, lr=lr):
        job.parts.append(step)
        job.report(f"Step {step.step} of {steps}", step.step / steps)
        if not job.wanted:
            raise Abandoned(TrainingHistograms(tuple(job.parts)))
    return TrainingHistograms(tuple(job.parts))


def run_hooks(setting: Setting, job: Job, *, hooks: tuple[Hook, ...]) -> HookExperiment:
    """The same run without and with hooks."""
    job.report("Running without and with the hooks")
    network = make_network(setting)
    return try_hooks(network.model, *network.inputs, hooks=hooks, loss=network.criterion)


def compare_hook_memory(setting: Setting, job: Job) -> tuple[HookMemory, ...]:
    """How much memory three ways of reading gradients keep."""
    job.report("Running three times")
    network = make_network(setting)
    return measure_hook_memory(network.model, *network.inputs, loss=network.criterion)


def follow_memory(setting: Setting, job: Job, *, mode: str) -> MemoryRun:
    """What is in memory during forward and backward, in one of `explorer.networks.memory.MODES`."""
    job.report(f"Memory: {mode}")
    network = make_network(setting)
    return trace_memory(network.model, *network.inputs, mode=mode, loss=network.criterion)


def compare_on_testnet(setting: Setting, job: Job) -> dict[str, BackwardHookComparison]:
    """The full and the deprecated backward hook on TestNet, with and without its division."""
    job.report("Running TestNet")
    presets = [problem(name) for name in ("TestNet", "TestNet without the division")]
    return {
        p.name: compare_backward_hooks(p.model, *p.inputs, loss=p.network.criterion)
        for p in presets
    }


class _Progress:
    """Reports to the job how many layers forward has passed."""

    def __init__(self, model: nn.Module, job: Job) -> None:
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


#: The runs by name. Their arguments and results are sent by `explorer.trace.to_plain`.
RUNS: dict[str, Callable[..., Any]] = {
    run.__name__: run
    for run in (
        inspect_on_meta,
        inspect_network,
        inspect_program,
        draw_full_graph,
        accumulate_samples,
        train_steps,
        run_hooks,
        compare_hook_memory,
        follow_memory,
        compare_on_testnet,
        find_attention,
        follow_time_steps,
        compare_normalisation,
        train_autoencoder,
    )
}


def perform(name: str, setting: Any, arguments: Mapping[str, Any], job: Job) -> Any:
    """The result of a run, or what it has done so far if it was abandoned. Setting and arguments
    are plain, as `to_plain` makes them."""
    run = RUNS[name]
    hints = get_type_hints(run)
    given = {key: from_plain(hints[key], value) for key, value in arguments.items()}
    try:
        return run(from_plain(Setting, setting), job, **given)
    except Abandoned as abandoned:
        return abandoned.so_far


def read_run(name: str, plain: Any) -> Any:
    """A run's result as a child has sent it. Raises an exception, of any type, for what cannot be
    one."""
    return validate(from_plain(get_type_hints(RUNS[name])["return"], plain))
