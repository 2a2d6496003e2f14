"""The runs behind the page: each a plain result for all readers. No Streamlit here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from explorer.networks import (
    Accumulated,
    BackwardHooks,
    Experiment,
    FullGraph,
    Held,
    Histogram,
    Hook,
    Report,
    SampledProblem,
    accumulate,
    compare_backward_hooks,
    experiment,
    full_graph,
    gradients_held,
    histogram,
    inspect,
    on_device,
    problem,
)
from explorer.training.problem import Network, random_stream
from explorer.ui.network.job_queue import Job, Unwanted
from explorer.ui.network.settings import Setting, changed, on_meta

#: Numbers of bins that a histogram can have.
BINS = (10, 40)

#: By parameter and number of bins; None where no gradient is finite.
Histograms = Mapping[str, Mapping[int, Histogram | None]]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A report whose gradients have been made into histograms: they can take 500 MB."""

    report: Report
    histograms: Histograms


@dataclass(frozen=True, eq=False)
class Gathered:
    """An accumulation: every step, without its arrays, and histograms of the last gradients."""

    steps: tuple[Accumulated, ...]
    histograms: Histograms


def outline(setting: Setting, job: Job) -> Report:
    """Structure and cost, on meta."""
    job.say("Reading the structure")
    network = on_meta(setting)
    return inspect(network.model, *network.inputs, loss=network.criterion)


def numbers(setting: Setting, job: Job) -> Numbers:
    """One forward and backward of the first samples, layer by layer."""
    job.say("Building the network")
    with random_stream(0):
        network = on_device(changed(setting).make(), setting.device)
        watched = _Progress(network.model, job)
        report = inspect(network.model, *network.inputs, loss=network.criterion)
        watched.end()
    return Numbers(replace(report, gradients={}), histograms(report.gradients, job))


def histograms(gradients: Mapping[str, Any], job: Job) -> Histograms:
    """Of every parameter's gradient."""
    made = {}
    for i, (name, values) in enumerate(gradients.items()):
        job.say("Sorting gradients into bins", i / len(gradients))
        made[name] = {bins: _histogram(values, bins) for bins in BINS}
    return made


def _histogram(values: Any, bins: int) -> Histogram | None:
    try:
        return histogram(values, bins)
    except ValueError:
        return None


def whole_graph(setting: Setting, job: Job) -> FullGraph:
    """Every node of the autograd graph, as torchviz draws it."""
    job.say("Drawing the graph")
    network = _network(setting)
    return full_graph(network.model, *network.inputs, loss=network.criterion, seed=0)


def gathering(setting: Setting, n: int, every: int | None, lr: float, job: Job) -> Gathered:
    """n samples one at a time; `job.parts` grows, and it ends early when nobody waits."""
    found = changed(setting)
    if not isinstance(found, SampledProblem):
        raise ValueError(f"{setting.name} has no separate samples")
    last: Mapping[str, Any] = {}
    job.say(f"Sample 1 of {n}", 0.0)
    for step in accumulate(found, n, every=every, lr=lr):
        last = step.gradients or last
        job.parts.append(replace(step, gradients={}))
        job.say(f"Sample {step.sample} of {n}", step.sample / n)
        if not job.wanted:
            raise Unwanted
    return Gathered(tuple(job.parts), histograms(last, job))


def trial(setting: Setting, hooks: tuple[Hook, ...], job: Job) -> Experiment:
    """The same run without and with hooks."""
    job.say("Running without and with the hooks")
    network = _network(setting)
    return experiment(network.model, *network.inputs, hooks=hooks, loss=network.criterion)


def held(setting: Setting, job: Job) -> tuple[Held, ...]:
    """What three ways of seeing gradients keep in memory."""
    job.say("Running three times")
    network = _network(setting)
    return gradients_held(network.model, *network.inputs, loss=network.criterion)


def both_hooks(job: Job) -> dict[str, BackwardHooks]:
    """The full and the deprecated backward hook on TestNet, with and without its division."""
    job.say("Running TestNet")
    made = {name: problem(name) for name in ("TestNet", "TestNet without the division")}
    return {
        name: compare_backward_hooks(p.model, *p.inputs, loss=p.network.criterion)
        for name, p in made.items()
    }


def _network(setting: Setting) -> Network:
    with random_stream(0):
        return changed(setting).make()


class _Progress:
    """Tells the job how many layers forward has passed."""

    def __init__(self, model: nn.Module, job: Job) -> None:
        leaves = [module for module in model.modules() if not module._modules]
        self._job, self._total, self._count = job, len(leaves), 0
        self._handles = [leaf.register_forward_hook(self._pass) for leaf in leaves]
        job.say("Forward", 0.0)

    def _pass(self, *ignored: Any) -> None:
        self._count += 1
        if self._count < self._total:
            self._job.say("Forward", self._count / self._total)
        else:
            self._job.say("Backward")

    def end(self) -> None:
        for handle in self._handles:
            handle.remove()
