"""Problems from a reader's two texts: what counts as parameter and loss, and bad input."""

import time

import numpy as np
import pytest
import torch

from explorer.program import Limits, ProgramRefused
from explorer.training import ProgramProblem, TrainingSession
from tests.training.plain import loop, same

pytestmark = pytest.mark.fast

TORCH = "import torch\n"
X = TORCH + "x = torch.tensor([1.0, 2.0], requires_grad=True)\n"


def test_parameters_are_the_named_leaves_and_those_of_modules():
    problem = ProgramProblem(
        setup=TORCH
        + """\
import torch.nn as nn
w = torch.zeros(2, requires_grad=True)
params = [w, torch.ones(1, requires_grad=True)]
more = {"a": torch.ones(3, requires_grad=True)}
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
net[2].bias.requires_grad_(False)
first = net[0].weight
data = torch.ones(2)
made = w * 2
""",
        loss="loss = net(w).sum() + params[1].sum() + more['a'].sum()",
    )
    names = ["w", "params[1]", "more['a']", "net.0.weight", "net.0.bias", "net.2.weight"]
    session = TrainingSession(problem, lr=0.1)
    assert list(session.parameters) == names
    assert session.iterate(3).ok
    # The oracle steps net.2.bias too, if only it could: it requires no grad and stays.
    got = loop(problem, "SGD", 3, lr=0.1)
    assert same([p.value for p in session.parameters.values()], got[:-1])


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("(x ** 2).sum()", 5.0),
        ("loss = (x ** 2).sum()", 5.0),
        ("a = x.sum()\nb = a * 3", 9.0),
        ("b = x.sum() * 3\nwrong = (x > 1).float().mean()", 9.0),
        ("b = x.sum() * 3\nprint(b.item())", 9.0),
        ("def f(v):\n    return (v * v).sum()\nf(x)", 5.0),
        (">>> y = x * x\n>>> y.sum()", 5.0),
        ("total = 0\nfor v in x:\n    total = total + v * v", 5.0),
        ("(x[:1] * 7)", 7.0),
    ],
)
def test_the_loss_is_the_last_scalar_that_requires_grad(loss, expected):
    problem = ProgramProblem(setup=X, loss=loss)
    session = TrainingSession(problem, lr=0.01)
    assert session.iterate(4).ok
    assert session.losses[0] == expected
    assert same([session.parameters["x"].value], loop(problem, "SGD", 4, lr=0.01))


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ("x = = 1", "In the setup"),
        (TORCH + "x = torch.tensor([1, 2], requires_grad=True)", "floating-point"),
        (TORCH + "x = torch.ones(3)", "defines no parameter"),
        ("", "defines no parameter"),
        (TORCH + "x = torch.zeros(10_000_000, requires_grad=True)", "10,000,000 parameters"),
        (TORCH + "x = y", "name y is not defined"),
        ("import os", "no parameter"),
    ],
)
def test_setups_that_cannot_be_used(setup, words):
    with pytest.raises(ProgramRefused) as caught:
        TrainingSession(ProgramProblem(setup=setup, loss="x.sum()"))
    assert words in caught.value.error.message


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("x * 2", "shape (2,)"),
        ("torch.ones(2).sum()", "no scalar that depends on a parameter"),
        ("x.detach().sum()", "no scalar that depends on a parameter"),
        ("", "no scalar that depends on a parameter"),
        ("x += 1\nx.sum()", "leaf"),
        ("x[0] = 3.0\nx.sum()", "leaf"),
        ("(x @ torch.ones(3)).sum()", "In the loss"),
        ("y.sum()", "name y is not defined"),
        ("open('secret')", "There is no file secret here"),
    ],
)
def test_losses_that_cannot_be_used(loss, words):
    """A sentence, and the session goes on from where it was."""
    session = TrainingSession(ProgramProblem(setup=X, loss=loss), lr=0.1)
    event = session.forward()
    assert not event.ok
    assert words in event.message
    assert session.losses == []
    assert session.view().undoable == 0
    assert np.array_equal(session.parameters["x"].value, [1, 2])


def test_a_loss_text_that_calls_backward_is_told_so():
    problem = ProgramProblem(setup=X, loss="loss = (x ** 2).sum()\nloss.backward()")
    session = TrainingSession(problem, lr=0.1)
    assert session.forward().ok
    event = session.backward()
    assert "calls backward itself" in event.message
    assert "from the loss code" in event.error.hint


def test_a_loss_that_cannot_be_read_fails_at_once():
    with pytest.raises(ProgramRefused, match="In the loss"):
        TrainingSession(ProgramProblem(setup=X, loss="x.sum("))


def test_an_iteration_that_fails_keeps_the_one_before():
    problem = ProgramProblem(
        setup=X + "n = 0\n", loss="n = n + 1\nassert n != 37\nloss = (x ** 2).sum()"
    )
    session = TrainingSession(problem, "Adam", lr=0.01)
    event = session.iterate(100)
    assert "Iteration 37 of 100 failed; the state after iteration 36 is kept" in event.message
    assert event.error.line == 2
    fine = ProgramProblem(setup=X, loss="loss = (x ** 2).sum()")
    assert same([session.parameters["x"].value], loop(fine, "Adam", 36, lr=0.01))
    assert len(session.losses) == session.view().track.steps == 36
    assert session.parameters["x"].grad is not None
    assert not session.forward().ok
    assert session.undo().ok
    assert session.view().track.steps == 0


