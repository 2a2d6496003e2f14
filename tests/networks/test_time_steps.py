"""Gradients of each time step, against autograd by hand and torch's own recurrent layers."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks import problem
from explorer.networks.time_steps import TimeSteps, gradients_over_time
from explorer.networks.validation import validate
from tests.networks.helpers import assert_same, snapshot

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


class Last(nn.Module):
    """The last output of a recurrent layer, or the sum of all."""

    def __init__(self, layer: nn.Module, at_each_step: bool = False) -> None:
        super().__init__()
        self.layer, self.at_each_step = layer, at_each_step

    def forward(self, x: Tensor) -> Tensor:
        output = self.layer(x)[0]
        return output.sum() if self.at_each_step else output[-1]


def squares(y: Tensor) -> Tensor:
    return (y**2).sum()


def by_hand(kind: str, layer: nn.Module, x: Tensor, gain: float) -> tuple[list[float], float]:
    """‖dL/dh_t‖ by `torch.autograd.grad`, with the formulas written out."""
    w_ih, w_hh, b_ih, b_hh = (
        getattr(layer, f"{n}_l0") for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h = c = torch.zeros(x.shape[1], layer.hidden_size)
    states = []
    for step in x:
        a, b = F.linear(step, w_ih, b_ih), F.linear(h, gain * w_hh, b_hh)
        if kind == "RNN":
            h = torch.tanh(a + b)
        elif kind == "GRU":
            r, z = (p + q for p, q in zip(a.chunk(3, 1)[:2], b.chunk(3, 1)[:2], strict=True))
            n = torch.tanh(a.chunk(3, 1)[2] + r.sigmoid() * b.chunk(3, 1)[2])
            h = (1 - z.sigmoid()) * n + z.sigmoid() * h
        else:
            i, f, g, o = (a + b).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        states.append(h)
    loss = squares(h)
    return [float(g.norm()) for g in torch.autograd.grad(loss, states)], loss.item()


@pytest.mark.fast
@pytest.mark.parametrize("kind", GATES)
def test_gradients_of_each_step_by_hand(kind: str) -> None:
    torch.manual_seed(0)
    layer = getattr(nn, kind)(2, 4)
    model, x = Last(layer), torch.randn(9, 3, 2)
    before = snapshot(model)
    result = gradients_over_time(model, x, loss=squares, gains=(0.7, 1.3))
    assert_same(before, snapshot(model))
    (followed,) = result.layers
    assert (followed.name, followed.type) == ("layer", kind)
    assert (followed.cell is not None) == (kind == "LSTM")
    for i, gain in enumerate(result.gains):
        norms, loss = by_hand(kind, layer, x, gain)
        np.testing.assert_allclose(followed.hidden[i], norms, rtol=1e-4)
        assert result.losses[i] == pytest.approx(loss, rel=1e-5)


OPTIONS = list(itertools.product((1, 2), (False, True), (False, True), (True, False)))


@pytest.mark.parametrize(("layers", "both", "batch_first", "bias"), OPTIONS)
@pytest.mark.parametrize("kind", [*GATES, "projected"])
def test_unrolled_layers_give_torch_s_outputs(
    kind: str, layers: int, both: bool, batch_first: bool, bias: bool
) -> None:
    torch.manual_seed(0)
    options = {"num_layers": layers, "bidirectional": both, "batch_first": batch_first}
    size = {"proj_size": 3} if kind == "projected" else {}
    layer = getattr(nn, "LSTM" if size else kind)(2, 4, bias=bias, **options, **size)
    x = torch.randn(3, 6, 2)
    expected = layer(x)
    given: list = []

    def keep(output: tuple) -> Tensor:
        given.append(output)
        return output[0].sum()

    result = gradients_over_time(layer, x, loss=keep, gains=(1.0,))
    for mine, theirs in zip(_flat(given[0]), _flat(expected), strict=True):
        torch.testing.assert_close(mine, theirs)
    assert len(result.layers) == layers * (1 + both)
    single = torch.randn(5, 2)  # without samples
    gradients_over_time(layer, single, loss=keep, gains=(1.0,))
    for mine, theirs in zip(_flat(given[1]), _flat(layer(single)), strict=True):
        torch.testing.assert_close(mine, theirs)


def _flat(value: Tensor | tuple) -> list[Tensor]:
    return [value] if isinstance(value, Tensor) else [t for part in value for t in _flat(part)]


def test_the_theoretical_rate_of_a_linear_network() -> None:
    """Without biases, at states near 0, tanh is the identity: the norms are those of W^k."""
    torch.manual_seed(0)
    layer = nn.RNN(2, 4, bias=False)
    nn.init.orthogonal_(layer.weight_hh_l0)
    x = 1e-4 * torch.randn(20, 1, 2)
    result = gradients_over_time(Last(layer), x, loss=torch.sum, gains=(0.8, 1.0, 1.2))
    (followed,) = result.layers
    assert followed.radius == pytest.approx(1, abs=1e-5)
    assert followed.linear is not None
    np.testing.assert_allclose(followed.hidden, followed.linear, rtol=1e-4)
    for gain, norms in zip(result.gains, followed.linear, strict=True):
        np.testing.assert_allclose(norms, norms[-1] * gain ** np.arange(19, -1, -1), rtol=1e-4)


def test_no_rate_where_the_loss_reads_every_step_or_gates_are_used() -> None:
    x = torch.randn(6, 1, 2)
    assert gradients_over_time(Last(nn.RNN(2, 3), True), x, gains=(1.0,)).layers[0].linear is None
    assert gradients_over_time(Last(nn.GRU(2, 3)), x, gains=(1.0,)).layers[0].linear is None
    relu = nn.RNN(2, 3, nonlinearity="relu")
    assert (
        gradients_over_time(Last(relu), x, loss=torch.sum, gains=(1.0,)).layers[0].linear
        is not None
    )


def run_preset(name: str) -> TimeSteps:
    preset = problem(name)
    return gradients_over_time(
        preset.model, *preset.inputs, loss=preset.network.criterion, gains=(0.9, 1.0, 3.0)
    )


def test_the_plain_network_forgets_and_the_gated_ones_do_not() -> None:
    """What the notes of the presets say."""
    (rnn,), (lstm,), (gru,) = (run_preset(name).layers for name in ("RNN", "LSTM", "GRU"))
    assert lstm.cell is not None
    for i in (0, 1):
        assert rnn.hidden[i][0] < 1e-3 * rnn.hidden[i][-1]  # vanishes
        assert lstm.cell[i][0] > lstm.cell[i][-1]
        assert gru.hidden[i][0] > 0.3 * gru.hidden[i][-1]
    assert rnn.hidden[2][0] > 1e4 * rnn.hidden[2][-1]  # explodes
    assert rnn.linear is not None
    assert rnn.linear[2][0] == pytest.approx(3.0**49 * rnn.linear[2][-1], rel=1e-2)


@pytest.mark.parametrize("gains", [(), (float("nan"),), (-1.0,), (1.0, 1.1)])
def test_forged_time_steps_are_refused(gains: tuple[float, ...]) -> None:
    run = gradients_over_time(Last(nn.LSTM(2, 3)), torch.randn(4, 1, 2), gains=(1.0,))
    assert validate(run) is run
    with pytest.raises(ValueError, match=r"gains|steps"):
        validate(replace(run, gains=gains))


def test_no_rate_without_finite_gradients() -> None:
    net = Last(nn.RNN(2, 3, batch_first=True))
    run = gradients_over_time(net, torch.ones(1, 4, 2), loss=lambda out: out.sum() * torch.nan)
    assert run.layers[0].linear is None
    assert np.isnan(run.layers[0].hidden).any()
