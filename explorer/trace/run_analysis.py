"""What is known when a program has ended: the live records, and the questions asked of them.

Only `assemble`, `none_reasons` and `answers` see a RunAnalysis; it does not leave the library.
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
from explorer.trace.torchviz_graph import leaf_of, walk


@dataclass(frozen=True)
class RunAnalysis:
    """A finished run. `finals` are the records of its variables as they are at the end."""

    recorder: ProgramRecorder
    source: str
    error: ProgramError | None
    finals: Mapping[str, LiveTensor | Plain]
    variables: Mapping[str, Any]

    @cached_property
    def every(self) -> list[LiveTensor]:
        return self.recorder.all_tensors()

    @cached_property
    def by_node(self) -> dict[int, list[LiveTensor]]:
        """Records by the id of the autograd node that made them."""
        by_node: dict[int, list[LiveTensor]] = defaultdict(list)
        for live in self.every:
            if live.grad_fn is not None:
                by_node[id(live.grad_fn)].append(live)
        return by_node

    @property
    def passes(self) -> list[RawPass]:
        return self.recorder.kept_passes

    @cached_property
    def reached(self) -> dict[int, int | None]:
        """Ids of the nodes, and of the leaves, that a kept pass ran through, with its line."""
        lines: dict[int, int | None] = {}
        for raw in self.passes:
            for node in raw.functions:
                lines.setdefault(id(node), raw.line)
                leaf = leaf_of(node)
                if leaf is not None:
                    lines.setdefault(id(leaf), raw.line)
        return lines

    @cached_property
    def stored(self) -> bool:
        """Whether any pass was one that writes to `.grad`."""
        return any(raw.call != "torch.autograd.grad" for raw in self.passes)

    @cached_property
    def cuts(self) -> list[Cut]:
        """Where history was lost on the way to what backward started from, earlier ones last."""
        cuts = [cut for raw in self.passes for cut in self.cuts_among(raw.functions)]
        if self.recorder.refused is not None:
            cuts += self.recorder.history.of(self.recorder.refused.tensor)
        known = {id(cut): cut for cut in cuts}
        waiting = list(known.values())
        while waiting:
            cut = waiting.pop()
            for earlier in self.cuts_among(_graph(cut.tensor)):
                if id(earlier) not in known:
                    known[id(earlier)] = earlier
                    waiting.append(earlier)
        return list(known.values())

    def cuts_among(self, nodes: Iterable[Any]) -> Iterator[Cut]:
        """The cuts whose values entered one of these nodes, or became one of their leaves."""
        for node in nodes:
            for live in self.by_node.get(id(node), ()):
                yield from live.cuts
            leaf = leaf_of(node)
            if leaf is not None:
                yield from self.recorder.history.of(leaf)

    def cuts_off(self, cut: Cut, leaf: torch.Tensor) -> bool:
        """Whether the way from `leaf` ran through this cut."""
        return cut.tensor is leaf or any(leaf_of(node) is leaf for node in _graph(cut.tensor))

    @property
    def failed_pass(self) -> RawPass | None:
        """The pass during which the program failed, if it failed in one."""
        latest = max(self.passes, key=lambda raw: raw.number, default=None)
        return latest if self.error is not None and latest is not None else None

    def finished(self, leaf: torch.Tensor) -> bool:
        """Whether a pass that reached this leaf handed it something, if only None."""
        return any(
            leaf_of(raw.functions[step.function]) is leaf
            for raw in self.passes
            for step in raw.steps
        )

    def says(self, words: str) -> bool:
        """Whether torch's own words for the error contain these."""
        return self.error is not None and words in self.error.detail

    def name(self, tensor: torch.Tensor) -> str:
        """What the reader calls a tensor."""
        return self.recorder.name_of(tensor) or "a tensor"

    def line_of(self, tensor: torch.Tensor) -> int | None:
        """Where a tensor was last given a name."""
        live = self.recorder.find(tensor)
        return live.line if live is not None else None

    def made_by(self, node: Any) -> LiveTensor | None:
        """The record of what a node made: the named one, where it has several."""
        made = self.by_node.get(id(node), [])
        return next((live for live in made if live.named), made[0] if made else None)

    def called(self, node: Any) -> str:
        """A node in words: the reader's name for what it made, or its own."""
        live = self.made_by(node)
        kind = type(node).__name__
        return f"{live.name} (line {live.line}, {kind})" if live is not None else kind

    def text(self, line: int | None) -> str:
        """A line of the program, without its indentation."""
        return line_of(without_prompts(self.source), line).strip()

    def history_of(self, name: str) -> list[LiveTensor]:
        """The tensors a name has stood for, in order."""
        return [live for live in self.every if live.named and live.name == name]


def _graph(tensor: torch.Tensor) -> list[Any]:
    return walk([tensor]) if tensor.requires_grad else []


def short(array: Any) -> str:
    """Values in a sentence: on one line, cut short where they are many."""
    return " ".join(part.strip() for part in array_lines(array)) if array is not None else "None"


def is_small_array(array: Any) -> TypeGuard[np.ndarray]:
    """Whether these are all values of a tensor of real numbers, and not a summary."""
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiu" and array.size > 0


def grouped(name: str) -> str:
    """An expression ready for a method call: `X @ w` becomes `(X @ w)`."""
    return name if name.replace(".", "").isidentifier() else f"({name})"
