"""From what a run recorded to the rows, sums and sentences of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.recorder import Recorder, Visit, tensors_in
from explorer.networks.records import LayerRecord, Memory, ParameterRecord

_MB = 2**20
_STOPPED = "the run stopped before backward reached it"
_APART = "the loss does not depend on it"


class Reasons:
    """Why a gradient is None."""

    def __init__(self, recorder: Recorder, reached: Collection[str], failed: bool) -> None:
        self.failed = failed
        self.called = {v.module for v in recorder.visits}
        self.reached = reached  # names of parameters that the loss's graph leads to

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
        return _APART

    def output(self, visit: Visit) -> str:
        if visit.gradient is not None:
            return ""
        if self.failed:
            return _STOPPED
        if not visit.hooked:
            return "nothing before it needs a gradient"
        return "there are no values on meta" if visit.meta else _APART


def layer_rows(recorder: Recorder, reasons: Reasons, model: nn.Module) -> Iterator[LayerRecord]:
    """One row per call that did work, then one per module that holds parameters uncalled."""
    counted: set[nn.Parameter] = set()
    for visit in recorder.visits:
        if visit.described or visit.own_flops:
            yield _row(visit, counted, reasons)
    for name, module in model.named_modules():
        held = dict(module.named_parameters(name, recurse=False))
        if held and module not in reasons.called:
            new, shared = _sizes(held.values(), counted)
            why = next(filter(None, (reasons.parameter(n, module, p) for n, p in held.items())), "")
            why = why or "its parent uses its parameters without calling it"
            kind = type(module).__name__
            yield LayerRecord(name, None, kind, None, None, new, shared, None, 0, why_none=why)


def _row(visit: Visit, counted: set[nn.Parameter], reasons: Reasons) -> LayerRecord:
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


def parameter_rows(
    model: nn.Module, gradients: dict[str, Tensor], reasons: Reasons
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
            grad_norm=None if grad is None else float(torch.linalg.vector_norm(grad)),
            why_none=reasons.parameter(name, model.get_submodule(layer), parameter),
        )


def memory(model: nn.Module, visits: list[Visit], passed: tuple[Any, ...]) -> Memory:
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


def notes(layers: tuple[LayerRecord, ...], model: nn.Module) -> Iterator[str]:
    """Sentences worth reading beside the numbers."""
    if not any(p.requires_grad for p in model.parameters()):
        yield "No parameter needs a gradient: there is none to train, or all are frozen."
    first = next((r for r in layers if r.activation and r.activation.nonfinite), None)
    if first is not None:
        yield f"The first output with a NaN or an infinity is that of {first.name or first.type}."
        bad = [name for name, p in model.named_parameters() if not p.isfinite().all()]
        more = f" and {len(bad) - 1} more" if bad[1:] else ""
        if bad:
            yield f"NaN or infinity among the weights: {bad[0]}{more}."
    for row in layers:
        if row.call is None and row.why_none.startswith("never used"):
            yield f"{row.name} is {row.why_none}; its gradient stays None."
