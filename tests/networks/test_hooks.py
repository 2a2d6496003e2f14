import copy

import numpy as np
import pytest
import torch
from torch import nn

from explorer.networks import HOOK_ACTIONS, HOOK_KINDS, Hook, measure_hook_memory, try_hooks
from explorer.torchvision_guard import torchvision
from tests.networks.helpers import Awkward, assert_same, snapshot

pytestmark = pytest.mark.fast


def chain():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), torch.randn(5, 3)


def kinds_of(result):
    return [(e.kind, e.place) for e in result.events]


def test_all_kinds_fire_in_pytorchs_order():
    model, x = chain()
    hooks = [Hook(kind, "2") for kind in HOOK_KINDS if kind != "backward"]
    result = try_hooks(model, x, hooks=hooks)
    order = []
    plain = copy.deepcopy(model)
    last = plain[2]
    last.register_forward_pre_hook(lambda *_: order.append(("forward_pre", "2")))
    last.register_forward_hook(lambda *_: order.append(("forward", "2")))
    last.register_full_backward_hook(lambda *_: order.append(("full_backward", "2")))
    for name, p in last.named_parameters():
        fired = ("post_accumulate", f"2.{name}")
        p.register_post_accumulate_grad_hook(lambda _, fired=fired: order.append(fired))
    output = plain(x)
    output.register_hook(lambda _: order.append(("tensor", "2")))
    output.sum().backward()
    assert len(order) == 6
    assert kinds_of(result) == order
    assert [e.number for e in result.events] == list(range(len(result.events)))
    assert all(change.same for change in result.changes)  # looking changes nothing


def test_what_each_hook_sees_equals_plain_pytorch():
    model, x = chain()
    result = try_hooks(model, x, hooks=[Hook(k, "2") for k in HOOK_KINDS if k != "backward"])
    values = {(e.kind, e.place, s.label): s.value for e in result.events for s in e.values}
    hidden = torch.tanh(model[0](x)).detach().requires_grad_()
    output = model[2](hidden)
    output.retain_grad()
    output.sum().backward()
    for key, expected in {
        ("forward_pre", "2", "input 0"): hidden,
        ("forward", "2", "output"): output,
        ("tensor", "2", "grad"): output.grad,
        ("full_backward", "2", "grad_input 0"): hidden.grad,
        ("full_backward", "2", "grad_output 0"): output.grad,
        ("post_accumulate", "2.weight", ".grad"): model[2].weight.grad,
    }.items():
        np.testing.assert_allclose(values[key], expected.detach().numpy(), rtol=1e-6)


ACTED = {
    "scale": lambda g: g * 100,
    "clip": lambda g: g.clamp(-0.1, 0.1),
    "zero": torch.zeros_like,
}


@pytest.mark.parametrize("action", ACTED)
def test_an_action_on_a_gradient_reaches_what_comes_before(action):
    amount = {"scale": 100.0, "clip": 0.1, "zero": 0.0}[action]
    model, x = chain()
    result = try_hooks(model, x, hooks=[Hook("tensor", "0", action, amount)])
    plain = copy.deepcopy(model)
    hidden = plain[0](x)
    hidden.register_hook(ACTED[action])
    plain[2](plain[1](hidden)).sum().backward()
    changes = {c.name: c for c in result.changes}
    for name, parameter in plain.named_parameters():
        np.testing.assert_allclose(changes[name].after, parameter.grad.numpy(), rtol=1e-6)
    assert [changes[n].same for n in ("2.weight", "2.bias")] == [True, True]
    assert not changes["0.weight"].same


def test_noise_is_the_same_every_time_and_touches_no_global_state():
    model, x = chain()
    state = torch.get_rng_state()
    runs = [try_hooks(model, x, hooks=[Hook("tensor", "2", "noise", 0.1)]) for _ in range(2)]
    first, second = ({c.name: c.after for c in run.changes} for run in runs)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert not runs[0].changes[0].same
    assert torch.equal(torch.get_rng_state(), state)


def test_post_accumulate_changes_only_its_parameter():
    model, x = chain()
    result = try_hooks(model, x, hooks=[Hook("post_accumulate", "0.weight", "zero")])
    after = {c.name: c for c in result.changes}
    assert not after["0.weight"].after.any()
    assert after["0.weight"].ratio == 0
    assert all(c.same for name, c in after.items() if name != "0.weight")


