"""The code a session performed, run by a fresh Python, gives the session's numbers."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from explorer import networks
from explorer.training import PRESETS, ProgramProblem, TrainingSession
from tests.training.test_undo import PROBLEM

RUNNER = """\
import json, sys
import torch
torch.set_num_threads(1)
answers = []
for text in json.load(sys.stdin):
    names = {"__name__": "__main__"}
    exec(compile(text, "<script>", "exec"), names)
    groups = names["optimizer"].param_groups
    answers.append([[p.detach().double().flatten().tolist(),
                     None if p.grad is None else p.grad.double().flatten().tolist()]
                    for p in groups[0]["params"] if p.requires_grad])
print("ANSWERS" + json.dumps(answers))
"""


def sessions() -> list[TrainingSession]:
    found = [TrainingSession(problem, "Adam", lr=0.05, seed=3) for problem in PRESETS.values()]
    nets = ("two-layer sigmoid", "TestNet", "MLP on moons", "all-0.1 (old log-softmax)")
    found += [
        TrainingSession(networks.problem(name), lr=0.01, momentum=0.9, seed=1) for name in nets
    ]
    found.append(TrainingSession(PROBLEM, "RMSprop", lr=0.01, maximize=True))
    prints = ProgramProblem(
        setup="# mine\nimport torch\nfrom torch import nn\nnet = nn.Linear(2, 1)",
        loss="y = net(torch.rand(4, 2))\nif y.sum() > 0:\n    print('up')\n(y ** 2).mean()",
    )
    found.append(TrainingSession(prints, "Adagrad", lr=0.5, lr_decay=0.1))
    return found


def press_about(session: TrainingSession) -> None:
    for action in (
        session.forward,
        session.forward,
        session.backward,
        session.backward,  # fails, so it is not in the script
        session.step,
        lambda: session.iterate(4),
        lambda: session.set(lr=0.02),
        lambda: session.zero_grad(set_to_none=False),
        lambda: session.iterate(2, zero_grad=False),
        lambda: session.iterate(1),
        session.undo,
        session.forward,
        session.backward,
    ):
        action()


def test_scripts_repeat_the_numbers():
    done = sessions()
    for session in done:
        press_about(session)
    scripts = [session.script() for session in done]
    assert not any("explorer" in script for script in scripts)
    result = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(scripts),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    answers = json.loads(result.stdout.split("ANSWERS")[1])
    for session, script, answer in zip(done, scripts, answers, strict=True):
        views = list(session.parameters.values())
        assert len(views) == len(answer), script
        for view, (value, grad) in zip(views, answer, strict=True):
            assert np.array_equal(view.value.ravel(), value), script
            assert (view.grad is None) == (grad is None), script
            if grad is not None:
                assert np.array_equal(view.grad.ravel(), grad), script


def test_a_script_reads_like_a_tutorial():
    session = TrainingSession(PRESETS["parabola"], lr=0.2)
    session.iterate(10)
    session.forward()
    assert (
        session.script()
        == """\
import torch

torch.manual_seed(0)

x = torch.tensor(10.0, requires_grad=True)

optimizer = torch.optim.SGD([x], lr=0.2)
for _ in range(10):
    optimizer.zero_grad()
    loss = x ** 2
    loss.backward()
    optimizer.step()
loss = x ** 2
"""
    )
