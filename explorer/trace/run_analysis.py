"""The live records of a finished run, with the queries that explanations need.

Only `assemble`, `none_reasons` and `answers` use a RunAnalysis; it does not leave the library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import torch

from explorer.language import ProgramError, line_of, without_prompts
from explorer.trace.history import Cut
from explorer.trace.passes import RawPass
from explorer.trace.recorder import ProgramRecorder
from explorer.trace.records import Plain
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.text import array_lines
from explorer.trace.torchviz_graph import leaf_of, leaves_of, walk_graph


@dataclass(frozen=True)
class RunAnalysis:
    """A finished run. `finals` are the records of its variables as they are at the end."""

    recorder: ProgramRecorder
    source: str
    error: ProgramError | None
    finals: Mapping[str, LiveTensor | Plain]
    variables: Mapping[str, Any]

    @cached_property
    def records(self) -> list[LiveTensor]:
        """Every recorded tensor, oldest first."""
        return self.recorder.all_tensors()

    @cached_property
    def by_node(self) -> dict[int, list[LiveTensor]]:
        """Records by the id of the autograd node that computed them."""
        by_node: dict[int, list[LiveTensor]] = defaultdict(list)
        for live in self.records:
            if live.grad_fn is not None:
                by_node[id(live.grad_fn)].append(live)
        return by_node

    @property
    def passes(self) -> list[RawPass]:
        return self.recorder.recorded_passes

    @cached_property
    def reached(self) -> dict[int, int | None]:
        """The ids of all nodes and leaves in the graph of a recorded pass, with the pass's line."""
        lines: dict[int, int | None] = {}
        for raw in self.passes:
            for node in raw.functions:
                lines.setdefault(id(node), raw.line)
                leaf = leaf_of(node)
                if leaf is not None:
                    lines.setdefault(id(leaf), raw.line)
        return lines

    @cached_property
    def stores_gradients(self) -> bool:
        """Whether any pass writes to `.grad`, as torch.autograd.grad does not."""
        return any(raw.call != "torch.autograd.grad" for raw in self.passes)

    @cached_property
    def cuts(self) -> list[Cut]:
        """The cuts on the paths to the tensors backward started from, the earliest last."""
        cuts = [cut for raw in self.passes for cut in self.cuts_behind(raw.functions)]
        if self.recorder.refused_backward is not None:
            cuts += self.recorder.history.cuts_of(self.recorder.refused_backward.tensor)
        known = {id(cut): cut for cut in cuts}
        pending = list(known.values())
        while pending:
            cut = pending.pop()
            for earlier in self.cuts_behind(_graph(cut.tensor)):
                if id(earlier) not in known:
                    known[id(earlier)] = earlier
                    pending.append(earlier)
        return list(known.values())

    def cuts_behind(self, nodes: Iterable[Any]) -> Iterator[Cut]:
        """The cuts whose values entered one of these nodes, or became one of their leaves."""
        for node in nodes:
            for live in self.by_node.get(id(node), ()):
                yield from live.cuts
            leaf = leaf_of(node)
            if leaf is not None:
                yield from self.recorder.history.cuts_of(leaf)

    def cuts_off(self, cut: Cut, leaf: torch.Tensor) -> bool:
        """Whether the path from `leaf` leads through this cut."""
        if id(cut) not in self._leaves_before:
            leaves = leaves_of(_graph(cut.tensor))
            self._leaves_before[id(cut)] = {id(cut.tensor), *map(id, leaves)}
        return id(leaf) in self._leaves_before[id(cut)]

    @cached_property
    def _leaves_before(self) -> dict[int, set[int]]:
        """By id of a cut: the ids of its tensor and of the leaves that was computed from."""
        return {}

    @property
    def failed_pass(self) -> RawPass | None:
        """The pass during which the program failed, if it failed in one."""
        latest = max(self.passes, key=lambda raw: raw.number, default=None)
        return latest if self.error is not None and latest is not None else None

    def was_visited(self, leaf: torch.Tensor) -> bool:
        """Whether a recorded pass got as far as this leaf, even if only with None."""
        return any(
            leaf_of(raw.functions[step.function]) is leaf
            for raw in self.passes
            for step in raw.steps
        )

    def error_contains(self, words: str) -> bool:
        """Whether torch's own error message contains these words."""
        return self.error is not None and words in self.error.detail

    def name_of(self, tensor: torch.Tensor) -> str:
        """The program's name for a tensor."""
        return self.recorder.name_of(tensor) or "a tensor"

    def line_of(self, tensor: torch.Tensor) -> int | None:
        """The line of the tensor's latest record."""
        live = self.recorder.find(tensor)
        return live.line if live is not None else None

    def result_of_node(self, node: Any) -> LiveTensor | None:
        """The record of the tensor a node computed; a named one, if there are several."""
        results = self.by_node.get(id(node), [])
        return next((live for live in results if live.named), results[0] if results else None)

    def node_text(self, node: Any) -> str:
        """A node in words: the program's name for its result, or the name of its class."""
        live = self.result_of_node(node)
        kind = type(node).__name__
        return f"{live.name} (line {live.line}, {kind})" if live is not None else kind

    def line_text(self, line: int | None) -> str:
        """A line of the program, without its indentation."""
        return line_of(without_prompts(self.source), line).strip()

    def records_named(self, name: str) -> list[LiveTensor]:
        """The tensors that have had this name, oldest first."""
        return [live for live in self.records if live.named and live.name == name]


def _graph(tensor: torch.Tensor) -> list[Any]:
    return walk_graph([tensor]) if tensor.requires_grad else []


def short_text(array: Any) -> str:
    """Values for use in a sentence: on one line, abbreviated if there are many."""
    return " ".join(part.strip() for part in array_lines(array)) if array is not None else "None"


def is_small_array(array: Any) -> TypeGuard[np.ndarray]:
    """Whether these are all the values of a non-empty real tensor, not a summary."""
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiu" and array.size > 0


def parenthesised(name: str) -> str:
    """An expression, in parentheses if a method call needs them: `X @ w` becomes `(X @ w)`."""
    return name if name.replace(".", "").isidentifier() else f"({name})"
