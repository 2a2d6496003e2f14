"""Similar tools: torchinfo, torchview, torchlens, captum and torchviz

Each is compared with our nearest counterpart on the same network and input. They give different
results; the notes say how. On meta: shapes without values, so that the network's own arithmetic is
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torchviz

from benchmarks.measure import Row, compare
from explorer.networks import fold, folded_dot, full_graph, inspect
from explorer.torchvision_guard import torchvision
from explorer.vision import capture, grad_cam, saliency

_META = torch.device("meta")


def rows(most: int) -> Iterator[Row]:
    for comparison, runs in COMPARISONS.items():
        try:
            yield comparison(min(runs, most))
        except ImportError as error:
            yield Row(comparison.__name__, None, note=f"{error.name} is not installed")


def torchinfo(runs: int) -> Row:
    from torchinfo import summary

    model, x = make_resnet18(_META)
    return compare(
        "report on resnet18 on meta",
        lambda: inspect(model, x),
        "torchinfo.summary",
        lambda: summary(model, input_data=x, verbose=0, device=_META),
        runs=runs,
        note="Both: shapes, parameters and MACs of every layer. Ours also maps the autograd graph "
        "to the layers; theirs also prints them, nested, with kernel sizes.",
    )


def torchview(runs: int) -> Row:
    from torchview import draw_graph

    model, x = make_resnet18(_META)

    def folded() -> None:
        structure = inspect(model, x).structure
        assert structure is not None
        folded_dot(fold(structure), "MACs")

    return compare(
        "graph of resnet18 on meta, as DOT text",
        folded,
        "torchview.draw_graph, depth 3",
        lambda: str(draw_graph(model, input_data=x, device="meta", depth=3).visual_graph.source),
        runs=runs,
        note="Ours draws fewer boxes, folded by module, with parameters and MACs; theirs draws "
        "every call with its shapes, without costs.",
    )


def torchlens(runs: int) -> Row:
    import torchlens as lens
    from torchlens.options import CaptureOptions

    model, x = make_resnet18()
    layers = [name for name, module in model.named_modules() if not module._modules]
    alone = CaptureOptions(unwrap_when_done=True)  # otherwise torch stays wrapped while ours runs
    return compare(
        "outputs of every layer of resnet18",
        lambda: capture(model, x, layers),
        "torchlens.trace",
        lambda: lens.trace(model, x, capture=alone),
        runs=runs,
        note="Ours keeps the outputs of modules; theirs those of every operation, with a "
        "description of each.",
    )


def captum_saliency(runs: int) -> Row:
    from captum.attr import Saliency

    model, x = make_resnet18()
    leaf = x.clone().requires_grad_()
    method = Saliency(model)
    return compare(
        "saliency of resnet18, for the class it predicts",
        lambda: saliency(model, x),
        "captum Saliency",
        lambda: method.attribute(leaf, target=int(model(x).argmax())),
        runs=runs,
        note="The same gradient. Ours predicts and computes the gradient in one pass; theirs needs "
        "the class, so a prediction comes first. Theirs also takes batches.",
    )


def captum_grad_cam(runs: int) -> Row:
    from captum.attr import LayerAttribution, LayerGradCam

    model, x = make_resnet18()
    target = int(model(x).argmax())
    method = LayerGradCam(model, model.get_submodule("layer4"))

    def theirs() -> None:
        attribution = method.attribute(x, target=target, relu_attributions=True)
        LayerAttribution.interpolate(attribution, (224, 224), "bilinear")

    return compare(
        "Grad-CAM of resnet18's layer4, for a given class",
        lambda: grad_cam(model, x, "layer4", target),
        "captum LayerGradCam",
        theirs,
        runs=runs,
        note="The same map, enlarged to the picture's size. Ours also gives the channels' weights; "
        "theirs takes batches and more kinds of target.",
    )


def torchviz_graph(runs: int) -> Row:
    model, x = make_resnet18(_META)
    parameters = dict(model.named_parameters())
    return compare(
        "every node of resnet18's graph on meta",
        lambda: full_graph(model, x),
        "torchviz.make_dot",
        lambda: torchviz.make_dot(model(x).sum(), parameters, show_saved=True).source,
        runs=runs,
        note="Ours has torchviz draw the graph and parses its DOT into nodes and edges with "
        "names and stable ids; theirs is the DOT text.",
    )


#: Comparison -> how often it is run.
COMPARISONS: dict[Callable[[int], Row], int] = {
    torchinfo: 15,
    torchview: 15,
    torchlens: 5,
    captum_saliency: 15,
    captum_grad_cam: 15,
    torchviz_graph: 9,
}


def make_resnet18(device: torch.device | str = "cpu") -> tuple[torch.nn.Module, torch.Tensor]:
    """The network in evaluation mode with random weights, and one image of noise."""
    model = torchvision.models.resnet18().eval().to(device)
    return model, torch.randn(1, 3, 224, 224, device=device)
