"""What is run: a preset, and what the reader changes about it. No Streamlit here."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks import CPU, SampledProblem, problem
from explorer.networks.classifiers import CLASSIFIERS
from explorer.networks.samples import Samples
from explorer.training.problem import ModuleProblem, Network, random_stream

RANDOM, IMAGENET = "Random", "ImageNet"


@dataclass(frozen=True)
class Setting:
    """A preset and its changes; None means as the preset has it.

    `side` is the side of square input images in pixels, drawn anew from noise; `nan` puts a NaN
    into the last parameter. `device` is where the report's numbers are computed; all else is on the
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
        """Whether structure and cost are to be shown before the numbers are there."""
        return self.name in CLASSIFIERS


@dataclass(frozen=True)
class Facts:
    """What can be changed: of a network without samples only its mode. `shape` is that of the
    first input, `samples` 0 where they cannot be passed one by one."""

    shape: tuple[int, ...]
    samples: int
    batch: int
    train: bool
    title: str
    note: str


def facts(name: str) -> Facts:
    """Of a preset, without its values where it is large."""
    with _meta(name in CLASSIFIERS), random_stream(0):
        found = problem(name)
        if isinstance(found, SampledProblem):
            made = found.collect()
            shape, samples, batch = made.inputs.shape[1:], len(made.inputs), found.batch
            model: nn.Module = made.model
        else:
            network = found.make()
            shape, samples, batch = network.inputs[0].shape, 0, 0
            model = network.model
    return Facts(tuple(shape), samples, batch, model.training, found.title, found.note)


def changed(setting: Setting) -> ModuleProblem:
    """The preset with the changes. Raises ValueError for weights that are not there."""
    found = problem(setting.name, setting.weights if setting.weights == IMAGENET else None)
    if not isinstance(found, SampledProblem):

        def make() -> Network:
            network = found.make()
            return Network(_model(network.model, setting), network.inputs, network.criterion)

        return replace(found, make=make)
    collect_preset, batch = found.collect, setting.batch or found.batch

    def collect() -> Samples:
        made = collect_preset()
        inputs = _images(made.inputs, setting.side)
        return Samples(_model(made.model, setting), inputs, made.targets, made.criterion)

    def first() -> Network:
        model, inputs, targets, criterion = collect()
        few = targets[:batch]
        return Network(model, (inputs[:batch],), lambda output: criterion(output, few))

    return replace(found, collect=collect, make=first, batch=batch)


def on_meta(setting: Setting) -> Network:
    """The changed network without values, for its structure and cost."""
    plain = replace(setting, weights=RANDOM)  # values do not matter
    with _meta(True), random_stream(0):
        return changed(plain).make()


def script(setting: Setting) -> str:
    """The same run in plain PyTorch; it prints the loss and the norm of every gradient."""
    found = changed(setting)
    loss = found.loss_source
    if setting.batch is not None:
        loss = re.sub(r"\[:\d+\]", f"[:{setting.batch}]", loss)
    lines = ["import torch", "", "torch.manual_seed(0)", "", found.source.rstrip()]
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


def _meta(wanted: bool) -> AbstractContextManager[Any]:
    return torch.device("meta") if wanted else nullcontext()


def _model(model: nn.Module, setting: Setting) -> nn.Module:
    if setting.train is not None:
        model.train(setting.train)
    if setting.nan:
        with torch.no_grad():
            list(model.parameters())[-1].view(-1)[0] = torch.nan
    return model


def _images(inputs: Tensor, side: int | None) -> Tensor:
    return inputs if side is None else torch.randn(*inputs.shape[:2], side, side)
