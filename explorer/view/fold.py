"""A large graph, folded into blocks that can be opened one by one.

A block is what the reader has written: a module, else a function, in it the iterations of a loop,
else a line. Blocks lie in each other. A node is drawn if all blocks around it are open, and is
otherwise hidden in the outermost closed one. All of this is plain data; what is open is a set of
ids, which are the same in every run of a program.
"""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from explorer import limits
from explorer.program.parsing import tree_of
from explorer.trace import Array, Edge, Node, Summary, TensorRecord, merge
from explorer.trace.text import digest

#: Neighbouring modules of equal structure are one block when there are at least this many.
_REPEATS = 4
#: An open block shows so many operations one by one; more are divided by loop and line.
_ONE_BY_ONE = 20
#: An open block shows so many blocks, and so many operations; more are divided by tens.
_MOST_BLOCKS, _MOST_OPERATIONS = 20, 100
#: So many tensors that belong to no module are drawn beside the blocks that use them.
_MOST_LOOSE = 20
#: Modules in each other that are blocks.
_DEEPEST = 12


@dataclass(frozen=True)
class Block:
    """Nodes that are drawn as one while the block is closed.

    `kind` is "module", "function", "line", "loop" (or the calls of a function), "iteration" (or
    call), "repeat" (of modules) or "part" (of very many). `label` says what it is, `around` are the
    blocks that it lies in, outermost first, `parts` the ids of the blocks and nodes directly in it
    in the order of the forward pass, and `nodes` those of all nodes in it. `operations` counts the
    functions among these, `norm` is that of its parameters' gradients together, if it has any.
    """

    id: str
    kind: str
    label: str
    line: int | None
    around: tuple[str, ...]
    parts: tuple[str, ...]
    nodes: tuple[str, ...]
    operations: int
    norm: float | None

    @property
    def size(self) -> str:
        """For the reader: how many operations it has."""
        return f"{self.operations:,} operation{'' if self.operations == 1 else 's'}"


@dataclass(frozen=True)
class Folds:
    """The blocks of a graph by their ids, an outer one before those in it, and the blocks around
    each node."""

    blocks: Mapping[str, Block]
    nodes: Mapping[str, tuple[str, ...]]

    def around(self, name: str) -> tuple[str, ...]:
        """The blocks that must be open for this node, or block, to be drawn; outermost first."""
        return self.blocks[name].around if name in self.blocks else self.nodes.get(name, ())

    def place(self, name: str, unfolded: Collection[str]) -> str:
        """The id of what is drawn for a node or block: itself, or the block that hides it."""
        return next((block for block in self.around(name) if block not in unfolded), name)

    def is_open(self, block: Block, unfolded: Collection[str]) -> bool:
        """Whether its parts are drawn."""
        return all(name in unfolded for name in (block.id, *block.around))

    @cached_property
    def _ways(self) -> Counter[tuple[str, ...]]:
        """How many nodes lie in the same blocks."""
        return Counter(self.nodes.values())

    def closed_blocks(self, unfolded: Collection[str]) -> dict[tuple[str, ...], str]:
        """By the blocks around nodes: the one that hides these."""
        firsts = {way: next((b for b in way if b not in unfolded), "") for way in self._ways}
        return {way: block for way, block in firsts.items() if block}

    def count(self, unfolded: Collection[str]) -> int:
        """How many nodes and blocks are drawn."""
        hidden = self.closed_blocks(unfolded)
        seen = sum(count for way, count in self._ways.items() if way not in hidden)
        return seen + len(set(hidden.values()))

    def opened(self, block: str, unfolded: frozenset[str]) -> frozenset[str]:
        """What is open once this block and all around it are; others are closed if too much would
        be drawn."""
        way = frozenset((*self.around(block), block))
        both = unfolded | way
        return both if self.count(both) <= limits.MAX_NODES else self.drawable(way)

    def drawable(self, unfolded: frozenset[str]) -> frozenset[str]:
        """Of what is open, as many of the outer levels as can be drawn."""
        while unfolded and self.count(unfolded) > limits.MAX_NODES:
            deepest = max(len(self.around(block)) for block in unfolded)
            unfolded = frozenset(b for b in unfolded if len(self.around(b)) < deepest)
        return unfolded

    def closed(self, block: str, unfolded: frozenset[str]) -> frozenset[str]:
        """What is open once this block and all in it are closed."""
        return frozenset(b for b in unfolded if b != block and block not in self.around(b))

    def opening(self) -> frozenset[str]:
        """What is open before the reader has opened anything: the modules and functions of as many
        levels as can be read at once, and a block that is alone in any case."""
        unfolded: frozenset[str] = frozenset()
        while True:
            drawn = {self.place(name, unfolded) for name in self.nodes}
            closed = [self.blocks[name] for name in drawn if name in self.blocks]
            more = unfolded.union(block.id for block in closed if self._is_outline(block))
            most = limits.MAX_NODES if len(closed) == 1 else limits.READABLE_NODES
            if more == unfolded or self.count(more) > most:
                return unfolded
            unfolded = more

    def _is_outline(self, block: Block) -> bool:
        """Whether it is a module or function of which opening it shows several parts."""
        parts = [self.blocks[part] for part in block.parts if part in self.blocks]
        several = sum(part.kind != "part" for part in parts) > 1
        return block.kind in ("module", "function") and several


