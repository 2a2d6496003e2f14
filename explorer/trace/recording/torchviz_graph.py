"""Parses torchviz's graph into nodes and edges with ids that are the same in every run.

torchviz (https://github.com/szagoruyko/pytorchviz) identifies nodes by their memory address and
labels only leaves and outputs. Its DOT is parsed here, and the nodes are numbered in topological
order from the root.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch

from explorer.trace.recording.objects import shape_of

_NODE = re.compile(r"^\t(\d+) \[label=(.*?)(?: fillcolor=(\w+))?\]\n?$", re.DOTALL)
_EDGE = re.compile(r"^\t(\d+) -> (\d+)(?: \[(dir=none|style=dotted)\])?")
_EDGE_KINDS = {"dir=none": "saved", "style=dotted": "base", None: "flow"}
_KINDS = {
    "lightblue": "leaf",
    "orange": "saved",
    "darkolivegreen1": "output",
    "darkolivegreen3": "base",
}
#: If torchviz draws one id twice, the kind later in this list wins (a leaf may also be saved).
_RANK = ("base", "saved", "output", "leaf", "accumulate", "function")
_LOCK = threading.Lock()
_ACCUMULATE: Any = torch._C._functions.AccumulateGrad  # type: ignore[attr-defined]


@dataclass(frozen=True)
class DrawnNode:
    """One node as torchviz drew it.

    `name` is the first line of its label, `shape` the second. `function` is the index of its
    autograd node in the list of `walk_graph`; None for a tensor.
    """

    kind: str
    name: str
    shape: tuple[int, ...] | None = None
    function: int | None = None


def leaf_of(node: Any) -> torch.Tensor | None:
    """The leaf an AccumulateGrad node belongs to; None for any other node.

    The node's class decides this: the context of a program's own Function is a node too, and may
    have attributes of any name, such as `variable`.
    """
    return node.variable if isinstance(node, _ACCUMULATE) else None


def leaves_of(nodes: Iterable[Any]) -> list[torch.Tensor]:
    """The leaves whose `.grad` these nodes accumulate."""
    return [leaf for leaf in map(leaf_of, nodes) if leaf is not None]


def nodes_behind(tensor: torch.Tensor) -> list[Any]:
    """The nodes behind a tensor; none if torch gives it none, as a view made under no_grad."""
    try:
        return walk_graph([tensor]) if tensor.requires_grad else []
    except (AssertionError, RuntimeError):
        return []


def walk_graph(roots: Sequence[torch.Tensor]) -> list[Any]:
    """Every autograd node behind `roots`, each once, in topological order from the roots.

    It is iterative and visits each node once, so neither 5,000 chained operations nor a graph
    with 2**60 paths is a problem.
    """
    starts = [torch.autograd.graph.get_gradient_edge(root).node for root in roots]
    pending: dict[Any, int] = {}
    stack = list(dict.fromkeys(starts))
    visited = set(stack)
    while stack:
        node = stack.pop()
        for source, _ in node.next_functions:
            if source is not None:
                pending[source] = pending.get(source, 0) + 1
                if source not in visited:
                    visited.add(source)
                    stack.append(source)
    ready = [node for node in dict.fromkeys(starts) if not pending.get(node)]
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for source, _ in node.next_functions:
            if source is not None:
                pending[source] -= 1
                if not pending[source]:
                    ready.append(source)
    return order


def signature(
    roots: Sequence[torch.Tensor], names: dict[str, torch.Tensor], functions: Sequence[Any]
) -> tuple[Any, ...] | None:
    """What decides how torchviz draws a graph: two graphs with the same signature have the same
    drawing. The arguments are those of `draw_graph`. None if a saved tensor cannot be read."""
    position = {node: i for i, node in enumerate(functions)}
    name_of = {id(tensor): name for name, tensor in names.items()}
    held: list[Any] = []  # while they live, no two tensors have the same id
    numbers: dict[int, int] = {}

    def describe(tensor: torch.Tensor) -> tuple[Any, ...]:
        held.append(tensor)
        return numbers.setdefault(id(tensor), len(numbers)), tensor.shape

    def parts(node: Any) -> Iterator[Any]:
        yield type(node)
        yield from ((s if s is None else position[s], slot) for s, slot in node.next_functions)
        for attribute, name in saved_names(type(node)):
            value = getattr(node, attribute)
            for tensor in value if isinstance(value, tuple) else (value,):
                yield (name, *describe(tensor)) if isinstance(tensor, torch.Tensor) else None
        for leaf in (node.variable,) if hasattr(node, "variable") else ():
            yield name_of.get(id(leaf)), describe(leaf)
        yield from map(describe, getattr(node, "saved_tensors", ()))

    try:
        nodes = tuple(tuple(parts(node)) for node in functions)
        ends = tuple(
            (name_of.get(id(t)), *describe(t), t._base is not None and describe(t._base))
            for t in roots
        )
    except (RuntimeError, AttributeError, TypeError):
        return None
    return nodes, ends


def saved_names(kind: type) -> list[tuple[str, str]]:
    """What a class of nodes may have saved: the attribute, and autograd's name for it."""
    prefix = "_saved_"
    if kind not in _SAVED_NAMES:
        names = [name for name in dir(kind) if name.startswith(prefix)]
        _SAVED_NAMES[kind] = [(name, name.removeprefix(prefix)) for name in names]
    return _SAVED_NAMES[kind]


