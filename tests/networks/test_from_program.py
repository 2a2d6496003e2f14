"""The network of a program: found as a reader would find it, with torch's own numbers."""

import contextlib

import pytest
import torch

from explorer.networks import SampledProblem, accumulate, from_program, inspect
from explorer.networks.from_program import confined
from explorer.networks.program_inputs import InputChoice
from explorer.program import Limits, ProgramRefused
from tests.networks.own_modules import MODULES


class FirstBackward(Exception):
    """Ends a plain run once its first backward is done."""


def plain_run(source: str) -> tuple[float, list[float]]:
    """The loss and the sorted norms of all gradients after the first backward of a text, run by
    Python itself."""
    found = []
    backward = torch.Tensor.backward

    def stop(loss, *args, **kwargs):
        leaves = {}
        pending, seen = [loss.grad_fn], set()
        while pending:
            node = pending.pop()
            if node is not None and node not in seen:
                seen.add(node)
                pending += [n for n, _ in node.next_functions]
                if hasattr(node, "variable"):
                    leaves[id(node.variable)] = node.variable
        backward(loss, *args, **kwargs)
        norms = [v.grad.norm().item() for v in leaves.values() if v.grad is not None]
        found.append((loss.item(), sorted(norms)))
        raise FirstBackward

    torch.Tensor.backward = stop
    try:
        torch.manual_seed(0)
        with contextlib.suppress(FirstBackward), contextlib.redirect_stdout(None):
            exec(compile(source, "plain", "exec"), {"__name__": "__main__"})
    finally:
        torch.Tensor.backward = backward
    return found[0]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.fast) if i < 3 else n for i, n in enumerate(MODULES)]
)
def test_a_module_as_people_write_them_gives_the_numbers_of_plain_pytorch(name):
    expected = MODULES[name]
    problem = from_program(expected.source)
    assert tuple(tuple(x.shape) for x in problem.inputs) == expected.inputs
    assert expected.loss in problem.note
    samples = problem.batch if isinstance(problem, SampledProblem) else 0
    assert samples == expected.samples
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = problem.make()
        report = inspect(network.model, *network.inputs, loss=network.criterion)
        loss, norms = plain_run(f"{problem.source}\n{problem.loss_source}\nloss.backward()\n")
    assert report.error is None
    assert report.loss == pytest.approx(loss, rel=1e-5)
    ours = sorted(p.grad_norm for p in report.parameters if p.grad_norm is not None)
    assert ours == pytest.approx(norms, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("name", ["list of layers", "dict outputs", "tied weights"])
def test_samples_one_by_one_add_up_to_the_batch(name):
    problem = from_program(MODULES[name].source)
    assert isinstance(problem, SampledProblem)
    problem.model.eval()
    n = problem.batch
    steps = list(accumulate(problem, n))
    report = inspect(problem.model, *problem.inputs, loss=problem.network.criterion)
    if name != "dict outputs":  # its batch norm has other statistics for one sample
        assert sum(step.loss for step in steps) / n == pytest.approx(report.loss, rel=1e-4)
    assert len(steps) == n
    assert steps[-1].norms.keys() == report.gradients.keys()


LINEAR = "import torch\nfrom torch import nn\n"


@pytest.mark.fast
@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("", "empty", "nn.Sequential"),
        ("x = 1", "no nn.Module", "model ="),
        ("class Net(nn.Module):\n  def __init__(self, a, b):\n    super().__init__()", "needs a, b",
         "model = Net(a, b)"),
        ("class Net(nn.Module):\n  def __init__(self):\n    self.a = nn.Linear(2, 2)", "fails", ""),
        ("model = nn.Linear(3, 2)\nmodel(torch.ones(2, 4))", "", ""),
        ("class Net(nn.Module):\n  def forward(self, image, weird):\n    return image['a']\n"
         "net = Net()", "No input", "model(torch.randn("),
        ("model = nn.Sequential(*[nn.Identity() for _ in range(6000)])", "at most", "fewer"),
        ("model = nn.Linear(20_000, 2_000)", "at most", "fewer"),
        ("import os\nos.system('ls')", "", ""),
    ],
)  # fmt: skip
def test_what_has_no_network_is_refused_in_a_sentence(source, message, hint):
    with pytest.raises(ProgramRefused) as refused:
        from_program(LINEAR + source if source else source)
    error = refused.value.error
    assert message in error.message
    assert hint in error.hint
    assert error.message.endswith(".")


@pytest.mark.fast
def test_the_line_of_an_error_in_forward_is_that_of_the_program():
    source = (
        LINEAR + "class Net(nn.Module):\n  def forward(self, x):\n    return x.no()\nnet = Net()"
    )
    with pytest.raises(ProgramRefused) as refused:
        from_program(source)
    assert refused.value.error.line == 5


@pytest.mark.fast
def test_a_program_that_fails_after_its_network_shows_the_network():
    problem = from_program(LINEAR + "model = nn.Linear(3, 2)\nmodel(torch.ones(2, 3))\n1 / 0")
    assert "stopped on line 5" in problem.note
    assert problem.model.in_features == 3


