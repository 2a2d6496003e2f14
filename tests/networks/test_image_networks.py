"""The drawn pictures and the two networks of our own."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.networks.image_networks import (
    FILTER_BANK_CHANNELS,
    FILTERS,
    IMAGE_SIZE,
    WEIGHTS,
    ShapesNet,
    filter_bank,
    shapes_net,
    stated_accuracy,
)
from explorer.networks.synthetic_images import CLASSES, draw, draw_one
from explorer.networks.train import TEST_SEED, TRAIN_SEED, accuracy, make_data


def test_pictures_are_repeatable_balanced_and_in_range() -> None:
    images, labels = draw(60, size=32, seed=4)
    assert images.shape == (60, 3, 32, 32)
    assert images.dtype == np.float32
    assert labels.dtype == np.int64
    assert images.min() >= 0
    assert images.max() <= 1
    assert np.bincount(labels, minlength=len(CLASSES)).tolist() == [5] * 12
    again, _ = draw(60, size=32, seed=4)
    assert np.array_equal(images, again)
    other, _ = draw(60, size=32, seed=5)
    assert not np.array_equal(images, other)
    assert len({image.tobytes() for image in images}) == 60
    assert np.array_equal(draw_one("star", 40, 2), draw_one("star", 40, 2))


def test_at_least_ten_classes_with_names_of_their_own() -> None:
    assert len(set(CLASSES)) == len(CLASSES) >= 10


def test_the_shipped_weights_reach_the_stated_accuracy_on_new_pictures() -> None:
    assert WEIGHTS.stat().st_size < 1_000_000
    assert stated_accuracy() >= 0.98
    seed = 77
    assert seed not in (TRAIN_SEED, TEST_SEED)
    images, labels = make_data(360, IMAGE_SIZE, seed)
    with torch.no_grad():
        assert accuracy(shapes_net(), images, labels) >= stated_accuracy() - 0.01
        torch.manual_seed(0)
        assert accuracy(ShapesNet(), images[:120], labels[:120]) < 0.3  # the weights are what knows


def test_the_shipped_network_is_ready_to_train_on_and_draws_no_random_numbers() -> None:
    before = torch.get_rng_state()
    model = shapes_net()
    assert torch.equal(torch.get_rng_state(), before)
    assert not model.training
    assert all(p.requires_grad and p.is_leaf and not p.is_meta for p in model.parameters())
    assert model(torch.rand(2, 3, 8, 8)).shape == (2, len(CLASSES))


def test_filters_do_what_their_names_say() -> None:
    bank, names = filter_bank(), FILTER_BANK_CHANNELS["filters"]
    ramp = torch.arange(20.0)
    flat = torch.full((20, 20), 0.5)
    rightwards, downwards = ramp.repeat(20, 1), ramp.repeat(20, 1).T

    def responses(picture: torch.Tensor) -> dict[str, torch.Tensor]:
        colours = bank.colours(picture.expand(1, 3, 20, 20))
        torch.testing.assert_close(colours[0, 0], picture)  # the shares add up to 1
        return dict(zip(names, bank.filters(colours)[0, :, 5:-5, 5:-5], strict=True))

    on_flat, on_right, on_down = map(responses, (flat, rightwards, downwards))
    for name in ("brightness", "blurred", "sharpened"):
        torch.testing.assert_close(on_flat[name], flat[5:-5, 5:-5])
        torch.testing.assert_close(on_right[name], rightwards[5:-5, 5:-5], atol=1e-4, rtol=1e-4)
    for name in names[3:]:
        torch.testing.assert_close(on_flat[name], torch.zeros(10, 10), atol=1e-6, rtol=0)
    # A slope of 1 per pixel: edges give 2 (they compare pixels two apart), fine detail nothing.
    torch.testing.assert_close(on_right["vertical edges"], torch.full((10, 10), 2.0))
    torch.testing.assert_close(on_down["horizontal edges"], torch.full((10, 10), 2.0))
    torch.testing.assert_close(on_right["horizontal edges"], torch.zeros(10, 10), atol=1e-4, rtol=0)
    torch.testing.assert_close(on_right["fine detail"], torch.zeros(10, 10), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("degrees", "direction"),
    [(0, "vertical"), (45, "rising"), (90, "horizontal"), (135, "falling")],
)
def test_a_gabor_filter_answers_to_waves_of_its_own_direction(degrees: int, direction: str) -> None:
    y, x = torch.meshgrid(torch.arange(40.0), torch.arange(40.0), indexing="ij")
    angle = torch.deg2rad(torch.tensor(float(degrees)))
    wave = torch.cos(2 * torch.pi * (x * angle.cos() + y * angle.sin()) / 4)
    answer = {
        name: F.conv2d(wave[None, None], kernel[None, None]).abs().max()
        for name, kernel in FILTERS.items()
        if name.endswith("stripes")
    }
    assert max(answer, key=lambda name: answer[name]) == f"{direction} stripes"


def test_opponent_colours_have_the_sign_in_their_name() -> None:
    bank = filter_bank()
    for rgb, channel, sign in (
        ((1, 0, 0), "red − green", 1),
        ((0, 1, 0), "red − green", -1),
        ((0, 0, 1), "blue − yellow", 1),
        ((1, 1, 0), "blue − yellow", -1),
        ((1, 1, 1), "red − green", 0),
        ((1, 1, 1), "blue − yellow", 0),
    ):
        image = torch.tensor(rgb, dtype=torch.float32)[None, :, None, None].expand(1, 3, 9, 9)
        colours = bank.colours(image)
        for layer, maps in (("colours", colours), ("filters", bank.filters(colours))):
            value = maps[0, FILTER_BANK_CHANNELS[layer].index(channel), 4, 4]
            assert abs(float(value) - sign) < 1e-6, (rgb, layer, channel)
