"""What PyTorch offers around autograd for training: as in plain PyTorch, and undone afterwards."""

import numpy as np
import pytest
import torch

from explorer.trace import run
from explorer.trace.codec import to_plain
from explorer.trace.examples.modern_training import MODERN_TRAINING
from tests.program.compare import compare, plain
from tests.program.modern_training import PROGRAMS

pytestmark = pytest.mark.fast

BY_KEY = {example.key: example.source for example in MODERN_TRAINING}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    compare(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_when_it_is_recorded(name):
    trace = run(PROGRAMS[name])
    printed, names = plain(PROGRAMS[name])
    assert trace.error is None
    assert trace.output == printed
    for variable, value in names.items():
        if isinstance(value, torch.Tensor) and value.is_leaf and value.grad is not None:
            np.testing.assert_array_equal(trace.variables[variable].grad, value.grad.numpy())


def kinds(source):
    return [event.kind for event in run(source).events]


def test_a_checkpoint_is_computed_again_in_backward():
    trace = run(BY_KEY["checkpoint"])
    assert [e.kind for e in trace.events] == ["recompute", "backward"]
    assert trace.events[0].what == "block ran again in backward: lines 5 and 6"
    again = [t for t in trace.tensors if t.name == "block.h_1"]
    assert [bool(t.note) for t in again] == [False, True]
    assert [t.origin.visits for t in again] == [1, 1]
    assert again[0].grad == pytest.approx(2 * np.tanh(0.75))


def test_the_reentrant_checkpoint_has_its_gradients_in_the_second_run():
    trace = run(BY_KEY["checkpoint_reentrant"])
    first, second = (t for t in trace.tensors if t.name == "block.h_1")
    assert first.grad is None
    assert "checkpoint" in first.why_none.text
    assert second.grad == pytest.approx(2.0)


def test_frozen_inputs_of_the_reentrant_checkpoint_are_warned_of():
    trace = run(
        "import torch\nfrom torch.utils.checkpoint import checkpoint\n"
        "w = torch.ones(1, requires_grad=True)\n"
        "y = checkpoint(lambda x: w * x, torch.ones(1), use_reentrant=True)\nprint(y.grad_fn)"
    )
    assert "None of the inputs have requires_grad=True. Gradients will be None" in trace.notes
    assert trace.output == "None\n"


def test_a_scaled_loss_and_its_gradients_are_marked():
    before_step = BY_KEY["grad_scaler"].split("scaler.step")[0]
    trace = run(before_step)
    assert "scaled by 1024" in {t.note for t in trace.tensors}
    assert trace.variables["w"].note == "gradient scaled by 1024"
    assert run(BY_KEY["grad_scaler"]).variables["w"].note == ""
    assert kinds(BY_KEY["grad_scaler"]) == ["scale", "backward", "scale", "step"]


def test_a_skipped_step_is_an_event():
    events = run(BY_KEY["skipped_step"]).events
    assert [e.kind for e in events] == ["scale", "backward", "scale", "skip", "scale"]
    assert events[3].what == "SGD.step() was skipped: a gradient is inf or NaN"


def test_anomaly_mode_names_the_forward_line_without_paths():
    trace = run(BY_KEY["anomaly"])
    assert trace.error.message == "Anomaly mode stopped backward: SqrtBackward0 computed NaN."
    assert (
        "Anomaly mode: backward failed in SqrtBackward0, which belongs to line 5: y = torch.sqrt(x)"
    ) in trace.notes
    assert "site-packages" not in str(to_plain(trace))


def test_a_lazy_parameter_is_shown_without_a_shape():
    trace = run("import torch\nlayer = torch.nn.LazyLinear(2)\nprint(layer.weight)")
    weight = trace.variables["layer.weight"]
    assert "no shape yet" in weight.note
    assert trace.output == "<UninitializedParameter>\n"


def test_an_optimizer_in_backward_steps_before_backward_ends():
    assert kinds(BY_KEY["optimizer_in_backward"]) == ["step", "hook", "step", "hook", "backward"]


LEAVES_STATE = """\
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.utils.checkpoint import checkpoint
torch.autograd.set_detect_anomaly(True)
nn.modules.module.register_module_forward_hook(lambda m, a, o: o * 0)
nn.modules.module.register_module_full_backward_hook(lambda m, a, o: None)
@torch.library.custom_op("left::over", mutates_args=())
def over(x: torch.Tensor) -> torch.Tensor:
    return x * 2
class Bad:
    def __enter__(self):
        raise ValueError
with torch.autocast("cpu"), parametrize.cached(), torch.profiler.profile():
    with Bad():
        pass
"""


def test_an_operator_may_have_the_name_of_one_of_another_run():
    source = (
        "import torch\n@torch.library.custom_op('same::op', mutates_args=())\n"
        "def f(x: torch.Tensor) -> torch.Tensor:\n    return x * {}\nprint(f(torch.ones(1)))"
    )
    assert [run(source.format(n)).output for n in (2, 3)] == ["tensor([2.])\n", "tensor([3.])\n"]


def test_hooks_of_an_optimizer_run_once_even_if_torch_has_wrapped_its_own_class():
    torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    trace = run(
        "import torch\np = torch.ones(1, requires_grad=True)\no = torch.optim.SGD([p], lr=0.1)\n"
        "o.register_step_pre_hook(lambda *args: print('pre'))\n"
        "o.register_step_post_hook(lambda *args: print('post'))\np.sum().backward()\no.step()"
    )
    assert trace.output == "pre\npost\n"


BLOCK = """\
import torch
from torch.utils.checkpoint import checkpoint
x = torch.tensor(2.0, requires_grad={})
w = torch.tensor(3.0, requires_grad=True)
def f(x):
    h = x * w
    return h * h
"""


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        ("with torch.no_grad():\n    y = checkpoint(f, x, use_reentrant=False)", "no_grad"),
        ("with torch.no_grad():\n    y = checkpoint(f, x, use_reentrant=True)", "no_grad"),
        ("y = checkpoint(f, x.detach(), use_reentrant=True)", "use_reentrant=True"),
    ],
)
def test_what_backward_does_not_compute_again_is_not_said_to_be(end, cause):
    trace = run(f"{BLOCK.format(True)}{end}\nw.backward()")
    assert trace.error is None
    (h,) = (t for t in trace.tensors if t.name.startswith("f.h"))
    assert h.note == ""
    assert cause in h.why_none.text
    assert "computes it again" not in h.why_none.text


