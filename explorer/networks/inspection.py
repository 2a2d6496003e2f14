"""`inspect`: one forward and backward of any model, reported layer by layer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from explorer.networks.error_messages import explain
from explorer.networks.layer_recorder import (
    LayerRecorder,
    RecordedCall,
    map_operations,
    to_module_calls,
)
from explorer.networks.passes import Loss, one_pass, own_loss, tensors_in
from explorer.networks.records import (
    LayerError,
    LayerRecord,
    Memory,
    Operation,
    ParameterRecord,
    Report,
    Structure,
)

_MB = 2**20
_STOPPED = "the run stopped before backward reached it"
_INDEPENDENT = "the loss does not depend on it"


def inspect(
    model: nn.Module,
    *inputs: Any,
    loss: Loss | None = None,
    seed: int | None = None,
    **kwargs: Any,
) -> Report:
    """Run `model(*inputs, **kwargs)` forward and backward once and report on every layer.

    `loss` gets the model's output and returns a scalar; without it the loss is the output's own
    (`output.loss`, as in transformers), or else the sum of all floating-point outputs. The model
    runs in the mode it is in (`model.train()`, `model.eval()`), with random numbers from `seed` or
    else torch's present state, and is left exactly as it was, as are the inputs (copies are
    passed).

    Works on any device. On "meta" no backward is run: the report has shapes, costs and the graph,
    but no values.

    MACs are multiply-adds of matrix products and convolutions without biases, as
    `torch.utils.flop_counter` counts them, halved.

    Never raises for what the model does: the report's `error` says where it stopped. Raises
    ValueError for a model with lazy layers that have not seen an input.
    """
    if any(is_lazy(p) for p in (*model.parameters(), *model.buffers())):
        raise ValueError("the model has lazy layers: pass one input through it first")
    value: float | None = None
    is_sum = False
    graph: tuple[tuple[Operation, ...], tuple[tuple[int, int], ...]] | None = None
    error: LayerError | None = None
    with one_pass(model, inputs, loss, seed, named=kwargs) as run:
        recorder = LayerRecorder(run)
        try:
            output = run.output()
            total, is_sum = run.loss_of(output), loss is None and own_loss(output) is None
            value = None if total.is_meta else float(total.detach())
            graph = map_operations(total, recorder.calls, model)
            recorder.end()
            if total.requires_grad and not total.is_meta:
                # Watching costs 50 µs per operation; in backward only hooks write to weights.
                with run.loan.operations if _has_backward_hooks(model) else nullcontext():
                    total.backward()
        except Exception as raised:
            failing = recorder.calls[recorder.open[-1]] if recorder.open else None
            error = _error(raised, failing)
            recorder.close()
        gradients = run.gradients()
        reached = {op.parameter for op in graph[0] if op.parameter} if graph else set()
        reasons = _Reasons(recorder, reached, error is not None)
        layers = tuple(_layer_rows(recorder, reasons, model))
        parameters = tuple(_parameter_rows(model, gradients, reasons))
    operations, edges = graph or ((), ())
    structure = Structure(
        to_module_calls(recorder.calls),
        operations,
        edges,
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
        memory=_memory(model, recorder.calls, (run.inputs, run.named)),
        loss=value,
        scalar="sum of the outputs" if is_sum else "loss",
        structure=structure,
        gradients={name: _array(g) for name, g in gradients.items() if not g.is_meta},
        input_gradients=tuple(
            None if t.grad is None or t.is_meta else _array(t.grad)
            for t in tensors_in((run.inputs, run.named))
        ),
        error=error,
        notes=tuple(_notes(layers, model)),
    )


def _has_backward_hooks(model: nn.Module) -> bool:
    return any(
        p._backward_hooks or p._post_accumulate_grad_hooks for p in model.parameters()
    ) or any(m._backward_hooks or m._backward_pre_hooks for m in model.modules())


def _array(tensor: Tensor) -> np.ndarray:
    value = tensor.detach().cpu()
    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()


def _error(raised: Exception, failing: RecordedCall | None) -> LayerError:
    if failing is None:
        return explain(raised)
    return explain(raised, failing.name, type(failing.module).__name__, failing.call)


class _Reasons:
    """Why a gradient is None. `reached` are the parameters that the loss's graph leads to."""

    def __init__(self, recorder: LayerRecorder, reached: Collection[str], failed: bool) -> None:
        self.failed = failed
        self.called = {call.module for call in recorder.calls}
        self.reached = reached

    def parameter(self, name: str, module: nn.Module, parameter: nn.Parameter) -> str:
        """Empty if there is a gradient, or on meta would be."""
        if parameter.grad is not None or (parameter.is_meta and name in self.reached):
            return ""
        if not parameter.requires_grad:
            return "frozen: requires_grad is False"
        if self.failed:
            return _STOPPED
        if module not in self.called:
            return "never used: forward does not call this layer, so the loss does not depend on it"
        return _INDEPENDENT

    def output(self, call: RecordedCall) -> str:
        if call.gradient is not None:
            return ""
        if self.failed:
            return _STOPPED
        if not call.hooked:
            return "neither its input nor its parameters require grad"
        return "the meta device holds no values" if call.meta else _INDEPENDENT


