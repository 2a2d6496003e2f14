"""Saliency, Grad-CAM and switched-off channels against plain PyTorch and captum."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import captum.attr
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.networks.image_networks import shapes_net
from explorer.networks.synthetic_images import CLASSES, draw
from explorer.vision import grad_cam, predict, saliency, switch_off
from tests.marks import sample
from tests.vision.models import Reused, network, random_input
from tests.vision.test_feature_maps import state_of

LAYERS = {
    "resnet18": ["layer4", "layer2.0", "conv1"],
    "vgg11": ["features.10", "features.18"],
    "mobilenet_v3_small": ["features.8"],
    "densenet121": ["features.denseblock2"],
}
PAIRS = [(name, layer) for name, layers in LAYERS.items() for layer in layers]


@pytest.mark.parametrize("name", sample(LAYERS, every=2))
@pytest.mark.parametrize("target", [3, None])
def test_saliency_equals_plain_pytorch_and_captum(name: str, target: int | None) -> None:
    model, x = network(name), random_input()
    before = state_of(model)
    result = saliency(model, x, target)
    assert state_of(model) == before
    leaf = x.clone().requires_grad_()
    scores = model(leaf)
    best = int(scores.argmax()) if target is None else target
    assert result.target == best
    (gradient,) = torch.autograd.grad(scores[0, best], leaf)
    scale = float(gradient.abs().max())
    np.testing.assert_allclose(result.gradient, gradient[0], atol=1e-5 * scale)
    theirs = captum.attr.Saliency(model).attribute(leaf, target=best)[0].numpy()
    np.testing.assert_allclose(abs(result.gradient), theirs, atol=1e-5 * scale)
    np.testing.assert_allclose(result.map, theirs.max(axis=0), atol=1e-5 * scale)


@contextmanager
def not_in_place(model: nn.Module) -> Iterator[nn.Module]:
    """So that a plain hook sees what a layer gave."""
    changed = [module for module in model.modules() if getattr(module, "inplace", False)]
    for module in changed:
        module.inplace = False
    yield model
    for module in changed:
        module.inplace = True


@pytest.mark.parametrize(("name", "layer"), sample(PAIRS, every=3))
def test_grad_cam_equals_plain_pytorch_and_captum(name: str, layer: str) -> None:
    model, x = network(name), random_input(96)
    before = state_of(model)
    strongest = 0.0
    for target in (0, 4, 7):  # for some classes the map is 0 everywhere
        result = grad_cam(model, x, layer, target)
        assert state_of(model) == before
        with not_in_place(model) as plain:
            weights, cam = plain_grad_cam(plain, x, layer, target)
            captums = captum.attr.LayerGradCam(plain, plain.get_submodule(layer))
            theirs = captums.attribute(x, target=target, relu_attributions=True).detach()
        scale = float(weights.abs().max())
        np.testing.assert_allclose(result.weights, weights, atol=1e-5 * scale)
        scale = max(float(cam.max()), 1e-30)
        strongest = max(strongest, scale)
        np.testing.assert_allclose(result.map, cam, atol=1e-4 * scale)
        np.testing.assert_allclose(result.map, theirs[0, 0], atol=1e-4 * scale)
        large = captum.attr.LayerAttribution.interpolate(theirs, (96, 96), "bilinear")
        expected = F.interpolate(cam[None, None], (96, 96), mode="bilinear", align_corners=False)
        np.testing.assert_allclose(result.over_input, expected[0, 0], atol=1e-4 * scale)
        np.testing.assert_allclose(result.over_input, large[0, 0], atol=1e-4 * scale)
    assert strongest > 1e-9


def plain_grad_cam(model: nn.Module, x: Tensor, layer: str, target: int) -> tuple[Tensor, Tensor]:
    kept: list[Tensor] = []
    handle = model.get_submodule(layer).register_forward_hook(lambda m, a, o: kept.append(o))
    (gradient,) = torch.autograd.grad(model(x)[0, target], kept[0])
    handle.remove()
    weights = gradient.mean((2, 3))[0]
    return weights, torch.einsum("c,chw->hw", weights, kept[0][0]).relu().detach()


def test_grad_cam_of_one_call_of_a_reused_layer() -> None:
    torch.manual_seed(0)
    model, x = Reused(), random_input(8)
    results = [grad_cam(model, x, "conv", 1, call=call) for call in range(3)]
    a = x.clone().requires_grad_()
    first = model.conv(a)
    second = model.conv(first.relu())
    third = model.conv(second.relu())
    score = third.relu().mean((2, 3))[0, 1]
    for mine, maps in zip(results, (first, second, third), strict=True):
        (gradient,) = torch.autograd.grad(score, maps, retain_graph=True)
        cam = (gradient.mean((2, 3))[0][:, None, None] * maps[0]).sum(0).relu()
        np.testing.assert_allclose(mine.map, cam.detach(), atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "target", "words"),
    [
        ("conv", 3, "3 classes, 0 to 2; 3 is not one"),
        ("conv", -1, "-1 is not one"),
        ("unused", 0, "did not run"),
        ("nothing", 0, "no layer 'nothing'"),
        ("", 0, "not a set of maps"),
    ],
)
def test_what_has_no_grad_cam_is_said(layer: str, target: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        grad_cam(Reused(), random_input(8), layer, target)


def test_a_layer_the_scores_do_not_depend_on_is_named() -> None:
    class Aside(Reused):
        def forward(self, x: Tensor) -> Tensor:
            self.unused(x)
            return super().forward(x)

    with pytest.raises(ValueError, match="do not depend on 'unused'"):
        grad_cam(Aside(), random_input(8), "unused", 0)


def test_predictions_equal_softmax_and_topk() -> None:
    model, x = network("resnet18"), random_input()
    predictions = predict(model, x, [f"class {i}" for i in range(10)], k=5)
    with torch.no_grad():
        expected = model(x)[0].softmax(0).topk(5)
    assert [p.index for p in predictions] == expected.indices.tolist()
    assert [p.label for p in predictions] == [f"class {i}" for i in expected.indices]
    np.testing.assert_allclose([p.probability for p in predictions], expected.values, rtol=1e-5)


@pytest.mark.parametrize("layer", ["layer1", "bn1", "layer3.1.conv2"])
def test_switching_channels_off_equals_zeroing_them_by_hand(layer: str) -> None:
    model, x = network("resnet18"), random_input()
    ablation = switch_off(model, x, layer, [1, 5])
    other = copy.deepcopy(model)

    def zero(module: nn.Module, args: tuple, output: Tensor) -> Tensor:
        mask = torch.ones(output.shape[1])
        mask[[1, 5]] = 0
        return output * mask[:, None, None]

    with torch.no_grad():
        plain = other(x)[0]
        other.get_submodule(layer).register_forward_hook(zero)
        changed = other(x)[0]
    np.testing.assert_allclose(ablation.scores_before, plain, rtol=1e-6)
    np.testing.assert_allclose(ablation.scores_after, changed, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ablation.probabilities_after, changed.softmax(0), rtol=1e-4)
    assert not np.allclose(ablation.scores_before, ablation.scores_after)
    assert ablation.probabilities_after.sum() == pytest.approx(1)


def test_switching_off_one_call_or_all_calls_of_a_reused_layer() -> None:
    torch.manual_seed(0)
    model, x = Reused(), random_input(8)
    every = switch_off(model, x, "conv", [0, 1, 2])
    assert not every.scores_after.any()
    with torch.no_grad():
        zeroed = torch.zeros(1, 3, 8, 8)
        expected = model.conv(model.conv(zeroed).relu()).relu().mean((2, 3))[0]
    first = switch_off(model, x, "conv", [0, 1, 2], call=0)
    np.testing.assert_allclose(first.scores_after, expected, atol=1e-6)
    with pytest.raises(ValueError, match="has channels 0 to 2"):
        switch_off(model, x, "conv", [3])
    with pytest.raises(ValueError, match="there is no call 3"):
        switch_off(model, x, "conv", [0], call=3)
    nothing = switch_off(model, x, "conv", [])
    assert np.array_equal(nothing.scores_before, nothing.scores_after)


def test_the_evidence_lies_on_the_shape() -> None:
    """Grad-CAM of the shipped network: stronger on a drawn star than on the ground around it."""
    images, labels = draw(60, seed=5)
    model = shapes_net()
    inside, outside = [], []
    for image, label in zip(images, labels, strict=True):
        if CLASSES[label] not in ("star", "cross", "ring"):
            continue
        ground = np.median(image.reshape(3, -1), axis=1)[:, None, None]
        shape = abs(image - ground).max(axis=0) > 0.3
        cam = grad_cam(model, torch.from_numpy(image[None]), "block3.relu2", int(label)).over_input
        inside.append(cam[shape].mean())
        outside.append(cam[~shape].mean())
    assert np.mean(inside) > 1.5 * np.mean(outside)


def test_a_gradient_that_overflows_is_said() -> None:
    model = shapes_net()
    with torch.no_grad():
        model.fc.weight.mul_(1e38)
        model.block1.conv1.weight.mul_(1e10)
    x = 1e-30 * torch.rand(1, 3, 64, 64)  # so small that the scores themselves stay finite
    for bias in (p for name, p in model.named_parameters() if name.endswith("bias")):
        bias.data.zero_()
    assert torch.isfinite(model(x)).all()
    with pytest.raises(ValueError, match="gradient overflows"):
        saliency(model, x)
    with torch.no_grad():
        model.fc.weight.mul_(torch.inf)
    with pytest.raises(ValueError, match="gradient overflows"):
        grad_cam(model, torch.rand(1, 3, 64, 64), "block3.conv2", 0)
