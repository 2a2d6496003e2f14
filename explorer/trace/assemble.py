"""Makes the plain Trace of a run from the live objects of its recorder."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch

from explorer import limits
from explorer.program import ProgramError, Run, line_of, without_addresses, without_prompts
from explorer.program.error_messages import describe_error
from explorer.program.figures import Figure
from explorer.program.parsing import LineAt
from explorer.program.watched_calls import Patch, patched
from explorer.trace.explain import explain
from explorer.trace.explain.none_reasons import why_none
from explorer.trace.explain.run_analysis import RunAnalysis, Warned
from explorer.trace.final_values import final_values
from explorer.trace.recording.capture import CapturedValues, capture_values, unchanging
from explorer.trace.recording.objects import quiet, shape_of
from explorer.trace.recording.pass_graph import dot_text, pass_graph
from explorer.trace.recording.passes import RawPass, RawStep
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.records import (
    Array,
    AutogradState,
    BackwardPass,
    BackwardStep,
    Edge,
    Flow,
    Node,
    Origin,
    Plain,
    TensorRecord,
    Trace,
    Upstream,
)
from explorer.trace.rules import Statement, own_backward, state, stored
from explorer.trace.script import completed_code

#: What joblib, of scikit-learn, says where a program may not start processes.
_OF_THE_WALLS = "joblib will operate in serial mode"
_ANOMALY = re.compile(r"Error detected in (\w+)\.")


def assemble(
    run: Run[ProgramRecorder],
    upstream: Upstream,
    seed: int,
    figures: Sequence[Figure],
    *,
    needs_upstream: str | None = None,
    is_running: bool = False,
) -> Trace:
    """The Trace of a run.

    Raises MemoryError or RuntimeError where memory does not suffice for that of a program that goes
    on (`is_running`). What one that has ended still holds makes room for what was recorded.
    """
    recorder, source = run.watcher, run.program.typed
    with quiet(), torch.inference_mode(False):
        trace: Trace | None = None
        try:
            trace = recorded(recorder, source, run.variables, run.error, run.warned)
        except (RuntimeError, MemoryError) as failure:
            no_memory = memory_error(failure)
            if no_memory is None or is_running:
                raise
        if trace is None:  # outside the handler, whose exception holds what was made so far
            run.names.clear()
            trace = recorded(recorder, source, {}, run.error or no_memory, run.warned)
    completed = run.program.completed
    trace = replace(trace, seed=seed, needs_upstream=needs_upstream, inputs=completed.inputs)
    start = "sum" if upstream is None and needs_upstream else upstream
    return replace(
        trace,
        completed=completed_code(completed, trace, start),
        notices=(
            *completed.notices,
            *recorder.notices.sentences(),
            *_about_imports(run, trace),
            *_about_output(run, trace),
        ),
        echo=tuple(recorder.echoes),
        echo_at=tuple(map(recorder.output_position, recorder.echo_at)),
        figures=tuple(
            replace(figure, position=recorder.output_position(figure.position))
            for figure in figures
        ),
    )


def without_warnings() -> AbstractContextManager[None]:
    """What is done meanwhile warns nobody. `warnings.catch_warnings` would let the program's own
    be shown once more."""
    return patched([Patch(warnings, "_showwarnmsg", lambda show: lambda message: None)])


def memory_error(failure: BaseException) -> ProgramError | None:
    """The error of a run for whose Trace memory did not suffice; None for another failure."""
    is_memory = isinstance(failure, MemoryError) or "allocate memory" in str(failure)
    return describe_error(MemoryError(), "", set()) if is_memory else None


def _about_imports(run: Run[ProgramRecorder], trace: Trace) -> Iterator[str]:
    """Which imports were in vain, of a program that has run to its end."""
    if trace.error is None and (sentence := run.missing.unused()):
        yield sentence


def _about_output(run: Run[ProgramRecorder], trace: Trace) -> Iterator[str]:
    """What the result of an expression means for backward, in sentences."""
    name = run.program.completed.output
    if any(record.autograd.tangent is not None for record in trace.tensors):
        yield "Forward mode ran: the table shows the tangent of each tensor next to its value."
    if trace.needs_upstream and trace.passes:
        yield f"`{trace.needs_upstream}` has several elements: backward starts from their sum."
    elif name and not trace.passes and trace.error is None:
        if isinstance(run.names.get(name), torch.Tensor):
            yield f"`{name}` has no derivative with respect to the inputs."
        else:
            yield f"`{name}` is not a tensor, so it has no derivative."


@unchanging()
def recorded(
    recorder: ProgramRecorder,
    source: str,
    variables: Mapping[str, Any],
    error: ProgramError | None,
    warned: Sequence[warnings.WarningMessage],
) -> Trace:
    """What was recorded, as plain data. Call it with torch functions disabled."""
    finals = final_values(recorder, variables)
    tensors = _shown_tensors(recorder, finals)
    ids = {live.number: index for index, live in enumerate(tensors)}
    for_users = _for_users(warned, recorder.line_at)
    analysis = RunAnalysis(
        recorder,
        source,
        error,
        finals,
        variables,
        [_plain_warning(w, recorder.line_at) for w in for_users],
    )
    records = [_record(live, ids[live.number], analysis) for live in tensors]
    last = {id(live.tensor): record for live, record in zip(tensors, records, strict=True)}
    records = [
        replace(record, changed_later=record.is_leaf and last[id(live.tensor)] is not record)
        for live, record in zip(tensors, records, strict=True)
    ]
    passes = [_assemble_pass(raw, recorder, ids, records) for raw in _shown_passes(recorder)]
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
        notes=_notes(for_users, source),
        capture=recorder.capture,
        answers=explain(analysis),
        events=recorder.events.all_events(),
        event_count=recorder.events.count,
        curves=recorder.curves.plain(),
    )


def _shown_passes(recorder: ProgramRecorder) -> list[RawPass]:
    """The recorded passes; of large graphs, not all between the first and the last."""
    shown = recorder.recorded_passes
    while len(shown) > 2 and sum(len(raw.drawn) for raw in shown) > limits.MOST_PASS_NODES:
        del shown[-2]
    return shown


def _for_users(
    warned: Sequence[warnings.WarningMessage], line_at: LineAt
) -> list[warnings.WarningMessage]:
    """The warnings to users: those of torch, numpy's RuntimeWarnings, and those about the program's
    own lines."""
    return [
        w
        for w in warned
        if (
            issubclass(w.category, UserWarning | FutureWarning | RuntimeWarning)
            or (issubclass(w.category, DeprecationWarning) and line_at(w.filename, w.lineno))
        )
        and _OF_THE_WALLS not in str(w.message)
    ]


def _plain_warning(warning: warnings.WarningMessage, line_at: LineAt) -> Warned:
    line = line_at(warning.filename, warning.lineno) or None
    return Warned(without_addresses(str(warning.message))[:300], line)


def _notes(for_users: Sequence[warnings.WarningMessage], source: str) -> tuple[str, ...]:
    """The first line of each warning, each once."""
    texts = (_about_anomaly(without_addresses(str(w.message)), source) for w in for_users)
    return tuple(dict.fromkeys(text.split("\n")[0][:300] for text in texts))[: limits.MOST_WARNINGS]


def _about_anomaly(warning: str, source: str) -> str:
    """What anomaly mode says of the node that failed, as a sentence with the line of its operation;
    any other warning as it is."""
    found = _ANOMALY.match(warning)
    if found is None:
        return warning
    node, lines = found[1], re.findall(r'File "<program>", line (\d+)', warning)
    if not lines:
        return f"Anomaly mode: backward failed in {node}. The line of its operation is not known."
    text = line_of(without_prompts(source), int(lines[0])).strip()
    return f"Anomaly mode: backward failed in {node}, which belongs to line {lines[0]}: {text}"


# -- tensors --------------------------------------------------------------------------------


def _shown_tensors(
    recorder: ProgramRecorder, finals: Mapping[str, LiveTensor | Plain]
) -> list[LiveTensor]:
    """Named tensors, and unnamed ones that are part of a graph; of very many, those of variables
    and the last others."""
    tensors = recorder.all_tensors()
    used = {frozen.number for live in tensors for frozen in live.frozen}
    shown = [t for t in tensors if t.named or t.grad_fn is not None or t.number in used]
    if len(shown) <= limits.MOST_TENSORS:
        return shown
    kept = {live.number for live in finals.values() if isinstance(live, LiveTensor)}
    others = [live.number for live in shown if live.number not in kept]
    kept.update(others[len(kept) - limits.MOST_TENSORS :])
    return [live for live in shown if live.number in kept]


def _record(live: LiveTensor, index: int, analysis: RunAnalysis) -> TensorRecord:
    tensor = live.tensor
    retained = tensor.retains_grad
    grad: CapturedValues | None
    if (live.is_leaf and live.requires_grad) or retained:
        grad, read_from = (None if tensor.grad is None else capture_values(tensor.grad)), ".grad"
    else:
        grad, read_from = live.grad, "hook"
    array = None if grad is None else grad.array()
    has_grad = read_from == ".grad" and array is not None
    return TensorRecord(
        id=index,
        name=live.name,
        line=live.line or None,
        shape=shape_of(tensor),
        dtype=str(tensor.dtype).removeprefix("torch."),
        requires_grad=live.requires_grad,
        is_leaf=live.is_leaf,
        value=live.captured.array(),
        grad=array,
        grad_from=read_from if array is not None else None,
        why_none=None if has_grad else why_none(live, analysis),
        named=live.named,
        nbytes=min(tensor.numel() * tensor.element_size(), 2**63 - 1),
        note=live.note or (analysis.recorder.scaling.note_on(tensor) if live.is_leaf else ""),
        origin=Origin(
            scope=live.scope,
            module=analysis.recorder.module_name(live.module),
            visit=live.visit,
            visits=max(live.visit, analysis.recorder.run_counts[live.statement]),
        ),
        autograd=AutogradState(
            grad_fn=None if live.grad_fn is None else type(live.grad_fn).__name__,
            retains_grad=retained,
            version=max(live.version, 0),
            is_inference=tensor.is_inference(),
            tangent=None if live.tangent is None else live.tangent.array(),
        ),
    )


# -- passes ---------------------------------------------------------------------------------


def _assemble_pass(
    raw: RawPass,
    recorder: ProgramRecorder,
    ids: Mapping[int, int],
    records: Sequence[TensorRecord],
) -> BackwardPass:
    nodes, edges = pass_graph(raw, recorder, ids)
    is_large = len(nodes) > limits.MAX_NODES
    dot = "" if is_large else dot_text(nodes, edges, dict(enumerate(records)))
    node_ids = {id(function): f"n{i}" for i, function in enumerate(raw.functions)}
    numbered = _number_steps(raw.steps)
    steps = (_assemble_step(n, step, raw, node_ids, recorder.line_at) for n, step in numbered)
    if len(nodes) > limits.MOST_PASS_NODES:
        nodes, edges = _around({f"n{step.function}" for _, step in numbered}, nodes, edges)
    return BackwardPass(
        number=raw.number,
        line=raw.line,
        call=raw.call,
        root=_names_of_roots([_root_name(root, recorder) for root in raw.roots]),
        nodes=tuple(nodes),
        edges=tuple(edges),
        dot=dot,
        steps=tuple(steps),
        ours=raw.ours,
        step_count=len(raw.steps),
    )


def _around(
    kept: set[str], nodes: Sequence[Node], edges: Sequence[Edge]
) -> tuple[list[Node], list[Edge]]:
    """The function nodes of a graph with these ids, and what else is joined to them."""
    others = {node.id for node in nodes if node.kind != "function"}
    near = [e for e in edges if e.source in kept or e.target in kept]
    kept = kept | ({end for edge in near for end in (edge.source, edge.target)} & others)
    shown = [edge for edge in edges if edge.source in kept and edge.target in kept]
    return [node for node in nodes if node.id in kept], shown


def _names_of_roots(names: Sequence[str]) -> str:
    """The first names; how many others there are is said."""
    if len(names) <= limits.MOST_ROOTS:
        return ", ".join(names)
    shown = names[: limits.MOST_ROOTS - 1]
    return f"{', '.join(shown)} and {len(names) - len(shown)} others"


def _root_name(tensor: torch.Tensor, recorder: ProgramRecorder) -> str:
    live = recorder.find(tensor)
    return live.name if live is not None else "output"


def _number_steps(steps: Sequence[RawStep]) -> list[tuple[int, RawStep]]:
    """The steps to keep, with their numbers in the pass, from 1."""
    numbered = list(enumerate(steps, start=1))
    if len(numbered) > limits.FIRST_STEPS + limits.LAST_STEPS:
        del numbered[limits.FIRST_STEPS : -limits.LAST_STEPS]
    return numbered


#: Of a node whose `register_hook`, or a module's deprecated hook, returned other gradients.
_HOOKED = "A hook on this node then changed the gradient that is passed on."


def _assemble_step(
    number: int, step: RawStep, raw: RawPass, node_ids: Mapping[int, str], line_at: LineAt
) -> BackwardStep:
    node = raw.functions[step.function]

    def flows_of(grads: Sequence[CapturedValues | None]) -> tuple[Flow, ...]:
        return tuple(
            Flow(
                node_ids.get(id(target)) if target is not None else None,
                slot,
                None if grad is None else grad.array(),
            )
            for (target, slot), grad in zip(node.next_functions, grads, strict=False)
        )

    flows = flows_of(step.grads_out)
    name = type(node).__name__
    grads_in = tuple(None if g is None else g.array() for g in step.grads_in)
    saved = {name: _plain_saved(value) for name, value in step.saved.items()}
    before, after = (None if g is None else g.array() for g in (step.before, step.after))
    own = own_backward(node, line_at)
    if own is not None:
        rule = f"Your own rule: {own[0]}.backward, line {own[1]}."
        statement = Statement(words=rule if own[1] else f"A library's rule: {own[0]}.backward.")
    elif name == "AccumulateGrad":
        statement = stored(grads_in, before, after)
    else:
        computed = flows if step.computed is None else flows_of(step.computed)
        statement = state(name, grads_in, computed, saved)
    words = [statement.words, "" if step.computed is None else _HOOKED]
    return BackwardStep(
        node=f"n{step.function}",
        name=name,
        grads_in=grads_in[: limits.MOST_FLOWS],
        grads_out=flows[: limits.MOST_FLOWS],
        formula=statement.formula,
        numbers=statement.numbers,
        saved=saved,
        words=" ".join(filter(None, words)),
        before=before,
        after=after,
        own=None if own is None else own[1],
        number=number,
    )


def _plain_saved(value: Any) -> Array | Plain:
    if isinstance(value, list | tuple):
        value = value[: limits.MOST_FLOWS]
    return value.array() if isinstance(value, CapturedValues) else value
