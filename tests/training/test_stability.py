"""Curvature and regimes against closed forms, differences, and runs that really converge or not."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import torch

from explorer.networks.planar import planar
from explorer.training import (
    PRESETS,
    Ahead,
    ProgramProblem,
    TrainingSession,
    through_elements,
)
from explorer.training.curvature import lanczos, measure_curvature
from explorer.training.optimizers import OPTIMIZERS
from explorer.training.stability import (
    REGIMES,
    Stability,
    critical_lr,
    factors,
    find_stability,
    read_path,
)
from tests.marks import sample

QUADRATIC = "ill-conditioned quadratic"


def program(setup: str, loss: str) -> ProgramProblem:
    return ProgramProblem(f"import torch\n{setup}", loss)


def stability(name: str, optimizer: str = "SGD", **hyper: Any) -> Stability:
    session = TrainingSession(PRESETS[name], optimizer, **hyper)
    return find_stability(session.look_ahead(steps=400, seconds=60, curvature=1.0))


# -- curvature -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "eigenvalues", "is_constant"),
    [("parabola", [2.0], True), (QUADRATIC, [0.2, 4.0], True)],
)
def test_curvature_is_known(name: str, eigenvalues: list[float], is_constant: bool) -> None:
    found = measure_curvature(PRESETS[name].build())
    assert found is not None
    assert np.allclose(found.eigenvalues, eigenvalues, rtol=1e-6)
    assert found.is_constant == is_constant
    assert found.is_whole


def test_curvature_of_rosenbrock_is_the_formula() -> None:
    found = measure_curvature(PRESETS["rosenbrock"].build())
    x, y = -1.5, 2.0
    hessian = [[2 - 400 * y + 1200 * x * x, -400 * x], [-400 * x, 200.0]]
    assert found is not None
    assert np.allclose(found.eigenvalues, np.linalg.eigvalsh(hessian), rtol=1e-5)
    assert not found.is_constant


def test_curvature_of_regression_is_that_of_its_data() -> None:
    problem = PRESETS["linear regression"]
    data = problem.tensors(3)["X"].astype(np.float64)
    design = np.concatenate([data, np.ones((1000, 1))], axis=1)
    found = measure_curvature(problem.build(3))
    assert found is not None
    assert np.allclose(found.eigenvalues, np.linalg.eigvalsh(design.T @ design / 1000), rtol=1e-5)
    assert found.is_constant


def test_the_largest_curvature_of_a_network_is_that_of_differences() -> None:
    live = planar("moons").build(0)
    leaves = list(live.parameters.values())
    for leaf in leaves:
        leaf.data = leaf.data.double()
    assert live.model is not None
    live.model.double()
    leaves = list(live.model.parameters())
    network = planar("moons")
    inputs = [x.double() if x.is_floating_point() else x for x in network.inputs]

    def gradient() -> np.ndarray:
        assert live.model is not None
        loss = network.network.criterion(live.model(*inputs))
        return np.concatenate([g.numpy().ravel() for g in torch.autograd.grad(loss, leaves)])

    rows = []
    for leaf in leaves:
        for index in np.ndindex(*leaf.shape):
            middle = leaf.data[index].item()
            sides = []
            for side in (1e-5, -1e-5):
                leaf.data[index] = middle + side
                sides.append(gradient())
            leaf.data[index] = middle
            rows.append((sides[0] - sides[1]) / 2e-5)
    largest = np.linalg.eigvalsh((np.array(rows) + np.array(rows).T) / 2)[-1]
    found = measure_curvature(network.build(0), 60)
    assert found is not None
    assert not found.is_whole
    assert found.largest == pytest.approx(largest, rel=0.02)


@pytest.mark.parametrize("values", [[1.0, 5.0, 9.0], [-20.0, 1.0, 3.0], [2.0] * 4, [0.0, 0.0]])
def test_lanczos_finds_the_largest_eigenvalue(values: list[float]) -> None:
    turn, _ = torch.linalg.qr(
        torch.randn(len(values), len(values), generator=torch.Generator().manual_seed(1)).double()
    )
    matrix = turn @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ turn.T
    found = lanczos(lambda vector: matrix @ vector, len(values), math.inf)
    assert found == pytest.approx(max(values), abs=1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        "(w.abs() + w**2).sum()",
        "(w**2).sum() + w[0]**4 / 100",
        "(w**2).sum() * torch.rand(())",
        "seen += 1\nloss = (seen * w**2).sum()",
    ],
)
def test_what_is_not_quadratic_is_not_said_to_be(loss: str) -> None:
    setup = "w = torch.tensor([1.0, 2.0], requires_grad=True)\nseen = torch.zeros(1)"
    session = TrainingSession(program(setup, loss), lr=0.1)
    ahead = session.look_ahead(steps=2, seconds=60, curvature=1.0)
    assert ahead.curvature is not None
    assert not ahead.curvature.is_constant


@pytest.mark.parametrize(
    ("setup", "loss"),
    [
        ("w = torch.tensor(0.0, requires_grad=True)", "w.abs() ** 1.5"),
        ("w = torch.ones(2, requires_grad=True)", "loss = (w**2).sum()\nloss.backward()"),
        ("w = torch.ones(2, requires_grad=True, dtype=torch.complex64)", "(w.abs()**2).sum()"),
        ("w = torch.ones(20_000, requires_grad=True)", "(w**2).sum()"),
    ],
)
def test_none_where_it_cannot_be_computed(setup: str, loss: str) -> None:
    session = TrainingSession(program(setup, loss), lr=0.1)
    ahead = session.look_ahead(steps=1, curvature=1.0)
    if "backward" in loss:  # the graph is used up, which is said where it matters
        assert ahead.curvature is None or ahead.curvature.largest == 2
        return
    assert ahead.curvature is None
    assert find_stability(ahead).critical is None
    assert find_stability(ahead).reason.endswith(".")


# -- the critical learning rate ------------------------------------------------------------------

SETTINGS: list[dict[str, Any]] = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.5, "dampening": 0.3},
    {"momentum": 0.9, "nesterov": True},
    {"weight_decay": 0.5},
    {"momentum": 0.4, "nesterov": True, "weight_decay": 0.1},
]


@pytest.mark.parametrize("hyper", sample(SETTINGS, every=3))
def test_above_it_a_run_diverges_and_below_it_converges(hyper: dict[str, Any]) -> None:
    """Runs of torch's own optimizer, 1 % on either side."""
    critical = stability("parabola", lr=0.1, **hyper).critical
    assert critical is not None
    for factor, is_less in ((0.99, True), (1.01, False)):
        x = torch.tensor(10.0, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.SGD([x], lr=critical * factor, **hyper)
        for _ in range(3000):
            optimizer.zero_grad()
            (x**2).backward()
            optimizer.step()
        assert (abs(x.item()) < 1) == is_less
        assert (stability("parabola", lr=critical * factor, **hyper).regime == "diverges") == (
            not is_less
        )


@pytest.mark.parametrize("hyper", SETTINGS)
@pytest.mark.parametrize("lr", [0.05, 0.3, 0.8])
def test_factors_are_the_rate_of_a_real_run(hyper: dict[str, Any], lr: float) -> None:
    """The distance after 200 steps, over that after 100, is the largest factor to the 100th."""
    worst = float(np.abs(factors(2.0, {"lr": lr, **hyper})).max())
    x = torch.tensor(10.0, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=lr, **hyper)
    sizes = []
    for _ in range(400):
        optimizer.zero_grad()
        (x**2).backward()
        optimizer.step()
        state = optimizer.state[x].get("momentum_buffer")
        sizes.append(math.hypot(x.item(), 0.0 if state is None else float(state)))
    if min(sizes) > 1e-250:
        rate = (max(sizes[350:]) / max(sizes[150:200])) ** (1 / 200)
        assert rate == pytest.approx(worst, rel=0.03)


def test_momentum_on_the_quadratic() -> None:
    """With curvatures 0.2 and 4: plain SGD 0.92, momentum 0.9 √0.9, the best of both known."""
    assert "multiplies the distance by about 0.92." in stability(QUADRATIC, lr=0.4).sentence
    assert (
        "multiplies the distance by about 0.9487."
        in stability(QUADRATIC, lr=0.4, momentum=0.9).sentence
    )
    best = 2 / (0.2 + 4)
    assert f"{1 - 0.2 * best:.4f}" in stability(QUADRATIC, lr=best).sentence
    root = math.sqrt(20)
    momentum = ((root - 1) / (root + 1)) ** 2
    lr = (2 / (math.sqrt(4) + math.sqrt(0.2))) ** 2
    worst = max(
        np.abs(factors(curve, {"lr": lr, "momentum": momentum})).max() for curve in (0.2, 4)
    )
    assert worst == pytest.approx(math.sqrt(momentum), rel=1e-6)
    assert stability(QUADRATIC, lr=0.4).critical == pytest.approx(0.5, rel=1e-6)


def test_no_limit_without_upward_curvature() -> None:
    assert critical_lr(-1.0, {"lr": 0.1}) == (None, "")
    assert critical_lr(2.0, {"lr": 0.1, "momentum": 1.0}) == (None, "")
    assert critical_lr(2.0, {"lr": 0.1, "maximize": True}) == (None, "")


# -- regimes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hyper", "regime"),
    [
        ({"lr": 0.2}, "converges"),
        ({"lr": 0.499}, "converges"),
        ({"lr": 0.6}, "converges, oscillating"),
        ({"lr": 0.1, "momentum": 0.9}, "converges, oscillating"),
        ({"lr": 1.0}, "oscillates"),
        ({"lr": 1.001}, "diverges"),
        ({"lr": 0.0}, "stands still"),
        ({"lr": 0.1, "maximize": True}, "diverges"),
    ],
)
def test_regimes_of_the_parabola(hyper: dict[str, Any], regime: str) -> None:
    found = stability("parabola", **hyper)
    assert found.regime == regime
    assert found.sentence.endswith(".")


