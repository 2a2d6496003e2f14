"""`inspect`: one forward and backward of any model, reported layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils._pytree import tree_map_only

from explorer.networks import structure
from explorer.networks.error_messages import explain
from explorer.networks.layer_table import Reasons, layer_rows, memory, notes, parameter_rows
from explorer.networks.preserve import preserved
from explorer.networks.recorder import Recorder, Visit, tensors_in
from explorer.networks.records import (
    LayerError,
    Report,
    Structure,
)


def inspect(
    model: nn.Module,
    *inputs: Any,
    loss: Callable[[Any], Tensor] | None = None,
    seed: int | None = None,
) -> Report:
    """Run `model(*inputs)` forward and backward once and report on every layer.

    `loss` gets the model's output and returns a scalar; without it the loss is the sum of all
    floating-point outputs. The model runs in the mode it is in (`model.train()`, `model.eval()`),
    with random numbers from `seed` or else torch's present state, and is left exactly as it was,
    as are the inputs (copies are passed).

    Works on any device. On "meta" no backward is run: the report has shapes, costs and the graph,
    but no values.

    MACs are multiply-adds of matrix products and convolutions without biases, as
    `torch.utils.flop_counter` counts them, halved.

    Never raises for what the model does: the report's `error` says where it stopped. Raises
    ValueError for a model with lazy layers that have not seen an input.
    """
    if any(is_lazy(p) for p in (*model.parameters(), *model.buffers())):
        raise ValueError("the model has lazy layers: pass one input through it first")
    passed = tuple(copied(value) for value in inputs)
    value: float | None = None
    built: tuple[Any, Any] | None = None
    error: LayerError | None = None
    with preserved(model, seed) as watch:
        recorder = Recorder({module: name for name, module in model.named_modules()}, watch)
        try:
            with recorder.recording(), torch.enable_grad():
                with watch:
                    output = model(*passed)
                total = scalar_loss(output, loss)
                value = None if total.is_meta else float(total.detach())
                built = structure.operations(total, recorder.visits, model)
                if total.requires_grad and not total.is_meta:
                    # Watching costs 50 µs per operation; in backward only hooks write to weights.
                    with watch if _has_backward_hooks(model) else nullcontext():
                        total.backward()
        except Exception as raised:
            failing = recorder.visits[recorder.open[-1]] if recorder.open else None
            error = _error(raised, failing)
            recorder.settle()
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        reached = {op.parameter for op in built[0] if op.parameter} if built else set()
        reasons = Reasons(recorder, reached, error is not None)
        layers = tuple(layer_rows(recorder, reasons, model))
        parameters = tuple(parameter_rows(model, gradients, reasons))
    graph = None
    if built is not None:
        graph = Structure(
            structure.calls(recorder.visits),
            *built,
            {p.name: p.numel for p in parameters},
            {p.name: p.grad_norm for p in parameters if p.grad_norm is not None},
        )
    return Report(
        model=type(model).__name__,
        layers=layers,
        parameters=parameters,
        total_params=sum(p.numel for p in parameters),
        trainable_params=sum(p.numel for p in parameters if p.trainable),
        total_macs=sum(row.macs or 0 for row in layers),
        memory=memory(model, recorder.visits, passed),
        loss=value,
        structure=graph,
        gradients={name: _array(g) for name, g in gradients.items() if not g.is_meta},
        input_gradients=tuple(
            None if t.grad is None or t.is_meta else _array(t.grad) for t in tensors_in(passed)
        ),
        error=error,
        notes=tuple(notes(layers, model)),
    )


def _has_backward_hooks(model: nn.Module) -> bool:
    return any(
        p._backward_hooks or p._post_accumulate_grad_hooks for p in model.parameters()
    ) or any(m._backward_hooks or m._backward_pre_hooks for m in model.modules())


def copied(value: Any) -> Any:
    """Every tensor in `value` as a leaf of its own: the caller's are neither changed nor given a
    gradient."""
    return tree_map_only(
        Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad), value
    )


def scalar_loss(output: Any, loss: Callable[[Any], Tensor] | None) -> Tensor:
    """What `loss` makes of the output, or the sum of all its floating-point elements."""
    if loss is not None:
        total = loss(output)
        if not isinstance(total, Tensor) or total.numel() != 1:
            raise ValueError("the loss is not a single number; reduce it with .mean() or .sum()")
        return total
    sums = [t.sum() for t in tensors_in(output) if t.is_floating_point()]
    if not sums:
        raise ValueError("the output holds no floating-point tensor: pass a loss")
    return torch.stack(sums).sum() if sums[1:] else sums[0]


def _array(tensor: Tensor) -> np.ndarray:
    value = tensor.detach().cpu()
    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()


def _error(raised: Exception, failing: Visit | None) -> LayerError:
    if failing is None:
        return explain(raised)
    return explain(raised, failing.name, type(failing.module).__name__, failing.call)
