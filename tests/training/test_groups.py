"""Parameters with settings of their own, against torch's parameter groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer import networks
from explorer.training import PRESETS, Child, TrainingSession
from explorer.training.optimizers import OPTIMIZERS
from explorer.training.presses import read_presses, write_presses
from tests.marks import sample
from tests.training.plain import MATRICES, ask, same
from tests.training.test_undo import PROBLEM, plain

LINEAR = PRESETS["linear regression"]
GROUPED = [name for name, spec in OPTIMIZERS.items() if not spec.evaluates]
OWN = [{"parameters": ["row"], "lr": 0.02}, {"parameters": ["V"], "lr": 0.003}]


def torchs(optimizer: str, steps: int, change: dict[str, float] | None = None) -> list[np.ndarray]:
    """MATRICES in plain PyTorch; the second group is changed after half of the steps."""
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(MATRICES.source, names)
    u, v, row = (names[name] for name in ("U", "V", "row"))
    groups = [{"params": [u]}, {"params": [row], "lr": 0.02}, {"params": [v], "lr": 0.003}]
    stepper = OPTIMIZERS[optimizer].cls(groups, lr=0.01)
    for step in range(steps):
        if change and step == steps // 2:
            stepper.param_groups[1].update(change)
        stepper.zero_grad()
        exec(MATRICES.loss_source, names)
        names["loss"].backward()
        stepper.step()
    return [p.detach().numpy().copy() for p in (u, v, row)]


@pytest.mark.parametrize("optimizer", GROUPED)
@pytest.mark.parametrize("change", [None, {"lr": 0.5}])
def test_fifty_steps(optimizer: str, change: dict[str, float] | None) -> None:
    session = TrainingSession(MATRICES, optimizer, lr=0.01, groups=OWN)
    session.iterate(25)
    if change:
        event = session.set(group=1, **change)
        assert event.message.startswith("lr is 0.5 for row from the next step on.")
    session.iterate(25)
    got = [p.value for p in session.parameters.values()]
    assert same(got, torchs(optimizer, 50, change))


@pytest.mark.parametrize("optimizer", GROUPED)
def test_the_arithmetic_uses_each_parameters_settings(optimizer: str) -> None:
    session = TrainingSession(MATRICES, optimizer, lr=0.01, groups=OWN)
    session.iterate(2)
    session.forward()
    session.backward()
    view = session.view()
    assert [view.settings.of(name)["lr"] for name in ("U", "V", "row")] == [0.01, 0.003, 0.02]
    assert [group.parameters for group in view.settings.groups] == [("row",), ("V",)]
    session.step()
    for name, parameter in session.parameters.items():
        assert np.array_equal(view.step.next[name].after, parameter.value)
        assert np.array_equal(session.view().step.last[name].after, parameter.value)


@pytest.mark.parametrize(
    "problem", [LINEAR, networks.problem("two-layer sigmoid"), PROBLEM], ids=["list", "net", "both"]
)
def test_the_script_repeats_the_numbers(problem: Any) -> None:
    name = list(TrainingSession(problem).parameters)[1]
    groups = [{"parameters": [name], "lr": 0.002, "momentum": 0.5}]
    session = TrainingSession(problem, "SGD", lr=0.01, momentum=0.9, groups=groups)
    session.iterate(3)
    session.set(lr=0.02)
    session.set(group=1, lr=0.005, weight_decay=0.1)
    session.iterate(2)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(session.script(), "<script>", "exec"), names)
    first, second = names["optimizer"].param_groups
    got = [p.detach().numpy() for p in (*second["params"], *first["params"]) if p.requires_grad]
    values = {key: p.value for key, p in session.parameters.items()}
    wanted = [values.pop(name), *values.values()]
    assert same(got, wanted)


def test_the_script_reads_like_a_tutorial() -> None:
    groups = [{"parameters": ["b"], "lr": 0.01}]
    session = TrainingSession(LINEAR, "SGD", lr=0.1, groups=groups)
    session.set(group=1, lr=0.02)
    assert session.script().endswith(
        """