@pytest.mark.parametrize("name", ["parabola", QUADRATIC])
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("lr", [0.02, 0.2, 0.45, 0.7, 1.2, 2.5])
def test_path_and_closed_form_agree(name: str, momentum: float, lr: float) -> None:
    session = TrainingSession(PRESETS[name], lr=lr, momentum=momentum)
    ahead = session.look_ahead(steps=400, seconds=60, curvature=1.0)
    assert read_path(ahead)[0] == find_stability(ahead).regime


@pytest.mark.parametrize(
    ("name", "optimizer", "lr", "regime"),
    [
        ("rosenbrock", "SGD", 0.0005, "converges"),
        ("rosenbrock", "SGD", 0.003, "diverges"),
        ("parabola", "Adam", 0.1, "converges"),
    ],
)
def test_regimes_of_other_runs(name: str, optimizer: str, lr: float, regime: str) -> None:
    found = stability(name, optimizer, lr=lr)
    assert found.regime == regime
    assert found.regime in REGIMES


def test_a_corner_makes_it_oscillate() -> None:
    problem = program("x = torch.tensor(1.0, requires_grad=True)", "x.abs()")
    found = find_stability(TrainingSession(problem, lr=0.3).look_ahead(seconds=60))
    assert found.regime == "oscillates"


