"""What is run: a preset and the reader's changes. No Streamlit here."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks import CPU, SampledProblem, problem
from explorer.networks.classifiers import CLASSIFIERS
from explorer.networks.problems import ModuleProblem, Network, Samples
from explorer.training.problem import random_stream

RANDOM, IMAGENET = "Random", "ImageNet"


@dataclass(frozen=True)
class Setting:
    """A preset and the changes to it; None means unchanged.

    `side` is the side of square input images in pixels, which are then noise; `nan` puts a NaN
    into the last parameter. The report's numbers are computed on `device`, everything else on the
    CPU.
    """

    name: str
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
    then only the mode can be changed.
    """

    shape: tuple[int, ...]
    samples: int
    batch: int
    train: bool
    title: str
    note: str


def describe_preset(name: str) -> PresetFacts:
    """The facts of a preset; a large one is built without values."""
    with _on_meta(name in CLASSIFIERS), random_stream(0):
        preset = problem(name)
        if isinstance(preset, SampledProblem):
            data = preset.collect()
            shape, samples, batch = data.inputs.shape[1:], len(data.inputs), preset.batch
            model: nn.Module = data.model
        else:
            network = preset.make()
            shape, samples, batch = network.inputs[0].shape, 0, 0
            model = network.model
    return PresetFacts(tuple(shape), samples, batch, model.training, preset.title, preset.note)


def make_problem(setting: Setting) -> ModuleProblem:
    """The preset with the changes. Raises ValueError for weights that are not on this computer."""
    preset = problem(setting.name, setting.weights if setting.weights == IMAGENET else None)
    if not isinstance(preset, SampledProblem):

        def make() -> Network:
            network = preset.make()
            return Network(_change(network.model, setting), network.inputs, network.criterion)

        return replace(preset, make=make)
    collect_preset, batch = preset.collect, setting.batch or preset.batch

    def collect() -> Samples:
        data = collect_preset()
        inputs = _resize(data.inputs, setting.side)
        return Samples(_change(data.model, setting), inputs, data.targets, data.criterion)

    def make_batch() -> Network:
        model, inputs, targets, criterion = collect()
        batch_targets = targets[:batch]
        return Network(model, (inputs[:batch],), lambda output: criterion(output, batch_targets))

    return replace(preset, collect=collect, make=make_batch, batch=batch)


def make_network(setting: Setting) -> Network:
    """The changed network, built from seed 0."""
    with random_stream(0):
        return make_problem(setting).make()


def make_on_meta(setting: Setting) -> Network:
    """The changed network without values, for its structure and cost."""
    untrained = replace(setting, weights=RANDOM)  # values do not matter
    with _on_meta(True):
        return make_network(untrained)


def make_script(setting: Setting) -> str:
    """The same run in plain PyTorch; it prints the loss and the norm of every gradient."""
    changed = make_problem(setting)
    loss = changed.loss_source
    if setting.batch is not None:
        loss = re.sub(r"\[:\d+\]", f"[:{setting.batch}]", loss)
    lines = ["import torch", "", "torch.manual_seed(0)", "", changed.source.rstrip()]
    if setting.train is not None:
        lines.append(f"net.{'train' if setting.train else 'eval'}()")
    if setting.nan:
        lines += [
            "with torch.no_grad():",
            '    list(net.parameters())[-1].view(-1)[0] = float("nan")',
        ]
    if setting.side is not None:
        lines.append(f"images = torch.randn(*images.shape[:2], {setting.side}, {setting.side})")
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


def _change(model: nn.Module, setting: Setting) -> nn.Module:
    if setting.train is not None:
        model.train(setting.train)
    if setting.nan:
        with torch.no_grad():
            list(model.parameters())[-1].view(-1)[0] = torch.nan
    return model


def _resize(inputs: Tensor, side: int | None) -> Tensor:
    return inputs if side is None else torch.randn(*inputs.shape[:2], side, side)
