"""What is unusual about a network: said of sick ones, not of healthy ones."""

import pytest
import torch
from torch import nn

from explorer.networks import inspect, names, problem
from explorer.networks.classifiers import CLASSIFIERS
from explorer.networks.health import find_health
from explorer.torchvision_guard import torchvision
from tests.marks import sample
from tests.networks.helpers import Awkward

#: Presets that are there to show what is wrong.
SICK = {"ToyModel": {"never used"}, "plain, 20 layers": {"vanishing"}}
SMALL = [name for name in names() if name not in CLASSIFIERS]


def findings(model, *inputs, loss=None, seed=0):
    return find_health(inspect(model, *inputs, loss=loss, seed=seed))


def warnings(found):
    return {finding.kind for finding in found if finding.warns}


def chain(depth, activation, gain=None, width=64):
    torch.manual_seed(0)
    layers = []
    for _ in range(depth):
        linear = nn.Linear(width, width)
        if gain:
            nn.init.normal_(linear.weight, std=gain / width**0.5)
            nn.init.zeros_(linear.bias)
        layers += [linear, activation()]
    return nn.Sequential(*layers, nn.Linear(width, 10)), torch.randn(32, width)


def kinds(depth, activation, gain=None):
    model, x = chain(depth, activation, gain)
    target = torch.arange(32) % 10
    loss = nn.functional.cross_entropy
    return warnings(findings(model, x, loss=lambda output: loss(output, target)))


@pytest.mark.fast
@pytest.mark.parametrize("name", SMALL)
def test_presets_are_as_healthy_as_they_claim(name):
    preset = problem(name)
    found = findings(preset.model, *preset.inputs, loss=preset.network.criterion)
    assert warnings(found) == SICK.get(name, set())


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "name",
    sample(
        [
            *(name for name in CLASSIFIERS if name not in ("densenet201", "vgg11", "vit_b_16")),
            *("mobilenet_v2", "mnasnet0_5", "resnext50_32x4d"),
        ],
        every=5,
    ),
)
def test_untrained_classifiers_raise_no_alarm(name, training):
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None).train(training)
    images, target = torch.randn(4, 3, 96, 96), torch.arange(4)
    loss = nn.functional.cross_entropy
    assert warnings(findings(model, images, loss=lambda output: loss(output, target))) == set()


@pytest.mark.fast
def test_gradients_that_vanish_or_explode():
    # Sigmoids divide gradients by four at each layer, and large weights multiply them.
    assert kinds(3, nn.Sigmoid) == set()
    assert kinds(8, nn.Sigmoid) == {"vanishing"}
    assert kinds(50, nn.Sigmoid) == {"vanishing"}  # to 0, in float32
    assert kinds(20, nn.Tanh) == {"vanishing"}  # PyTorch's own initialisation
    assert kinds(20, nn.Tanh, 1) == set()
    assert kinds(20, nn.ReLU, 2**0.5) == set()
    assert kinds(20, nn.ReLU, 3) == {"exploding"}
    assert kinds(30, nn.Identity, 2) == {"exploding"}
    assert "exploding" in kinds(40, nn.Tanh, 4)


@pytest.mark.fast
def test_a_head_of_zeros_is_no_vanishing_gradient():
    model, x = chain(6, nn.ReLU, 2**0.5)
    nn.init.zeros_(model[-1].weight)
    assert warnings(findings(model, x)) == set()


@pytest.mark.fast
def test_dead_units_need_several_samples():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        model[0].bias[:6] = -100.0
        model[0].bias[6:] = 100.0
    (dead,) = findings(model, torch.randn(20, 4))
    assert (dead.kind, dead.layers) == ("dead", ("1",))
    assert dead.sentence.startswith("6 of 8 units")
    assert findings(model, torch.randn(1, 4)) == ()
    model[0].bias.data[5] = 100.0
    assert findings(model, torch.randn(20, 4)) == ()


@pytest.mark.fast
@pytest.mark.parametrize(("activation", "gain"), [(nn.Tanh, 20), (nn.Sigmoid, 40)])
def test_saturated_activations(activation, gain):
    model, x = chain(1, activation, gain)
    (finding,) = findings(model, x)
    assert (finding.kind, finding.layers) == ("saturated", ("1",))
    model, x = chain(1, activation, 1)
    assert findings(model, x) == ()
    report = inspect(model, x)
    output = model[1](model[0](x)).detach()
    slope = 1 - output**2 if activation is nn.Tanh else 4 * output * (1 - output)
    assert report.layers[1].saturated == pytest.approx((slope < 0.01).float().mean().item())


@pytest.mark.fast
def test_frozen_shared_unused_and_eval_mode():
    torch.manual_seed(0)
    model = Awkward()
    found = {f.kind: f for f in findings(model, torch.randn(20, 6))}
    assert found["never used"].layers == ("unused",)
    assert found["frozen"].layers == ("frozen",)
    assert found["shared"].layers == ("first", "tied")
    assert "eval mode" not in found
    model.eval()
    found = {f.kind: f for f in findings(model, torch.randn(20, 6))}
    assert found["eval mode"].sentence == (
        "1 BatchNorm1d uses its running statistics, 1 Dropout drops nothing."
    )
    model.drop.train()
    found = {f.kind: f for f in findings(model, torch.randn(20, 6))}
    assert found["eval mode"].layers == ("norm",)
    assert not found["eval mode"].warns
    again = nn.RNNCell(3, 3)

    class Unrolled(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = again

        def forward(self, x):
            h = None
            for row in x:
                h = self.cell(row, h)
            return h

    (shared,) = findings(Unrolled(), torch.randn(7, 2, 3))
    assert "called 7 times" in shared.sentence


@pytest.mark.fast
def test_gradients_that_are_not_finite_and_runs_that_fail():
    model, x = chain(2, nn.ReLU, 1)
    x[0, 0] = torch.nan
    assert "not finite" in warnings(findings(model, x))
    assert findings(model, torch.randn(3, 5)) == ()  # it raises
    with torch.device("meta"):
        meta = nn.Linear(3, 3)
    assert findings(meta, torch.randn(2, 3, device="meta")) == ()
