"""Three recurrent networks that have to remember the first number of a sequence."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.problems import SampledProblem, Samples, sampled, source_of

STEPS = 50


class Recall(nn.Module):
    """Reads a sequence (samples, steps), one number at a time; at the end it says the first.

    Why that is hard: Pascanu et al. 2013, https://arxiv.org/abs/1211.5063
    """

    def __init__(self, cell: nn.RNNCell | nn.LSTMCell | nn.GRUCell) -> None:
        super().__init__()
        self.cell = cell
        self.read = nn.Linear(cell.hidden_size, 1)

    def forward(self, sequence: Tensor) -> Tensor:
        state = None
        for x in sequence.unsqueeze(2).unbind(1):
            state = self.cell(x, state)
        hidden = state[0] if isinstance(state, tuple) else state
        result: Tensor = self.read(hidden).squeeze(1)
        return result


def rnn_cell(size: int) -> nn.RNNCell:
    """W_hh is orthogonal: without the tanh it would keep the length of every gradient."""
    cell = nn.RNNCell(1, size)
    nn.init.orthogonal_(cell.weight_hh)
    return cell


def lstm_cell(size: int, steps: int) -> nn.LSTMCell:
    """Hochreiter & Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735; the forget gate
    starts open, as in Tallec & Ollivier 2018, https://arxiv.org/abs/1804.11188"""
    cell = nn.LSTMCell(1, size)
    nn.init.constant_(cell.bias_ih[size : 2 * size], math.log(steps - 1))
    return cell


def gru_cell(size: int, steps: int) -> nn.GRUCell:
    """Cho et al. 2014, https://arxiv.org/abs/1406.1078; the gate starts so that most of the state
    is kept."""
    cell = nn.GRUCell(1, size)
    nn.init.constant_(cell.bias_ih[size : 2 * size], math.log(steps - 1))
    return cell


def sequences() -> tuple[Tensor, Tensor]:
    """16 sequences of 50 random numbers, and the first number of each."""
    numbers = torch.randn(16, 50)
    return numbers, numbers[:, 0]


_CELLS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "RNN": (
        rnn_cell,
        "rnn_cell(16)",
        "Backward multiplies the gradient by W_hh and by the slope of tanh at each of 50 steps. "
        "Here it vanishes; with W_hh three times as large it explodes (Pascanu et al. 2013).",
    ),
    "LSTM": (
        partial(lstm_cell, steps=STEPS),
        "lstm_cell(16, steps=50)",
        "The cell state is passed on by a gate, not by a matrix: with the gate open its gradient "
        "does not vanish (Hochreiter & Schmidhuber 1997).",
    ),
    "GRU": (
        partial(gru_cell, steps=STEPS),
        "gru_cell(16, steps=50)",
        "A gate mixes the old state with the new one; while it keeps the old one, the gradient "
        "stays (Cho et al. 2014).",
    ),
}


def recurrent(name: str) -> SampledProblem:
    """A recurrent network on 16 sequences of 50 numbers; `name` is "RNN", "LSTM" or "GRU"."""
    make_cell, text, note = _CELLS[name]

    def collect() -> Samples:
        net = Recall(make_cell(16))
        numbers, firsts = sequences()
        return Samples(net, numbers, firsts, F.mse_loss)

    end = f"net = Recall({text})\nnumbers, firsts = sequences()"
    definition = make_cell.func if isinstance(make_cell, partial) else make_cell
    return sampled(
        name,
        "Does the gradient reach the first of 50 time steps?",
        collect,
        source=source_of(Recall, definition, sequences, end=end),
        loss_source="loss = F.mse_loss(net(numbers[:8]), firsts[:8])",
        note=note,
        batch=8,
    )
