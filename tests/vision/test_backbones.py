"""The networks of the page, and the input that they get from an image."""

import numpy as np
import pytest
import torch
from matplotlib.cbook import get_sample_data
from PIL import Image

from explorer.networks.classifiers import CLASSIFIERS, published_weights
from explorer.networks.synthetic_images import CLASSES, draw_one
from explorer.torchvision_guard import torchvision
from explorer.vision import BACKBONES, build, decode, predict


def grace_hopper() -> np.ndarray:
    with get_sample_data("grace_hopper.jpg") as file:
        return decode(file.read()).rgb


def test_every_network_runs_on_a_photograph_and_names_its_classes() -> None:
    assert tuple(BACKBONES)[:3] == ("filter_bank", "shapes_net", "resnet18")
    picture = grace_hopper()
    for name in ("filter_bank", "shapes_net", "resnet18", "mobilenet_v3_small", "densenet121"):
        backbone = BACKBONES[name]
        prepared = backbone.prepare(picture)
        with torch.no_grad():
            output = build(name)(prepared.tensor)
        assert torch.isfinite(output).all()
        assert output.shape[1] == (len(backbone.labels) or 12)
        assert bool(backbone.ready) != bool(backbone.url)


def test_every_classifier_of_the_network_page_is_offered() -> None:
    assert set(CLASSIFIERS) <= set(BACKBONES)
    titles = [backbone.title for backbone in BACKBONES.values()]
    assert len({*titles}) == len(titles)
    for name in CLASSIFIERS:
        assert BACKBONES[name].url == published_weights(name).url
        assert len(BACKBONES[name].labels) == 1000


@pytest.mark.parametrize(
    "name", ["resnet18", "densenet121", "vit_b_16", "swin_t", "efficientnet_b0"]
)
def test_the_preparation_is_torchvisions_own(name: str) -> None:
    picture = grace_hopper()
    transform = torchvision.models.get_model_weights(name).IMAGENET1K_V1.transforms()
    expected = transform(Image.fromarray(picture))[None].numpy()
    assert np.array_equal(BACKBONES[name].prepare(picture).values, expected)


def test_what_the_network_saw_is_the_input_before_normalising() -> None:
    prepared = BACKBONES["resnet18"].prepare(grace_hopper())
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    back = prepared.rgb / 255
    np.testing.assert_allclose(
        ((back - mean) / std).transpose(2, 0, 1), prepared.values[0], atol=0.5 / 255 / 0.22
    )


@pytest.mark.parametrize(
    "size", [(512, 600), (600, 512), (300, 301), (40, 400), (1, 1), (224, 224)]
)
@pytest.mark.parametrize("name", ["resnet18", "shapes_net"])
def test_the_box_on_the_original_is_what_was_cut_out(name: str, size: tuple[int, int]) -> None:
    width, height = size
    # Red grows from left to right, green from top to bottom: colour tells the place.
    picture = np.zeros((height, width, 3), np.uint8)
    picture[..., 0] = (np.arange(width) + 0.5) / width * 255
    picture[..., 1] = ((np.arange(height) + 0.5) / height * 255)[:, None]
    prepared = BACKBONES[name].prepare(picture)
    left, top, right, bottom = prepared.box
    assert right - left == pytest.approx(bottom - top, rel=0.01)
    seen = prepared.rgb.astype(float)
    n = len(seen)
    pixel = 1.01 * (right - left) / n  # the middle is a whole number of the network's pixels
    assert left == pytest.approx(width - right, abs=pixel)
    assert top == pytest.approx(height - bottom, abs=pixel)
    for row, column in ((n // 2, n // 2), (n // 4, 3 * n // 4), (3 * n // 4, n // 4)):
        x = left + (column + 0.5) / n * (right - left)
        y = top + (row + 0.5) / n * (bottom - top)
        assert abs(seen[row, column, 0] - x / width * 255) <= 3 + 128 / width * (width == 1)
        assert abs(seen[row, column, 1] - y / height * 255) <= 3 + 128 / height * (height == 1)


def test_untrained_weights_are_the_same_every_time_and_leave_the_random_state_alone() -> None:
    before = torch.get_rng_state()
    first, second = build("mobilenet_v3_small"), build("mobilenet_v3_small")
    assert torch.equal(torch.get_rng_state(), before)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_shipped_network_recognises_a_drawn_picture_given_as_a_file() -> None:
    model, right = build("shapes_net"), 0
    for name in CLASSES:
        large = draw_one(name, size=200, seed=3)
        picture = (large.transpose(1, 2, 0) * 255).astype(np.uint8)
        prepared = BACKBONES["shapes_net"].prepare(picture)
        right += predict(model, prepared.tensor, CLASSES, 1)[0].label == name
    assert right >= 11
