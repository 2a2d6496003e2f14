"""The steps of a pass that lie on the way from the root to one leaf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from explorer.trace.capture import Kept
from explorer.trace.passes import RawPass, RawStep
from explorer.trace.torchviz_graph import leaf_of


@dataclass(frozen=True, eq=False)
class Path:
    """All steps from which the leaf can be reached, in the order they ran.

    `line` is one way through them, from the root to the leaf; `arrived` the gradient at its end.
    """

    leaf: torch.Tensor
    nodes: frozenset[Any]
    steps: list[RawStep]
    line: list[RawStep]
    arrived: Kept | None


def paths_to_leaves(raw: RawPass) -> Iterator[Path]:
    """The Path of every leaf of a pass. The work is leaves times edges: meant for small graphs."""
    users: dict[Any, list[Any]] = {}
    for node in raw.functions:
        for source, _ in node.next_functions:
            if source is not None:
                users.setdefault(source, []).append(node)
    by_node = {raw.functions[step.function]: step for step in raw.steps}
    for node in [n for n in raw.functions if leaf_of(n) is not None][:MOST_LEAVES]:
        above = {node}
        waiting = [node]
        while waiting:
            for user in users.get(waiting.pop(), ()):
                if user not in above:
                    above.add(user)
                    waiting.append(user)
        chain = [node]
        while users.get(chain[-1]):
            chain.append(users[chain[-1]][0])
        last = by_node.get(node)
        yield Path(
            leaf=node.variable,
            nodes=frozenset(above),
            steps=[s for s in raw.steps if raw.functions[s.function] in above],
            line=[by_node[n] for n in reversed(chain) if n in by_node],
            arrived=last.grads_in[0] if last is not None and last.grads_in else None,
        )


#: Leaves of one pass that are looked at.
MOST_LEAVES = 40