def _layer_rows(
    recorder: LayerRecorder, reasons: _Reasons, model: nn.Module
) -> Iterator[LayerRecord]:
    """One row per call that did work, then one per module that holds parameters uncalled."""
    counted: set[nn.Parameter] = set()
    for call in recorder.calls:
        if call.described:
            yield _layer_row(call, counted, reasons)
    for name, module in model.named_modules():
        own = dict(module.named_parameters(name, recurse=False))
        if own and module not in reasons.called:
            new, shared = _sizes(own.values(), counted)
            why = next(filter(None, (reasons.parameter(n, module, p) for n, p in own.items())), "")
            why = why or "its parent uses its parameters without calling it"
            type_name = type(module).__name__
            yield LayerRecord(name, None, type_name, None, None, new, shared, None, 0, why_none=why)


def _layer_row(call: RecordedCall, counted: set[nn.Parameter], reasons: _Reasons) -> LayerRecord:
    new, shared = _sizes(call.module.parameters(recurse=False), counted)
    return LayerRecord(
        name=call.name,
        call=call.call,
        type=type(call.module).__name__,
        input_shape=call.input_shape,
        output_shape=call.output_shape,
        params=new,
        shared=shared,
        macs=call.own_flops // 2 or None,
        memory=call.memory,
        leaf=call.leaf,
        activation=call.activation,
        gradient=call.gradient,
        why_none=reasons.output(call),
        training=call.module.training,
        saturated=call.saturated,
    )


def _sizes(parameters: Iterable[nn.Parameter], counted: set[nn.Parameter]) -> tuple[int, int]:
    """Elements not counted before, and elements counted before."""
    sizes: Counter[bool] = Counter()
    for parameter in parameters:
        sizes[parameter in counted] += parameter.numel()
        counted.add(parameter)
    return sizes[False], sizes[True]


def _parameter_rows(
    model: nn.Module, gradients: dict[str, Tensor], reasons: _Reasons
) -> Iterator[ParameterRecord]:
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    for parameter, (name, *aliases) in names.items():
        layer = name.rpartition(".")[0]
        grad = gradients.get(name)
        yield ParameterRecord(
            name=name,
            layer=layer,
            shape=tuple(parameter.shape),
            numel=parameter.numel(),
            dtype=str(parameter.dtype).removeprefix("torch."),
            trainable=parameter.requires_grad,
            aliases=tuple(aliases),
            **_values(parameter),
            grad_norm=None if grad is None else float(torch.linalg.vector_norm(grad)),
            why_none=reasons.parameter(name, model.get_submodule(layer), parameter),
        )


def _values(parameter: Tensor) -> dict[str, float]:
    """Norm, mean and standard deviation. `Tensor.std` takes ten times as long as both others."""
    value, numel = parameter.detach(), parameter.numel()
    if value.is_meta or not value.is_floating_point() or not numel:
        return {}
    value = value.float() if value.element_size() < 4 else value  # float16 sums overflow
    norm, mean = float(torch.linalg.vector_norm(value)), float(value.mean())
    if numel == 1:
        return {"norm": norm, "mean": mean}
    squares = norm**2 - numel * mean**2
    if not squares > 1e-3 * norm**2:  # rounding would show
        squares = float(torch.linalg.vector_norm(value - mean)) ** 2
    return {"norm": norm, "mean": mean, "std": math.sqrt(squares / (numel - 1))}


def _memory(model: nn.Module, calls: list[RecordedCall], passed: tuple[Any, ...]) -> Memory:
    """As pytorch-summary (https://github.com/sksq96/pytorch-summary) adds it up."""

    def size(tensors: Iterable[Tensor]) -> int:
        return sum(t.numel() * t.element_size() for t in tensors)

    containers = (nn.Sequential, nn.ModuleList)
    childless = next(model.children(), None) is None
    outputs = sum(
        call.memory
        for call in calls
        if not isinstance(call.module, containers) and (childless or call.module is not model)
    )
    return Memory(size(tensors_in(passed)) / _MB, 2 * outputs / _MB, size(model.parameters()) / _MB)


def _notes(layers: tuple[LayerRecord, ...], model: nn.Module) -> Iterator[str]:
    """Sentences worth reading next to the numbers."""
    if not any(p.requires_grad for p in model.parameters()):
        yield "No parameter requires grad: all are frozen, or there are none."
    first = next((r for r in layers if r.activation and r.activation.nonfinite), None)
    if first is not None:
        name = first.name or first.type
        yield f"The first output that contains NaN or infinity is that of {name}."
        bad = [name for name, p in model.named_parameters() if not p.isfinite().all()]
        more = f" and {len(bad) - 1} more" if bad[1:] else ""
        if bad:
            yield f"Weights that contain NaN or infinity: {bad[0]}{more}."
