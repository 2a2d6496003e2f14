"""From what the recorder remembers to the plain Trace."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from torch import nn

from explorer.language import ProgramError, without_addresses
from explorer.language.module_proxy import ModuleProxy
from explorer.trace.answers import explain
from explorer.trace.assemble_pass import assemble_pass
from explorer.trace.capture import Kept, keep
from explorer.trace.none_reasons import why_none
from explorer.trace.passes import RawPass
from explorer.trace.recorder import ProgramRecorder
from explorer.trace.records import (
    Plain,
    TensorRecord,
    Trace,
)
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.tensor_registry import LiveTensor, below, named_parameters

#: Longest text of a variable that is no tensor, and most variables and items kept.
MAX_TEXT, MAX_ITEMS = 500, 200


def assemble(
    recorder: ProgramRecorder,
    variables: Mapping[str, Any],
    *,
    source: str,
    seed: int,
    error: ProgramError | None,
    needs_upstream: str | None,
    warned: Sequence[warnings.WarningMessage],
) -> Trace:
    """Turn everything into plain data. Call it with torch functions disabled."""
    finals = _finals(recorder, variables)
    raw_passes = recorder.kept_passes
    seen = _worth_showing(recorder, raw_passes)
    ids = {item.number: index for index, item in enumerate(seen)}
    analysis = RunAnalysis(recorder, source, error, finals, variables)
    records = [_record(item, ids[item.number], analysis) for item in seen]
    passes = [assemble_pass(raw, recorder, ids, records) for raw in raw_passes]
    if passes:
        where = {n.tensor: n.id for n in passes[-1].nodes if n.tensor is not None}
        records = [replace(record, node=where.get(record.id)) for record in records]
    said = [w for w in warned if issubclass(w.category, UserWarning)]
    words = (without_addresses(str(w.message)) for w in said)
    notes = dict.fromkeys(text.split("\n")[0][:300] for text in words)
    return Trace(
        source=source,
        output=recorder.output,
        variables={
            name: records[ids[value.number]] if isinstance(value, LiveTensor) else value
            for name, value in finals.items()
        },
        tensors=tuple(records),
        passes=tuple(passes),
        pass_count=recorder.pass_count,
        error=error,
        needs_upstream=needs_upstream,
        notes=tuple(notes)[:5],
        seed=seed,
        capture=recorder.capture,
        answers=explain(analysis),
        events=recorder.events.all(),
        event_count=recorder.events.count,
    )


# -- variables ------------------------------------------------------------------------------


def _finals(
    recorder: ProgramRecorder, variables: Mapping[str, Any]
) -> dict[str, LiveTensor | Plain]:
    """Every variable as it is at the end; tensors changed since their line get a new record."""
    finals: dict[str, LiveTensor | Plain] = {}
    for name, value in list(variables.items())[:MAX_ITEMS]:
        if isinstance(value, torch.Tensor):
            finals[name] = _final(recorder, name, value)
        elif isinstance(value, nn.Module):
            finals[name] = _text(value)
            for label, parameter in islice(named_parameters(value), MAX_ITEMS):
                path = below(name, label)
                finals[path] = _final(recorder, path, parameter)
        elif not _is_definition(value):
            finals[name] = plain(value)
    return finals


def _final(recorder: ProgramRecorder, name: str, tensor: torch.Tensor) -> LiveTensor:
    known = [
        seen
        for slot in recorder.slots.values()
        for seen in slot
        if seen.tensor is tensor and seen.named
    ]
    same = [seen for seen in known if seen.name == name]
    for seen in reversed(same):
        if seen.is_current():
            return seen
    line = (same or known)[-1].line if known else recorder.line
    seen = recorder.add(("final", name), line, name, tensor)
    seen.named = True
    return seen


def _is_definition(value: Any) -> bool:
    return callable(value) or isinstance(value, ModuleProxy)


def plain(value: Any, depth: int = 0) -> Plain:
    """A value that is no tensor, as numbers, text and lists; anything else as its text."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < 64 else _text(value)
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, list | tuple) and depth < 3:
        return [plain(item, depth + 1) for item in value[:MAX_ITEMS]]
    if isinstance(value, dict) and depth < 3:
        pairs = list(value.items())[:MAX_ITEMS]
        return {_key(key)[:100]: plain(item, depth + 1) for key, item in pairs}
    return _text(value)


def _key(key: Any, depth: int = 0) -> str:
    """A key of a dict, written as Python writes it, but for objects of the program's own."""
    if isinstance(key, str):
        return repr(key[:100]) if depth else key
    if key is None or isinstance(key, int | float):
        return str(key)
    if isinstance(key, tuple) and depth < 3:
        return f"({', '.join(_key(item, depth + 1) for item in key[:MAX_ITEMS])})"
    return _text(key)


def _text(value: Any) -> str:
    """The text of an object; its own __repr__ is the program's code and is not run again."""
    if isinstance(value, torch.Tensor):
        return f"tensor of shape {tuple(value.shape)}"
    if isinstance(value, int):
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, nn.Module) or type(value).__module__ != "__main__":
        return f"{type(value).__name__}"
    return f"{type(value).__name__} object"


# -- tensors --------------------------------------------------------------------------------


def _worth_showing(recorder: ProgramRecorder, raw_passes: Sequence[RawPass]) -> list[LiveTensor]:
    """Named tensors, and unnamed ones that are part of a graph."""
    every = recorder.all_tensors()
    used = {frozen.number for seen in every for frozen in seen.frozen}
    return [s for s in every if s.named or s.grad_fn is not None or s.number in used]


def _record(seen: LiveTensor, index: int, analysis: RunAnalysis) -> TensorRecord:
    tensor = seen.tensor
    retained = tensor.retains_grad
    grad: Kept | None
    if (seen.is_leaf and seen.requires_grad) or retained:
        grad, origin = (None if tensor.grad is None else keep(tensor.grad)), ".grad"
    else:
        grad, origin = seen.grad, "hook"
    array = None if grad is None else grad.array()
    has_own = origin == ".grad" and array is not None
    why, term = ("", "") if has_own else why_none(seen, analysis)
    return TensorRecord(
        id=index,
        name=seen.name,
        line=seen.line,
        shape=tuple(tensor.shape),
        dtype=str(tensor.dtype).removeprefix("torch."),
        requires_grad=seen.requires_grad,
        is_leaf=seen.is_leaf,
        retains_grad=retained,
        grad_fn=None if seen.grad_fn is None else type(seen.grad_fn).__name__,
        value=seen.kept.array(),
        grad=array,
        grad_from=origin if array is not None else None,
        version=max(seen.version, 0),
        named=seen.named,
        scope=seen.scope,
        visit=seen.visit,
        why_none=why,
        nbytes=tensor.numel() * tensor.element_size(),
        visits=max(seen.visit, analysis.recorder.runs[seen.statement]),
        module=analysis.recorder.module_name(seen.module),
        why_term=term,
    )
