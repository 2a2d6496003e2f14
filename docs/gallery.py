"""Makes the pages in docs/gallery: `python -m docs.gallery`, or with the names of some of them.

Those of programs are made by `explorer.run`, those of scripts beside them by `python -m explorer`,
those of networks by `explorer.show`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

import explorer
from explorer.torchvision_guard import torchvision
from explorer.trace.examples import EXAMPLES

FOLDER = Path(__file__).with_name("gallery")


@dataclass(frozen=True)
class Entry:
    """A page of the gallery: `make` writes it to a path; the `sentence` stands in README."""

    name: str
    sentence: str
    make: Callable[[Path], object]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.html"


def program(key: str) -> Callable[[Path], object]:
    """The example with this key, with its answers tried."""
    source = next(example.source for example in EXAMPLES if example.key == key)
    return lambda path: explorer.prove(explorer.run(source)).save(path)


def script(name: str, step: int) -> Callable[[Path], object]:
    """An iteration of the training loop in a script of the gallery."""

    def make(path: Path) -> None:
        options = ["--step", str(step), "--html", str(path)]
        command = [sys.executable, "-m", "explorer", *options, f"{name}.py"]
        places = os.environ | {"PYTHONPATH": str(FOLDER.parents[1])}
        subprocess.run(command, cwd=FOLDER, check=True, env=places)

    return make


def vision_transformer(path: Path) -> None:
    torch.manual_seed(0)
    model = torchvision.models.vit_b_16()
    torch.nn.init.trunc_normal_(model.heads.head.weight, std=0.02)  # at 0 it passes no gradient on
    loss = partial(torch.nn.functional.cross_entropy, target=torch.tensor([3]))
    explorer.show(model, torch.randn(1, 3, 224, 224), loss=loss).save(path)


def failing(path: Path) -> None:
    """A forward that fails in the middle."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 14 * 14, 10),  # made for images of 28 × 28
    )
    explorer.show(layers, torch.randn(2, 3, 32, 32)).save(path)


GALLERY = (
    Entry("chain", "the chain rule, factor by factor", program("chain")),
    Entry("accumulate", "gradients that add up, and zero_grad", program("accumulate")),
    Entry("none", "why a .grad is None", program("none_rebound")),
    Entry("nan", "a NaN that only backward sees", program("nan_where")),
    Entry("scores", "a classifier that hardly learns, explained", script("scores", 10)),
    Entry("gan", "an iteration with three backward passes", script("gan", 3)),
    Entry("resnet18", "a training step of ResNet-18", script("resnet18", 2)),
    Entry("gpt2", "a training step of GPT-2 small", script("gpt2", 1)),
    Entry("vit", "a vision transformer, layer by layer", vision_transformer),
    Entry("failing", "a forward that fails, and where", failing),
)


def main(names: Sequence[str]) -> None:
    for entry in GALLERY:
        if not names or entry.name in names:
            entry.make(entry.path)
            print(f"{entry.path.name}: {entry.path.stat().st_size / 1000:,.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