def test_a_tensor_hook_on_a_parameter_runs_before_accumulation():
    model, x = chain()
    result = try_hooks(
        model, x, hooks=[Hook("post_accumulate", "0.bias"), Hook("tensor", "0.bias", "scale", 3.0)]
    )
    assert kinds_of(result) == [("tensor", "0.bias"), ("post_accumulate", "0.bias")]
    first, second = (e.values[0].value for e in result.events)
    np.testing.assert_allclose(second, 3 * first, rtol=1e-6)


def test_a_forward_hook_changes_the_loss():
    model, x = chain()
    result = try_hooks(model, x, hooks=[Hook("forward", "2", "scale", 2.0)])
    assert result.loss_after == pytest.approx(2 * result.loss_before)


def test_full_backward_hook_before_an_in_place_layer_is_explained():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
    result = try_hooks(model, torch.ones(1, 2), hooks=[Hook("full_backward", "0")])
    assert "in-place" in result.error.message
    assert "tensor hook" in result.error.hint
    assert result.changes == ()
    looked = try_hooks(model, torch.ones(1, 2), hooks=[Hook("tensor", "0")])
    assert looked.error is None
    assert len(looked.events) == 1


def test_what_is_seen_is_a_copy_from_before_an_in_place_layer():
    negative = nn.Sequential(nn.Linear(1, 1), nn.ReLU(inplace=True))
    with torch.no_grad():
        negative[0].weight.fill_(-1)
        negative[0].bias.fill_(0)
    result = try_hooks(negative, torch.ones(1, 1), hooks=[Hook("forward", "0")])
    assert result.events[0].values[-1].value.tolist() == [[-1.0]]


def test_both_backward_hooks_on_one_layer_are_refused_in_a_sentence():
    model, x = chain()
    hooks = [Hook("full_backward", "0"), Hook("backward", "0")]
    assert "not both" in try_hooks(model, x, hooks=hooks).error.message


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        (Hook("sideways", "0"), "unknown kind"),
        (Hook("tensor", "0", "explode"), "unknown action"),
        (Hook("forward", "9"), "no layer named '9'"),
        (Hook("forward", "0.weight"), "no layer named"),
        (Hook("tensor", "0.wait"), "no layer or trainable parameter"),
    ],
)
def test_wrong_hooks_raise_before_anything_runs(hook, words):
    model, x = chain()
    with pytest.raises(ValueError, match=words):
        try_hooks(model, x, hooks=[hook])


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook:FutureWarning")
@pytest.mark.parametrize("kind", HOOK_KINDS)
@pytest.mark.parametrize("action", HOOK_ACTIONS)
def test_nothing_is_left_on_the_model(kind, action):
    model = Awkward()
    before = snapshot(model)
    try_hooks(model, torch.randn(8, 6), hooks=[Hook(kind, "norm", action, 2.0)])
    try_hooks(model, torch.randn(8, 5), hooks=[Hook(kind, "norm", action, 2.0)])  # fails
    torch.set_rng_state(before[-1])
    assert_same(before, snapshot(model))


def test_memory_kept_by_printing_storing_and_retaining():
    """One gradient of 8 × 16 float32 after each of two linear layers, one after the tanh."""
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16))
    prints, stores, retains = measure_hook_memory(
        model, torch.randn(8, 4), loss=lambda output: (output**2).sum()
    )
    assert (prints.gradients, prints.blocks, prints.bytes) == (3, 0, 0)
    assert (stores.gradients, stores.blocks, stores.bytes) == (3, 3, 3 * 8 * 16 * 4)
    assert (retains.blocks, retains.bytes) == (3, 3 * 8 * 16 * 4)


def test_measuring_memory_leaves_the_model_alone():
    model = torchvision.models.squeezenet1_1(num_classes=4)
    x = torch.randn(1, 3, 64, 64)
    before = snapshot(model)
    memory = measure_hook_memory(model, x)
    assert_same(before, snapshot(model))
    assert memory[0].bytes == 0
    assert memory[1].bytes > 1e5
