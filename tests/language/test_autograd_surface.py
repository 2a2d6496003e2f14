"""Forward mode, function transforms, graph hooks and Functions give what plain PyTorch gives."""

import pytest
import torch
from torch.autograd import forward_ad

import explorer
from explorer.language import OutsideLanguage, isolated
from tests.language.autograd_surface import SURFACE
from tests.language.compare import compare, guarded, plain, refusal

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


UNPACK = """
import torch
x = torch.rand(4, 3, requires_grad=True)
def pack(t):
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: {value}):
    y = {operation}
y.sum().backward()
"""


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        ("x.exp()", "t[:2]"),
        ("x.exp()", "t.double()"),
        ("x.exp()", "t.to(torch.complex64)"),
        ("x[torch.tensor([0, 1])]", "t + 10**6"),
        ("x[torch.tensor([0, 1])]", "t.int()"),
        ("x.gather(0, torch.tensor([[0, 1]]))", "torch.full_like(t, -(10**9))"),
        ("torch.nn.functional.max_pool2d(x[None], 2)", "t + 10**6"),
    ],
)
def test_other_values_are_not_unpacked(operation, value):
    packed_float = operation == "x.exp()"
    kind = "is_floating_point()"
    chosen = value if packed_float else f"t if t.{kind} else {value}"
    error = refusal(UNPACK.format(operation=operation, value=chosen))
    assert "unpack hook returned" in error.message


def test_hooks_get_copies_of_indices():
    """Changing them does not reach what backward uses."""
    source = """
import torch
x = torch.rand(4, 3, requires_grad=True)
def pack(t):
    if not t.is_floating_point():
        t.data.fill_(10**6)
        kept = torch.tensor([0, 1])
        return kept
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    y = x[torch.tensor([0, 1])]
y.sum().backward()
print(x.grad.sum(1))
"""
    output, _ = guarded(source)
    assert output == "tensor([3., 3., 0., 0.])\n"


@pytest.mark.parametrize(
    "edge", ["y.grad_fn, 1", "y.grad_fn, 10**9", "y.grad_fn, -1", "y.grad_fn, 2.0", "'a', 0"]
)
def test_edges_that_do_not_exist(edge):
    source = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n"
    error = refusal(f"{source}torch.autograd.graph.GradientEdge({edge})")
    assert "node" in error.message.lower()


def test_an_edge_cannot_be_changed():
    source = """
import torch
x = torch.ones(2, requires_grad=True)
edge = torch.autograd.graph.get_gradient_edge(x * 2)
edge.output_nr = 7
"""
    assert "cannot be assigned" in refusal(source).message


def test_meta_tensors_are_on_the_cpu():
    source = """
import torch
from torch import nn
with torch.device("meta"):
    net = nn.Linear(2, 2)
net = net.to("meta")
net.load_state_dict({"weight": torch.eye(2), "bias": torch.zeros(2)}, assign=True)
print(net(torch.ones(2)), torch.zeros(2, device="meta"))
"""
    trace = explorer.run(source)
    assert trace.error is None
    assert "meta" not in trace.output
    assert any("meta" in reading for reading in trace.readings)


def test_a_tensor_with_a_tangent_keeps_its_shape():
    source = """
import torch
from torch.autograd import forward_ad
with forward_ad.dual_level():
    x = forward_ad.make_dual(torch.ones(2), torch.ones(2))
    x.data = torch.ones(10**4)
"""
    assert "dual_level" in refusal(source).message


def test_real_edges_are_checked_again():
    from explorer.language.vocabulary.gradient_edges import GradientEdge, real_edge

    edge = GradientEdge((torch.ones(1, requires_grad=True) * 2).grad_fn, 3)
    with pytest.raises(OutsideLanguage):
        real_edge(edge)


def test_a_hook_on_any_gradient_is_described_as_such():
    trace = explorer.run(
        "import torch\nfrom torch.autograd.graph import register_multi_grad_hook\n"
        "a = torch.tensor(1.0, requires_grad=True)\nb = torch.tensor(2.0, requires_grad=True)\n"
        "register_multi_grad_hook((a, b), lambda g: None, mode='any')\n(a * b).backward()"
    )
    hook = next(event for event in trace.events if event.kind == "hook")
    assert hook.what == "multi-grad hook was called with the gradient of one of a and b"