NO_FOLDS = Folds({}, {})


def folds_of(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    records: Mapping[int, TensorRecord] | None = None,
    source: str = "",
    place: Callable[[int], str] = "line {}".format,
) -> Folds:
    """The blocks of a graph. The `records` of its tensors tell the gradients of parameters, the
    `source` of the program where its loops are, `place` what a line of it is called."""
    by_id = {node.id: node for node in nodes}
    users: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge.source in by_id and edge.target in by_id:
            users[edge.source].append(edge.target)
    paths = _paths_of_operations(nodes, _suites(source), place)
    _attach(nodes, users, paths)
    places = {node.id: -i for i, node in enumerate(nodes)}
    for node in nodes:  # what is no operation stands where it is used first
        if node.kind != "function" and users[node.id]:
            places[node.id] = min(places[user] for user in users[node.id])
    root = _Tree(_Step("", "", ""))
    for name, path in paths.items():
        tree = root
        for step in path:
            tree = tree.inner.setdefault(step.key, _Tree(step))
        tree.names.append(name)
    _simplify(root, _Graph(by_id, users, places))
    found = _Blocks(by_id, records or {})
    found.add_parts(root, ())
    ordered = sorted(found.blocks.values(), key=lambda block: len(block.around))
    return Folds({block.id: block for block in ordered}, found.nodes)


def fold(
    nodes: Sequence[Node], edges: Sequence[Edge], folds: Folds, unfolded: Collection[str]
) -> tuple[list[Node], list[Edge]]:
    """The graph with one node of kind "block" for each that is closed but in open ones."""
    drawn: dict[str, Node] = {}
    for name in set(folds.closed_blocks(unfolded).values()):
        block = folds.blocks[name]
        drawn |= dict.fromkeys(
            block.nodes, Node(name, "block", block.size, block.label, line=block.line)
        )
    return merge(nodes, edges, drawn)


# -- paths: the steps from the whole graph to a node -----------------------------------------------


@dataclass(frozen=True)
class _Step:
    """`key` tells it from its neighbours."""

    key: str
    kind: str
    label: str
    line: int | None = None


_Path = tuple[_Step, ...]


