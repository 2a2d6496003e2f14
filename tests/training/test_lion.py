"""Lion, against the rule of its paper (Algorithm 2) in plain numbers."""

import pytest

from explorer.training import ProgramProblem, TrainingSession

pytestmark = pytest.mark.fast
SETUP = "import torch\nx = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)\n"


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_three_steps(decay: float) -> None:
    problem = ProgramProblem(setup=SETUP, loss="loss = x ** 2 / 2")
    hyper = {"lr": 0.5, "betas": (0.5, 0.25), "weight_decay": decay}
    session = TrainingSession(problem, optimizer="Lion", **hyper)
    session.iterate(3)
    x, m = 2.0, 0.0
    for _ in range(3):
        c = 0.5 * m + 0.5 * x  # the gradient is x
        sign = (c > 0) - (c < 0)
        x, m = x - 0.5 * (sign + decay * x), 0.25 * m + 0.75 * x
    assert session.parameters["x"].value == pytest.approx(x)
