import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from explorer.networks import inspect, problem
from explorer.torchvision_guard import torchvision
from tests.networks.helpers import Awkward, Fails, Renormalises, assert_same, snapshot


def small_resnet():
    torch.manual_seed(0)
    return torchvision.models.resnet18(num_classes=10).eval(), torch.randn(2, 3, 64, 64)


def hooked(model, x):
    """The same by plain PyTorch: shapes, norms of outputs and of their gradients, in order."""
    model = copy.deepcopy(model)
    rows, gradients = [], {}
    calls: dict = {}
    for name, module in model.named_modules():
        if not list(module.children()):

            def note(module, args, output, name=name):
                call = calls[name] = calls.get(name, -1) + 1
                rows.append((name, call, tuple(output.shape), output.detach().clone()))
                if output.requires_grad:
                    output.register_hook(lambda g: gradients.update({(name, call): g.clone()}))

            module.register_forward_hook(note)
    model(x).sum().backward()
    return rows, gradients, {n: p.grad for n, p in model.named_parameters()}


@pytest.mark.parametrize("which", ["resnet18", "awkward"])
def test_records_and_gradients_equal_plain_hooks(which):
    model, x = small_resnet() if which == "resnet18" else (Awkward(), torch.randn(8, 6))
    torch.manual_seed(3)
    rows, gradients, parameter_gradients = hooked(model, x)
    torch.manual_seed(3)
    report = inspect(model, x)
    assert report.error is None
    called = [r for r in report.layers if r.call is not None]
    assert [(r.name, r.call, r.output_shape) for r in called] == [r[:3] for r in rows]
    for record, (name, call, _, output) in zip(called, rows, strict=True):
        assert record.activation.norm == pytest.approx(float(output.norm()), rel=1e-5)
        assert record.activation.min == float(output.min())
        assert record.activation.max == float(output.max())
        assert record.activation.mean == pytest.approx(float(output.mean()), rel=1e-4, abs=1e-6)
        assert record.memory == output.numel() * 4
        gradient = gradients.get((name, call))
        assert (record.gradient is None) == (gradient is None)
        if gradient is not None:
            assert record.gradient.norm == pytest.approx(float(gradient.norm()), rel=1e-5)
            assert record.gradient.max == float(gradient.max())
    for name, grad in parameter_gradients.items():
        if grad is None:
            assert name not in report.gradients
        else:
            np.testing.assert_array_equal(report.gradients[name], grad.numpy())
            norm = next(p.grad_norm for p in report.parameters if p.name == name)
            assert norm == pytest.approx(float(grad.norm()), rel=1e-5)


def test_totals_are_sums_of_rows_and_shared_parameters_count_once():
    model = Awkward()
    report = inspect(model, torch.randn(8, 6))
    assert report.total_params == sum(p.numel() for p in model.parameters())
    assert report.total_params == sum(r.params for r in report.layers)
    assert report.trainable_params == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert report.total_macs == sum(r.macs or 0 for r in report.layers) == 3 * 8 * 6 * 6
    rows = {(r.name, r.call): r for r in report.layers}
    assert (rows["first", 0].params, rows["first", 0].shared) == (42, 0)
    assert (rows["tied", 0].params, rows["tied", 0].shared) == (6, 36)
    assert rows["relu", 0].macs is None  # not counted, and not 0
    assert {r.name for r in report.layers if r.name == "relu"} == {"relu"}
    assert [r.call for r in report.layers if r.name == "relu"] == [0, 1]
    tied = next(p for p in report.parameters if p.aliases)
    assert (tied.name, tied.aliases) == ("first.weight", ("tied.weight",))


