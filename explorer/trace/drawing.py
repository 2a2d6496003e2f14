"""The DOT text of a pass: the reader's names, values and gradients in torchviz's graph.

Labels are made from what strangers type: everything is escaped for graphviz's HTML labels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape

from explorer.trace.colours import FILLS, GRADIENT, LINE, REMARK, TEXT
from explorer.trace.records import Edge, Node, TensorRecord
from explorer.trace.text import array_lines, shape_text

MAX_NAME = 40


def dot_text(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    tensors: Mapping[int, TensorRecord],
    *,
    hide: Collection[str] = (),
) -> str:
    """Graphviz source for a pass. `hide` names kinds to leave out, such as "saved"."""
    kept = {node.id for node in nodes if node.kind not in hide}
    # An output is drawn beside the function that made it; its numbers stand there once.
    outputs = {node.tensor for node in nodes if node.kind == "output"}
    lines = [
        "digraph {",
        '  graph [bgcolor="transparent" ranksep="0.3" nodesep="0.25"]',
        '  node [shape="box" style="filled,rounded" fontname="monospace" fontsize="10"'
        f' fontcolor="{TEXT}" color="{LINE}" margin="0.08,0.05" height="0.2"]',
        f'  edge [color="{LINE}" arrowsize="0.7"]',
    ]
    for node in nodes:
        if node.id in kept:
            twice = node.kind == "function" and node.tensor in outputs
            record = None if node.tensor is None or twice else tensors.get(node.tensor)
            style = ' style="filled,rounded,dashed"' if node.kind == "frozen" else ""
            label = "" if twice else node.label
            kind = "nonleaf" if node.kind == "function" and label else node.kind
            lines.append(
                f'  {node.id} [id="{node.id}" class="{kind}" fillcolor="{FILLS[node.kind]}"'
                f"{style} label=<{_label(node, label, record)}>]"
            )
    for edge in edges:
        if edge.source in kept and edge.target in kept and edge.kind not in hide:
            extra = "" if edge.kind == "flow" else ' style="dashed" arrowhead="none"'
            lines.append(
                f'  {edge.source} -> {edge.target} [id="{edge.source}-{edge.target}"{extra}]'
            )
    return "\n".join([*lines, "}"]) + "\n"


def _label(node: Node, label: str, record: TensorRecord | None) -> str:
    grey = f'<FONT COLOR="{REMARK}">{{}}</FONT>'
    bold = "{}" if record is not None and not record.named else "<B>{}</B>"
    head = bold.format(_text(label)) + " " if label else ""
    shape = shape_text(node.shape)
    rows = [head + grey.format(_text(f"{node.name} {shape}".strip()))]
    if record is not None and node.kind not in ("accumulate", "saved", "base"):
        rows += [_text(line) for line in array_lines(record.value)]
        if record.grad is not None:
            lines = array_lines(record.grad)
            rows += [
                f'<FONT COLOR="{GRADIENT}">{"grad " if i == 0 else "     "}{_text(line)}</FONT>'
                for i, line in enumerate(lines)
            ]
    cells = "".join(f'<TR><TD ALIGN="LEFT">{row}</TD></TR>' for row in rows)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{cells}</TABLE>'


def _text(text: str) -> str:
    """Escaped for an HTML label, shortened, without control characters."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    short = clean if len(clean) <= MAX_NAME else clean[: MAX_NAME - 1] + "…"
    return escape(short, quote=True) or " "