def test_adaptive_optimizers_have_no_limit() -> None:
    found = stability("parabola", "Adam", lr=0.1)
    assert found.critical is None
    assert found.reason == "Adam scales each step by past gradients, so λ sets no fixed limit."


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name not in ("SGD", "Muon")])
def test_every_other_optimizer_says_why(name: str) -> None:
    session = TrainingSession(PRESETS["parabola"], name)
    ahead = session.look_ahead(steps=3, seconds=60, curvature=1.0)
    assert find_stability(ahead).critical is None
    assert find_stability(ahead).reason.startswith(f"{name} ")
    assert find_stability(ahead).reason.endswith(", so λ sets no fixed limit.")


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_climbing_to_the_top_converges(optimizer: str) -> None:
    problem = program("x = torch.tensor(3.0, requires_grad=True)", "-(x**2)")
    session = TrainingSession(problem, optimizer, lr=0.1, maximize=True)
    path_alone = find_stability(session.look_ahead(seconds=60))
    assert path_alone.regime.startswith("converges")
    assert path_alone.sentence.startswith("The loss rises in the next 400 steps")
    assert find_stability(session.look_ahead(seconds=60, curvature=1.0)).regime.startswith(
        "converges"
    )


def test_a_saddle_diverges() -> None:
    problem = program("w = torch.tensor([1.0, 0.5], requires_grad=True)", "w[0]**2 - w[1]**2")
    found = find_stability(TrainingSession(problem, lr=0.1).look_ahead(seconds=60, curvature=1.0))
    assert found.regime == "diverges"
    assert found.critical == pytest.approx(1.0)


def test_at_the_minimum_nothing_moves() -> None:
    session = TrainingSession(PRESETS["parabola"], lr=0.1)
    ahead = session.look_ahead(seconds=60, start={"x": 0.0}, curvature=1.0)
    assert find_stability(ahead).regime == "stands still"


#: The loss of a preset, where it starts, a learning rate, and iterations before the look ahead.
PLAIN: list[tuple[str, Any, list[float], float, int]] = [
    ("parabola", lambda x: x**2, [10.0], 0.2, 200),
    ("parabola", lambda x: x**2, [10.0], 0.2, 250),
    ("saddle", lambda x, y: 0.5 * x**2 + 0.25 * (y**2 - 1) ** 2, [1.5, 0.001], 0.1, 200),
    *(
        ("plateau", lambda x: 1 - torch.exp(-(x**2) / 2), [4.0], lr, presses)
        for lr in (0.1, 100.0, 1000.0, 1e4, 1e6)
        for presses in (0, 1)
    ),
]


