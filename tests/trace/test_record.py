"""`explorer.record`: code in files of its own. The oracle is torch without a recording."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import importlib
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from torch.overrides import _get_current_function_mode_stack

import explorer
from explorer import limits
from explorer.program.notices import running
from explorer.trace import Trace
from explorer.trace.in_place import NothingRecorded
from explorer.trace.proof.changed_function import NotCopied
from explorer.view.document import document
from tests.trace.recorded.network import Trainer, shared, train_shared

HERE = Path(__file__)


def line_with(text: str, path: Path = HERE) -> int:
    """The line on which a text begins, the first of them."""
    return next(i for i, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def named(trace: Trace, name: str, line: int | None = None) -> list[object]:
    return [r for r in trace.tensors if r.name == name and line in (None, r.line)]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> None:
    Trainer()  # torch itself changes the class of the first optimizer
    step, engine = torch.optim.AdamW.step, torch.autograd._engine_run_backward
    yield
    assert running() is None
    assert not _get_current_function_mode_stack()
    assert not _global_optimizer_pre_hooks
    assert not _global_optimizer_post_hooks
    assert torch.optim.AdamW.step is step
    assert torch.autograd._engine_run_backward is engine


# -- names, lines, numbers ------------------------------------------------------------------------


def test_names_and_lines_are_those_of_the_function():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with explorer.record() as rec:
        y = x * 2
        z = (y**2).mean()  # the loss
        z.backward()
    trace = rec.trace
    assert [r.name for r in trace.tensors] == ["x", "y", "y**2", "z"]
    assert trace.variables["z"].line == line_with("# the loss")
    assert np.array_equal(trace.variables["y"].grad, [2.0, 4.0])
    assert trace.variables["y"].grad_from == "hook"
    assert np.array_equal(trace.variables["x"].grad, x.grad)
    assert trace.passes[0].line == line_with("z.backward()")
    assert trace.files[0].name == HERE.name


def test_functions_loops_and_layers_have_their_names():
    trainer = Trainer()
    with explorer.record() as rec:
        trainer.fit(1)
    trace = rec.trace
    blocks = [r for r in trace.tensors if r.name.startswith("forward.h_")]
    file = Path(sys.modules[Trainer.__module__].__file__)
    at = line_with("h = torch.relu", file)
    assert [r.name for r in blocks] == ["forward.h_1", "forward.h_2", "forward.h_3"]
    assert {trace.place(r.line) for r in blocks} == {f"line {at} of network.py"}
    assert [r.origin.module for r in blocks][-1] == "self.model.blocks.2"
    assert [(r.origin.visit, r.origin.visits) for r in blocks] == [(1, 3), (2, 3), (3, 3)]
    # What a library does counts as the line that calls it.
    inside = [r for r in trace.tensors if r.origin.module.startswith("self.model.encoder.")]
    assert {trace.place(r.line) for r in inside if r.line} == {
        f"line {line_with('self.encoder(x[None])', file)} of network.py"
    }
    text = "".join(a.text + a.title for a in trace.answers)
    assert "sigmoid" in text
    assert "unused.weight" in text
    assert f"line {line_with('binary_cross_entropy_with_logits', file)} of network.py" in text


def test_gradients_are_those_of_torch():
    def run(record: bool) -> tuple[Trace | None, dict[str, torch.Tensor]]:
        torch.manual_seed(0)
        trainer = Trainer()
        seen: dict[str, torch.Tensor] = {}
        if not record:  # the oracle: torch's own hooks
            for name, module in trainer.model.named_modules():
                module.register_full_backward_hook(
                    lambda m, i, o, name=name: seen.__setitem__(name, o[0])
                )
        if record:
            with explorer.record() as rec:
                trainer.fit(1)
            return rec.trace, seen
        trainer.fit(1)
        return None, seen

    trace, _ = run(True)
    _, seen = run(False)
    for i in range(3):
        record = named(trace, f"forward.h_{i + 1}")[0]
        drop = f"blocks.{i}.drop"
        result = [r for r in trace.tensors if r.origin.module == f"self.model.{drop}"][-1]
        assert np.allclose(result.grad, seen[drop].numpy())
        assert record.grad.shape == (3, 4)


def test_training_is_bitwise_the_same():
    def train(**options: int) -> list[torch.Tensor]:
        torch.manual_seed(0)
        trainer = Trainer()
        if options.pop("record", 0):
            with explorer.record(**options):
                trainer.fit(20)
        else:
            trainer.fit(20)
        return [*trainer.model.parameters(), torch.tensor(trainer.losses), torch.randn(2)]

    plain = train()
    for options in ({"record": 1}, {"record": 1, "step": 1}, {"record": 1, "step": 12}):
        assert all(map(torch.equal, plain, train(**options)))


# -- which iteration ------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, 7])
def test_one_iteration_is_recorded(step: int):
    trainer = Trainer()
    with explorer.record(step=step) as rec:
        trainer.fit(9)
    assert len(trainer.losses) == 9
    trace = rec.trace
    assert (trace.pass_count, [e.kind for e in trace.events].count("step")) == (1, 1)
    loss = [r for r in trace.tensors if r.name.endswith("loss") or "loss_" in r.name][-1]
    assert float(loss.value) == pytest.approx(trainer.losses[step - 1])


def test_an_iteration_ends_with_the_last_of_several_optimizers():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    first = torch.optim.SGD(a.parameters(), lr=0.1)
    second = torch.optim.SGD(b.parameters(), lr=0.1)
    with explorer.record(step=3) as rec:
        for _ in range(4):
            for layer, optimizer in ((a, first), (b, second)):
                optimizer.zero_grad()
                layer(torch.ones(1, 2)).sum().backward()
                optimizer.step()
    kinds = [event.kind for event in rec.trace.events]
    assert kinds == ["zero_grad", "backward", "step"] * 2


@pytest.mark.parametrize("step", [1, 2, 3])
def test_optimizers_in_a_list_are_found(step: int):
    class Training:
        def __init__(self) -> None:
            self.layer = nn.Linear(2, 1)
            self.optimizers = [torch.optim.SGD(self.layer.parameters(), lr=0.1)]
            self.losses: list[float] = []

        def fit(self) -> None:
            for _ in range(4):
                loss = (self.layer(torch.ones(1, 2)) ** 2).sum()
                loss.backward()
                self.losses.append(loss.item())
                for optimizer in self.optimizers:
                    optimizer.step()
                    optimizer.zero_grad()

    training = Training()
    with explorer.record(step=step) as rec:
        training.fit()
    trace = rec.trace
    loss = next(r for r in trace.tensors if r.name in ("loss", "fit.loss_1") and r.grad is not None)
    assert float(loss.value) == pytest.approx(training.losses[step - 1])
    assert [e.kind for e in trace.events if e.kind != "zero_grad"] == ["backward", "step"]


def test_other_threads_are_left_alone():
    other = nn.Linear(2, 1)
    steps = torch.optim.SGD(other.parameters(), lr=0.1)

    def train() -> None:
        for _ in range(3):
            other(torch.ones(1, 2)).sum().backward()
            steps.step()

    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with explorer.record() as rec:
        (w * 2).backward()
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
        optimizer.step()
    assert [(e.kind, e.what) for e in rec.trace.events if e.kind == "step"] == [
        ("step", "SGD.step()")
    ]


def test_batches_that_are_accumulated_are_one_iteration():
    layer = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with explorer.record(step=2) as rec:
        for i in range(9):
            layer(torch.ones(1, 2)).sum().backward()
            if i % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
    assert rec.trace.pass_count == 3


def test_without_an_optimizer_an_iteration_ends_with_the_update():
    w = torch.tensor(1.0, requires_grad=True)
    values = []
    with explorer.record(step=3) as rec:
        for _ in range(5):
            values.append(w.item())
            loss = (w * 3 - 1) ** 2
            loss.backward()
            with torch.no_grad():
                w -= 0.05 * w.grad
                w.grad.zero_()
    trace = rec.trace
    assert trace.pass_count == 1
    assert float(named(trace, "loss")[-1].value) == pytest.approx(
        (values[2] * 3 - 1) ** 2, rel=1e-4
    )
    assert float(trace.variables["w"].value) == pytest.approx(values[3])


def test_lines_of_another_file_are_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "distance.py").write_text(
        "import torch\n\n\ndef distance(a, b):\n    return torch.sqrt(((a - b) ** 2).sum(-1))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    distance = importlib.import_module("distance").distance
    layer, x = nn.Linear(2, 2), torch.ones(3, 2)
    with explorer.record() as rec:
        distance(layer(x), layer(x)).mean().backward()
    (answer,) = rec.trace.answers
    assert "Line 5 of distance.py computes" in answer.text
    page = document(rec.trace)
    assert "<p>distance.py</p>" in page
    assert "<ins><i>5</i>" in page


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("clears", ["first", "last"])
def test_without_an_optimizer_an_iteration_has_its_own_events(clears: str, step: int):
    layer = nn.Linear(2, 1)
    with explorer.record(step=step) as rec:
        for _ in range(4):
            if clears == "first":
                layer.zero_grad()
            loss = layer(torch.ones(3, 2)).square().mean()
            loss.backward()
            nn.utils.clip_grad_norm_(layer.parameters(), 0.25)
            for parameter in layer.parameters():
                parameter.data.add_(parameter.grad, alpha=-0.1)
            if clears == "last":
                layer.zero_grad()
    kinds = [event.kind for event in rec.trace.events if event.kind != "zero_grad"]
    assert kinds == ["backward", "clip", "write", "write"]
    (cleared,) = (event for event in rec.trace.events if event.kind == "zero_grad")
    assert rec.trace.events.index(cleared) == (0 if clears == "first" else 4)
    assert [event.number for event in rec.trace.events] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_iteration_has_what_comes_after_the_step_in_the_loop(step: int):
    """The schedule, and a teacher's mean; what is validated between two epochs is in none."""
    student = TwoLayers()
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    x = torch.ones(3, 4)
    with explorer.record(step=step) as rec:
        for _ in range(3):
            for _ in range(1):
                loss = (student(x) - teacher(x)).square().mean()
                loss.backward()
                optimizer.step()
                scheduler.step()
                with torch.no_grad():
                    for mean, new in zip(teacher.parameters(), student.parameters(), strict=True):
                        mean.mul_(0.9).add_(new, alpha=0.1)
                optimizer.zero_grad()
            with torch.no_grad():
                validated = student(x + 1)
        assert validated.shape == (3, 2)
    trace = rec.trace
    assert [event.kind for event in trace.events] == ["backward", "step", "zero_grad"]
    assert not trace.answers
    assert not named(trace, "validated")
    assert not any(r.line == line_with("validated = student") for r in trace.tensors)


