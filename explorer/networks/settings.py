"""What is run: a preset or a reader's program, and the reader's changes to it."""

from __future__ import annotations

import copy
import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from explorer import limits
from explorer.networks.classifiers import CLASSIFIERS
from explorer.networks.from_program import from_program
from explorer.networks.presets import CPU, problem
from explorer.networks.problems import SampledProblem, Samples
from explorer.training.problem import ModuleProblem, Network, random_stream

RANDOM, IMAGENET = "Random", "ImageNet"


@dataclass(frozen=True)
class Settings:
    """A preset, or if `source` is not empty the network of that program, and the changes to it;
    None means unchanged.

    `side` is the side of square input images in pixels, which are then noise; `nan` puts a NaN
    into the last parameter. The report's numbers are computed on `device`, everything else on the
    CPU.
    """

    name: str
    source: str = ""
    weights: str = RANDOM
    train: bool | None = None
    batch: int | None = None
    side: int | None = None
    nan: bool = False
    device: str = CPU

    @property
    def key(self) -> str:
        return repr(asdict(self))

    @property
    def large(self) -> bool:
        """Whether structure and cost are shown before the numbers have been computed."""
        return self.name in CLASSIFIERS


@dataclass(frozen=True)
class PresetFacts:
    """What decides which changes a preset allows.

    `shape` is that of the first input; `samples` is 0 if they cannot be passed one by one, and
    then only the mode can be changed. `setup` is the program of a reader's network without its
    training, if it can be trained.
    """

    shape: tuple[int, ...]
    samples: int
    batch: int
    train: bool
    title: str
    note: str
    source: str = ""
    loss_source: str = ""
    setup: str = ""


def describe_preset(name: str) -> PresetFacts:
    """The facts of a preset; a large one is built without values."""
    with _on_meta(name in CLASSIFIERS), random_stream(0):
        preset = problem(name)
        if isinstance(preset, SampledProblem):
            data = preset.collect()
            return _describe(preset, data.model, tuple(data.inputs.shape[1:]), len(data.inputs))
        network = preset.make()
        return _describe(preset, network.model, tuple(network.inputs[0].shape), 0)


def describe_program(own: ModuleProblem, network: Network) -> PresetFacts:
    """The facts of the network of a program; all samples are passed at once."""
    first = next(iter(network.inputs), None)
    shape = tuple(first.shape) if isinstance(first, Tensor) else ()
    samples = own.batch if isinstance(own, SampledProblem) else 0
    return _describe(own, network.model, shape[1:] if samples else shape, samples)


def _describe(
    preset: ModuleProblem, model: nn.Module, shape: tuple[int, ...], samples: int
) -> PresetFacts:
    batch = preset.batch if isinstance(preset, SampledProblem) else 0
    texts = (preset.title, preset.note, preset.source, preset.loss_source, preset.setup)
    return PresetFacts(shape, samples, batch, model.training, *texts)


def make_problem(settings: Settings) -> ModuleProblem:
    """The preset with the changes. Raises ValueError for weights that are not on this computer."""
    preset = _unchanged(settings)
    if not isinstance(preset, SampledProblem):

        def make() -> Network:
            network = preset.make()
            return Network(_change(network.model, settings), network.inputs, network.criterion)

        return replace(preset, make=make)
    batch = settings.batch or preset.batch

    def collect() -> Samples:
        data = _collect(settings, preset)
        inputs = _resize(data.inputs, settings.side)
        return Samples(_change(data.model, settings), inputs, data.targets, data.criterion)

    return replace(preset, collect=collect, make=lambda: collect().first(batch), batch=batch)


def _collect(settings: Settings, preset: SampledProblem) -> Samples:
    """The preset's samples. Where noise replaces its images, only their shape is needed: they are
    drawn once for each state of the random numbers, and the stream goes on as it would behind
    them."""
    if settings.side is None or settings.source:
        return preset.collect()
    generator = torch.default_generator
    start = generator.get_state().numpy().tobytes()
    key = (settings.name, settings.weights, torch.get_default_device(), start)
    if key not in _collected:
        data = preset.collect()
        _collected[key] = data._replace(inputs=data.inputs.to("meta")), generator.get_state()
        while len(_collected) > limits.MOST_KEPT_SAMPLES:
            del _collected[next(iter(_collected))]
    data, after = _collected[key]
    generator.set_state(after)
    return data._replace(model=copy.deepcopy(data.model))


#: The samples without their images, and the state of the random numbers after them. Used by one
#: thread at a time: each holds the lock of `random_stream`.
_collected: dict[Any, tuple[Samples, Tensor]] = {}


def _unchanged(settings: Settings) -> ModuleProblem:
    if settings.source:
        return from_program(settings.source)
    return problem(settings.name, settings.weights if settings.weights == IMAGENET else None)


def make_network(settings: Settings) -> Network:
    """The changed network, built from seed 0."""
    with random_stream(0):
        return make_problem(settings).make()


def make_on_meta(settings: Settings) -> Network:
    """The changed network without values, for its structure and cost."""
    untrained = replace(settings, weights=RANDOM)  # values do not matter
    with _on_meta(True):
        return make_network(untrained)


def make_script(settings: Settings, facts: PresetFacts) -> str:
    """The same run in plain PyTorch; it prints the loss and the norm of every gradient."""
    loss = facts.loss_source
    if settings.source and "\nnet = " not in facts.source:
        return facts.source  # a network inside a function is out of reach
    if settings.batch is not None and settings.source:
        loss = f"# The page passed the first {settings.batch} samples only.\n{loss}"
    elif settings.batch is not None:
        loss = re.sub(r"\[:\d+\]", f"[:{settings.batch}]", loss)
    lines = ["import torch", "", "torch.manual_seed(0)", "", facts.source.rstrip()]
    if settings.train is not None:
        lines.append(f"net.{'train' if settings.train else 'eval'}()")
    if settings.nan:
        lines += [
            "with torch.no_grad():",
            '    list(net.parameters())[-1].view(-1)[0] = float("nan")',
        ]
    if settings.side is not None and settings.source:
        lines.append(f"# The page passed images of noise, {settings.side} pixels wide.")
    elif settings.side is not None:
        lines.append(f"images = torch.randn(*images.shape[:2], {settings.side}, {settings.side})")
    if settings.source:  # the program may have called backward itself
        lines.append("net.zero_grad()")
    lines += [loss.rstrip(), "loss.backward()", ""]
    return "\n".join(lines) + _PRINT


_PRINT = """
print(f"loss {loss.item():.6g}")
for name, parameter in net.named_parameters():
    norm = None if parameter.grad is None else f"{parameter.grad.norm().item():.6g}"
    print(name, tuple(parameter.shape), norm)
"""


def _on_meta(wanted: bool) -> AbstractContextManager[Any]:
    return torch.device("meta") if wanted else nullcontext()


def _change(model: nn.Module, settings: Settings) -> nn.Module:
    if settings.train is not None:
        model.train(settings.train)
    if settings.nan:
        with torch.no_grad():
            list(model.parameters())[-1].view(-1)[0] = torch.nan
    return model


def _resize(inputs: Tensor, side: int | None) -> Tensor:
    return inputs if side is None else torch.randn(*inputs.shape[:2], side, side)
