"""What a report costs: `inspect` against a bare forward and backward, and large folded graphs.

python -m benchmarks.networks
"""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import torch
import torchinfo
from torch import nn

from benchmarks.measure import medians, report
from explorer.networks import fold, folded_dot, inspect, problem
from explorer.torchvision_guard import torchvision


def bare(model: nn.Module, x: torch.Tensor) -> None:
    model(x).sum().backward()
    model.zero_grad()


def whole_report(name: str, batch: int) -> None:
    """Every layer's shapes, costs, activations and gradients, every parameter's gradient."""
    model = torchvision.models.get_model(name).eval()
    x = torch.randn(batch, 3, 224, 224)
    ours, plain = medians(lambda: inspect(model, x), lambda: bare(model, x), runs=15)
    report(f"{name} report, batch {batch}", ours, plain, "ratio ≤ 1.3")


def against_torchinfo(name: str) -> None:
    model = torchvision.models.get_model(name).eval().to("meta")
    x = torch.zeros(1, 3, 224, 224, device="meta")
    ours, theirs = medians(
        lambda: inspect(model, x),
        lambda: torchinfo.summary(model, input_data=x, verbose=0, device=torch.device("meta")),
        runs=5,
    )
    report(f"{name} on meta, backward too; against torchinfo", ours, theirs)


def folded_graph(name: str) -> None:
    """From nothing to the picture: build, run on meta, fold, lay out."""

    def draw() -> None:
        preset = problem(name)
        x = preset.inputs[0].to("meta")
        structure = inspect(preset.model.to("meta"), x).structure
        assert structure is not None
        text = folded_dot(fold(structure), "MACs")
        if shutil.which("dot"):
            options: dict[str, Any] = {"input": text.encode(), "capture_output": True}
            subprocess.run(["dot", "-Tsvg"], check=True, **options)

    (taken,) = medians(draw, runs=3)
    report(f"{name} folded graph, from its name to SVG", taken, budget="≤ 2 s")


if __name__ == "__main__":
    whole_report("resnet18", 1)
    whole_report("resnet18", 4)
    against_torchinfo("resnet18")
    folded_graph("densenet201")
    folded_graph("resnet152")
