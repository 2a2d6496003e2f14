"""Mini-batches: the same numbers as a plain loop, and samples that are named truly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, RandomSampler

from explorer import networks
from explorer.networks.planar import planar
from explorer.training import (
    PRESETS,
    Child,
    ModuleProblem,
    ProgramProblem,
    TrainingSession,
    loss_surface,
    through_elements,
)
from explorer.training.batches import BATCH_SIZES, Batch, in_batches, whole_problem
from explorer.training.problem import random_stream
from explorer.training.replay import replay
from tests.training.plain import loop, same

WITH_SAMPLES: dict[str, Any] = {
    **{name: preset for name, preset in PRESETS.items() if preset.rows},
    "planar": planar("moons"),
}
CASES = [(name, size) for name, p in WITH_SAMPLES.items() for size in p.rows.sizes()]


def batch_of(session: TrainingSession) -> Batch:
    batch = session.view().loss.batch
    assert batch is not None
    return batch


@pytest.mark.parametrize(("name", "size"), CASES)
def test_fifty_steps_are_those_of_a_plain_loop(name, size):
    problem = in_batches(WITH_SAMPLES[name], size)
    session = TrainingSession(problem, "Adam", lr=0.01, seed=4)
    assert session.iterate(50).ok
    plain = loop(problem, "Adam", 50, seed=4, lr=0.01)
    assert same([p.value for p in session.view().parameters.values()], plain)


@pytest.mark.parametrize(("name", "size"), CASES)
def test_an_epoch_takes_every_sample_once_as_a_data_loader_does(name, size):
    """`BatchSampler` and `RandomSampler` are what a DataLoader with shuffle=True takes."""
    problem = in_batches(WITH_SAMPLES[name], size)
    samples = WITH_SAMPLES[name].rows.samples
    session = TrainingSession(problem, lr=0.01, seed=1)
    assert session.view().loss.batch is None
    with random_stream(session._place.loop.random):
        order = RandomSampler(range(samples), generator=torch.default_generator)
        expected = list(BatchSampler(order, size, drop_last=False))
    expected = expected[:60]
    for number, indices in enumerate(expected, start=1):
        session.forward()
        batch = batch_of(session)
        assert batch.indices.tolist() == indices
        assert (batch.epoch, batch.number, batch.of) == (1, number, -(-samples // size))
    if len(expected) < 60:
        session.forward()
        assert (batch_of(session).epoch, batch_of(session).number) == (2, 1)
        assert batch_of(session).indices.tolist() != expected[0]


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_the_loss_is_that_of_the_samples_that_are_named(name):
    problem = in_batches(WITH_SAMPLES[name], 8)
    session = TrainingSession(problem, lr=0.1, seed=2)
    session.iterate(3)
    session.forward()
    names: dict[str, Any] = {}
    torch.manual_seed(2)
    exec(whole_problem(problem).source, names)
    parameters = eval(problem.parameters_source, names)
    with torch.no_grad():
        for parameter, view in zip(parameters, session.parameters.values(), strict=True):
            parameter.copy_(torch.from_numpy(view.value))
    for row in problem.rows.names:
        names[row] = names[row][torch.from_numpy(batch_of(session).indices)]
    exec(whole_problem(problem).loss_source, names)
    assert session.losses[-1] == pytest.approx(names["loss"].item(), rel=1e-5)


def test_what_forward_says():
    session = TrainingSession(in_batches(PRESETS["linear regression"], 128), lr=0.1)
    assert "the loss of the next batch at w[0, 0]" in session.view().previews["forward"]
    for _ in range(8):
        event = session.forward()
    assert event.message.startswith("The loss of 104 samples is ")
    assert "batch 8 of 8 in epoch 1." in event.message


@pytest.mark.parametrize("limit", [1, 2**26])
@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_undo_and_redo_take_the_same_samples(name, limit):
    problem = in_batches(WITH_SAMPLES[name], 128)
    session = TrainingSession(problem, lr=0.1, history_bytes=limit)
    seen = []
    for _ in range(12):
        session.iterate(1)
        seen.append((batch_of(session), session.losses[-1], session.parameters))
    for _ in range(11):
        session.undo()
    for expected in seen[1:]:
        session.redo()
        assert repr((batch_of(session), session.losses[-1], session.parameters)) == repr(expected)
    session.reset()
    assert session.view().loss.batch is None
    session.forward()
    assert repr(batch_of(session)) == repr(seen[0][0])


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_the_surface_and_the_curvature_are_those_of_all_samples(name):
    whole = WITH_SAMPLES[name]
    session = TrainingSession(in_batches(whole, 8), lr=0.1, seed=3)
    alone = TrainingSession(whole, lr=0.1, seed=3)
    (first, value), *_ = session.parameters.items()
    places = [(first, index) for index in np.ndindex(*value.value.shape)][:2]
    point = session.points()[-1]
    plane = through_elements(point, *places)
    surfaces = [
        loss_surface(problem, plane, [point], seed=3, size=5)
        for problem in (session.problem, whole)
    ]
    # Each is computed in the way that is faster at the moment; they differ in the last places.
    np.testing.assert_allclose(surfaces[0].loss, surfaces[1].loss, 1e-4)
    ahead, other = (s.look_ahead(steps=2, seconds=60, curvature=60) for s in (session, alone))
    assert not ahead.is_plain
    assert ahead.curvature is not None
    assert other.curvature is not None
    assert np.array_equal(ahead.curvature.eigenvalues, other.curvature.eigenvalues)


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_the_path_ahead_takes_the_samples_that_come(name):
    session = TrainingSession(in_batches(WITH_SAMPLES[name], 32), lr=0.1)
    session.iterate(3)
    ahead = session.look_ahead(steps=40, seconds=60)
    session.iterate(40)
    assert ahead.losses.tolist() == session.losses[3:]


def test_a_reader_can_copy_the_texts():
    """As a program of one's own, stepped in another process."""
    problem = in_batches(PRESETS["linear regression"], 128)
    here = TrainingSession(problem, lr=0.1, seed=5)
    own = TrainingSession(
        ProgramProblem(problem.setup, problem.loss), lr=0.1, seed=5, where=Child(replay)
    )
    for session in (here, own):
        assert session.iterate(20).ok
        for _ in range(9):
            assert session.forward().ok
        assert session.undo().ok
        assert session.forward().ok
    assert here.losses == own.losses
    assert own.view().loss.batch is None


@pytest.mark.parametrize("size", [0, -1, 1000, 10**9, 2.0, True, "8", None])
def test_sizes_that_make_no_sense(size):
    with pytest.raises(ValueError, match="from 1 to 999 samples"):
        in_batches(PRESETS["linear regression"], size)


@pytest.mark.parametrize(
    "problem",
    [
        PRESETS["parabola"],
        ProgramProblem("import torch\nx = torch.ones(1, requires_grad=True)", "x.sum()"),
        networks.problem("LeNet-5"),
        in_batches(PRESETS["linear regression"], 8),
    ],
    ids=["preset", "own", "network", "twice"],
)
def test_problems_without_samples(problem):
    assert isinstance(problem, ModuleProblem | ProgramProblem)
    with pytest.raises(ValueError, match="no samples"):
        in_batches(problem, 8)


def test_the_note_says_what_is_seen():
    problem = in_batches(PRESETS["linear regression"], BATCH_SIZES[1])
    assert problem.note.startswith("Each forward takes the next 8 of 1,000 samples")
    assert "surface shows the loss of all" in problem.note
    assert in_batches(PRESETS["linear regression"], 1).name != problem.name
