"""The plane's data sets and perceptron against a plain PyTorch script made from their texts."""

import numpy as np
import pytest
import torch

from explorer.networks.planar import DATA, planar
from explorer.training import ModuleProblem


def run_text(problem: ModuleProblem, seed: int) -> tuple[torch.nn.Module, torch.Tensor]:
    """The problem's own source, run by plain Python."""
    torch.manual_seed(seed)
    names: dict = {}
    exec(problem.source, names)
    exec(problem.loss_source, names)
    return names["net"], names["loss"]


@pytest.mark.parametrize("data", DATA)
def test_source_and_instance_are_the_same_problem(data: str) -> None:
    problem = planar(data, depth=1, width=4, activation="ReLU", noise=0.2)
    before = torch.random.get_rng_state()
    live = problem.build(seed=3)
    loss = live.loss()
    loss.backward()
    assert torch.equal(before, torch.random.get_rng_state())
    net, expected = run_text(problem, seed=3)
    expected.backward()
    assert loss.item() == expected.item()
    for name, parameter in net.named_parameters():
        assert torch.equal(live.parameters[name], parameter)
        assert torch.equal(live.parameters[name].grad, parameter.grad)


def test_decision_agrees_with_the_network() -> None:
    problem = planar("circles")
    live = problem.build(seed=1)
    values = {name: p.detach().numpy().copy() for name, p in live.parameters.items()}
    decision = problem.decision(values, seed=1, size=5)
    assert decision.train_loss == live.loss().item()
    point = torch.tensor([[decision.x[3], decision.y[1]]])
    with torch.no_grad():
        expected = live.model(point).sigmoid().item()
    assert decision.probability[1, 3] == pytest.approx(expected, rel=1e-6)
    assert decision.train_points.shape == decision.test_points.shape == (200, 2)
    assert not np.array_equal(decision.train_points, decision.test_points)
    assert 0 <= decision.test_accuracy <= 1


@pytest.mark.parametrize("data", DATA)
def test_every_data_set_can_be_learnt(data: str) -> None:
    problem = planar(data, depth=2, width=16, noise=0.05)
    live = problem.build()
    optimizer = torch.optim.Adam(live.parameters.values(), lr=0.03)
    for _ in range(400):
        optimizer.zero_grad()
        live.loss().backward()
        optimizer.step()
    values = {name: p.detach().numpy() for name, p in live.parameters.items()}
    assert problem.decision(values).test_accuracy > 0.9


@pytest.mark.parametrize(
    "settings",
    [{"data": "stars"}, {"depth": 9}, {"width": 0}, {"activation": "Linear"}, {"noise": -1.0}],
)
def test_wrong_settings_are_named(settings: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        planar(**settings)
