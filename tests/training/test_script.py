"""The code a session performed, run by a fresh Python, gives the session's numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from explorer import networks
from explorer.training import PRESETS, ProgramProblem, TrainingSession
from explorer.training.batches import in_batches
from explorer.training.optimizers import OPTIMIZERS
from explorer.training.schedulers import SCHEDULERS
from tests.marks import chosen, sample
from tests.training.plain import suited
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


PRINTS = ProgramProblem(
    setup="# mine\nimport torch\nfrom torch import nn\nnet = nn.Linear(2, 1)",
    loss="y = net(torch.rand(4, 2))\nif y.sum() > 0:\n    print('up')\n(y ** 2).mean()",
)
#: Comments, imports and names that a script must take over as they are meant.
TEXTS = ProgramProblem(
    setup="""\
s = '''
import torch
'''
from torch import (
    nn,
)
import torch  # a comment\u2028raise ValueError
class K:
    def __repr__(self):
        return "0]]); raise ValueError #"
net = nn.Linear(2, 1)
net.register_parameter("x]); exit() #", nn.Parameter(torch.ones(1)))
nets = [net, nn.Sequential(nn.Linear(1, 1))]
d = {K(): torch.ones(1, requires_grad=True), 1: torch.ones(2, requires_grad=True)}
""",
    loss="# now\u2028raise ValueError\nx = 1\x0c\nsum((p ** 2).sum() for n in nets "
    "for p in n.parameters()) + sum((v ** 2).sum() for v in d.values())",
)
NETS = (
    "two-layer sigmoid",
    "linear layer, divided by 4",
    "MLP on moons",
    "all weights 0.1, early log-softmax",
)
#: Problem, optimizer and settings, by what is tried.
ONCE: dict[str, tuple[Any, str, dict[str, Any]]] = {
    **{name: (problem, "Adam", {"lr": 0.05, "seed": 3}) for name, problem in PRESETS.items()},
    **{
        name: (networks.problem(name), "SGD", {"lr": 0.01, "momentum": 0.9, "seed": 1})
        for name in NETS
    },
    **{
        name: (suited(name, PRESETS["linear regression"]), name, {"lr": 0.01})
        for name in OPTIMIZERS
    },
    "closure": (PROBLEM, "LBFGS", {"lr": 0.1, "max_iter": 3, "line_search_fn": "strong_wolfe"}),
    "start": (
        PRESETS["ill-conditioned quadratic"],
        "SGD",
        {"lr": 0.1, "momentum": 0.5, "start": {"a": 0.3, "b": -1.7}},
    ),
    **{
        name: (
            PRESETS["linear regression"],
            "SGD",
            {
                "lr": 0.05,
                "momentum": 0.9,
                "scheduler": {"name": name},
                "clip": {"name": "clip_grad_norm_", "norm_type": norm_type},
            },
        )
        for name, norm_type in zip(SCHEDULERS, ["1", "2", "inf"] * len(SCHEDULERS), strict=False)
    },
    "batches of a text": (in_batches(PRESETS["linear regression"], 128), "Adam", {"lr": 0.05}),
    "batches of a network": (in_batches(networks.planar.planar(), 32), "SGD", {"lr": 0.5}),
    "clipped": (PROBLEM, "Adam", {"lr": 0.01, "clip": {"name": "clip_grad_value_"}}),
    "state": (PROBLEM, "RMSprop", {"lr": 0.01, "maximize": True}),
    "texts": (TEXTS, "SGD", {"lr": 0.1}),
    "prints": (PRINTS, "Adagrad", {"lr": 0.5, "lr_decay": 0.1}),
}
IN_ONE_CYCLE: dict[str, tuple[Any, str, dict[str, Any]]] = {
    f"{name} in one cycle": (
        suited(name, PRESETS["linear regression"]),
        name,
        {
            "scheduler": {"name": "OneCycleLR", "max_lr": 0.02, "total_steps": 20},
            "clip": {"name": "clip_grad_norm_"},
        },
    )
    for name in OPTIMIZERS
}


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
        session.schedule,  # fails where none is chosen, as does the next
        session.clip,
    ):
        action()


@pytest.fixture(scope="module")
def sessions(request: pytest.FixtureRequest) -> dict[str, TrainingSession]:
    all_of_them, made = ONCE | IN_ONE_CYCLE, {}
    for name in chosen(request, "name"):
        problem, optimizer, settings = all_of_them[name]
        made[name] = TrainingSession(problem, optimizer, **settings)
        press_about(made[name])
    return made


@pytest.fixture(scope="module")
def answers(sessions: dict[str, TrainingSession]) -> dict[str, Any]:
    """What a fresh Python says: of each script the parameters with their gradients."""
    result = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps([session.script() for session in sessions.values()]),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return dict(zip(sessions, json.loads(result.stdout.split("ANSWERS")[1]), strict=True))


@pytest.mark.parametrize("name", [*ONCE, *sample(IN_ONE_CYCLE, every=4)])
def test_scripts_repeat_the_numbers(
    name: str, sessions: dict[str, TrainingSession], answers: dict[str, Any]
) -> None:
    session = sessions[name]
    script = session.script()
    assert "explorer" not in script
    views = list(session.parameters.values())
    assert len(views) == len(answers[name]), script
    for view, (value, grad) in zip(views, answers[name], strict=True):
        assert np.array_equal(view.value.ravel(), value), script
        assert (view.grad is None) == (grad is None), script
        if grad is not None:
            assert np.array_equal(view.grad.ravel(), grad), script


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_script_defines_the_optimizers_that_torch_lacks(optimizer: str) -> None:
    script = TrainingSession(suited(optimizer, PRESETS["parabola"]), optimizer).script()
    ours = not hasattr(torch.optim, optimizer)
    assert (f"class {optimizer}(torch.optim.Optimizer):" in script) == ours
    assert (f"optimizer = torch.optim.{optimizer}(" in script) != ours


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
