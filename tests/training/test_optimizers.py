"""What is peculiar to some optimizers: LBFGS, Muon, buffers that are made at the first step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer.program import ProgramRefused
from explorer.training import PRESETS, Child, ProgramProblem, TrainingSession
from explorer.training.optimizer_spec import PARTS
from explorer.training.optimizers import OPTIMIZERS, optimizer_spec
from tests.marks import sample
from tests.training.plain import MATRICES, ask, suited
from tests.training.test_undo import PROBLEM, plain

ODD = ["ASGD", "Adafactor", "LBFGS", "Rprop"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_record_describes_its_class(name: str) -> None:
    spec = OPTIMIZERS[name]
    hyper = spec.validate({})
    pairs = {key for key, value in hyper.items() if isinstance(value, tuple)}
    assert pairs <= PARTS.keys()
    assert {*spec.first, *spec.rare} == set(spec.hyper)
    assert "lr" in spec.first
    assert spec.note.endswith(".")
    session = TrainingSession(suited(name, PRESETS["linear regression"]), name, lr=0.1)
    session.iterate(2)
    kept = {key for p in session.parameters.values() for key in p.buffers}
    assert kept <= set(spec.state)


@pytest.mark.parametrize("name", sample(ODD, every=4))
@pytest.mark.parametrize("limit", [1, 2**20])
def test_undo_and_redo_are_exact(name: str, limit: int) -> None:
    session = TrainingSession(PROBLEM, name, lr=0.05, history_bytes=limit)
    seen = [plain(session.view())]
    for press in ("forward", "backward", "step", "iterate", "step", "zero_grad", "iterate"):
        assert getattr(session, press)().ok
        seen.append(plain(session.view()))
    for expected in seen[-2::-1]:
        assert session.undo().ok
        assert plain(session.view()) == expected
    for expected in seen[1:]:
        assert session.redo().ok
        assert plain(session.view()) == expected


@pytest.mark.parametrize("name", ODD)
def test_replay_is_the_same_session(name: str) -> None:
    here = TrainingSession(PROBLEM, name, lr=0.05)
    there = TrainingSession(PROBLEM, name, lr=0.05, where=Child(ask))
    for press in ("step", "forward", "backward", "step", "iterate", "undo", "iterate", "backward"):
        assert getattr(here, press)().message == getattr(there, press)().message
        assert plain(here.view()) == plain(there.view())
    assert here.script() == there.script()


# -- LBFGS ----------------------------------------------------------------------------------------


def test_a_step_of_lbfgs_computes_the_loss_itself() -> None:
    session = TrainingSession(PRESETS["parabola"], "LBFGS")
    assert session.view().previews["step"] == (
        "step will make up to 20 moves, calling zero_grad, forward and backward itself for each."
    )
    event = session.step()  # no forward and no backward are needed
    assert event.message.startswith("step computed the loss 3 times. x: 10 → ")
    assert abs(session.parameters["x"].value) < 1e-6
    assert session.losses == []  # the curve shows what was pressed
    view = session.view()
    assert view.graph.state == "freed"
    assert view.step.next == {}
    assert view.step.last["x"].after == view.parameters["x"].value
    assert view.step.last["x"].grad == 20.0  # where the step began
    assert view.step.last["x"].lines[0].meaning == "all moves, with 3 evaluations of the loss"
    assert view.parameters["x"].buffers["func_evals"] == 3
    assert "below its tolerance" in session.step().message


def test_lbfgs_keeps_one_vector_for_all_parameters() -> None:
    session = TrainingSession(MATRICES, "LBFGS", max_iter=2)
    session.iterate(1)
    parts = [p.buffers["d"] for p in session.parameters.values()]
    assert [part.shape for part in parts] == [(5, 2), (2, 4), (1, 4)]
    whole = np.concatenate([part.ravel() for part in parts])
    (state,) = session._place.loop.optimizer.state.values()
    assert np.array_equal(whole, state["d"].numpy())


def test_an_error_in_the_closure_is_the_error_of_the_step() -> None:
    problem = ProgramProblem(
        "import torch\nx = torch.ones(1, requires_grad=True)\ncalls = 0",
        "calls += 1\nif calls > 1:\n    missing\n(x ** 4).sum()",
    )
    session = TrainingSession(problem, "LBFGS")
    before = plain(session.view())
    event = session.step()
    assert not event.ok
    assert "missing" in event.message
    assert plain(session.view()) == before


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"max_iter": 0}, "from 1 to 100"),
        ({"max_iter": 10**9}, "from 1 to 100"),
        ({"max_iter": 2.5}, "whole number"),
        ({"max_iter": True}, "whole number"),
        ({"history_size": float("nan")}, "whole number"),
        ({"line_search_fn": "armijo"}, "None or 'strong_wolfe'"),
        ({"line_search_fn": ["strong_wolfe"]}, "None or 'strong_wolfe'"),
    ],
)
def test_settings_of_other_kinds_are_checked(setting: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TrainingSession(PRESETS["parabola"], "LBFGS", **setting)


# -- Muon -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "begin",
    [TrainingSession, lambda problem, name: TrainingSession(problem, name, where=Child(ask))],
    ids=["here", "there"],
)
def test_muon_names_the_parameters_that_are_not_matrices(begin: Any) -> None:
    problem = ProgramProblem(
        "import torch\nW = torch.ones(2, 2, requires_grad=True)\n"
        "b = torch.ones(2, requires_grad=True)\nc = torch.ones(1, requires_grad=True)",
        "(W.sum() * b * c).sum()",
    )
    with pytest.raises(ProgramRefused, match="Muon steps matrices only, and b and c are not"):
        begin(problem, "Muon")


def test_muon_moves_by_an_orthogonal_matrix() -> None:
    session = TrainingSession(MATRICES, "Muon", lr=1.0, weight_decay=0.0, nesterov=False)
    session.iterate(1)
    update = session.parameters["V"].update
    assert update is not None
    singular = np.linalg.svd(update)[1]
    assert np.all((singular > 0.6) & (singular < 1.3))  # not 1: five steps of bfloat16 are rough


# -- buffers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizer", "setting", "buffer"),
    [
        ("Adam", {"amsgrad": True}, "max_exp_avg_sq"),
        ("RMSprop", {"centered": True}, "grad_avg"),
        ("RMSprop", {"momentum": 0.9}, "momentum_buffer"),
    ],
)
def test_a_buffer_that_was_not_made_at_the_first_step(
    optimizer: str, setting: dict[str, Any], buffer: str
) -> None:
    """torch fails too, with a KeyError."""
    session = TrainingSession(PRESETS["parabola"], optimizer, lr=0.1)
    session.iterate(1)
    assert session.set(**setting).ok
    assert session.view().previews["step"] == (
        f"step will fail: the optimizer has no {buffer}. Reset the run to make it."
    )
    before = plain(session.view())
    event = session.step()
    assert f"The optimizer has no {buffer}" in event.message
    assert plain(session.view()) == before
    session.reset()
    assert session.iterate(2).ok


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_a_large_parameter_is_written_out_in_part(name: str) -> None:
    spec = optimizer_spec(name)
    generator = torch.Generator().manual_seed(0)
    p, g = torch.randn(2, 6, 5, generator=generator)
    whole = spec.update("p", p, g, {}, spec.validate({}))
    part = spec.update("p", p, g, {}, spec.validate({}), most=7)
    for line, cut in zip(whole.lines, part.lines, strict=True):
        assert np.array_equal(line.value.ravel()[:7], cut.value)
    assert part.at((6,)) == whole.at((1, 1))
