"""Forward mode, function transforms, graph hooks and Functions give what plain PyTorch gives."""

import pytest
import torch
from torch.autograd import forward_ad

import explorer
from explorer.program import isolated
from tests.program.autograd_surface import SURFACE
from tests.program.compare import compare, plain

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", SURFACE)
def test_program(name):
    compare(SURFACE[name])


@pytest.mark.parametrize("name", SURFACE)
def test_recording_changes_nothing(name):
    """The recorder reads saved values and tangents, and no hook of a program notices."""
    trace = explorer.run(SURFACE[name])
    assert trace.error is None
    assert trace.output == plain(SURFACE[name])[0]


def test_nothing_stays_open():
    """A run that ends in the middle leaves no level and no hooks behind."""
    with isolated(0):
        forward_ad.enter_dual_level()
        torch.autograd.graph.saved_tensors_hooks(lambda t: 1, lambda t: t).__enter__()
    assert forward_ad._current_level == -1
    with isolated(0):
        torch._C._autograd._saved_tensors_hooks_disable("never")
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2, 2]
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None


def test_a_hook_on_any_gradient_is_described_as_such():
    trace = explorer.run(
        "import torch\nfrom torch.autograd.graph import register_multi_grad_hook\n"
        "a = torch.tensor(1.0, requires_grad=True)\nb = torch.tensor(2.0, requires_grad=True)\n"
        "register_multi_grad_hook((a, b), lambda g: None, mode='any')\n(a * b).backward()"
    )
    hook = next(event for event in trace.events if event.kind == "hook")
    assert hook.what == "multi-grad hook was called with the gradient of one of a and b"