@pytest.mark.parametrize(("name", "loss", "start", "lr", "presses"), PLAIN)
def test_what_is_said_of_the_path_is_true_of_a_plain_run(
    name: str, loss: Any, start: list[float], lr: float, presses: int
) -> None:
    p = [torch.tensor(v, requires_grad=True) for v in start]
    optimizer = torch.optim.SGD(p, lr=lr)
    losses, values = [], []
    for _ in range(presses + 400):
        values.append([v.item() for v in p])
        optimizer.zero_grad()
        now = loss(*p)
        now.backward()
        optimizer.step()
        losses.append(now.item())
    losses, path = losses[presses:], np.array([*values, [v.item() for v in p]])[presses:]
    session = TrainingSession(PRESETS[name], lr=lr)
    assert session.iterate(presses).ok if presses else True
    ahead = session.look_ahead(steps=400, seconds=60, curvature=1.0)
    assert np.allclose(ahead.path, path, rtol=1e-4, atol=1e-45)
    found = find_stability(ahead)
    changes = np.abs(np.diff(path, axis=0))
    assert (found.regime == "stands still") == (changes.max() == 0)
    assert ahead.largest_change == pytest.approx(changes.max(), rel=1e-3, abs=1.5e-45)
    if found.regime.startswith("converges"):
        assert losses[-1] <= losses[0]
    assert ("loss falls" in found.sentence) <= (losses[-1] < losses[0])
    assert ("loss grows" in found.sentence) <= (losses[-1] > losses[0])
    assert "no learning rate" not in found.reason
    told = re.search(r"more than about (\S+) a step", found.sentence)
    assert told is None or float(told[1].replace("−", "-")) == pytest.approx(
        changes.max(), rel=0.05, abs=1e-45
    )


def test_the_words_for_a_step_across_the_well() -> None:
    found = stability("plateau", lr=1e4)
    assert found.regime == ""
    assert found.sentence == "The loss grows from 0.999665 to 1 in the next 400 steps."
    assert found.reason == "The loss does not curve upwards here, so λ sets no limit."


def test_what_moves_outside_of_the_picture_moves() -> None:
    names = "abc"
    setup = "\n".join(
        f"{name} = torch.tensor({v}, requires_grad=True)"
        for name, v in zip(names, (0.0, 0.0, 1.0), strict=True)
    )
    session = TrainingSession(program(setup, "a**2 + b**2 + c**4"), lr=0.1)
    plane = through_elements(session.points()[-1], ("a", ()), ("b", ()))
    ahead = session.look_ahead(plane, seconds=60)
    assert not ahead.path.any()
    assert ahead.largest_change == pytest.approx(0.4)
    assert find_stability(ahead).regime != "stands still"


def test_a_complex_parameter_that_turns_does_not_stand_still() -> None:
    setup = "w = torch.ones(1, requires_grad=True, dtype=torch.complex64)"
    session = TrainingSession(program(setup, "(w.imag - 1).pow(2).sum()"), lr=0.01)
    ahead = session.look_ahead(seconds=60)
    assert ahead.largest_change == pytest.approx(0.02)
    assert find_stability(ahead).regime != "stands still"


def test_a_loss_that_is_infinite_here() -> None:
    session = TrainingSession(PRESETS["rosenbrock"], lr=0.01)
    session.iterate(200, until_trouble=True)
    found = find_stability(session.look_ahead(seconds=60))
    assert (found.regime, found.sentence) == ("", "The loss is inf here.")
    found = find_stability(session.look_ahead(seconds=60, start={"x": 1e30}))
    assert (found.regime, found.sentence) == ("", "The loss is inf here.")
    session.reset()
    session.move({"x": 1e30})
    session.forward()
    assert session.view().track.trouble == "The loss is inf at the start."


def test_a_short_path_says_nothing() -> None:
    session = TrainingSession(PRESETS["rosenbrock"], lr=0.0005)
    found = find_stability(session.look_ahead(steps=5, seconds=60))
    assert (found.regime, found.sentence) == ("", "")


def test_a_curvature_that_is_known_is_used() -> None:
    session = TrainingSession(PRESETS[QUADRATIC], lr=0.4)
    known = session.look_ahead(steps=1, curvature=1.0).curvature
    assert known is not None
    ahead: Ahead = session.look_ahead(curvature=known, lr=0.6)
    assert ahead.curvature is known
    assert find_stability(ahead).regime == "diverges"