def test_every_missing_gradient_has_a_reason():
    report = inspect(Awkward(), torch.randn(8, 6))
    reasons = {p.name: p.why_none for p in report.parameters if p.why_none}
    assert set(reasons) == {"frozen.weight", "frozen.bias", "unused.weight", "unused.bias"}
    assert "requires_grad is False" in reasons["frozen.weight"]
    assert "forward does not call" in reasons["unused.weight"]


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        self.b(x)
        return self.a(x)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_parameters_the_loss_does_not_depend_on(device):
    """The same reasons with values and without."""
    report = inspect(Branch().to(device), torch.ones(1, 2, device=device))
    assert {p.name for p in report.parameters if p.why_none} == {"b.weight", "b.bias"}
    report = inspect(Awkward().to(device), torch.randn(8, 6, device=device))
    reasons = {p.name: p.why_none.partition(":")[0] for p in report.parameters if p.why_none}
    assert reasons == {
        "frozen.weight": "frozen",
        "frozen.bias": "frozen",
        "unused.weight": "never used",
        "unused.bias": "never used",
    }


def test_a_layer_whose_output_is_dropped():
    report = inspect(Branch(), torch.ones(1, 2))
    record = next(r for r in report.layers if r.name == "b")
    assert record.gradient is None
    assert record.why_none == "the loss does not depend on it"


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize(
    ("model", "x"),
    [
        (Awkward(), torch.randn(8, 6)),
        (Fails(), torch.randn(3, 4)),
        (Fails(), torch.randn(3, 9)),
        (Renormalises(), torch.tensor([0, 1, 4])),
    ],
    ids=["awkward", "fails", "fails at once", "writes to its weights"],
)
def test_the_model_is_left_exactly_as_it_was(model, x, train):
    model.train(train)
    for p in list(model.parameters())[:2]:
        p.grad = torch.full_like(p, 0.5)
    x = x.clone()
    before, given = snapshot(model), x.clone()
    inspect(model, x)
    assert_same(before, snapshot(model))
    assert torch.equal(x, given)
    assert x.grad is None


def test_an_optimizer_that_steps_in_backward_changes_nothing():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.weight.register_post_accumulate_grad_hook(lambda _: optimizer.step())
    before = snapshot(model)
    report = inspect(model, torch.ones(1, 2))
    assert report.error is None
    assert_same(before, snapshot(model))


def test_inputs_changed_in_place_by_the_model_are_copies():
    x = torch.tensor([-1.0, 2.0])
    inspect(nn.ReLU(inplace=True), x)
    assert x.tolist() == [-1.0, 2.0]


def test_records_up_to_the_failing_layer():
    report = inspect(Fails(), torch.randn(3, 4))
    assert [r.name for r in report.layers if r.call is not None and r.output_shape] == [
        "good",
        "norm",
        "block.0",
    ]
    assert (report.error.layer, report.error.call) == ("block.1", 0)
    assert report.error.message == "In layer block.1 (Linear): it expects 5 features and got 4."
    assert "mat1 and mat2" in report.error.detail
    assert report.loss is None
    assert not report.gradients
    assert "stopped" in report.layers[0].why_none


@pytest.mark.parametrize(
    ("model", "x", "words"),
    [
        (nn.Sequential(nn.BatchNorm1d(3)).train(), torch.ones(1, 3), "only one"),
        (nn.Sequential(nn.Conv2d(3, 4, 3)), torch.ones(1, 1, 8, 8), "expects 3 channels and got 1"),
        (nn.Sequential(nn.Conv2d(3, 4, 9)), torch.ones(1, 3, 4, 4), "smaller than the kernel"),
        (nn.Sequential(nn.Linear(4, 2)), torch.ones(3, 5), "expects 4 features and got 5"),
        (nn.Sequential(nn.Linear(4, 2)), torch.ones(3, 4).double(), "dtype"),
        (nn.Sequential(nn.Embedding(3, 2)), torch.tensor([7]), "out of range"),
    ],
)
def test_bad_inputs_are_told_in_a_sentence(model, x, words):
    error = inspect(model, x).error
    assert words in error.message
    assert "\n" not in error.message
    assert error.message.endswith(".")


def test_what_a_checkpoint_calls_again_in_backward_is_no_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))

        def forward(self, x):
            return checkpoint(self.block, x, use_reentrant=False)

    net, x = Net(), torch.ones(2, 3)
    plain = inspect(net.block, x)
    report = inspect(net, x)
    assert [row.name for row in report.layers] == ["block.0", "block.1", "block.2"]
    assert report.total_macs == plain.total_macs > 0
    assert [p.grad_norm for p in report.parameters] == [p.grad_norm for p in plain.parameters]


