"""How much gradient reaches each time step of a recurrent network, at several recurrent weights.

Backward through time multiplies by the recurrent weights once per step, so gradients vanish or
explode with the number of steps: Pascanu et al. 2013, https://arxiv.org/abs/1211.5063. Works for
`nn.RNN`, `nn.LSTM` and `nn.GRU`, whose steps are computed one by one here, and for their cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from explorer import limits
from explorer.networks.borrow import borrow_seeded
from explorer.networks.passes import Loss, copy_tensors, scalar_loss

#: The types whose steps are followed.
RECURRENT = ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")
#: Factors of the recurrent weights: 0.5 to 3.
GAINS = tuple(0.5 + 0.125 * i for i in range(21))


@dataclass(frozen=True, eq=False)
class RecurrentLayer:
    """One recurrent layer, in one direction. Arrays are (gains, steps); `hidden` holds the norms
    of dL/dh_t, `cell` those of dL/dc_t of an LSTM.

    `linear` are the norms that the gradient of the last step would have at each step without the
    activation function: ‖dL/dh_T · W^(T−t)‖. It is given for layers without gates where the loss
    depends on the last state only. `radius` is the largest |eigenvalue| of W at gain 1.
    """

    name: str
    type: str
    hidden: np.ndarray
    cell: np.ndarray | None
    linear: np.ndarray | None
    radius: float | None


@dataclass(frozen=True, eq=False)
class TimeSteps:
    """`gains` are the factors of the recurrent weights, `losses` the loss at each."""

    gains: tuple[float, ...]
    losses: tuple[float, ...]
    layers: tuple[RecurrentLayer, ...]


@dataclass(eq=False)
class _States:
    """The states of one layer in one run, in order of time, and their gradients."""

    module: nn.Module
    type: str
    weight: Tensor
    hidden: list[Tensor] = field(default_factory=list)
    hidden_grads: dict[int, Tensor] = field(default_factory=dict)
    cell_grads: dict[int, Tensor] = field(default_factory=dict)

    def add(self, state: Any) -> None:
        """A state of the next step: h, or h and c."""
        step = len(self.hidden)
        hidden, cell = state if isinstance(state, tuple) else (state, None)
        self.hidden.append(hidden.detach())
        for tensor, grads in ((hidden, self.hidden_grads), (cell, self.cell_grads)):
            if tensor is not None and tensor.requires_grad:
                tensor.register_hook(lambda g, grads=grads: grads.__setitem__(step, g))


def gradients_over_time(
    model: nn.Module,
    *inputs: Any,
    loss: Loss | None = None,
    seed: int | None = None,
    gains: Sequence[float] = GAINS,
) -> TimeSteps:
    """Run forward and backward once for each gain above 0, with all `weight_hh` multiplied by it.

    Arguments as for `inspect`; the model is left as it was. Raises what the model raises.
    """
    runs: list[dict[str, _States]] = []
    losses: list[float] = []
    with borrow_seeded(model, seed), torch.enable_grad():
        recurrent = {name: p for name, p in model.named_parameters() if ".weight_hh" in f".{name}"}
        state = torch.default_generator.get_state()
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        for gain in gains:
            torch.default_generator.set_state(state)
            states: dict[str, _States] = {}
            changed = {name: gain * p for name, p in recurrent.items()}
            passed = copy_tensors(inputs)
            with _followed(model, states):
                output = torch.func.functional_call(model, changed | buffers, passed)
                total = scalar_loss(output, loss)
                if total.requires_grad:
                    total.backward()
            losses.append(float(total.detach()))
            runs.append(states)
    names = list(runs[0]) if runs else []
    layers = (_to_layer(name, [run[name] for run in runs], gains[0]) for name in names)
    return TimeSteps(tuple(gains), tuple(losses), tuple(layers))


def _to_layer(name: str, runs: list[_States], gain: float) -> RecurrentLayer:
    first = runs[0]
    hidden = np.array([_norms(run.hidden_grads, len(first.hidden)) for run in runs])
    cell = np.array([_norms(run.cell_grads, len(first.hidden)) for run in runs])
    plain = first.type.startswith("RNN")
    linear = [_linear(run) for run in runs] if plain else []
    at_one = first.weight.detach() / gain
    return RecurrentLayer(
        name,
        first.type,
        hidden,
        cell if first.type.startswith("LSTM") else None,
        np.array(linear) if linear and all(norms is not None for norms in linear) else None,
        float(torch.linalg.eigvals(at_one).abs().max()) if plain else None,
    )


def _norms(grads: dict[int, Tensor], steps: int) -> list[float]:
    """The norm at each of the last steps, 0 where no gradient arrived."""
    first = max(0, steps - limits.MOST_TIME_STEPS)
    return [float(grads[t].double().norm()) if t in grads else 0.0 for t in range(first, steps)]


def _linear(run: _States) -> list[float] | None:
    """‖dL/dh_T · W^(T−t)‖; None if the loss depends on other states than the last too."""
    steps = len(run.hidden)
    last = run.hidden_grads.get(steps - 1)
    if last is None or len(run.hidden_grads) < steps:
        return None
    slope = getattr(run.module, "nonlinearity", "tanh")
    with torch.no_grad():
        for t in range(steps - 1):
            h = run.hidden[t + 1]
            through = run.hidden_grads[t + 1] * (1 - h**2 if slope == "tanh" else (h > 0).to(h))
            before, given = through @ run.weight, run.hidden_grads[t]
            norm = float(given.norm())
            if not math.isfinite(norm):
                return None
            if not torch.allclose(before, given, rtol=1e-2, atol=1e-2 * norm):
                return None
        gradient, weight = last.double(), run.weight.double()  # squares overflow float32
        norms = [float(gradient.norm())]
        for _ in range(steps - 1):
            gradient = gradient @ weight
            norms.append(float(gradient.norm()))
    return norms[: limits.MOST_TIME_STEPS][::-1]


@contextmanager
def _followed(model: nn.Module, states: dict[str, _States]) -> Iterator[None]:
    """Collect the states of all recurrent layers; those of `nn.RNNBase` are computed one by one."""
    handles, replaced = [], []
    for name, module in model.named_modules():
        if isinstance(module, nn.RNNBase):
            vars(module)["forward"] = _Unrolled(name, module, states)
            replaced.append(module)
        elif isinstance(module, nn.RNNCellBase):

            def collect(cell: Any, args: Any, result: Any, name: str = name) -> None:
                kind = type(cell).__name__
                states.setdefault(name or kind, _States(cell, kind, cell.weight_hh)).add(result)

            handles.append(module.register_forward_hook(collect))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for module in replaced:
            del vars(module)["forward"]


@dataclass(eq=False)
class _Unrolled:
    """The forward of `nn.RNN`, `nn.LSTM` or `nn.GRU`, one step at a time.

    Formulas: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
    """

    name: str
    module: nn.RNNBase
    states: dict[str, _States]

    def __call__(self, sequence: Any, start: Any = None) -> tuple[Tensor, Any]:
        module = self.module
        if isinstance(sequence, PackedSequence):
            raise ValueError("packed sequences are not followed step by step; pass a padded one")
        batched = sequence.dim() == 3
        x = sequence if batched else sequence.unsqueeze(0 if module.batch_first else 1)
        x = x.transpose(0, 1) if module.batch_first else x
        directions = 2 if module.bidirectional else 1
        if start is not None and not batched:
            start = tuple(s.unsqueeze(1) for s in start) if self._two else start.unsqueeze(1)
        ends = []
        for layer in range(module.num_layers):
            both = []
            for direction in range(directions):
                number = layer * directions + direction
                states, end = self._layer(x, layer, direction, _pick(start, number))
                both.append(states)
                ends.append(end)
            x = torch.cat(both, -1)
            if layer + 1 < module.num_layers:
                x = F.dropout(x, module.dropout, module.training)
        output = x.transpose(0, 1) if module.batch_first else x
        if not batched:
            output = output.squeeze(0 if module.batch_first else 1)
        last = [torch.stack(parts) for parts in zip(*ends, strict=True)]
        last = last if batched else [part.squeeze(1) for part in last]
        return output, tuple(last) if self._two else last[0]

    @property
    def _two(self) -> bool:
        return self.module.mode == "LSTM"

    def _layer(
        self, x: Tensor, layer: int, direction: int, start: tuple[Tensor, ...] | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All hidden states of one layer in one direction, (steps, samples, size), and its end."""
        module = self.module
        suffix = f"_l{layer}" + ("_reverse" if direction else "")
        weights = [getattr(module, f"weight_{part}{suffix}") for part in ("ih", "hh")]
        biases = [
            getattr(module, f"bias_{p}{suffix}") if module.bias else None for p in ("ih", "hh")
        ]
        project = getattr(module, f"weight_hr{suffix}") if module.proj_size else None
        if start is None:
            sizes = (module.proj_size or module.hidden_size, module.hidden_size)
            start = tuple(x.new_zeros(x.shape[1], size) for size in sizes[: 1 + self._two])
        title = self.name + (f" layer {layer + 1}" if module.num_layers > 1 else "")
        title += " backwards" if direction else ""
        kept = self.states.setdefault(
            title.strip() or type(module).__name__,
            _States(module, type(module).__name__, weights[1]),
        )
        state, outputs = start, []
        for step in x.flip(0) if direction else x:
            state = _step(module.mode, step, state, weights, biases, project)
            kept.add(state if self._two else state[0])
            outputs.append(state[0])
        return torch.stack(outputs[::-1] if direction else outputs), state


def _pick(start: Any, number: int) -> tuple[Tensor, ...] | None:
    if start is None:
        return None
    return tuple(part[number] for part in (start if isinstance(start, tuple) else (start,)))


def _step(
    mode: str,
    x: Tensor,
    state: tuple[Tensor, ...],
    weights: list[Tensor],
    biases: list[Any],
    project: Tensor | None,
) -> tuple[Tensor, ...]:
    """The next state, by torch's own cells where there is one."""
    flat = (*weights, *biases)
    if mode == "GRU":
        return (torch.gru_cell(x, state[0], *flat),)
    if mode != "LSTM":
        cell = torch.rnn_tanh_cell if mode == "RNN_TANH" else torch.rnn_relu_cell
        return (cell(x, state[0], *flat),)
    if project is None:
        return torch.lstm_cell(x, state, *flat)
    gates = F.linear(x, weights[0], biases[0]) + F.linear(state[0], weights[1], biases[1])
    i, f, g, o = gates.chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return F.linear(o.sigmoid() * c.tanh(), project), c
