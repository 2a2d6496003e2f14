"""A network in one line: `explorer.show`

Without the drawing, compared with a bare forward and backward, and with what similar tools do with
the same network and batch, in training mode: torchinfo a table, torchview, torchviz and torchlens
their graph as DOT text, and torchvista an HTML file. Only ours and torchlens run backward. Seconds
are those of the processor, which are the same on a busy machine. Sizes are those of these texts and
of our HTML file. [What each shows](TOOLS.md).
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import torch
import torchviz
from torch import Tensor, nn

import explorer
from benchmarks.measure import Budget, Row, medians, seconds
from benchmarks.models import GPT2, Llama, UNet
from explorer.torchvision_guard import torchvision

Inputs = tuple[Tensor, ...]


def image_network(name: str) -> tuple[nn.Module, Inputs]:
    return torchvision.models.get_model(name), (torch.randn(1, 3, 224, 224),)


def language_model(make: Callable[[], nn.Module], vocabulary: int) -> tuple[nn.Module, Inputs]:
    return make(), (torch.randint(vocabulary, (1, 64)),)


def unet() -> tuple[nn.Module, Inputs]:
    return UNet(), (torch.randn(1, 3, 64, 64), torch.tensor([3.0]))


NETWORKS: dict[str, Callable[[], tuple[nn.Module, Inputs]]] = {
    "resnet50": partial(image_network, "resnet50"),
    "GPT-2 small": partial(language_model, GPT2, 50257),
    "a Llama": partial(language_model, Llama, 32000),
    "ViT-B/16": partial(image_network, "vit_b_16"),
    "a UNet": unet,
}


def rows(most: int) -> Iterator[Row]:
    for name, make in NETWORKS.items():
        torch.manual_seed(0)
        yield from measure(name, *make(), runs=min(3, most))


def measure(name: str, model: nn.Module, inputs: Inputs, *, runs: int) -> Iterator[Row]:
    tools = {tool: partial(run, model, inputs) for tool, run in TOOLS.items()}
    sizes: dict[str, int] = {}

    def measured(tool: str) -> Callable[[], None]:
        def run() -> None:
            sizes[tool] = len(tools[tool]().encode())

        return run

    ours, plain = partial(explorer.show, model, *inputs), partial(bare, model, inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two tools say that forward runs in training mode
        functions: list[Callable[[], object]] = [ours, plain, *map(measured, tools)]
        shown, alone, *theirs = medians(*functions, runs=runs, clock=time.process_time)
    yield Row(name, shown, "bare forward and backward", alone, Budget(2, "ratio"))
    for tool, taken in zip(tools, theirs, strict=True):
        yield Row(name, shown, tool, taken)
    with tempfile.TemporaryDirectory() as folder:
        file, report = Path(folder, "report.html"), ours()
        yield Row(f"{name}: save", seconds(lambda: report.save(file), time.process_time))
        size = file.stat().st_size / 1e6
    for tool, their in sizes.items():
        yield Row(f"{name}: size", size, tool, their / 1e6, unit="MB")


def bare(model: nn.Module, inputs: Inputs) -> None:
    model(*inputs).sum().backward()
    model.zero_grad()


def torchinfo(model: nn.Module, inputs: Inputs) -> str:
    from torchinfo import summary

    return str(summary(model, input_data=inputs, verbose=0, depth=10, device="cpu"))


def torchview(model: nn.Module, inputs: Inputs) -> str:
    from torchview import draw_graph

    drawn = draw_graph(model, input_data=inputs, device="cpu", depth=10, expand_nested=True)
    return str(drawn.visual_graph.source)


def torchviz_graph(model: nn.Module, inputs: Inputs) -> str:
    root = model(*inputs).sum()
    return str(torchviz.make_dot(root, dict(model.named_parameters()), show_saved=True).source)


def torchlens(model: nn.Module, inputs: Inputs) -> str:
    import torchlens as lens
    from torchlens.options import CaptureOptions

    # Otherwise torch stays wrapped while the others run.
    options = CaptureOptions(save_grads="all", unwrap_when_done=True)
    log = lens.trace(model, list(inputs), capture=options)
    log.log_backward(log[log.output_layers[0]].out.sum())
    model.zero_grad()
    with tempfile.TemporaryDirectory() as folder:  # it is laid out, too
        path = str(Path(folder, "graph"))
        return str(log.draw(return_graph=True, vis_save_only=True, vis_outpath=path).source)


def torchvista(model: nn.Module, inputs: Inputs) -> str:
    from torchvista import trace_model

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        file = Path(folder, "network.html")
        trace_model(model, inputs, export_format="html", export_path=str(file))
        return file.read_text("utf-8")


TOOLS: dict[str, Callable[[nn.Module, Inputs], str]] = {
    "torchinfo": torchinfo,
    "torchview": torchview,
    "torchviz": torchviz_graph,
    "torchlens": torchlens,
    "torchvista": torchvista,
}