def test_where_no_step_ends_an_iteration_of_two_optimizers_the_next_is_recorded():
    """The second never steps: that is seen when the first steps again."""
    layer, other = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    idle = torch.optim.SGD(other.parameters(), lr=0.1)
    with explorer.record(step=2) as rec:
        for _ in range(5):
            optimizer.zero_grad()
            layer(torch.ones(3, 2)).mean().backward()
            optimizer.step()
    assert idle.param_groups
    assert [event.kind for event in rec.trace.events] == ["zero_grad", "backward", "step"]
    assert rec.trace.notices == ("Iteration 3.",)


def _train_once(layer: nn.Module, optimizer: torch.optim.Optimizer, rate: float) -> None:
    optimizer.zero_grad()
    (layer(torch.ones(3, 2)) * rate).mean().backward()
    optimizer.step()


def _train_again(layer: nn.Module, optimizer: torch.optim.Optimizer, rounds: int) -> None:
    _train_once(layer, optimizer, 1.0)
    if rounds > 1:
        _train_again(layer, optimizer, rounds - 1)


@pytest.mark.parametrize("how", ["calls", "statements", "recursion", "phases"])
def test_an_iteration_need_not_come_by_a_loop(how: str):
    layer = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with explorer.record(step=2) as rec:
        if how == "calls":
            _train_once(layer, optimizer, 1.0)
            _train_once(layer, optimizer, 2.0)
        elif how == "recursion":
            _train_again(layer, optimizer, 3)
        elif how == "phases":
            for rate in (1.0,):
                _train_once(layer, optimizer, rate)
            for rate in (2.0, 3.0):
                _train_once(layer, optimizer, rate)
        else:
            layer(torch.ones(3, 2)).mean().backward()
            optimizer.step()
            layer(torch.ones(3, 2)).mean().backward()
            optimizer.step()
    kinds = [event.kind for event in rec.trace.events if event.kind != "zero_grad"]
    assert kinds == ["backward", "step"]


