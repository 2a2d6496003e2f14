"""Receptive fields against published numbers and against the gradient of one output pixel."""

import copy

import pytest
import torch
from torch import Tensor, nn

from explorer.networks.image_networks import shapes_net
from explorer.torchvision_guard import torchvision
from explorer.vision import receptive_fields
from explorer.vision.feature_maps import get_layer
from tests.marks import thorough
from tests.vision.models import Reused, network, random_input


def all_positive(model: nn.Module) -> nn.Module:
    """A copy in which no gradient can vanish or cancel: positive weights that add up to 1,
    average instead of maximum pooling, no ReLU cut."""
    model = copy.deepcopy(model)
    for name, module in list(model.named_modules()):
        parent, _, last = name.rpartition(".")
        if isinstance(module, nn.MaxPool2d):
            pool = nn.AvgPool2d(module.kernel_size, module.stride, module.padding, module.ceil_mode)
            setattr(model.get_submodule(parent), last, pool)
        elif isinstance(module, nn.ReLU | nn.GELU):
            setattr(model.get_submodule(parent), last, nn.Identity())
        elif isinstance(module, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            nn.init.constant_(module.weight, 1 / module.weight[0].numel())
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            module.reset_parameters()
            module.reset_running_stats()
    return model


def box_of_gradient(model: nn.Module, layer: str, row: int, column: int, x: Tensor) -> tuple:
    """Left, top, right, bottom of the pixels on which one output pixel depends; zeros for none."""
    x = x.double().requires_grad_()
    kept: list[Tensor] = []
    handle = get_layer(model, layer).register_forward_hook(lambda m, a, o: kept.append(o.clone()))
    model.double()(x)
    handle.remove()
    (gradient,) = torch.autograd.grad(kept[0][0, :, row, column].abs().sum(), x)
    rows, columns = (gradient[0].abs().sum((0, axis)).nonzero().flatten() for axis in (2, 1))
    if not len(rows):
        return 0, 0, 0, 0
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


@pytest.mark.parametrize(
    ("layer", "row", "column"),
    [
        ("conv1", 10, 20),
        ("maxpool", 0, 5),
        ("layer1", 12, 9),
        thorough("layer2.0.conv1", 7, 7),
        thorough("layer2", 15, 3),
        thorough("layer3", 8, 8),
        ("layer4", 9, 8),
    ],
)
def test_resnet18_sees_exactly_the_box_that_the_gradient_reaches(
    layer: str, row: int, column: int
) -> None:
    size = 544 if layer == "layer4" else 256  # wide enough for 435 pixels
    x = random_input(size)
    model = all_positive(network("resnet18"))
    (field,) = receptive_fields(network("resnet18"), x)[layer]
    assert field is not None
    assert field.box(row, column) == box_of_gradient(model, layer, row, column, x)


@pytest.mark.fast
def test_the_size_is_that_far_from_the_borders() -> None:
    (field,) = receptive_fields(network("resnet18"), random_input(64))["layer4"]
    assert field is not None
    assert field.size == (435, 435)
    assert field.box(1, 1) == (0, 0, 64, 64)


class Odd(nn.Module):
    """Dilation, uneven kernels and strides, "same" and explicit padding, average pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(3, 2, (1, 5), stride=(1, 2), padding=(0, 1))
        self.dilated = nn.Conv2d(2, 2, 3, dilation=3, padding="same")
        self.even = nn.Conv2d(2, 2, 4, padding="same")
        self.pool = nn.AvgPool2d((3, 2), stride=(2, 1))
        self.last = nn.Conv2d(4, 4, 3, groups=2)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.pad(self.wide(x), (2, 0, 1, 0))
        x = self.dilated(x) + x
        x = torch.cat([x, self.even(x)], dim=1)
        return self.last(self.pool(x))


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("layer", ["wide", "dilated", "even", "pool", "last"])
@pytest.mark.parametrize(("row", "column"), [(12, 10), (9, 8), (8, 11)])
def test_other_geometries_see_exactly_the_box_that_the_gradient_reaches(
    layer: str, row: int, column: int
) -> None:
    model, x = all_positive(Odd()), random_input(48)
    fields = receptive_fields(model.float(), x)
    field = fields[layer][0]
    assert field is not None
    assert field.box(row, column) == box_of_gradient(model, layer, row, column, x)


def padded(mode: str) -> nn.Module:
    """Two convolutions that read their padding from inside the image."""
    return nn.Sequential(
        nn.Conv2d(3, 2, 5, padding=4, padding_mode=mode),
        nn.Conv2d(2, 2, 3, padding=1, padding_mode=mode, stride=2),
    )


class Channelwise(nn.Module):
    """Channels last for a layer norm and a linear layer, as in ConvNeXt."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 7, padding=3, groups=1)
        self.linear = nn.Linear(4, 2)
        self.last = nn.Conv2d(2, 2, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.linear(self.conv(x).permute(0, 2, 3, 1))
        return self.last(x.transpose(1, 3).transpose(2, 3))


GEOMETRIES = {
    **{mode: padded(mode) for mode in ("zeros", "reflect", "replicate", "circular")},
    "transposed": nn.Sequential(
        nn.Conv2d(3, 2, 3, stride=2),
        nn.ConvTranspose2d(2, 2, 4, stride=3, padding=2, output_padding=1),
        nn.ConvTranspose2d(2, 2, 3, stride=2, dilation=2, groups=2),
        nn.Conv2d(2, 2, 3, stride=2, padding=1),
    ),
    "nearest": nn.Sequential(nn.Conv2d(3, 2, 3), nn.Upsample(scale_factor=2), nn.Conv2d(2, 2, 3)),
    "bilinear": nn.Sequential(
        nn.Conv2d(3, 2, 3, stride=2), nn.Upsample(size=(21, 30), mode="bilinear")
    ),
    "adaptive": nn.Sequential(nn.Conv2d(3, 2, 3), nn.AdaptiveAvgPool2d((7, 5))),
    "adaptive to its own size": nn.Sequential(nn.Conv2d(3, 2, 3, 4), nn.AdaptiveAvgPool2d(5)),
    "ceiling": nn.Sequential(nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.Conv2d(3, 2, 2)),
    "dilated pooling": nn.Sequential(nn.Conv2d(3, 2, 3), nn.Conv2d(2, 2, 2, dilation=5, groups=2)),
    "channels last": Channelwise(),
}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_every_position_at_a_border_is_confirmed_too(name: str) -> None:
    model, x = all_positive(GEOMETRIES[name]), random_input(20)
    for layer, (field,) in receptive_fields(model.float(), x).items():
        if layer == "linear":  # its rows and columns are not where those of maps are
            assert field is None
            continue
        assert field is not None
        last = len(field.rows.spans) - 1, len(field.columns.spans) - 1
        for row, column in {(0, 0), (0, last[1] // 2), (last[0] // 3, 1), last}:
            assert field.box(row, column) == box_of_gradient(model, layer, row, column, x)


@pytest.mark.parametrize(
    ("layer", "row", "column"),
    [
        ("features.denseblock1.denselayer3.conv2", 0, 7),
        ("features.transition1.pool", 7, 3),
        ("features.denseblock2.denselayer1.conv2", 2, 2),
    ],
)
def test_densenet_sees_exactly_the_box_that_the_gradient_reaches(
    layer: str, row: int, column: int
) -> None:
    x, model = random_input(), all_positive(network("densenet121"))
    (field,) = receptive_fields(network("densenet121"), x)[layer]
    assert field is not None
    assert field.box(row, column) == box_of_gradient(model, layer, row, column, x)


@pytest.mark.parametrize("layer", ["block1.conv2", "block2.pool", "block3.relu2"])
def test_our_own_networks_boxes_are_confirmed_too(layer: str) -> None:
    x = random_input(64)
    (field,) = receptive_fields(shapes_net(), x)[layer]
    assert field is not None
    box = box_of_gradient(all_positive(shapes_net()), layer, 3, 5, x)
    assert field.box(3, 5) == box


def test_pooling_over_everything_sees_everything_and_unknown_operations_say_so() -> None:
    fields = receptive_fields(network("resnet18"), random_input())
    assert fields["avgpool"][0].box(0, 0) == (0, 0, 64, 64)
    squeeze = receptive_fields(network("mobilenet_v3_small"), random_input())
    assert squeeze["features.0"][0].size == (3, 3)
    # The first squeeze-and-excitation lets every pixel see the whole image.
    assert squeeze["features.1"][0].box(0, 0) == (0, 0, 64, 64)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.PixelShuffle(2), nn.Conv2d(1, 3, 3))
    assert receptive_fields(model, random_input(8))["0"][0].size == (3, 3)
    assert receptive_fields(model, random_input(8))["2"] == (None,)


def test_each_call_of_a_reused_layer_has_its_own_field() -> None:
    fields = receptive_fields(Reused(), random_input(16))["conv"]
    assert [field.size for field in fields] == [(3, 3), (5, 5), (7, 7)]


def test_torchvision_stays_as_it_was() -> None:
    model = torchvision.models.get_model("alexnet", weights=None, num_classes=3).train()
    receptive_fields(model, random_input(64))
    assert all(module.training and not module._forward_hooks for module in model.modules())


@pytest.mark.fast
def test_the_field_of_an_input_is_that_of_the_output_before() -> None:
    model, x = shapes_net(), torch.rand(1, 3, 64, 64)
    outputs, inputs = receptive_fields(model, x), receptive_fields(model, x, of="input")
    assert inputs["block1.conv1"][0].size == (1, 1)
    assert inputs["block1.conv2"] == outputs["block1.relu1"]
    assert inputs["block2.conv1"] == outputs["block1.pool"]