optimizer = torch.optim.SGD([
    {"params": [w]},
    {"params": [b], "lr": 0.01},
], lr=0.1)
optimizer.param_groups[1].update(lr=0.02)
"""
    )


@pytest.mark.parametrize("limit", sample([1, 2**20], every=2))
@pytest.mark.parametrize("scheduler", [None, {"name": "ExponentialLR", "gamma": 0.5}])
def test_undo_redo_and_replay_keep_the_groups(limit: int, scheduler: Any) -> None:
    given: dict[str, Any] = {
        "momentum": 0.9,
        "scheduler": scheduler,
        "groups": [{"parameters": ["w"], "lr": 0.001}, {"parameters": ["net.0.bias"]}],
    }
    session = TrainingSession(PROBLEM, "SGD", lr=0.05, history_bytes=limit, **given)
    there = TrainingSession(PROBLEM, "SGD", lr=0.05, where=Child(ask), **given)
    seen = [plain(session.view())]
    presses: list[tuple[str, dict[str, Any]]] = [
        ("iterate", {"n": 2}),
        ("set", {"momentum": 0.5}),
        ("iterate", {}),
        ("set", {"group": 1, "lr": 0.01}),
        ("iterate", {}),
        ("reset", {}),
        ("set", {"group": 2, "momentum": 0.1}),
        ("iterate", {"n": 2}),
        ("move", {"values": {"w": [1.0, 1.0]}}),
        ("iterate", {}),
    ]
    for name, arguments in presses:
        assert getattr(session, name)(**arguments).ok
        assert getattr(there, name)(**arguments).ok
        assert plain(session.view()) == plain(there.view())
        seen.append(plain(session.view()))
    momenta = [session.view().settings.of(n)["momentum"] for n in ("net.0.weight", "w")]
    assert momenta == [0.5, 0.9]  # as torch: param_groups[0].update leaves the others alone
    for expected in seen[-2::-1]:
        assert session.undo().ok
        assert plain(session.view()) == expected
    for expected in seen[1:]:
        assert session.redo().ok
        assert plain(session.view()) == expected
    assert session.script() == there.script()


def test_presses_as_a_text_keep_the_group() -> None:
    session = TrainingSession(MATRICES, "SGD", lr=0.01, groups=OWN)
    session.set(group=2, lr=0.5)
    session.set(lr=0.25)
    session.iterate(3)
    first, presses = read_presses(write_presses(session.presses), "SGD", {"lr": 0.01})
    assert first["lr"] == 0.01
    again = TrainingSession(MATRICES, "SGD", groups=OWN, **first)
    for press in presses:
        assert again.perform(press).ok
    assert again.view().settings.groups == session.view().settings.groups
    assert same(
        [p.value for p in again.parameters.values()], [p.value for p in session.parameters.values()]
    )
    assert not again.perform([("set", {"group": 3, "lr": 0.1})]).ok


def test_a_comparison_keeps_what_the_other_optimizer_has() -> None:
    groups = [{"parameters": ["row"], "lr": 0.5, "momentum": 0.5}]
    session = TrainingSession(MATRICES, "SGD", lr=0.01, groups=groups)
    other = session.new_session("Adam", {"lr": 0.1}).view()
    assert (other.settings.of("row")["lr"], other.settings.of("U")["lr"]) == (0.5, 0.1)
    assert session.new_session("LBFGS", {}).view().settings.groups == ()


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("b", "given as"),
        ([1], "given as"),
        ([{"lr": 0.1}], "names of its parameters"),
        ([{"parameters": "b"}], "names of its parameters"),
        ([{"parameters": ["x"]}], "no parameter x"),
        ([{"parameters": ["w", "b"]}], "stay in the first group"),
        ([{"parameters": ["b"]}, {"parameters": ["b"]}], "one group only"),
        ([{"parameters": ["b"], "lr": -1.0}], "does not accept"),
        ([{"parameters": ["b"], "betas": (0.5, 0.5)}], "has no betas"),
        ([{"parameters": [str(i)]} for i in range(30)], "at most 20"),
    ],
)
def test_what_makes_no_sense_is_refused(groups: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TrainingSession(LINEAR, "SGD", groups=groups)


def test_lbfgs_has_one_group() -> None:
    with pytest.raises(ValueError, match="all parameters together"):
        TrainingSession(LINEAR, "LBFGS", groups=[{"parameters": ["b"]}])
    event = TrainingSession(LINEAR, "SGD").set(group=1, lr=0.1)
    assert event.message == "There is no group 1."
