"""A report as a tree, as torchinfo (https://github.com/TylerYep/torchinfo) prints it: every call
of a module inside the call that made it, in the order of execution, with the sums of what is
inside. Neighbours that are equal become one line."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from explorer.networks.records import LayerRecord, ModuleCall, ParameterRecord, Report, Shapes


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A line: one call of a module, or `count` equal ones, which are its children.

    `name` is the module's own ("layer1.0.conv1"; "" for the model itself). `path` is what a list
    shows ("relu #2" is a second call), `label` the part of it that its parent lacks. `row` is what
    the module does itself; None for a block that only calls others. `params`, `shared`, `macs` and
    `memory` are the sums over itself and its children. `own_norm` is the norm of the gradients of
    its own parameters, `grad_norm` that of all parameters inside: the square root of the sum of
    squares. None means that nothing was counted. `kind` is the same for nodes with the same types,
    sizes and outputs throughout.
    """

    name: str
    path: str
    label: str
    type: str
    row: LayerRecord | None
    children: tuple[TreeNode, ...]
    output_shape: Shapes | None
    params: int
    shared: int
    macs: int | None
    memory: int
    own_norm: float | None
    grad_norm: float | None
    kind: int
    count: int = 1


def make_tree(report: Report) -> TreeNode:
    """The tree of a report; its root is the model itself."""
    calls = report.structure.calls if report.structure else ()
    calls = calls or (ModuleCall("", 0, report.model, None, None, None),)
    norms = own_norms(report)
    rows = {(row.name, row.call): row for row in report.layers}
    repeated = {call.name for call in calls if call.call}
    first_calls: dict[str, int] = {}
    for position, call in enumerate(calls):
        first_calls.setdefault(call.name, position)
    inside: dict[int, list[TreeNode]] = defaultdict(list)  # by position, the last first
    for row in reversed(report.layers):
        if row.call is None:
            parent = _closest(row.name, first_calls)
            uncalled = ModuleCall(row.name, 0, row.type, parent, None, None)
            paths = row.name, _label(row.name, calls[parent].name)
            inside[parent].append(_node(uncalled, paths, row, (), norms))
    for position in range(len(calls) - 1, 0, -1):  # children come after their parents
        call = calls[position]
        number = f" #{call.call + 1}" if call.name in repeated else ""
        paths = call.name + number, _label(call.name, calls[call.parent or 0].name) + number
        children = _fold_runs(inside.pop(position, ()))
        row_of_call = rows.get((call.name, call.call))
        inside[call.parent or 0].append(_node(call, paths, row_of_call, children, norms))
    model = calls[0]
    row_of_call = rows.get((model.name, model.call))
    return _node(model, ("(model)", "(model)"), row_of_call, _fold_runs(inside[0]), norms)


def _node(
    call: ModuleCall,
    paths: tuple[str, str],
    row: LayerRecord | None,
    children: tuple[TreeNode, ...],
    norms: Mapping[str, float],
    count: int = 1,
) -> TreeNode:
    own = norms.get(call.name) if row and not row.call else None  # they count once
    parts = [part for part in (row, *children) if part]
    macs = [part.macs for part in parts if part.macs is not None]
    known = [n for n in (own, *(child.grad_norm for child in children)) if n is not None]
    params, shared = sum(part.params for part in parts), sum(part.shared for part in parts)
    total = sum(macs) if macs else None
    alike = (call.type, params + shared, total, call.output_shape, *(c.kind for c in children))
    return TreeNode(
        name=call.name,
        path=paths[0],
        label=paths[1],
        type=call.type,
        row=row,
        children=children,
        output_shape=call.output_shape,
        params=params,
        shared=shared,
        macs=total,
        memory=sum(part.memory for part in parts),
        own_norm=own,
        grad_norm=_norm(known) if known else None,
        kind=hash(alike),
        count=count,
    )


def _label(name: str, parent: str) -> str:
    """A module called by another than its parent keeps its whole name."""
    return name.removeprefix(f"{parent}.") if parent else name


def _closest(name: str, first_calls: Mapping[str, int]) -> int:
    """The first call of the innermost module around one that was never called."""
    while name not in first_calls and name:
        name = name.rpartition(".")[0]
    return first_calls.get(name, 0)


def _fold_runs(backwards: Iterable[TreeNode]) -> tuple[TreeNode, ...]:
    """Equal blocks in a row become one line, and so do calls of one layer."""
    folded: list[TreeNode] = []
    for _, group in groupby(list(backwards)[::-1], key=attrgetter("kind")):
        run = tuple(group)
        first, last = run[0], run[-1]
        if len(run) == 1 or not (first.children or first.name == last.name):
            folded += run
            continue
        paths = _span(first.path, last.path), _span(first.label, last.label)
        call = ModuleCall(first.name, 0, first.type, None, None, last.output_shape)
        folded.append(_node(call, paths, None, run, {}, len(run)))
    return tuple(folded)


def _span(first: str, last: str) -> str:
    """From the first name to the last, of which only the end is said if the rest is the same."""
    for separator in (" ", "."):
        start, _, end = last.rpartition(separator)
        if start == first.rpartition(separator)[0] and start:
            return f"{first}…{end}"
    return f"{first}…{last}"


def own_norms(report: Report) -> dict[str, float]:
    """The norm of the gradients of each layer's own parameters, by the layer's name."""
    norms: dict[str, list[float]] = defaultdict(list)
    for parameter in report.parameters:
        if parameter.grad_norm is not None:
            norms[parameter.layer].append(parameter.grad_norm)
    return {layer: _norm(own) for layer, own in norms.items()}


def _norm(norms: list[float]) -> float:
    """The norm of all together; NaN if one is, where `math.hypot` would let infinity hide it."""
    return math.nan if any(map(math.isnan, norms)) else math.hypot(*norms)


def extreme_gradients(report: Report) -> tuple[ParameterRecord, ParameterRecord] | None:
    """The parameters with the smallest and the largest finite norm of a gradient, the first of
    equals; None if there is none."""
    known = {
        parameter: parameter.grad_norm
        for parameter in report.parameters
        if parameter.grad_norm is not None and math.isfinite(parameter.grad_norm)
    }
    return (min(known, key=known.__getitem__), max(known, key=known.__getitem__)) if known else None


def walk(root: TreeNode) -> Iterator[tuple[int, TreeNode]]:
    """Every node from the top, with its depth."""
    pending = [(0, root)]
    while pending:
        depth, node = pending.pop()
        yield depth, node
        pending += [(depth + 1, child) for child in reversed(node.children)]