def test_variables_are_those_of_the_iteration():
    layer = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    batches = [(torch.tensor([float(i)]), 2 * i) for i in range(5)]
    with explorer.record(step=2) as rec:
        for i, (x, label) in enumerate(batches):
            loss = (layer(x) - label).square().mean() * (i > 0)
            loss.backward()
            optimizer.step()
    variables = rec.trace.variables
    assert (variables["i"], variables["x"].value.item(), variables["label"]) == (1, 1.0, 2)
    assert loss.ndim == 0


def test_a_step_that_is_missing_is_said():
    layer = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with explorer.record(step=2) as rec:
        for _ in range(3):
            optimizer.zero_grad()
            layer(torch.ones(3, 2)).mean().backward()
    with pytest.raises(NothingRecorded, match="ran 3 times, but no optimizer stepped"):
        _ = rec.trace


def test_code_that_fails_before_the_iteration_asks_for_another():
    w = torch.tensor(1.0, requires_grad=True)
    rec = explorer.record(step=9)
    with contextlib.suppress(RuntimeError), rec:
        for i in range(4):
            (w * torch.ones(i + 1)).backward()  # of two elements in the second
    with pytest.raises(NothingRecorded, match="failed after iteration 1, before number 9"):
        _ = rec.trace


def test_an_iteration_that_is_never_reached_is_said():
    trainer = Trainer()
    with explorer.record(step=100) as rec:
        trainer.fit(3)
    with pytest.raises(NothingRecorded, match="the last iteration was number 3, and number 100"):
        _ = rec.trace
    assert "number 100" in repr(rec)


