"""The runs behind the Network page: each takes settings and gives a plain result.

`RUNS` names them. A preset runs in the app; the network of a reader's program runs in a child,
which is asked for a run by its name: `perform` does one, `read_run` checks what came back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, get_type_hints

import numpy as np
from torch import Tensor, nn

from explorer import limits
from explorer.networks.attention import AttentionMaps, attention_maps
from explorer.networks.graphs import FullGraph, full_graph
from explorer.networks.hooks import Hook, HookExperiment, HookMemory, measure_hook_memory, try_hooks
from explorer.networks.inspection import inspect
from explorer.networks.memory import MemoryRun, trace_memory
from explorer.networks.normalisation import NormLayer, normalisation
from explorer.networks.presets import on_device
from explorer.networks.problems import SampledProblem
from explorer.networks.records import Report
from explorer.networks.settings import (
    PresetFacts,
    Settings,
    describe_program,
    make_network,
    make_on_meta,
    make_problem,
)
from explorer.networks.statistics import Histogram, histogram
from explorer.networks.time_steps import GAINS, TimeSteps, gradients_over_time
from explorer.networks.training_steps import (
    AccumulationStep,
    TrainingStep,
    accumulate,
    train_for_histograms,
)
from explorer.networks.validation import validate
from explorer.trace import from_plain
from explorer.training.problem import random_stream

T = TypeVar("T")

#: Numbers of bins that a histogram can have.
BINS = (10, 40)


class Abandoned(Exception):
    """Raised by a run that ends early because nobody waits for it. `so_far` is what it has done."""

    def __init__(self, so_far: Any = None) -> None:
        super().__init__()
        self.so_far = so_far


class Job(Protocol):
    """A run, as the run itself sees it.

    `report` says how far it is; `parts` are its results so far; it should raise `Abandoned` once it
    is not `wanted`.
    """

    parts: list[Any]

    @property
    def wanted(self) -> bool: ...

    def report(self, stage: str, fraction: float | None = None) -> None: ...


# -- reports and histograms -----------------------------------------------------------------------

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


def inspect_on_meta(settings: Settings, job: Job) -> Report:
    """Structure and cost, without values."""
    job.report("Reading the structure")
    network = make_on_meta(settings)
    return inspect(network.model, *network.inputs, loss=network.criterion)


def inspect_network(settings: Settings, job: Job) -> InspectedNetwork:
    """One forward and backward of the first samples, layer by layer."""
    job.report("Building the network")
    with random_stream(0):
        network = on_device(make_problem(settings).make(), settings.device)
        progress = _Progress(network.model, job)
        report = inspect(network.model, *network.inputs, loss=network.criterion)
        progress.end()
    return InspectedNetwork(replace(report, gradients={}), make_histograms(report.gradients, job))


def inspect_program(settings: Settings, job: Job) -> InspectedProgram:
    """The facts of a program's network, and one forward and backward of it."""
    own = make_problem(settings)
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


# -- single passes --------------------------------------------------------------------------------


def draw_full_graph(settings: Settings, job: Job) -> FullGraph:
    """Every node of the autograd graph, as torchviz draws it."""
    return _observe(full_graph, settings, job, "Drawing the graph", seed=0)


def run_hooks(settings: Settings, job: Job, *, hooks: tuple[Hook, ...]) -> HookExperiment:
    """The same run without and with hooks."""
    return _observe(try_hooks, settings, job, "Running without and with the hooks", hooks=hooks)


def compare_hook_memory(settings: Settings, job: Job) -> tuple[HookMemory, ...]:
    """How much memory three ways of reading gradients keep."""
    return _observe(measure_hook_memory, settings, job, "Running three times")


def follow_memory(settings: Settings, job: Job, *, mode: str) -> MemoryRun:
    """What is in memory during forward and backward, in one of `explorer.networks.memory.MODES`."""
    return _observe(trace_memory, settings, job, f"Memory: {mode}", mode=mode)


def _observe(
    observe: Callable[..., T], settings: Settings, job: Job, stage: str, **arguments: Any
) -> T:
    """What a function like `inspect` finds out about the network."""
    job.report(stage)
    network = make_network(settings)
    return observe(network.model, *network.inputs, loss=network.criterion, **arguments)


@dataclass(frozen=True, eq=False)
class AttentionRun:
    """Attention maps, what the tokens of the sample are called, and the sample itself where it is
    an image: (rows, columns, 3), 0 to 1."""

    maps: AttentionMaps
    tokens: tuple[str, ...]
    image: np.ndarray | None


