"""Leaves that got a gradient and no step, and how a sentence names them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.bindings import Binding
from explorer.trace.recording.events import OptimizerUse
from explorer.trace.records import Answer
from explorer.trace.text import join_names


@dataclass(frozen=True, eq=False)
class Missing:
    """A leaf with a gradient that no optimizer holds, its name, and the optimizer that might."""

    leaf: torch.Tensor
    name: str
    use: OptimizerUse


#: Leaves, and the answer that explains them.
Explained = tuple[list[Missing], Answer]
#: A cause: which of these leaves it explains, as answers that are true of this run.
Cause = Callable[[list[Missing], RunAnalysis], Iterator[Explained]]


def owners(leaf: torch.Tensor, analysis: RunAnalysis) -> Iterator[Binding]:
    """The names of a leaf, of the module it is in, of that one's module, and so on."""
    waiting, known = [leaf], set()
    while waiting:
        value = waiting.pop(0)
        if id(value) not in known:
            known.add(id(value))
            for binding in analysis.bindings.names_of(value):
                yield binding
                if binding.owner is not None:
                    waiting.append(binding.owner)


def names(found: list[Missing]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(m.name for m in found))


def title(found: list[Missing]) -> str:
    leaves = names(found)
    return f"Why {'does' if len(leaves) == 1 else 'do'} {join_names(leaves)} not change?"


def them(found: list[Missing]) -> str:
    return "it" if len(names(found)) == 1 else "them"
