"""What enters a backward pass from the graph of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from explorer import limits
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.passes import RawPass, pass_before
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaf_of, leaves_of


@dataclass(frozen=True, eq=False)
class Entry:
    """A result of the earlier graph (`node`) that an operation outside of it used."""

    node: Any
    user: Any


@dataclass(frozen=True, eq=False)
class EarlierGraph:
    """The part of a pass's graph that an earlier pass has gone through, at the line `line`.

    It is entered through `entries`; there are none if the pass began inside of it.
    """

    analysis: RunAnalysis
    later: RawPass
    number: int
    line: int | None

    @cached_property
    def entries(self) -> list[Entry]:
        """One for each node of the earlier graph that a new node used."""
        entries: dict[int, Entry] = {}
        for user in self.later.functions:
            if not self.is_earlier(user):
                for node, _ in user.next_functions:
                    if node is not None and self.is_earlier(node):
                        entries.setdefault(id(node), Entry(node, user))
        return list(entries.values())

    def is_earlier(self, node: Any) -> bool:
        """Whether an earlier pass included a node; one that stores a leaf's gradient is in all."""
        return leaf_of(node) is None and pass_before(node, self.later.number) is not None

    def result(self, entry: Entry) -> LiveTensor | None:
        """The record of the tensor through which the graph is entered, if there still is one."""
        records = self.analysis.by_node.get(id(entry.node), [])
        users = self.analysis.by_node.get(id(entry.user), [])
        read = {id(source.tensor) for user in users for source in user.inputs}
        used = [record for record in records if id(record.tensor) in read]
        return next((r for r in (*used[::-1], *records) if r.named), next(iter(records), None))

    def names(self, node: Any) -> list[str]:
        """The names that the program has given to the result of a node, the latest first."""
        records = self.analysis.by_node.get(id(node), [])
        return list(dict.fromkeys(local_name(record) for record in reversed(records)))

    def names_around(self, entry: Entry) -> list[str]:
        """The names of the tensor of an entry and of what was computed from it, nearest first."""
        nodes = [entry.node, *users_of(self.later, entry.user)]
        return list(dict.fromkeys(name for node in nodes for name in self.names(node)))

    def read_line(self, entry: Entry) -> int | None:
        """The line of the operation that used the tensor."""
        lines = (user.metadata.get("line") for user in users_of(self.later, entry.user))
        return next((line for line in lines if isinstance(line, int)), None)

    def made_line(self, entry: Entry) -> int | None:
        """The line on which the program named the tensor, or computed it."""
        record = self.result(entry)
        if record is not None and record.named:
            return record.line
        line = entry.node.metadata.get("line")
        return line if isinstance(line, int) else None

    def leaves_behind(self) -> list[torch.Tensor]:
        """The leaves that the earlier part leads to."""
        nodes = [node for entry in self.entries for node in walk_nodes(entry.node)]
        return leaves_of(nodes if self.entries else self.later.functions)

    def is_same_iteration(self) -> bool:
        """Whether no pass has begun on the later pass's line since the earlier one."""
        lines = [
            line
            for number, line in self.analysis.recorder.pass_lines
            if self.number <= number < self.later.number
        ]
        return self.later.line not in lines


def earlier_graph(
    analysis: RunAnalysis, later: RawPass, node: Any | None = None
) -> EarlierGraph | None:
    """The earlier graph that a node of a pass belongs to; by default the latest there is."""
    nodes = later.functions if node is None else [node]
    known = [
        before
        for n in nodes
        if leaf_of(n) is None and (before := pass_before(n, later.number)) is not None
    ]
    if not known:
        return None
    number, line = max(known, key=lambda before: before[0])
    return EarlierGraph(analysis, later, number, line)


def users_of(raw: RawPass, node: Any) -> list[Any]:
    """A node of a pass, those that used its result, and so on, the nearest first."""
    parents: dict[int, list[Any]] = {}
    for user in raw.functions:
        for following, _ in user.next_functions:
            if following is not None:
                parents.setdefault(id(following), []).append(user)
    users, pending = {id(node): node}, [node]
    while pending and len(users) < limits.MOST_USERS:
        for user in parents.get(id(pending.pop(0)), ()):
            if id(user) not in users:
                users[id(user)] = user
                pending.append(user)
    return list(users.values())


def walk_nodes(node: Any) -> Iterator[Any]:
    """A node and everything behind it."""
    pending, visited = [node], {id(node)}
    while pending:
        node = pending.pop()
        yield node
        for following, _ in node.next_functions:
            if following is not None and id(following) not in visited:
                visited.add(id(following))
                pending.append(following)


def local_name(record: LiveTensor) -> str:
    """The name of a tensor as the program writes it, also of a variable of a function."""
    if not record.scope:
        return record.name
    return record.name.partition(".")[2].rpartition("_")[0] or record.name
