"""Building a problem is repeatable and invisible to everybody else."""

import threading

import numpy as np
import pytest
import torch

from explorer.networks.planar import planar
from explorer.training import PRESETS, Problem, ProgramProblem, TrainingSession, random_stream

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("problem", [*PRESETS.values(), planar()], ids=lambda p: p.name)
def test_the_same_seed_gives_the_same_numbers(problem: Problem):
    first, second, other = (problem.build(seed) for seed in (1, 1, 2))
    assert first.parameters.keys() == second.parameters.keys()
    for name, parameter in first.parameters.items():
        assert torch.equal(parameter, second.parameters[name])
        assert parameter.data_ptr() != second.parameters[name].data_ptr()
    with random_stream(first.random):
        losses = [live.loss().item() for live in (first, second, other)]
    assert losses[0] == losses[1]
    assert (losses[0] == losses[2]) == ("rand" not in problem.source and "nn" not in problem.source)


def test_random_stream_goes_on_where_it_stopped_and_hides():
    torch.manual_seed(5)
    outside = torch.random.get_rng_state()
    with random_stream(1) as state:
        first, middle = torch.rand(2), state()
    with random_stream(middle):
        second = torch.rand(2)
    assert torch.equal(outside, torch.random.get_rng_state())
    expected = torch.rand(4, generator=torch.Generator().manual_seed(1))
    assert torch.equal(torch.cat([first, second]), expected)


def test_readers_in_threads_do_not_disturb_each_other():
    problem = ProgramProblem(
        setup="import torch\nw = torch.randn(3, requires_grad=True)",
        loss="((w + torch.randn(3)) ** 2).sum()",
    )
    alone = [TrainingSession(problem, lr=0.01, seed=seed) for seed in range(4)]
    for session in alone:
        session.iterate(30)
    together = [None] * 4

    def read(seed: int) -> None:
        session = TrainingSession(problem, lr=0.01, seed=seed)
        for _ in range(30):
            session.forward()
            session.backward()
            session.step()
            session.zero_grad()
        together[seed] = session.losses

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [session.losses for session in alone]


def test_the_tensors_a_setup_leaves():
    problem = PRESETS["linear regression"]
    found = problem.tensors(3)
    assert {name: a.shape for name, a in found.items()} == {
        "X": (1000, 2),
        "y": (1000,),
        "w": (2, 1),
        "b": (1,),
    }
    parameters = TrainingSession(problem, seed=3).parameters
    assert np.array_equal(found["w"], parameters["w"].value)