def test_a_failing_backward_changes_nothing():
    """A hook in the program refuses its fourth gradient."""
    problem = ProgramProblem(
        setup=X
        + """\
calls = []
def hook(grad):
    calls.append(1)
    assert len(calls) < 4
x.register_hook(hook)
""",
        loss="(x ** 2).sum()",
    )
    session = TrainingSession(problem, lr=0.1)
    assert session.iterate(3).ok
    before = session.parameters["x"]
    session.forward()
    event = session.backward()
    assert not event.ok
    assert np.array_equal(session.parameters["x"].grad, before.grad)
    assert np.array_equal(session.parameters["x"].value, before.value)


def test_random_numbers_of_the_loss_go_on_and_come_back():
    problem = ProgramProblem(
        setup=TORCH + "import numpy as np\nimport random\n" + X,
        loss="(x ** 2).sum() * (torch.rand(()) + float(np.random.rand()) + random.random())",
    )
    session = TrainingSession(problem, lr=0.0, seed=11)
    for _ in range(4):
        session.forward()
    losses = session.losses
    assert len(set(losses)) == 4
    session.undo()
    session.undo()
    session.forward()
    session.forward()
    assert session.losses == losses
    session.reset()
    for _ in range(4):
        session.forward()
    assert session.losses == losses


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop"])
@pytest.mark.parametrize("dtype", ["complex64", "float16", "bfloat16", "float64"])
def test_other_kinds_of_number(dtype, optimizer):
    start = "[1 + 2j, 3 - 1j]" if dtype == "complex64" else "[1.5, -3.0]"
    problem = ProgramProblem(
        setup=TORCH + f"z = torch.tensor({start}, dtype=torch.{dtype}, requires_grad=True)",
        loss="loss = (z.abs() ** 2).sum()",
    )
    session = TrainingSession(problem, optimizer, lr=0.125)
    assert session.iterate(3).ok
    torch_dtype = getattr(torch, dtype)
    z = torch.tensor(eval(start), dtype=torch_dtype, requires_grad=True)
    stepper = getattr(torch.optim, optimizer)([z], lr=0.125)
    for _ in range(3):
        stepper.zero_grad()
        (z.abs() ** 2).sum().backward()
        stepper.step()
    expected = z.detach().float() if dtype == "bfloat16" else z.detach()
    assert np.array_equal(session.parameters["z"].value, expected.numpy())
    after = session.last_update("z").after
    pairs = torch.view_as_real(expected) if dtype == "complex64" else expected
    assert np.array_equal(after, pairs.numpy())
    assert session.last_update("z").at((0,) * after.ndim)
    assert session.view().step.next


def test_sparse_gradients_and_empty_tensors():
    problem = ProgramProblem(
        setup=TORCH
        + "import torch.nn as nn\ne = nn.Embedding(4, 2, sparse=True)\n"
        + "nothing = torch.zeros(0, requires_grad=True)",
        loss="e(torch.tensor([1, 2])).sum() + nothing.sum()",
    )
    session = TrainingSession(problem, lr=0.1)
    assert list(session.parameters) == ["e.weight"]
    event = session.iterate(2)
    assert "Iteration 1 of 2 failed" in event.message
    assert "sparse" in event.error.message
    assert session.parameters["e.weight"].grad is None


def test_long_runs_may_print():
    problem = ProgramProblem(setup=X, loss="print('x' * 1000)\n(x ** 2).sum()")
    assert TrainingSession(problem, lr=0.01).iterate(120).ok


def test_two_sessions_share_nothing():
    problem = ProgramProblem(setup=X, loss="(x ** 2).sum()")
    first, second = TrainingSession(problem, lr=0.1), TrainingSession(problem, lr=0.2)
    first.iterate(3)
    assert np.array_equal(second.parameters["x"].value, [1, 2])
    assert torch.is_grad_enabled()


def test_a_setup_that_does_not_end_is_stopped():
    limits = Limits(deadline=time.monotonic() + 0.1)
    with pytest.raises(ProgramRefused, match="took too long"):
        TrainingSession(ProgramProblem(TORCH + "while True:\n    pass", "x.sum()", limits=limits))


def test_a_hook_that_does_not_end_is_stopped():
    hook = "def h(g):\n    while True:\n        pass\nx.register_hook(h)"
    limits = Limits(deadline=time.monotonic() + 0.5)
    session = TrainingSession(ProgramProblem(X + hook, "loss = x.sum()", limits=limits))
    assert session.forward().ok
    assert "took too long" in session.backward().message


@pytest.mark.parametrize(
    "lists", ["a = [x]\nfor i in range(60):\n    a = [a, a]", "a = [x]\na.append(a)"]
)
def test_a_leaf_in_lists_that_contain_each_other_is_one_parameter(lists):
    session = TrainingSession(ProgramProblem(setup=f"{X}{lists}", loss="loss = x.sum()"))
    assert list(session.parameters) == ["x"]


def test_methods_of_a_module_are_not_called_for_its_parameters():
    own = "    def named_parameters(self):\n        raise ValueError\n"
    setup = f"{X}class Net(torch.nn.Linear):\n{own}net = Net(1, 1)"
    session = TrainingSession(ProgramProblem(setup=setup, loss="loss = x.sum()"))
    assert list(session.parameters) == ["x", "net.weight", "net.bias"]