def find_attention(settings: Settings, job: Job, *, sample: int, layer: str | None) -> AttentionRun:
    """The attention maps of one sample."""
    job.report("Running forward and backward")
    changed = make_problem(settings)
    with random_stream(0):
        network = changed.make()
    first = network.inputs[0] if network.inputs else None
    maps = attention_maps(
        network.model,
        *network.inputs,
        loss=network.criterion,
        seed=0,
        sample=sample,
        layer=layer,
    )
    name_tokens = getattr(changed, "tokens", None)
    inside = isinstance(first, Tensor) and 0 <= sample < len(first) if first is not None else False
    one = first[sample] if inside and first is not None else None
    tokens = name_tokens(one) if name_tokens and one is not None else ()
    return AttentionRun(maps, tokens, _image(one))


def _image(tensor: Tensor | None) -> np.ndarray | None:
    """An image as an array, if the tensor is one and not too large."""
    if tensor is None or tensor.dim() != 3 or len(tensor) != 3 or max(tensor.shape) > 256:
        return None
    pixels = tensor.detach().float().cpu().permute(1, 2, 0)
    low, high = pixels.min(), pixels.max()
    if low < 0 or high > 1:  # normalised, or noise
        pixels = (pixels - low) / (high - low).clamp(min=1e-12)
    return pixels.numpy()


def follow_time_steps(settings: Settings, job: Job) -> TimeSteps:
    """The gradient at each time step, at all gains or, of a program, as many as it has time for."""

    def run(*gains: float) -> TimeSteps:
        stage = "Running forward and backward"
        return _observe(gradients_over_time, settings, job, stage, seed=0, gains=gains)

    if not settings.source:
        return run(*GAINS)
    start = time.monotonic()
    once = run(1.0)
    fit = limits.GAIN_SECONDS / max(1e-6, time.monotonic() - start)
    for every in (1, 2, 4):  # each keeps 1
        if len(GAINS[::every]) <= fit:
            return run(*GAINS[::every])
    return once


def compare_normalisation(
    settings: Settings, job: Job, *, sizes: tuple[int, ...]
) -> dict[str, tuple[NormLayer, ...]]:
    """What goes into each normalising layer and what comes out, by the size of the batch; those
    that the network cannot take are left out. Without sizes, as it is."""
    runs: dict[str, tuple[NormLayer, ...]] = {}
    for size in sizes or (None,):
        job.report("Running forward")
        network = make_network(settings if size is None else replace(settings, batch=size))
        try:
            layers = normalisation(network.model, *network.inputs, seed=0)
        except ValueError:  # batch norm cannot be trained on one value
            continue
        runs[str(size or "")] = layers
    return runs


# -- many steps -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AccumulationRun:
    """Every step of an accumulation, without its arrays, and histograms of the last gradients."""

    steps: tuple[AccumulationStep, ...]
    histograms: Histograms


@dataclass(frozen=True, eq=False)
class TrainingSteps:
    """The steps of a training, in order; fewer than asked for if it was stopped or diverged."""

    steps: tuple[TrainingStep, ...]


def accumulate_samples(
    settings: Settings, job: Job, *, n: int, every: int | None, lr: float
) -> AccumulationRun:
    """Pass n samples one at a time; `job.parts` grows, and it ends early when nobody waits."""
    changed = make_problem(settings)
    if not isinstance(changed, SampledProblem):
        raise ValueError(f"{settings.name} has no separate samples")
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
    settings: Settings, job: Job, *, steps: int, optimizer: str, lr: float
) -> TrainingSteps:
    """Train for some steps and count the gradients; `job.parts` grows."""
    job.report(f"Step 1 of {steps}", 0.0)
    changed = make_problem(settings)
    for step in train_for_histograms(changed, steps, optimizer=optimizer, lr=lr):
        job.parts.append(step)
        job.report(f"Step {step.step} of {steps}", step.step / steps)
        if not job.wanted:
            raise Abandoned(TrainingSteps(tuple(job.parts)))
    return TrainingSteps(tuple(job.parts))


# -- by name --------------------------------------------------------------------------------------

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
        find_attention,
        follow_time_steps,
        compare_normalisation,
    )
}


def perform(name: str, settings: Any, arguments: Mapping[str, Any], job: Job) -> Any:
    """The result of a run, or what it has done so far if it was abandoned. Settings and arguments
    are plain, as `to_plain` makes them."""
    run = RUNS[name]
    hints = get_type_hints(run)
    given = {key: from_plain(hints[key], value) for key, value in arguments.items()}
    try:
        return run(from_plain(Settings, settings), job, **given)
    except Abandoned as abandoned:
        return abandoned.so_far


def read_run(name: str, plain: Any) -> Any:
    """A run's result as a child has sent it. Raises an exception, of any type, for what cannot be
    one."""
    return validate(from_plain(get_type_hints(RUNS[name])["return"], plain))