def test_a_sparse_gradient_has_its_norm_and_its_zeros():
    words = nn.Embedding(4, 2, sparse=True)
    report = inspect(words, torch.tensor([1, 1]))
    np.testing.assert_array_equal(report.gradients["weight"], [[0, 0], [2, 2], [0, 0], [0, 0]])
    assert report.parameters[0].grad_norm == pytest.approx(4 / 2**0.5)


def test_a_frozen_model_is_reported_without_gradients():
    model = nn.Sequential(nn.Linear(4, 2)).requires_grad_(False)
    report = inspect(model, torch.ones(1, 4))
    assert report.error is None
    assert report.notes[0].startswith("No parameter requires grad")
    assert report.layers[0].activation is not None
    assert report.layers[0].why_none == "neither its input nor its parameters require grad"
    x = torch.ones(1, 4, requires_grad=True)
    gradient = inspect(model, x).input_gradients[0]
    np.testing.assert_allclose(gradient[0], model[0].weight.sum(0).numpy(), rtol=1e-6)


def test_a_loss_that_is_no_number():
    report = inspect(nn.Linear(2, 3), torch.ones(1, 2), loss=lambda output: output)
    assert report.error.layer is None
    assert report.error.message.startswith("The loss is not a single number;")
    assert len(report.layers) == 1


def test_lazy_layers_are_refused_untouched():
    model = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="lazy"):
        inspect(model, torch.ones(1, 2))
    assert model.has_uninitialized_params()


def test_nan_weights_are_named():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    with torch.no_grad():
        model[2].weight[0, 0] = float("nan")
    report = inspect(model, torch.ones(1, 2))
    assert report.notes == (
        "The first output that contains NaN or infinity is that of 2.",
        "Weights that contain NaN or infinity: 2.weight.",
    )
    assert report.layers[0].activation.nonfinite == 0
    assert report.layers[2].activation.nonfinite == 1


def test_macs_equal_the_flop_counter_on_meta():
    """An oracle apart: torch's own mode, with its module tracker, on the meta device."""
    for name in ("resnet18", "vit_b_16", "swin_t"):
        model = torchvision.models.get_model(name).eval()
        size = 224
        with FlopCounterMode(display=False) as counter:
            copy.deepcopy(model).to("meta")(torch.zeros(1, 3, size, size, device="meta"))
        counts = {k: sum(v.values()) // 2 for k, v in counter.get_flop_counts().items()}
        if name == "resnet18":  # on real tensors, and layer by layer
            report = inspect(model, torch.zeros(1, 3, size, size))
            for record in report.layers:
                assert (record.macs or 0) == counts.get(f"ResNet.{record.name}", 0)
        else:
            report = inspect(model.to("meta"), torch.zeros(1, 3, size, size, device="meta"))
        assert report.total_macs == counts["Global"]


@pytest.mark.parametrize("layers", [1, 2])
def test_a_fused_lstm_is_counted(layers: int):
    report = inspect(nn.LSTM(3, 4, num_layers=layers), torch.randn(5, 2, 3))
    # 5 steps of 2 sequences; four gates of 4 units, from 3 inputs (or 4) and 4 units before.
    assert report.total_macs == 5 * 2 * 16 * (3 + 4 if layers == 1 else 3 + 4 + 4 + 4)


def test_fused_attention_is_counted_on_real_tensors_too():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    x = torch.randn(2, 5, 16)
    real = inspect(layer, x)
    meta = inspect(copy.deepcopy(layer).to("meta"), x.to("meta"))
    assert real.total_macs == meta.total_macs
    rows = {r.name: r for r in real.layers}
    assert not rows["self_attn"].leaf
    # In and out projections by hand, 2 × 5 tokens; and two products of 5 × 5 × 16 per sample.
    assert rows["self_attn"].macs == 2 * 5 * 16 * (48 + 16) + 2 * (2 * 5 * 5 * 16)
    assert "without calling it" in rows["self_attn.out_proj"].why_none
    assert sum(r.params for r in real.layers) == sum(p.numel() for p in layer.parameters())


def test_memory_as_pytorch_summary_prints_it():
    """pytorch-summary prints 0.57, 62.79, 44.59 and 107.96 MB for resnet18."""
    model = torchvision.models.resnet18().to("meta")
    memory = inspect(model, torch.zeros(1, 3, 224, 224, device="meta")).memory
    sizes = (memory.input, memory.forward_backward, memory.parameters, memory.total)
    assert [f"{size:.2f}" for size in sizes] == ["0.57", "62.79", "44.59", "107.96"]


def test_dead_units():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]))
        model[0].bias.zero_()
    report = inspect(model, torch.tensor([[1.0, 2.0], [3.0, -4.0]]))
    assert (report.layers[1].activation.units, report.layers[1].dead) == (3, 1)


