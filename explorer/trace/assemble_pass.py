"""From a recorded pass to the plain BackwardPass: nodes, edges, labels and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from explorer.trace.capture import Kept
from explorer.trace.drawing import dot_text
from explorer.trace.folding import MAX_NODES, fold
from explorer.trace.passes import RawPass, RawStep
from explorer.trace.recorder import ProgramRecorder
from explorer.trace.records import (
    Array,
    BackwardPass,
    BackwardStep,
    Edge,
    Flow,
    Node,
    Plain,
    TensorRecord,
)
from explorer.trace.rules import Statement, own_backward, state, stored
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.torchviz_graph import Drawn, leaf_of

#: Of a longer pass these many first steps and these many last ones are kept.
FIRST_STEPS, LAST_STEPS = 1000, 1000


def assemble_pass(
    raw: RawPass, recorder: ProgramRecorder, ids: Mapping[int, int], records: Sequence[TensorRecord]
) -> BackwardPass:
    functions = [_seen_of(recorder, node, ids) for node in raw.functions]
    owners = _owners(raw, recorder, ids)
    nodes: list[Node] = []
    for position, drawn in enumerate(raw.drawn):
        seen = functions[position] if drawn.function is not None else owners.get(position)
        nodes.append(
            Node(
                id=f"n{position}",
                kind=drawn.kind,
                name=drawn.name if drawn.function is not None else _what(drawn.kind),
                label=_label(drawn.kind, seen) if seen is not None else _own_label(drawn),
                shape=drawn.shape if drawn.function is None else _shape_made(seen),
                tensor=None if seen is None else ids[seen.number],
                line=_line(raw, position, seen),
                module=recorder.module_name(seen.module) if seen is not None else "",
            )
        )
    _add_places(nodes, raw.edges)
    edges = [Edge(f"n{a}", f"n{b}", kind) for a, b, kind in raw.edges]
    _add_frozen(nodes, edges, functions, ids)
    by_id = dict(enumerate(records))
    positions = {id(function): f"n{i}" for i, function in enumerate(raw.functions)}
    shown = (nodes, edges) if len(nodes) <= MAX_NODES else fold(nodes, edges)
    return BackwardPass(
        number=raw.number,
        line=raw.line,
        call=raw.call,
        root=", ".join(_name_of(recorder, root) for root in raw.roots),
        nodes=tuple(nodes),
        edges=tuple(edges),
        dot=dot_text(*shown, by_id),
        steps=tuple(_step(number, step, raw, positions) for number, step in _kept(raw.steps)),
        ours=raw.ours,
        step_count=len(raw.steps),
    )


def _line(raw: RawPass, position: int, seen: LiveTensor | None) -> int | None:
    if seen is not None:
        return seen.line
    if position < len(raw.functions):
        found = raw.functions[position].metadata.get("line")
        return found if isinstance(found, int) else None
    return None


def _seen_of(recorder: ProgramRecorder, node: Any, ids: Mapping[int, int]) -> LiveTensor | None:
    """The record of the tensor a node made: the named one, where it has several."""
    found = [s for s in recorder.made.get((id(node), 0), []) if s.number in ids]
    named = [s for s in found if s.named]
    return (named or found)[-1] if found else None


def _owners(
    raw: RawPass, recorder: ProgramRecorder, ids: Mapping[int, int]
) -> dict[int, LiveTensor]:
    """Which tensor each drawn leaf and output is."""
    owners: dict[int, LiveTensor] = {}
    outputs = [p for p, drawn in enumerate(raw.drawn) if drawn.kind == "output"]
    pairs: list[tuple[int, torch.Tensor]] = list(zip(outputs, raw.roots, strict=False))
    for source, target, _ in raw.edges:
        function = raw.drawn[target].function
        if raw.drawn[source].kind == "leaf" and function is not None:
            leaf = leaf_of(raw.functions[function])
            if leaf is not None:
                pairs.append((source, leaf))
    for position, tensor in pairs:
        seen = raw.leaves.get(id(tensor)) or recorder.find(tensor)
        if seen is not None and seen.number in ids:
            owners[position] = seen
    return owners


def _add_frozen(
    nodes: list[Node],
    edges: list[Edge],
    functions: Sequence[LiveTensor | None],
    ids: Mapping[int, int],
) -> None:
    """Tensors without requires_grad that took part; torchviz leaves them out."""
    placed: dict[int, str] = {}
    for position, seen in enumerate(functions):
        for frozen in seen.frozen if seen is not None else ():
            if frozen.number not in ids:
                continue
            if frozen.number not in placed:
                placed[frozen.number] = f"n{len(nodes)}"
                shape = tuple(frozen.kept.shape)
                index = ids[frozen.number]
                nodes.append(
                    Node(
                        f"n{len(nodes)}",
                        "frozen",
                        _what("frozen"),
                        frozen.name,
                        shape,
                        index,
                        frozen.line,
                    )
                )
            edges.append(Edge(placed[frozen.number], f"n{position}", "frozen"))


def _add_places(nodes: list[Node], edges: Sequence[tuple[int, int, str]]) -> None:
    """A node inside one operation has its line and module, a parameter the one it is used in."""
    users: dict[int, list[int]] = {}
    for source, target, _ in edges:
        users.setdefault(source, []).append(target)
    for position, node in enumerate(nodes):  # users stand before what they use
        paths = {nodes[user].module for user in users.get(position, ())}
        inside = node.tensor is None or node.kind in ("leaf", "accumulate", "saved")
        if inside and not node.module and len(paths) == 1:
            nodes[position] = node = replace(node, module=paths.pop())
        lines = [nodes[user].line for user in users.get(position, ())]
        if node.line is None and node.kind in ("function", "accumulate", "saved") and lines:
            nodes[position] = replace(node, line=lines[0])


def _shape_made(seen: LiveTensor | None) -> tuple[int, ...] | None:
    return None if seen is None else tuple(seen.kept.shape)


def _what(kind: str) -> str:
    return {"leaf": "leaf", "output": "output", "frozen": "no grad"}.get(kind, kind)


def _label(kind: str, seen: LiveTensor) -> str:
    """A leaf keeps the name it was first given, whatever a loop calls it later."""
    return seen.first_name or seen.name if kind == "leaf" else seen.name


def _own_label(drawn: Drawn) -> str:
    return drawn.name if drawn.kind in ("saved", "leaf") else ""


def _name_of(recorder: ProgramRecorder, tensor: torch.Tensor) -> str:
    seen = recorder.find(tensor)
    return seen.name if seen is not None else "output"


def _kept(steps: Sequence[RawStep]) -> list[tuple[int, RawStep]]:
    """The steps that are kept, with their numbers from 1."""
    numbered = list(enumerate(steps, start=1))
    if len(numbered) > FIRST_STEPS + LAST_STEPS:
        del numbered[FIRST_STEPS:-LAST_STEPS]
    return numbered


def _step(number: int, step: RawStep, raw: RawPass, positions: Mapping[int, str]) -> BackwardStep:
    node = raw.functions[step.function]
    flows = tuple(
        Flow(
            positions.get(id(target)) if target is not None else None,
            slot,
            None if grad is None else grad.array(),
        )
        for (target, slot), grad in zip(node.next_functions, step.grads_out, strict=False)
    )
    name = type(node).__name__
    grads_in = tuple(None if g is None else g.array() for g in step.grads_in)
    saved = {name: _saved(value) for name, value in step.saved.items()}
    before, after = (None if g is None else g.array() for g in (step.before, step.after))
    own = own_backward(node)
    if own is not None:
        said = Statement(words=f"Your own rule: {own[0]}.backward, line {own[1]}.")
    elif name == "AccumulateGrad":
        said = stored(grads_in, before, after)
    else:
        said = state(name, grads_in, flows, saved)
    return BackwardStep(
        node=f"n{step.function}",
        name=name,
        grads_in=grads_in,
        grads_out=flows,
        formula=said.formula,
        numbers=said.numbers,
        saved=saved,
        words=said.words,
        before=before,
        after=after,
        own=None if own is None else own[1],
        number=number,
    )


def _saved(value: Any) -> Array | Plain:
    return value.array() if isinstance(value, Kept) else value