@pytest.mark.fast
def test_the_network_called_model_is_taken_and_the_others_are_named():
    two = "{} = nn.Linear(3, 2)\n{} = nn.Linear(4, 1)\n"
    assert from_program(LINEAR + two.format("model", "critic")).model.in_features == 3
    last = from_program(LINEAR + two.format("actor", "critic"))
    assert last.model.in_features == 4
    assert "model = actor" in last.note


def test_training_stops_at_the_first_backward_or_runs_to_its_end():
    source = MODULES["recurrent"].source
    first, trained = from_program(source), from_program(source, trained=True)
    losses = [
        inspect(p.model, *p.inputs, loss=p.network.criterion, seed=0).loss for p in (first, trained)
    ]
    assert losses[1] < losses[0] - 0.3


@pytest.mark.fast
def test_a_network_is_the_same_however_often_it_is_made_and_another_with_another_seed():
    problem = from_program(LINEAR + "model = nn.Linear(3, 2)")
    first, again = problem.build(0), problem.build(0)
    other = problem.build(1)
    assert torch.equal(first.parameters["weight"], again.parameters["weight"])
    assert not torch.equal(first.parameters["weight"], other.parameters["weight"])
    assert torch.equal(from_program(LINEAR + "model = nn.Linear(3, 2)", seed=1).model.weight,
                       other.parameters["weight"])  # fmt: skip


@pytest.mark.fast
def test_nothing_of_the_process_is_changed():
    before = torch.get_rng_state(), torch.get_default_dtype()
    with confined(Limits()):
        problem = from_program(
            "torch.set_default_dtype(torch.float64)\nmodel = nn.Linear(3, 2)\n"
            "y = model(torch.ones(1, 3) + torch.zeros(1))"
        )
        assert problem.inputs[0].dtype == torch.float64
        assert inspect(problem.model, *problem.inputs).error is None
    assert torch.equal(torch.get_rng_state(), before[0])
    assert torch.get_default_dtype() == before[1]


def test_a_forward_without_an_end_is_stopped_at_the_deadline():
    import time

    source = LINEAR + (
        "class Net(nn.Module):\n  def forward(self, x):\n    while True:\n      x = x + 1\n"
        "    return x\nnet = Net()"
    )
    with pytest.raises(ProgramRefused, match="too long"), confined(Limits(time.monotonic() + 0.3)):
        from_program(source)


UNUSUAL_SIZE = """
from torch import nn

net = nn.Sequential(
    nn.Conv2d(3, 4, 7, stride=4), nn.ReLU(), nn.AvgPool2d(7, stride=1), nn.Flatten(),
    nn.Linear(4 * {size} * {size}, 2),
)
"""


@pytest.fixture
def tried(monkeypatch):
    """The shapes of the inputs that are tried."""
    shapes = []
    failure = InputChoice.failure

    def failing(self, inputs):
        shapes.extend(tuple(tensor.shape) for tensor in inputs)
        return failure(self, inputs)

    monkeypatch.setattr(InputChoice, "failure", failing)
    return shapes


@pytest.mark.fast
@pytest.mark.parametrize("size", [1, 3, 8, 20, 50, 118])
def test_the_size_of_an_image_is_searched_by_bisection(size, tried):
    network = from_program(UNUSUAL_SIZE.format(size=size)).make()
    assert network.model(*network.inputs).shape == (4, 2)
    assert len(tried) < 30  # by from_program and by make


@pytest.mark.fast
@pytest.mark.parametrize(
    ("layers", "side"),
    [
        ("nn.Conv2d(1, 8, 3), nn.Flatten(), nn.Linear(8 * 26 * 26, 10)", 28),
        ("nn.Conv2d(3, 4, 3, padding=1), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(25600, 2)", 160),
        ("nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(80000, 2)", 202),
        ("nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 11 * 11, 2)", 24),
        ("nn.Conv2d(1, 2, 1), nn.Flatten(), nn.Linear(2 * 511 * 511, 2)", 511),
    ],
)
def test_of_the_sides_that_fit_the_roundest_is_found(layers, side, tried):
    network = from_program(f"from torch import nn\nnet = nn.Sequential({layers})").make()
    assert network.inputs[0].shape[2:] == (side, side)
    assert len(tried) < 30  # by from_program and by make


@pytest.mark.fast
@pytest.mark.parametrize(
    "layers",
    [
        "nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(9, 2)",
        "nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 11 * 11 + 1, 2)",
    ],
)
def test_a_search_that_cannot_end_well_ends_soon(layers, tried):
    network = from_program(f"from torch import nn\nnet = nn.Sequential({layers})")
    assert "None of" in str(network)
    assert len(tried) < 30  # by from_program and by make


@pytest.mark.fast
@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        (
            "class Net(nn.Module):\n    def foward(self, x):\n        return x\nnet = Net()",
            "Net has no method forward",
            "Rename foward to forward.",
        ),
        ("net = nn.ModuleList([nn.Linear(2, 2)])", "ModuleList has no method forward", "Define"),
    ],
)
def test_a_module_without_forward_is_refused(source, message, hint):
    with pytest.raises(ProgramRefused) as refused:
        from_program(f"from torch import nn\n{source}")
    assert message in refused.value.error.message
    assert refused.value.error.hint.startswith(hint)