def test_tuples_dicts_and_several_inputs():
    lstm = nn.LSTM(3, 4)
    report = inspect(lstm, torch.randn(5, 2, 3))
    assert report.layers[0].output_shape == ((5, 2, 4), (1, 2, 4), (1, 2, 4))
    report = inspect(nn.Bilinear(2, 3, 4), torch.ones(1, 2), torch.ones(1, 3))
    assert report.layers[0].input_shape == ((1, 2), (1, 3))

    class Dictionary(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            return {"logits": self.fc(x), "kept": x}

    report = inspect(Dictionary(), torch.ones(1, 2), loss=lambda out: F.relu(out["logits"]).sum())
    assert report.error is None
    assert report.layers[0].gradient is not None


def test_meta_has_shapes_and_costs_but_no_values():
    toy = problem("LeNet-5")
    real = inspect(toy.model, *toy.inputs)
    meta = inspect(toy.model.to("meta"), *(x.to("meta") for x in toy.inputs))
    pairs = zip(real.layers, meta.layers, strict=True)
    for a, b in pairs:
        assert (a.name, a.output_shape, a.params, a.macs) == (
            b.name,
            b.output_shape,
            b.params,
            b.macs,
        )
        assert b.activation is None
        assert b.gradient is None
    assert meta.loss is None
    assert not meta.gradients
    assert [p.why_none for p in meta.parameters] == [p.why_none for p in real.parameters]
    assert meta.error is None


def test_readers_at_the_same_time_do_not_disturb_each_other():
    """Dropout draws from the one generator of the process; each report has its own seed."""
    models = [Awkward() for _ in range(8)]
    x = torch.randn(8, 6)
    alone = [inspect(copy.deepcopy(model), x, seed=i) for i, model in enumerate(models)]
    state = torch.get_rng_state()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda i: inspect(models[i], x, seed=i), range(8)))
    assert torch.equal(torch.get_rng_state(), state)
    for a, b in zip(alone, together, strict=True):
        assert (a.loss, a.layers, a.total_macs) == (b.loss, b.layers, b.total_macs)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4])
def test_parameters_are_described_as_torch_does(offset):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(30, 20), nn.Linear(20, 1))
    with torch.no_grad():
        model[0].weight.add_(offset)
        model[0].bias.fill_(offset)  # all equal: the standard deviation is 0
    for parameter in inspect(model, torch.ones(1, 30)).parameters:
        value = model.get_parameter(parameter.name).detach()
        assert parameter.norm == pytest.approx(value.norm().item(), rel=1e-5)
        assert parameter.mean == pytest.approx(value.mean().item(), rel=1e-4, abs=1e-7)
        if value.numel() == 1:
            assert parameter.std is None
        else:
            assert parameter.std == pytest.approx(value.std().item(), rel=1e-3, abs=1e-6)


def test_parameters_on_meta_have_no_values():
    for parameter in inspect(nn.Linear(2, 2).to("meta"), torch.ones(1, 2).to("meta")).parameters:
        assert (parameter.norm, parameter.mean, parameter.std) == (None, None, None)


@pytest.mark.fast
def test_a_block_that_computes_something_itself_has_the_norms_of_its_output():
    preset = problem("transformer (untrained)")
    rows = {row.name: row for row in inspect(preset.model, *preset.inputs).layers}
    attention = rows["blocks.0.attention"]
    assert attention.why_none == ""
    assert attention.gradient.norm > 0
    assert attention.activation.norm > 0