def test_a_checkpoint_runs_again_in_a_backward_that_the_program_does_not_call():
    trace = run(BLOCK.format(True) + "z = checkpoint(f, x, use_reentrant=False)")
    assert [event.kind for event in trace.events] == ["recompute", "backward"]
    assert not any(t.why_none and "never used" in t.why_none.text for t in trace.tensors)


def test_arguments_of_a_checkpoint_may_have_any_name():
    trace = run(
        BLOCK.format(True).replace("f(x)", "f(x, run, what)")
        + "checkpoint(f, x, use_reentrant=False, run=1, what=2).backward()"
    )
    assert trace.error is None


@pytest.mark.parametrize(
    "change",
    [
        "opt.zero_grad(); (w ** 2).sum().backward()",
        "opt.zero_grad(set_to_none=False); (w ** 2).sum().backward()",
        "w.grad = w.grad / scaler.get_scale()",
        "w.grad.div_(scaler.get_scale())",
    ],
)
def test_a_gradient_is_called_scaled_as_long_as_it_is(change):
    start = (
        "import torch\nw = torch.tensor([1.0], requires_grad=True)\n"
        "opt = torch.optim.SGD([w], lr=0.1)\nscaler = torch.amp.GradScaler('cpu')\n"
        "scaler.scale((w ** 2).sum()).backward()\n"
    )
    assert run(start).variables["w"].note == "gradient scaled by 65536"
    assert run(start + change).variables["w"].note == ""