def test_a_long_training_is_recorded_up_to_the_third_step():
    trainer = Trainer()
    with explorer.record() as rec:
        trainer.fit(6)
    assert rec.trace.pass_count == 3
    assert len(trainer.losses) == 6
    assert "up to step 3" in rec.trace.notices[0]


def test_recording_ends_early_where_there_is_too_much(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MOST_RECORDED", 10)
    w = torch.tensor(1.0, requires_grad=True)
    with explorer.record() as rec:
        y = w
        for _ in range(20):
            y = y * 1.5
        y.backward()
    trace = rec.trace
    assert "ended early" in trace.notices[0]
    assert trace.pass_count == 0
    assert len({record.id for record in trace.tensors}) == len(trace.tensors) > 5
    values = [float(record.value) for record in trace.tensors if record.name == "y"]
    assert values == [1.5 ** (i + 1) for i in range(len(values))]
    assert float(w.grad) == pytest.approx(1.5**20)


def test_of_a_file_that_is_too_long_no_lines_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(limits, "MAX_SOURCE", len(HERE.read_text()) + 10)
    (tmp_path / "double.py").write_text("def double(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    double = importlib.import_module("double").double
    x = torch.tensor(1.0, requires_grad=True)
    with explorer.record() as rec:
        double(x).backward()  # of a long file
    assert rec.trace.notices[0].startswith("The code of double.py is not shown")
    assert [file.name for file in rec.trace.files] == [HERE.name]
    product = next(r for r in rec.trace.tensors if not r.is_leaf)
    assert product.line == line_with("double(x).backward()")


@pytest.mark.parametrize("step", [0, -1, 1.5, True, "2"])
def test_an_invalid_step_is_refused(step: object):
    with pytest.raises(ValueError, match="step is a whole number from 1"):
        explorer.record(step=step)


# -- of a function --------------------------------------------------------------------------------


def test_a_decorated_function_is_recorded_once():
    calls = []

    @explorer.record
    def square(x: torch.Tensor) -> torch.Tensor:
        """What it is for."""
        calls.append(x)
        y = x**2
        y.sum().backward()
        return y

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    square(x)
    square(x)
    assert len(calls) == 2
    assert square.trace.pass_count == 1
    assert np.array_equal(named(square.trace, "y")[0].grad, [1.0, 1.0])
    assert (square.__name__, square.__doc__) == ("square", "What it is for.")


def test_of_a_method_the_call_with_this_number_is_recorded():
    class Model:
        def __init__(self) -> None:
            self.w = torch.tensor(2.0, requires_grad=True)

        @explorer.record(step=2)
        def loss(self, x: float) -> torch.Tensor:
            out = self.w * x
            out.backward()
            return out

    model = Model()
    for x in (1.0, 10.0, 100.0):
        model.loss(x)
    trace = Model.loss.trace
    assert float(named(trace, "out")[0].value) == 20
    assert named(trace, "self.w")


# -- what ends badly, and what is left ------------------------------------------------------------


def test_an_error_is_described_and_passed_on():
    a, b, rec = torch.randn(2, 3, requires_grad=True), torch.randn(4, 5), explorer.record()

    def fail() -> None:
        with rec:
            c = a * 2
            _ = c @ b  # fails

    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        fail()
    error = rec.trace.error
    assert error.line == line_with("# fails")
    assert "c has the shape (2, 3)" in error.message
    assert named(rec.trace, "c")


def test_recording_goes_on_after_a_step_that_failed():
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    optimizer.param_groups[0]["lr"] = None
    with explorer.record() as rec:
        (w * 2).backward()
        with contextlib.suppress(TypeError):
            optimizer.step()
        optimizer.zero_grad()
        after = w * 5
        after.backward()
    assert named(rec.trace, "after")


def test_what_does_not_run_when_it_is_called_is_refused():
    with pytest.raises(ValueError, match="generator or coroutine"):

        @explorer.record
        def batches() -> Iterator[int]:
            yield 1


def test_errors_of_files_are_not_called_walls():
    with pytest.raises(FileNotFoundError), explorer.record() as rec:
        Path("/there/is/no/such/file").read_text()
    assert "No such file" in rec.trace.error.message


def _held_after_recording() -> bool:
    """In a function of its own: pytest has one with an assert read `locals()`."""
    w = torch.ones(3, requires_grad=True)
    with explorer.record() as rec:
        y = w * 2
        y.sum().backward()
    held = weakref.ref(y)
    del y
    gc.collect()
    return rec.trace.pass_count == 1 and held() is not None


def test_no_tensor_is_kept():
    assert not _held_after_recording()


def test_a_recording_in_a_recording_is_passed_over():
    w = torch.tensor(1.0, requires_grad=True)
    with explorer.record() as outer, explorer.record() as inner:
        (w * 2).backward()
    assert outer.trace.pass_count == 1
    with pytest.raises(NothingRecorded):
        _ = inner.trace


def test_gradients_from_before_are_a_part_of_their_own():
    w = torch.tensor(1.0, requires_grad=True)
    (w * 2).backward()
    with explorer.record() as rec:
        (w * 3).backward()
    step = next(s for s in rec.trace.passes[0].steps if s.name == "AccumulateGrad")
    assert (float(step.before), float(step.after)) == (2, 5)


@pytest.mark.parametrize("clears", [True, False])
def test_a_gradient_of_the_iteration_before_is_explained(clears: bool):
    layer = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with explorer.record(step=3) as rec:
        for _ in range(4):
            if clears:
                optimizer.zero_grad()
            (layer(torch.ones(1, 2)) ** 2).sum().backward()
            optimizer.step()
    found = [answer for answer in rec.trace.answers if answer.key == "accumulation.before"]
    assert len(found) == (not clears)
    assert all("layer." in answer.title for answer in found)
    assert all("call optimizer.zero_grad()" in answer.cure for answer in found)


def test_warnings_are_shown_and_kept():
    x = torch.zeros(3, 1, requires_grad=True)

    @explorer.record
    def rec() -> None:
        loss = nn.functional.mse_loss(x, torch.zeros(3))
        loss.backward()

    with pytest.warns(UserWarning, match="target size"):
        rec()
    assert any("target size" in note for note in rec.trace.notes)


def test_what_is_compiled_runs_as_ever_and_is_one_operation():
    layer, x = nn.Linear(4, 1), torch.randn(3, 4)
    compiled = torch.compile(layer, backend="aot_eager")
    compiled(x).sum().backward()
    plain, layer.weight.grad = layer.weight.grad, None
    with explorer.record() as rec:
        y = compiled(x)
        loss = y.sum()  # after it
        loss.backward()
    assert torch.equal(plain, layer.weight.grad)
    trace = rec.trace
    functions = [n.name for n in trace.passes[0].nodes if n.kind == "function"]
    assert functions == ["SumBackward0", "CompiledFunctionBackward"]
    assert named(trace, "loss")[0].line == line_with("# after it")
    assert named(trace, "y")
    assert "torch.compile" in trace.notices[0]


# -- cures of a function --------------------------------------------------------------------------

_model = nn.Linear(4, 3)
_seen: list[int] = []


@explorer.record
def _train_step(x: torch.Tensor, y: torch.Tensor) -> None:
    _seen.append(1)
    scores = _model(x)
    probabilities = torch.softmax(scores, 1)
    loss = nn.functional.cross_entropy(probabilities, y)
    _model.zero_grad()
    loss.backward()
    print("trained")


def test_cures_of_a_function_are_tried_on_copies(capsys: pytest.CaptureFixture[str]):
    x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    _train_step(x, y)
    assert [a.tried for a in _train_step.trace.answers] == [""]
    before = _model.weight.detach().clone(), _model.weight.grad.clone()
    (answer,) = _train_step.prove(x, y).answers
    assert (answer.key, answer.fix is not None) == ("silent.softmax", True), answer.tried
    assert answer.tried.startswith("With this change, loss is ")
    assert torch.equal(before[0], _model.weight)
    assert torch.equal(before[1], _model.weight.grad)
    assert _seen == [1]
    assert capsys.readouterr().out == "trained\n"
    assert _train_step.trace.answers == (answer,)


def test_a_cure_that_is_false_is_left_out():
    scale = torch.tensor(3.0)

    @explorer.record
    def step(w: torch.Tensor) -> None:
        h = (w * scale).detach()
        h.requires_grad_()
        (h**2).backward()

    w = torch.tensor(1.0, requires_grad=True)
    step(w)
    assert "w" in step.trace.answers[0].names
    proved = step.prove(w).answers
    assert w.grad is None
    assert any("w.grad is 18" in answer.tried for answer in proved)


_fit = Trainer.fit


@explorer.record
def _with_another_file(trainer: Trainer) -> None:
    _fit(trainer, 1)


def test_gradients_from_before_are_copied_too():
    layer = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    @explorer.record(step=2)
    def train_step():
        layer(torch.ones(3, 2)).square().mean().backward()
        optimizer.step()

    train_step()
    train_step()
    (answer,) = train_step.trace.answers
    assert answer.key == "accumulation.before"
    grads = [p.grad.clone() for p in layer.parameters()]
    assert [a.key for a in train_step.prove().answers] == ["accumulation.before"]
    assert all(map(torch.equal, grads, (p.grad for p in layer.parameters())))


def test_a_function_of_another_file_runs_on_copies():
    trainer = Trainer()
    _with_another_file(trainer)
    weights = [p.detach().clone() for p in trainer.model.parameters()]
    assert not _with_another_file.prove(trainer).error
    assert len(trainer.losses) == 1
    assert all(map(torch.equal, weights, trainer.model.parameters()))


def _update() -> None:
    _model.weight.grad = torch.ones(3, 4)


@torch.no_grad()
def _shrink() -> None:
    _model.weight.mul_(0.5)


class Updating:
    def run(self) -> None:
        _update()


def _hooked() -> nn.Module:
    layer = nn.Linear(4, 1)
    layer.register_forward_hook(lambda *_: _update())
    return layer


@pytest.mark.parametrize(
    "held",
    [functools.partial(_update), [_update], _hooked(), _shrink, Updating()],
    ids=["partial", "list", "hook", "decorated", "method"],
)
def test_what_a_copy_holds_could_change_the_real_model_and_is_not_run(held: object):
    @explorer.record
    def step() -> None:
        torch.ones(1, requires_grad=True).sum().backward()
        return held

    step()
    before = _model.weight.detach().clone()
    with pytest.raises(NotCopied, match="whose variables are not copied"):
        step.prove()
    assert torch.equal(before, _model.weight)


def test_defaults_are_copied_too():
    layer = nn.Linear(4, 1)

    @explorer.record
    def step(used: nn.Module = layer, *, also: nn.Module = layer) -> None:
        (used(torch.ones(4)) + also(torch.ones(4))).backward()
        with torch.no_grad():
            used.weight.zero_()

    layer.weight.requires_grad_(True)
    step()
    with torch.no_grad():
        layer.weight.fill_(2.0)
    step.prove()
    assert torch.equal(layer.weight, torch.full((1, 4), 2.0))


class OfModule:
    """Its methods use variables of this file: of a copy, they would be the real ones."""

    def step(self):
        _model(torch.ones(2, 4)).mean().backward()


def test_what_is_not_copied_is_not_run():
    """A function of another file, or a method, could change the real model."""

    @explorer.record
    def by_method(one: OfModule) -> None:
        one.step()

    @explorer.record
    def by_function() -> None:
        train_shared()

    by_method(OfModule())
    by_function()
    grads = _model.weight.grad.clone(), shared.weight.grad.clone()
    with pytest.raises(NotCopied, match=r"calls step of test_record\.py"):
        by_method.prove(OfModule())
    with pytest.raises(NotCopied, match=r"calls train_shared of network\.py"):
        by_function.prove()
    assert torch.equal(grads[0], _model.weight.grad)
    assert torch.equal(grads[1], shared.weight.grad)


def test_what_cannot_be_copied_is_said():
    @explorer.record
    def step(w: torch.Tensor, source: object) -> None:
        (w * 2).backward()

    w = torch.tensor(1.0, requires_grad=True)
    source = (i for i in range(3))
    step(w, source)
    with pytest.raises(NotCopied, match="generator"):
        step.prove(w, source)
    with explorer.record() as rec:
        (w * 2).backward()
    with pytest.raises(NothingRecorded, match="of a function alone"):
        rec.prove()


def test_two_statements_on_a_line_are_one_iteration_and_clipping_is_an_event():
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with explorer.record(step=2) as rec:
        for _ in range(2):
            optimizer.zero_grad()
            a = w * 1; b = (a**2).sum() / 2  # fmt: skip  # noqa: E702
            b.backward()
            norm = float(nn.utils.clip_grad_norm_([w], 1.0))
            optimizer.step()
    trace = rec.trace
    assert [(r.origin.visit, r.origin.visits) for r in named(trace, "b")] == [(1, 1)]
    clip = next(event for event in trace.events if event.kind == "clip")
    assert clip.what == f"clip_grad_norm_ to at most 1.0: the norm was {norm:.4g}"
    assert trace.notices[0] == "Iteration 2."


# -- parameters that no optimizer holds ----------------------------------------------------------


class TwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 3), nn.Linear(3, 2)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


@pytest.mark.parametrize("first", ["zero_grad", "step"])
def test_a_layer_replaced_after_the_optimizer_was_made_is_named(first: str):
    model = TwoLayers()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.head = nn.Linear(3, 5)
    with explorer.record() as rec:
        if first == "zero_grad":
            optimizer.zero_grad()
        model(torch.randn(6, 4)).square().mean().backward()
        optimizer.step()  # of the old head
    (answer,) = rec.trace.answers
    assert answer.key == "optimizer.replaced"
    assert answer.names == ("model.head.weight", "model.head.bias")
    assert answer.line == line_with("optimizer.step()  # of the old head")
    assert "of shape 2 × 3 and 2" in answer.text


def test_a_model_that_no_optimizer_holds_is_named():
    encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 2)
    optimizer = torch.optim.Adam(decoder.parameters())
    with explorer.record() as rec:
        decoder(encoder(torch.randn(6, 4))).square().mean().backward()
        optimizer.step()
    (answer,) = rec.trace.answers
    assert answer.key == "optimizer.not-held"
    assert answer.names == ("encoder.weight", "encoder.bias")


