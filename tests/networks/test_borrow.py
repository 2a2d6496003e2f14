"""A borrowed model is used by one user at a time and given back as it was."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from explorer.networks import inspect
from explorer.networks.borrow import borrow, borrow_frozen, borrow_seeded, copy_on
from explorer.vision import feature_maps
from tests.networks.helpers import Awkward, Renormalises, assert_same, snapshot

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("lend", [borrow, borrow_frozen, borrow_seeded])
def test_everything_is_put_back_after_an_error(lend, train):
    model = Awkward().train(train)
    for parameter in list(model.parameters())[:2]:
        parameter.grad = torch.full_like(parameter, 0.5)
    before = snapshot(model)

    def use():
        with lend(model) as loan:
            loan.keep(model.first.register_forward_hook(lambda *args: None))
            loan.keep(model.norm.register_full_backward_hook(lambda *args: None))
            model.train(not train).requires_grad_(True)
            model.norm.running_mean.add_(1)
            model.norm.running_var = torch.zeros(6)
            for parameter in model.parameters():
                parameter.grad = torch.ones_like(parameter)
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        use()
    assert_same(before, snapshot(model))


def test_written_parameters_are_put_back():
    model = Renormalises()
    before = snapshot(model)
    with borrow(model) as loan, loan.operations:
        model(torch.tensor([0, 1, 4]))
    assert_same(before, snapshot(model))
    assert loan.operations.flops > 0


def test_a_copy_is_frozen_and_the_original_is_not():
    model = Awkward()
    before = snapshot(model)
    copied = copy_on(model, "cpu")
    assert_same(before, snapshot(model))
    assert not copied.training
    assert not any(parameter.requires_grad for parameter in copied.parameters())


def test_a_second_user_waits():
    model = nn.Linear(2, 2)
    order = []

    def use():
        with borrow_frozen(model):
            order.append("second")

    thread = threading.Thread(target=use)
    with borrow(model):
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(20)
    assert order == ["first", "second"]


def test_inspection_and_feature_maps_share_a_model():
    """The one takes the process's lock and the model's, the other only the model's."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
    x = torch.randn(2, 3, 8, 8)
    loss = inspect(model, x, seed=0).loss
    maps = feature_maps(model, x[:1], "0").activations
    before = snapshot(model)

    def use(number):
        if number % 2:
            return inspect(model, x, seed=0).loss == loss
        return np.array_equal(feature_maps(model, x[:1], "0").activations, maps)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(use, range(40), timeout=60))
    assert_same(before, snapshot(model))