def _paths_of_operations(
    nodes: Sequence[Node], suites: Mapping[int, _Suite], place: Callable[[int], str]
) -> dict[str, _Path]:
    """The path of each function, and of each output, which lies in no block."""
    paths: dict[str, _Path] = {node.id: () for node in nodes if node.kind == "output"}
    groups: dict[_Path, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.kind == "function":
            groups[_path(node)].append(node)
    for path, members in groups.items():
        if len(members) <= _ONE_BY_ONE:
            paths |= {node.id: path for node in members}
        else:
            paths |= {node.id: (*path, *steps) for node, steps in _divided(members, suites, place)}
    return paths


def _path(node: Node) -> _Path:
    """The modules around an operation, or the function that it is in."""
    if not node.module:
        scope = node.scope
        return (_Step(f"function {scope}", "function", scope),) if scope else ()
    names = node.module.split(".")[:_DEEPEST]
    modules = (".".join(names[:depth]) for depth in range(1, len(names) + 1))
    return tuple(_Step(f"module {name}", "module", name) for name in modules)


def _divided(
    members: Sequence[Node], suites: Mapping[int, _Suite], place: Callable[[int], str]
) -> Iterator[tuple[Node, _Path]]:
    """The further steps to many operations of one function or module: where their lines ran several
    times the iteration, else the line; none where that divides nothing."""
    visits: dict[int, set[int]] = defaultdict(set)
    scopes = {node.statement: node.scope for node in members}
    for node in members:
        visits[node.statement].add(node.visit)
    runs: dict[tuple[_Suite, frozenset[int]], list[int]] = defaultdict(list)
    for line in sorted(visits):
        suite = suites.get(line, _Suite("", line, False))
        # Of other suites, lines belong to the same iterations if they have run equally often.
        runs[suite, frozenset(() if suite.runs_whole else visits[line])].append(line)
    steps: dict[tuple[int, int], _Path] = {}
    for (suite, _), lines in runs.items():
        times = sorted(set().union(*(visits[line] for line in lines)))
        count, is_loop = len(times), len(times) > 1 and 0 not in times
        whole, one = {
            "loop": (f"{count:,} iterations of the loop on {place(suite.line)}", "iteration"),
            "function": (f"{count:,} calls of {scopes[lines[0]]}", "call"),
        }.get(suite.owner, (f"{place(lines[0])} ×{count:,}", "run"))
        loop = _Step(f"loop {suite.owner} {suite.line} {lines[0]}", "loop", whole, lines[0])
        for line in lines:
            label = ", ".join(filter(None, (scopes[line], place(line) if line else "elsewhere")))
            for rank, visit in enumerate(times, start=1):
                if is_loop:
                    name = f"{one} {rank:,} of {count:,}"
                    steps[line, visit] = (loop, _Step(f"{rank:,}", "iteration", name, line))
                elif len(visits) > 1:
                    steps[line, visit] = (_Step(f"line {line}", "line", label, line or None),)
    for node in members:
        yield node, steps.get((node.statement, node.visit), ())


@dataclass(frozen=True)
class _Suite:
    """Statements that run one after the other: the body of a "loop", a "function", or of another
    statement on this line. `runs_whole` says that none of them can end it early."""

    owner: str
    line: int
    runs_whole: bool


_OWNERS = {"For": "loop", "While": "loop", "FunctionDef": "function"}


def _suites(source: str) -> dict[int, _Suite]:
    """By line, the innermost suite that the statement beginning there is directly in."""
    found: dict[int, _Suite] = {}
    pending: list[ast.AST] = [tree_of(source, limits.MAX_SOURCE) or ast.Module([], [])]
    while pending:
        statement = pending.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(statement, name, None)
            if not isinstance(inner, list) or isinstance(statement, ast.Lambda | ast.IfExp):
                continue
            kind = type(statement).__name__
            ends = any(isinstance(n, _ENDS) for part in inner[:-1] for n in ast.walk(part))
            owner = _OWNERS.get(kind, f"{kind} {name}")
            suite = _Suite(owner, getattr(statement, "lineno", 0), not ends)
            found |= {part.lineno: suite for part in inner if hasattr(part, "lineno")}
            pending += inner
    return found


#: What can end a suite before its last statement.
_ENDS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


def _attach(
    nodes: Sequence[Node], users: Mapping[str, Sequence[str]], paths: dict[str, _Path]
) -> None:
    """Add the paths of the nodes that are no operations: the parameters of a module belong to it,
    what operations save to these, and other tensors to none, if there are few."""
    modules = {step.label: path[: i + 1] for path in paths.values() for i, step in enumerate(path)}
    loose = []
    for node in nodes:  # users come before what they use
        if node.id in paths:
            continue
        inner = [paths[user] for user in users.get(node.id, ()) if user in paths]
        paths[node.id] = _common(inner)
        if node.kind in ("leaf", "frozen"):
            names = node.label.split(".")
            owners = (".".join(names[:end]) for end in range(len(names) - 1, 0, -1))
            owner = next((modules[name] for name in owners if name in modules), None)
            if owner is not None:
                paths[node.id] = owner
            elif "." not in node.label or node.kind == "frozen":
                loose.append(node.id)
    if len(loose) <= _MOST_LOOSE:
        paths |= dict.fromkeys(loose, ())
    kinds = {node.id: node.kind for node in nodes}
    for node in nodes:
        if node.kind == "leaf":
            for user in users.get(node.id, ()):
                if kinds[user] == "accumulate":
                    paths[user] = paths[node.id]


def _common(paths: Sequence[_Path]) -> _Path:
    """The steps that all these paths begin with."""
    if not paths:
        return ()
    shortest = min(paths, key=len)
    same = (all(p[i].key == step.key for p in paths) for i, step in enumerate(shortest))
    return shortest[: next((i for i, is_same in enumerate(same) if not is_same), len(shortest))]


# -- blocks ----------------------------------------------------------------------------------------


@dataclass
class _Tree:
    """What may become a block. `order` is its place in the forward pass; `parts` are made of the
    `names` of nodes and the trees `inner`."""

    step: _Step
    inner: dict[str, _Tree] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    order: int = 0
    parts: list[_Tree | str] = field(default_factory=list)

    def members(self) -> list[str]:
        """The ids of all nodes in it."""
        found, pending = [], [self]
        while pending:
            tree = pending.pop()
            found += tree.names
            pending += tree.inner.values()
        return found

    def all_names(self) -> list[str]:
        found, pending = [], list(self.parts)
        while pending:
            part = pending.pop()
            if isinstance(part, str):
                found.append(part)
            else:
                pending += part.parts
        return found


#: A block, or the id of a node.
_Part = _Tree | str


@dataclass(frozen=True)
class _Graph:
    """The nodes and their users by their ids, and the places of the nodes in the forward pass."""

    nodes: Mapping[str, Node]
    users: Mapping[str, Sequence[str]]
    places: Mapping[str, int]


def _simplify(tree: _Tree, graph: _Graph) -> None:
    """Order the parts of a tree; a part that has only one is that, but for a module of one
    operation, equal modules are repeats, and very many are divided."""
    while scattered := _scattered(tree, graph):
        for key in scattered:
            tree.inner |= tree.inner.pop(key).inner
    parts: list[tuple[int, _Part]] = [(graph.places[name], name) for name in tree.names]
    runs: dict[str, _Step] = {}
    for inner in tree.inner.values():
        _simplify(inner, graph)
        part = inner.parts[0] if len(inner.parts) == 1 else inner
        if inner.step.kind == "iteration":
            runs[_key(part)] = inner.step
        is_layer = inner.step.kind == "module" and isinstance(part, str)
        parts.append((inner.order, inner if is_layer else part))
    parts.sort(key=lambda part: part[0])
    tree.order = parts[0][0] if parts else 0
    tree.parts = _by_tens(_repeats([part for _, part in parts], graph.nodes), runs)
    if tree.step.kind == "module" and len(tree.parts) == 1 and isinstance(tree.parts[0], _Tree):
        only = tree.parts[0]
        if only.step.kind == "repeat":
            tree.step = replace(only.step, key=tree.step.key)
        if only.step.kind in ("module", "repeat"):
            tree.parts = only.parts


def _scattered(tree: _Tree, graph: _Graph) -> list[str]:
    """Of the parts of a tree the modules that only contain others, between which something else
    runs: a list of layers with shortcuts around them. As one block, its arrows would go in
    circles."""
    lists = [
        key
        for key, part in tree.inner.items()
        if part.step.kind == "module" and part.inner and not part.names
    ]
    if not lists:
        return []
    places = {name: key for key, part in tree.inner.items() for name in part.members()}
    places |= {name: name for name in tree.names}
    ways: dict[str, set[str]] = {place: set() for place in places.values()}
    for name, place in places.items():
        ways[place] |= {places[user] for user in graph.users.get(name, ()) if user in places}
    circular = _circular(ways)
    return [key for key in lists if key in circular]


def _circular(ways: Mapping[str, Collection[str]]) -> set[str]:
    """The places from which a way leads through others back to themselves: those of strongly
    connected components with several (https://en.wikipedia.org/wiki/Kosaraju%27s_algorithm)."""
    back: dict[str, list[str]] = {place: [] for place in ways}
    for place, targets in ways.items():
        for target in targets:
            back[target].append(place)
    seen: set[str] = set()
    order = [place for start in ways for place in _walk(start, ways, seen)]
    seen = set()
    components = (list(_walk(start, back, seen)) for start in reversed(order))
    return {place for component in components if len(component) > 1 for place in component}


def _walk(start: str, ways: Mapping[str, Collection[str]], seen: set[str]) -> Iterator[str]:
    """What can be reached and has not been seen, each after all that can be reached from it."""
    pending = [(start, False)]
    while pending:
        place, is_left = pending.pop()
        if is_left:
            yield place
        elif place not in seen:
            seen.add(place)
            pending.append((place, True))
            pending += ((target, False) for target in ways[place])


def _repeats(parts: list[_Part], by_id: Mapping[str, Node]) -> list[_Part]:
    """The parts, with each run of equal modules that have parts of their own as one."""

    def shape(part: _Part) -> object:
        if isinstance(part, str) or all(isinstance(inner, str) for inner in part.parts):
            return None
        nodes = (by_id[name] for name in part.all_names())
        kinds = Counter((n.kind, n.name) for n in nodes if n.kind in ("function", "leaf"))
        return frozenset(kinds.items()) if part.step.kind == "module" else None

    found: list[_Part] = []
    for same, group in groupby(parts, key=shape):
        run = list(group)
        if same is None or len(run) < _REPEATS:
            found += run
        else:
            first, last = _key(run[0]), _key(run[-1])
            label = f"{_label(run[0])} … {last.rpartition('.')[2]} ×{len(run)}"
            found.append(
                _Tree(_Step(f"{first} … {last}", "repeat", label), parts=_by_tens(run, {}))
            )
    return found


def _by_tens(parts: list[_Part], runs: Mapping[str, _Step], before: int = 0) -> list[_Part]:
    """The parts; if they are too many, in blocks of ten, of a hundred, and so on. `runs` are the
    iterations by the keys of their parts, `before` is how many parts precede these."""
    trees, size = sum(isinstance(part, _Tree) for part in parts), 1
    while trees > _MOST_BLOCKS * size or len(parts) > _MOST_OPERATIONS * size:
        size *= 10
    if size == 1:
        return parts
    found: list[_Part] = []
    for start in range(0, len(parts), size):
        some = parts[start : start + size]
        word, numbers = "operation", [before + start + 1, before + start + len(some)]
        if all(_key(part) in runs for part in some):
            steps = [runs[_key(part)] for part in some]
            word = steps[0].label.split()[0]
            numbers = [int(step.key.replace(",", "")) for step in steps]
        label = f"{word}s {min(numbers):,} to {max(numbers):,}"
        step = _Step(f"{_key(some[0])} to {_key(some[-1])}", "part", label)
        found.append(_Tree(step, parts=_by_tens(some, runs, before + start)))
    return found


def _key(part: _Part) -> str:
    return part if isinstance(part, str) else part.step.key


def _label(part: _Part) -> str:
    return part if isinstance(part, str) else part.step.label


class _Blocks:
    """The blocks of a tree, and by a node's id those around it."""

    def __init__(self, by_id: Mapping[str, Node], records: Mapping[int, TensorRecord]) -> None:
        self.blocks: dict[str, Block] = {}
        self.nodes: dict[str, tuple[str, ...]] = {}
        self._by_id, self._records = by_id, records

    def add_parts(self, tree: _Tree, around: tuple[str, ...]) -> tuple[str, ...]:
        """Make blocks of the parts of a tree; returns their ids and those of its nodes."""
        ids = []
        for part in tree.parts:
            if isinstance(part, str):
                self.nodes[part] = around
                ids.append(part)
            else:
                # A letter first: the ids of nodes, too, are words in DOT.
                name = f"b{digest(f'{around[-1:]} {part.step.key}')}"
                ids.append(name)
                inner = self.add_parts(part, (*around, name))
                self.blocks[name] = self._block(name, part, around, inner)
        return tuple(ids)

    def _block(
        self, name: str, tree: _Tree, around: tuple[str, ...], parts: tuple[str, ...]
    ) -> Block:
        nodes = [self._by_id[one] for one in tree.all_names()]
        leaves = {node.tensor for node in nodes if node.kind == "leaf" and node.tensor is not None}
        grads = (self._records[leaf].grad for leaf in leaves if leaf in self._records)
        norms = [_norm(grad) for grad in grads if grad is not None]
        return Block(
            id=name,
            kind=tree.step.kind,
            label=tree.step.label,
            line=tree.step.line,
            around=around,
            parts=parts,
            nodes=tuple(node.id for node in nodes),
            operations=sum(node.kind == "function" for node in nodes),
            norm=math.hypot(*norms) if norms else None,
        )


def _norm(array: Array) -> float:
    """The Euclidean norm; NaN for a summary that leaves out what is not finite."""
    if isinstance(array, Summary):
        return math.nan if array.nonfinite else array.norm
    return float(np.linalg.norm(array.ravel()))