@pytest.mark.parametrize("what", ["of another optimizer", "the head alone is trained"])
def test_what_does_not_step_on_purpose_is_no_answer(what: str):
    model, critic = TwoLayers(), nn.Linear(2, 1)
    trained = model.head if what == "the head alone is trained" else model
    optimizer = torch.optim.Adam(trained.parameters())
    others = [torch.optim.Adam(critic.parameters())]
    with explorer.record() as rec:
        critic(model(torch.randn(6, 4))).square().mean().backward()
        optimizer.step()
    assert len(others) == 1
    assert not rec.trace.answers


class Both(nn.Module):
    """Its own method calls its parts: it is never called itself."""

    def __init__(self):
        super().__init__()
        self.actor, self.critic = nn.Sequential(nn.Linear(2, 3)), nn.Sequential(nn.Linear(2, 3))
        self.scale = nn.Parameter(torch.ones(3))

    def values(self, x):
        return (self.actor(x) + self.critic(x)) * self.scale


def test_parameters_have_the_names_of_their_module():
    agent = Both()
    with explorer.record() as rec:
        agent.zero_grad()
        agent.values(torch.ones(4, 2)).sum().backward()
        for p in agent.parameters():
            p.data.add_(p.grad, alpha=-0.1)
        agent.zero_grad()
    names = {f"agent.{name}" for name, _ in agent.named_parameters()}
    _, backward, *writes, cleared = rec.trace.events
    assert {change.name for change in backward.changes} == {f"{name}.grad" for name in names}
    assert {change.name for change in cleared.changes} == {f"{name}.grad" for name in names}
    assert {event.name for event in writes} == names


def test_tensors_that_a_loop_updates_have_names_of_their_own():
    weight, bias = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (weight * 3 + bias).sum().backward()
    with explorer.record() as rec:
        for p in [weight, bias]:
            p.data -= 0.1 * p.grad
    assert {event.name for event in rec.trace.events} == {"weight", "bias"}
