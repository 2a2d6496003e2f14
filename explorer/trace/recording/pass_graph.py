"""The graph of a backward pass: its nodes and edges, and as DOT.

torchviz draws the graph (see `torchviz_graph`); this module adds the program's names, values and
gradients. Labels contain text from untrusted programs, so all text is escaped for graphviz's HTML
labels (https://graphviz.org/doc/info/shapes.html#html).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import torch

from explorer.trace.colours import FAINT, FILLS, GRADIENT, HOOK, LINE, TEXT
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import DrawnNode, leaf_of
from explorer.trace.records import Edge, Node, TensorRecord
from explorer.trace.text import array_lines, shape_text, shortened

#: Longest name, and longest line of numbers, in a label.
MAX_NAME, MAX_LINE = 40, 34


def pass_graph(
    raw: RawPass, recorder: ProgramRecorder, ids: Mapping[int, int]
) -> tuple[list[Node], list[Edge]]:
    """The nodes and edges of a recorded pass, with the program's names, lines and modules.

    `ids` gives the id of a TensorRecord by the number of its LiveTensor.
    """
    scopes = {place.line: place.scope for place in recorder.locations}
    results = [_result_of_node(node, recorder, ids) for node in raw.functions]
    tensors = _leaves_and_outputs(raw, recorder, ids)
    nodes: list[Node] = []
    observed: set[str] = set()
    for position, drawn in enumerate(raw.drawn):
        is_function = drawn.function is not None
        live = results[position] if is_function else tensors.get(position)
        known = raw.functions[position].metadata if is_function else {}
        statement = known.get("line", 0)
        if live or "module" in known:
            observed.add(f"n{position}")
        nodes.append(
            Node(
                id=f"n{position}",
                kind=drawn.kind,
                name=drawn.name if is_function else _kind_text(drawn.kind),
                label=_label_of(drawn, live),
                shape=_shape(live) if is_function else drawn.shape,
                tensor=None if live is None else ids[live.number],
                line=live.line or None if live is not None else statement or None,
                module=recorder.module_name(live.module) if live else known.get("module", ""),
                statement=statement,
                scope=scopes.get(statement, ""),
                visit=known.get("visit", 0),
            )
        )
    _add_lines_and_modules(nodes, raw.edges, observed)
    edges = [Edge(f"n{a}", f"n{b}", kind) for a, b, kind in raw.edges]
    _add_frozen(nodes, edges, results, ids)
    return nodes, edges


def _result_of_node(
    node: Any, recorder: ProgramRecorder, ids: Mapping[int, int]
) -> LiveTensor | None:
    """The record of the tensor a node computed; a named one, if there are several."""
    results = [live for live in recorder.by_output.get((id(node), 0), []) if live.number in ids]
    named = [live for live in results if live.named]
    return (named or results)[-1] if results else None


def _leaves_and_outputs(
    raw: RawPass, recorder: ProgramRecorder, ids: Mapping[int, int]
) -> dict[int, LiveTensor]:
    """The record of each drawn leaf and output, by the position of its node."""
    tensors: dict[int, LiveTensor] = {}
    outputs = [p for p, drawn in enumerate(raw.drawn) if drawn.kind == "output"]
    pairs: list[tuple[int, torch.Tensor]] = list(zip(outputs, raw.roots, strict=False))
    for source, target, _ in raw.edges:
        function = raw.drawn[target].function
        if raw.drawn[source].kind == "leaf" and function is not None:
            leaf = leaf_of(raw.functions[function])
            if leaf is not None:
                pairs.append((source, leaf))
    for position, tensor in pairs:
        live = raw.leaves.get(id(tensor)) or recorder.find(tensor)
        if live is not None and live.number in ids:
            tensors[position] = live
    return tensors


def _add_frozen(
    nodes: list[Node],
    edges: list[Edge],
    results: Sequence[LiveTensor | None],
    ids: Mapping[int, int],
) -> None:
    """Add the inputs that need no gradient, which torchviz leaves out."""
    node_ids: dict[int, str] = {}
    for position, live in enumerate(results):
        for frozen in live.frozen if live is not None else ():
            if frozen.number not in ids:
                continue
            if frozen.number not in node_ids:
                node_ids[frozen.number] = f"n{len(nodes)}"
                shape = tuple(frozen.captured.shape)
                index = ids[frozen.number]
                nodes.append(
                    Node(
                        f"n{len(nodes)}",
                        "frozen",
                        _kind_text("frozen"),
                        frozen.name,
                        shape,
                        index,
                        frozen.line or None,
                    )
                )
            edges.append(Edge(node_ids[frozen.number], f"n{position}", "frozen"))


def _add_lines_and_modules(
    nodes: list[Node], edges: Sequence[tuple[int, int, str]], observed: Collection[str]
) -> None:
    """Give nodes without a line or module those of the node that uses them; an operation that was
    not `observed`, in a loop, has the module, or none, of those that its line made in other
    iterations."""
    users: dict[int, list[int]] = {}
    for source, target, _ in edges:
        users.setdefault(source, []).append(target)
    modules: dict[tuple[int, str], set[str]] = defaultdict(set)
    for node in nodes:
        if node.kind == "function" and (node.module or node.id in observed):
            modules[node.statement, node.name].add(node.module)
    for position, node in enumerate(nodes):  # users come before what they use
        paths = {nodes[user].module for user in users.get(position, ())}
        others = modules[node.statement, node.name]
        if node.statement and node.kind == "function" and len(others) == 1:
            paths = others
        inside = node.tensor is None or node.kind in ("leaf", "accumulate", "saved")
        if inside and not node.module and len(paths) == 1:
            nodes[position] = node = replace(node, module=next(iter(paths)))
        using = [nodes[user] for user in users.get(position, ())]
        if node.line is None and node.kind in ("function", "accumulate", "saved") and using:
            nodes[position] = node = replace(node, line=using[0].line)
        if not node.statement and node.kind == "function" and using:
            user = using[0]
            statement, scope = user.statement, user.scope
            nodes[position] = replace(node, statement=statement, scope=scope, visit=user.visit)


def _shape(live: LiveTensor | None) -> tuple[int, ...] | None:
    return None if live is None else tuple(live.captured.shape)


def _kind_text(kind: str) -> str:
    return "no grad" if kind == "frozen" else kind


def _label_of(drawn: DrawnNode, live: LiveTensor | None) -> str:
    """The name of the tensor; for a leaf its first name, as a loop may give it others later."""
    if live is not None:
        return live.first_name or live.name if drawn.kind == "leaf" else live.name
    return drawn.name if drawn.kind in ("saved", "leaf") else ""


# -- merging ------------------------------------------------------------------------------------


def merge(
    nodes: Sequence[Node], edges: Sequence[Edge], blocks: Mapping[str, Node]
) -> tuple[list[Node], list[Edge]]:
    """Draw one node in place of several: `blocks` has it by the id of each. Of several edges
    between the same two, one of a flow is kept; inside of a block none is."""
    drawn = (blocks.get(node.id, node) for node in nodes)
    merged = list({node.id: node for node in drawn}.values())
    joined: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        source, target = (
            blocks[end].id if end in blocks else end for end in (edge.source, edge.target)
        )
        known = joined.get((source, target))
        if source != target and (known is None or edge.kind == "flow"):
            joined[source, target] = Edge(source, target, edge.kind)
    return merged, list(joined.values())


# -- DOT ----------------------------------------------------------------------------------------


def dot_text(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    tensors: Mapping[int, TensorRecord],
    *,
    hide: Collection[str] = (),
    hooks: Mapping[int, str] | None = None,
    heads: Mapping[str, tuple[str, str]] | None = None,
    factors: Mapping[tuple[str, str], str] | None = None,
    norms: Mapping[str, str] | None = None,
    frames: Mapping[str, tuple[str, Sequence[str]]] | None = None,
) -> str:
    """The graph as graphviz source. `hide` lists kinds to leave out, such as "saved"; `hooks` says
    what hooks did to tensors, by their ids.

    `heads` are the first lines of nodes by their ids: a tensor's name, and what else is said;
    `factors` what stands on edges, by the ids of their source and target. `norms` is what else
    stands in a block; `frames` are drawn around nodes: by their ids a label, and the ids of nodes
    and frames inside.
    """
    shown = {node.id for node in nodes if node.kind not in hide}
    outputs = _outputs(nodes)
    numbers = node_numbers(nodes, tensors, hooks or {})
    numbers |= {node: {"norm": [text]} for node, text in (norms or {}).items()}
    lines = [
        "digraph {",
        '  graph [bgcolor="transparent" ranksep="0.2" nodesep="0.25"]',
        '  node [shape="box" style="filled,rounded" fontname="monospace" fontsize="10"'
        f' fontcolor="{TEXT}" color="{LINE}" margin="0.08,0.025" height="0.2"]',
        f'  edge [color="{LINE}" arrowsize="0.7"]',
    ]
    if factors:
        lines.append(f'  edge [fontname="monospace" fontsize="12" fontcolor="{TEXT}"]')
    for node in nodes:
        if node.id in shown:
            is_repeated = node.kind == "function" and node.tensor in outputs
            record = None if node.tensor is None or is_repeated else tensors.get(node.tensor)
            style = ' style="filled,rounded,dashed"' if node.kind == "frozen" else ""
            label = "" if is_repeated else node.label
            kind = "nonleaf" if node.kind == "function" and label else node.kind
            kind_and_shape = f"{node.name} {shape_text(node.shape)}".strip()
            head = (heads or {}).get(node.id) or (label, kind_and_shape)
            text = _html_label(head, record, numbers.get(node.id, {}))
            lines.append(
                f'  {node.id} [id="{node.id}" class="{kind}" fillcolor="{FILLS[node.kind]}"'
                f"{style} label=<{text}>]"
            )
    lines += _frames(frames or {}, shown)
    for edge in edges:
        if edge.source in shown and edge.target in shown and edge.kind not in hide:
            style = "" if edge.kind == "flow" else ' style="dashed" arrowhead="none"'
            factor = (factors or {}).get((edge.source, edge.target)) if not style else None
            text = f" label=< {_escape(factor)}>" if factor else ""
            lines.append(
                f'  {edge.source} -> {edge.target} [id="{edge.source}-{edge.target}"{style}{text}]'
            )
    return "\n".join([*lines, "}"]) + "\n"


def _frames(
    frames: Mapping[str, tuple[str, Sequence[str]]], shown: Collection[str]
) -> Iterator[str]:
    """A cluster for each frame, inside those around it."""

    def draw(name: str) -> Iterator[str]:
        label, parts = frames[name]
        yield (
            f'  subgraph cluster_{name} {{ id="{name}" class="frame" style="rounded" labeljust="l"'
            f' label=<<B>{_escape(label)}</B>> color="{LINE}" fontname="monospace" fontsize="10"'
        )
        for part in parts:
            if part in frames:
                yield from draw(part)
            elif part in shown:
                yield f"  {part}"
        yield "  }"

    inside = {part for _, parts in frames.values() for part in parts}
    for name in frames:
        if name not in inside:
            yield from draw(name)


def _outputs(nodes: Sequence[Node]) -> set[int | None]:
    """The tensors with a node of their own beside the function that computed them: there their
    name and numbers are shown, and not twice."""
    return {node.tensor for node in nodes if node.kind == "output"}


def node_numbers(
    nodes: Sequence[Node], tensors: Mapping[int, TensorRecord], hooks: Mapping[int, str]
) -> dict[str, dict[str, list[str]]]:
    """By a node's id, the lines of its label with numbers: its "value" and, where it has them, its
    "grad", what "hook" did to it, and a "note"."""
    outputs, numbers = _outputs(nodes), {}
    for node in nodes:
        is_repeated = node.kind == "function" and node.tensor in outputs
        record = None if node.tensor is None or is_repeated else tensors.get(node.tensor)
        if record is not None and node.kind not in ("accumulate", "saved", "base"):
            lines = {"value": array_lines(record.value, MAX_LINE)}
            if record.grad is not None:
                lines["grad"] = _with_reader(array_lines(record.grad, MAX_LINE), record)
            if hook := hooks.get(record.id):
                lines["hook"] = [hook]
            if record.note:
                lines["note"] = [record.note]
            numbers[node.id] = lines
    return numbers


def _with_reader(lines: list[str], record: TensorRecord) -> list[str]:
    """The lines of a gradient, which say if it is not in `.grad`: shortly behind a single number,
    which would widen its box, otherwise below. A drag, which changes numbers, moves neither."""
    if not record.grad_note:
        return lines
    is_number = math.prod(record.shape) == 1
    return [f"{lines[0]} (hook)"] if is_number else [*lines, record.grad_note]


def _html_label(
    head: tuple[str, str],
    record: TensorRecord | None,
    numbers: Mapping[str, Sequence[str]],
) -> str:
    label, more = head
    grey = f'<FONT COLOR="{FAINT}">{{}}</FONT>'
    bold = "{}" if record is not None and not record.named else "<B>{}</B>"
    name = bold.format(_escape(label)) + " " if label else ""
    rows = [name + grey.format(_escape(more))]
    rows += [_escape(line) for line in numbers.get("value", ())]
    rows += [
        f'<FONT COLOR="{GRADIENT}">{"grad " if i == 0 else "     "}{_escape(line)}</FONT>'
        for i, line in enumerate(numbers.get("grad", ()))
    ]
    rows += [f'<FONT COLOR="{GRADIENT}">{text}</FONT>' for text in numbers.get("norm", ())]
    rows += [f'<FONT COLOR="{HOOK}">{_escape(line)}</FONT>' for line in numbers.get("hook", ())]
    rows += [grey.format(_escape(line)) for line in numbers.get("note", ())]
    cells = "".join(f'<TR><TD ALIGN="LEFT">{row}</TD></TR>' for row in rows)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{cells}</TABLE>'


def _escape(text: str) -> str:
    """The text for an HTML label: shortened, escaped, and without control characters."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    words = clean.rstrip()
    room = clean[len(words) :]  # as wide as another label
    return escape(shortened(words, MAX_NAME - 1), quote=True) + room or " "