#: By the class of a node; weakly, so that classes of a program are not kept alive.
_SAVED_NAMES: WeakKeyDictionary[type, list[tuple[str, str]]] = WeakKeyDictionary()


#: What torchviz raises where it reads what is freed, or the sizes of a nested tensor.
_UNDRAWN = RuntimeError, AttributeError


def draw_graph(
    roots: Sequence[torch.Tensor], names: dict[str, torch.Tensor], functions: Sequence[Any]
) -> tuple[list[DrawnNode], list[tuple[int, int, str]]]:
    """Let torchviz draw the graph behind `roots`, and parse its DOT.

    `functions` is the result of `walk_graph(roots)`. Returns the nodes (functions first, in that
    order, then the others in torchviz's order) and the edges (the indices of two nodes and a kind
    of `explorer.trace.Edge`). Saved tensors are included, unless one of them was changed in place:
    then torch refuses to return it.
    """
    with _deep_recursion(len(functions)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchviz's own; a program may have made them errors
        import torchviz  # brings graphviz and setuptools, which a run without a graph does not need

        try:
            dot = torchviz.make_dot(tuple(roots), params=names, show_saved=True)
        except _UNDRAWN:
            try:
                dot = torchviz.make_dot(tuple(roots), params=names)
            except _UNDRAWN:  # it reads what a Function has saved, which backward has freed
                return _without_saved(roots, names, functions)
    index = {str(id(node)): i for i, node in enumerate(functions)}
    drawn: dict[str, DrawnNode] = {}
    edges: list[tuple[str, str, str]] = []
    for entry in dot.body:
        if edge := _EDGE.match(entry):
            source, target, style = edge.groups()
            kind = _EDGE_KINDS[style]
            # torchviz draws most saved tensors below the function that saved them: reverse these.
            is_reversed = kind == "saved" and source in index
            edges.append((target, source, kind) if is_reversed else (source, target, kind))
        elif node := _NODE.match(entry):
            key, label, colour = node.groups()
            new = _parse_label(label, colour, index.get(key))
            old = drawn.get(key)
            if old is None or _RANK.index(new.kind) > _RANK.index(old.kind):
                drawn[key] = new
    keys = [*index, *(key for key in drawn if key not in index)]
    position = {key: i for i, key in enumerate(keys)}
    unique_edges = dict.fromkeys((position[a], position[b], kind) for a, b, kind in edges)
    # A leaf that is itself the root is drawn without its AccumulateGrad.
    lone = {key: DrawnNode("accumulate", "AccumulateGrad", function=i) for key, i in index.items()}
    return [drawn.get(key) or lone[key] for key in keys], list(unique_edges)


def _without_saved(
    roots: Sequence[torch.Tensor], names: dict[str, torch.Tensor], functions: Sequence[Any]
) -> tuple[list[DrawnNode], list[tuple[int, int, str]]]:
    """The nodes and edges that torchviz draws, without saved tensors."""
    name_of = {id(tensor): name for name, tensor in names.items()}
    index = {id(node): i for i, node in enumerate(functions)}
    drawn: list[DrawnNode] = []
    tensors: list[DrawnNode] = []
    edges: list[tuple[int, int, str]] = []
    for i, node in enumerate(functions):
        leaf = leaf_of(node)
        kind = "function" if leaf is None else "accumulate"
        drawn.append(DrawnNode(kind, type(node).__name__, function=i))
        edges += [(index[id(n)], i, "flow") for n, _ in node.next_functions if n is not None]
        if leaf is not None:
            edges.append((len(functions) + len(tensors), i, "flow"))
            tensors.append(DrawnNode("leaf", name_of.get(id(leaf), ""), shape_of(leaf)))
    for root in roots:
        if root.grad_fn is not None:
            edges.append((index[id(root.grad_fn)], len(functions) + len(tensors), "flow"))
            tensors.append(DrawnNode("output", name_of.get(id(root), ""), shape_of(root)))
    return [*drawn, *tensors], list(dict.fromkeys(edges))


def _parse_label(label: str, colour: str | None, function: int | None) -> DrawnNode:
    text = label.strip('"')
    if function is not None:
        kind = "accumulate" if text == "AccumulateGrad" else "function"
        return DrawnNode(kind, text, function=function)
    name, _, size = text.partition("\n")
    numbers = [int(n) for n in re.findall(r"\d+", size)]
    return DrawnNode(_KINDS.get(colour or "", "saved"), name.strip(), tuple(numbers))


@contextmanager
def _deep_recursion(count: int) -> Iterator[None]:
    """Raise the recursion limit for torchviz, which recurses once per node, in pure Python."""
    with _LOCK:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, 4 * count + 1000))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)
