"""A reader's own problem, stepped in real children of the sandbox."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from explorer import sandbox
from explorer.program import ProgramRefused
from explorer.training import Child, ProgramProblem, TrainingSession, through_elements
from explorer.training.landscape import extent_of_path
from tests.training.plain import loop, same
from tests.training.test_against_torch import OWN


def test_fifty_steps_are_plain_pytorch():
    reports: list[int] = []
    ask = partial(sandbox.call, "replay", on_progress=reports.append)
    session = TrainingSession(OWN, "Adam", lr=0.02, seed=4, where=Child(ask))
    for press in ("zero_grad", "forward", "backward", "step"):
        assert getattr(session, press)().ok
    assert session.iterate(49).ok
    got = [p.value for p in session.parameters.values()]
    assert same(got, loop(OWN, "Adam", 50, seed=4, lr=0.02))
    assert reports == list(range(1, 50))
    assert session.undo().ok
    assert session.view().track.steps == 1
    assert session.redo().ok
    assert same([p.value for p in session.parameters.values()], got)
    plane = through_elements(session.points()[-1], ("scale", (0,)), ("scale", (1,)))
    assert np.isfinite(session.surface(plane).loss).all()


@pytest.mark.thorough
def test_a_long_run_is_read_to_its_end():
    """A curve has a number for each of its steps."""
    setup = "import torch\nw = torch.tensor(1.0, requires_grad=True)"
    problem = ProgramProblem(setup=setup, loss="(w - 3) ** 2")
    ask = partial(sandbox.call, "replay", timeout=60)
    session = TrainingSession(problem, lr=1e-4, where=Child(ask))
    for done in (3000, 6000, 9000):
        assert session.iterate(3000).ok
        assert len(session.losses) == session.view().track.steps == done


ROSE = "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\nn = 0"


def test_a_child_that_is_stopped_keeps_what_was_done():
    """From the fourth iteration on the loss never ends."""
    problem = ProgramProblem(
        setup=ROSE,
        loss="n += 1\nwhile n > 3 and n > 0:\n    y = x * 2\nloss = (x ** 2).sum()",
    )
    session = TrainingSession(
        problem, lr=0.1, where=Child(partial(sandbox.call, "replay", timeout=6))
    )
    event = session.iterate(10)
    assert "Iteration 4 of 10 failed; the state after iteration 3 is kept" in event.message
    assert np.allclose(session.parameters["x"].value, [0.512, 1.024])
    assert session.view().track.steps == 3
    assert session.undo().ok
    assert np.array_equal(session.parameters["x"].value, [1, 2])


def test_a_child_that_dies_changes_nothing():
    """An operator that never returns, from the third iteration on."""
    problem = ProgramProblem(
        setup=ROSE + "\nimport torch.nn.functional as F",
        loss="n += 1\nif n > 2:\n    F.max_pool1d(torch.ones(1, 1, 4), 2**62)\n(x ** 2).sum()",
    )
    session = TrainingSession(
        problem, lr=0.1, where=Child(partial(sandbox.call, "replay", timeout=6))
    )
    assert session.iterate(2).ok
    before = session.view()
    event = session.forward()
    assert not event.ok
    assert event.message
    assert repr(session.view()) == repr(before)
    assert session.undo().ok
    assert session.view().track.steps == 0


def test_setups_that_are_refused():
    ask = partial(sandbox.call, "replay")
    large = "import torch\nx = torch.zeros(10**7, requires_grad=True)"
    for setup, words in ((large, "10,000,000 parameters"), ("x = 1", "defines no parameter")):
        with pytest.raises(ProgramRefused, match=words):
            TrainingSession(ProgramProblem(setup=setup, loss="x.sum()"), where=Child(ask))


def test_the_first_child_says_what_forward_would_do():
    asked = []

    def ask(request):
        asked.append(request)
        return sandbox.call("replay", request)

    session = TrainingSession(OWN, lr=0.02, where=Child(ask, tries_forward=True))
    assert session.first_forward is not None
    assert session.first_forward.ok
    assert session.view().track.loss.values == []
    assert session.presses == []
    assert session.forward().message == session.first_forward.message
    assert len(asked) == 2
    broken = ProgramProblem(ROSE, "loss = x.sum() + missing")
    session = TrainingSession(broken, lr=0.02, where=Child(ask, tries_forward=True))
    assert session.first_forward is not None
    assert session.first_forward.error is not None
    assert "missing" in session.first_forward.error.message


def test_one_child_looks_ahead_and_computes_the_surface():
    asked = []

    def ask(request):
        asked.append(request)
        return sandbox.call("replay", request)

    session = TrainingSession(OWN, lr=0.02, where=Child(ask))
    plane = through_elements(session.points()[-1], ("scale", (0,)), ("scale", (1,)))
    extent = extent_of_path(plane, plane.place(session.points()))
    surface = session.surface(plane, extent, ahead=True)
    assert len(asked) == 2
    assert surface.x[0] < extent[0, 0] < extent[1, 0] < surface.x[-1]
    session.iterate(20)
    assert surface.x[0] < session.view().parameters["scale"].value[0] < surface.x[-1]
