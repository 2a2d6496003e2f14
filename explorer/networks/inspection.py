"""`inspect`: one forward and backward of any model, reported layer by layer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from explorer.networks import structure
from explorer.networks.failure import explain
from explorer.networks.preserve import preserved
from explorer.networks.recorder import Recorder, Visit, tensors_in
from explorer.networks.records import (
    LayerError,
    LayerRecord,
    Memory,
    ParameterRecord,
    Report,
    Structure,
)
from explorer.networks.statistics import describe

_MB = 2**20


def inspect(
    model: nn.Module,
    *inputs: Any,
    loss: Callable[[Any], Tensor] | None = None,
    seed: int | None = None,
) -> Report:
    """Run `model(*inputs)` forward and backward once and report on every layer.

    `loss` gets the model's output and returns a scalar; without it the loss is the sum of all
    floating-point outputs. Works on any device; on "meta" the report has shapes, costs and the
    graph, but no values. The model runs in the mode it is in (`model.train()`, `model.eval()`),
    with random numbers from `seed` or else torch's present state, and is left exactly as it was,
    as are the inputs (copies are passed).

    MACs are multiply-adds of matrix products and convolutions without biases, as
    `torch.utils.flop_counter` counts them, halved.

    Never raises for what the model does: the report's `error` says where it stopped.
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
                # Watching costs 50 µs per operation, and in backward only hooks write to weights.
                with watch if _has_backward_hooks(model) else nullcontext():
                    total.backward()
        except Exception as raised:
            failing = recorder.visits[recorder.open[-1]] if recorder.open else None
            error = _error(raised, failing)
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        reasons = _Reasons(model, recorder, error)
        layers = _rows(recorder, reasons, model)
        parameters = tuple(_parameters(model, gradients, reasons))
    graph = None
    if built is not None:
        graph = Structure(
            structure.calls(recorder.visits),
            *built,
            {p.name: p.numel for p in parameters},
            {p.name: p.grad.norm for p in parameters if p.grad is not None},
        )
    return Report(
        model=type(model).__name__,
        layers=layers,
        parameters=parameters,
        total_params=sum(p.numel for p in parameters),
        trainable_params=sum(p.numel for p in parameters if p.trainable),
        total_macs=sum(row.macs or 0 for row in layers),
        memory=_memory(model, recorder.visits, passed),
        loss=value,
        structure=graph,
        gradients={name: _array(g) for name, g in gradients.items() if not g.is_meta},
        input_gradients=tuple(
            None if t.grad is None or t.is_meta else _array(t.grad) for t in tensors_in(passed)
        ),
        error=error,
        notes=tuple(_notes(layers, parameters)),
    )


def _has_backward_hooks(model: nn.Module) -> bool:
    return any(
        p._backward_hooks or p._post_accumulate_grad_hooks for p in model.parameters()
    ) or any(m._backward_hooks or m._backward_pre_hooks for m in model.modules())


def copied(value: Any) -> Any:
    """A leaf of its own for a tensor, so that the caller's is neither changed nor given a .grad."""
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return value


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


class _Reasons:
    """Why a gradient is None."""

    def __init__(self, model: nn.Module, recorder: Recorder, error: LayerError | None) -> None:
        self.failed = error is not None
        self.called = {v.module for v in recorder.visits}

    def parameter(self, module: nn.Module, parameter: nn.Parameter) -> str:
        if parameter.grad is not None:
            return ""
        if not parameter.requires_grad:
            return "frozen: requires_grad is False"
        if self.failed:
            return "the run stopped before backward reached it"
        if module not in self.called:
            return "never used: forward does not call this layer, so the loss does not depend on it"
        return "the loss does not depend on it"

    def output(self, visit: Visit) -> str:
        if visit.gradient is not None:
            return ""
        if self.failed:
            return "the run stopped before backward reached it"
        if not visit.hooked:
            return "nothing before it needs a gradient"
        return "the loss does not depend on it"


def _rows(recorder: Recorder, reasons: _Reasons, model: nn.Module) -> tuple[LayerRecord, ...]:
    counted: set[nn.Parameter] = set()
    working = (v for v in recorder.visits if v.described or v.own_flops)
    rows = [_row(visit, counted, reasons) for visit in working]
    for name, module in model.named_modules():
        held = list(module.parameters(recurse=False))
        if held and module not in reasons.called:
            new, shared = _sizes(held, counted)
            reason = next(filter(None, (reasons.parameter(module, p) for p in held)), "")
            note = reason or "its parent uses its parameters without calling it"
            kind = type(module).__name__
            rows.append(
                LayerRecord(name, None, kind, None, None, new, shared, None, 0, why_none=note)
            )
    return tuple(rows)


def _row(visit: Visit, counted: set[nn.Parameter], reasons: _Reasons) -> LayerRecord:
    new, shared = _sizes(visit.module.parameters(recurse=False), counted)
    return LayerRecord(
        name=visit.name,
        call=visit.call,
        type=type(visit.module).__name__,
        input_shape=visit.input_shape,
        output_shape=visit.output_shape,
        params=new,
        shared=shared,
        macs=visit.own_flops // 2 or None,
        memory=visit.memory,
        leaf=visit.leaf,
        activation=visit.activation,
        gradient=visit.gradient,
        why_none=reasons.output(visit),
    )


def _sizes(held: Iterable[nn.Parameter], counted: set[nn.Parameter]) -> tuple[int, int]:
    """Elements not counted before, and elements counted before."""
    sizes: Counter[bool] = Counter()
    for parameter in held:
        sizes[parameter in counted] += parameter.numel()
        counted.add(parameter)
    return sizes[False], sizes[True]


def _parameters(
    model: nn.Module, gradients: dict[str, Tensor], reasons: _Reasons
) -> Iterable[ParameterRecord]:
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
            norm=None if parameter.is_meta else float(parameter.detach().norm()),
            grad=None if grad is None else describe(grad, units=False),
            why_none=reasons.parameter(model.get_submodule(layer), parameter),
        )


def _memory(model: nn.Module, visits: list[Visit], passed: tuple[Any, ...]) -> Memory:
    def size(tensors: Iterable[Tensor]) -> int:
        return sum(t.numel() * t.element_size() for t in tensors)

    plumbing = (nn.Sequential, nn.ModuleList)
    only = next(model.children(), None) is None
    outputs = sum(
        v.memory
        for v in visits
        if not isinstance(v.module, plumbing) and (only or v.module is not model)
    )
    return Memory(size(tensors_in(passed)) / _MB, 2 * outputs / _MB, size(model.parameters()) / _MB)


def _notes(
    layers: tuple[LayerRecord, ...], parameters: tuple[ParameterRecord, ...]
) -> Iterable[str]:
    bad = [p.name for p in parameters if p.norm is not None and not math.isfinite(p.norm)]
    if bad:
        more = f" and {len(bad) - 1} more" if bad[1:] else ""
        yield f"NaN or infinity among the weights: {bad[0]}{more}."
    first = next((r for r in layers if r.activation and r.activation.nonfinite), None)
    if first is not None:
        where = first.name or first.type
        yield f"The first output with a NaN or an infinity is that of {where}."
    unused = [r for r in layers if r.call is None and r.why_none.startswith("never used")]
    for row in unused:
        yield f"{row.name} is {row.why_none}; its gradient stays None."
