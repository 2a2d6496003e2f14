"""The live records of a finished run, with the queries that explanations need.

Only `assemble`, `none_reasons` and `answers` use a RunAnalysis; it does not leave the library.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import nn

from explorer.program import ProgramError, without_prompts
from explorer.program.draft import Draft
from explorer.trace.explain.recording_off import context_of
from explorer.trace.explain.updates import is_update
from explorer.trace.recording.bindings import Bindings
from explorer.trace.recording.cuts import CUT_CAUSES, Cut, is_linear
from explorer.trace.recording.events import OptimizerUse
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaf_of, leaves_of, nodes_behind
from explorer.trace.records import Plain
from explorer.trace.text import array_lines


@dataclass(frozen=True)
class Warned:
    """A warning of torch or numpy, with the program's line if that is known."""

    text: str
    line: int | None


@dataclass(frozen=True)
class RunAnalysis:
    """A finished run. `finals` are the records of its variables as they are at the end."""

    recorder: ProgramRecorder
    source: str
    error: ProgramError | None
    finals: Mapping[str, LiveTensor | Plain]
    variables: Mapping[str, Any]
    warned: Sequence[Warned] = ()

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

    @cached_property
    def _users(self) -> dict[int, list[LiveTensor]]:
        users: dict[int, list[LiveTensor]] = defaultdict(list)
        for live in self.records:
            for source in live.inputs:
                users[id(source.tensor)].append(live)
        return users

    def users_of(self, record: LiveTensor) -> list[LiveTensor]:
        """The records of what was computed from this tensor."""
        return self._users.get(id(record.tensor), [])

    @property
    def bindings(self) -> Bindings:
        """What each name meant, in order."""
        return self.recorder.bindings

    @cached_property
    def _meant(self) -> dict[str, Any]:
        """What each name means at the end."""
        ordered = sorted(self.bindings, key=lambda binding: binding.number)
        return {self.bindings.path(b): b.value for b in ordered if not b.scope}

    def is_replaced(self, record: LiveTensor) -> bool:
        """Whether the name of a tensor means another object now."""
        return self._meant.get(record.name, record.tensor) is not record.tensor

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
            for earlier in self.cuts_behind(nodes_behind(cut.tensor)):
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
            leaves = leaves_of(nodes_behind(cut.tensor))
            self._leaves_before[id(cut)] = {id(cut.tensor), *map(id, leaves)}
        return id(leaf) in self._leaves_before[id(cut)]

    @cached_property
    def _leaves_before(self) -> dict[int, set[int]]:
        """By id of a cut: the ids of its tensor and of the leaves that was computed from."""
        return {}

    def modules(self) -> list[nn.Module]:
        """The modules of the program that have a name, and their parts."""
        return [module for _, module in self.recorder.modules.values()]

    def created_after_last_pass(self, tensor: torch.Tensor) -> bool:
        """Whether no backward has run since a tensor was made, though some had before."""
        passes = min((r.passes for r in self.records if r.tensor is tensor), default=0)
        return 0 < passes == self.recorder.pass_count

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

    @cached_property
    def variables_by_tensor(self) -> dict[int, LiveTensor]:
        """By id of a tensor: the record of the first variable that is this tensor at the end. The
        variable of a loop, as in `for p in net.parameters()`, comes after those it goes through."""
        records: dict[int, LiveTensor] = {}
        for record in self.finals.values():
            if isinstance(record, LiveTensor):
                records.setdefault(id(record.tensor), record)
        return records

    def made_here(self, use: OptimizerUse) -> bool:
        """Whether the optimizer was made where it is said: of code that is a part of more, an
        optimizer may first be known by its step."""
        return not self.recorder.is_part or self.as_typed.call(use.line, use.name) is not None

    def name_of(self, tensor: torch.Tensor) -> str:
        """The program's name for a tensor."""
        final = self.variables_by_tensor.get(id(tensor)) if tensor.is_leaf else None
        return (final.name if final else self.recorder.name_of(tensor)) or "a tensor"

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
        """A line of the program, without its indentation, at most 200 characters."""
        lines = self.lines
        return lines[line - 1][:200].strip() if line and 0 < line <= len(lines) else ""

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the program. Many explanations read them, of each record."""
        return without_prompts(self.source).split("\n")

    def draft(self) -> Draft:
        """The program as typed, to be changed."""
        return Draft(self.source)

    @cached_property
    def whole_losses(self) -> dict[int, str]:
        """By id of a leaf: a variable with one element that depends on the leaf, and on what a
        backward started from."""
        roots = {id(root.grad_fn) for raw in self.passes for root in raw.roots}
        wholes: dict[int, str] = {}
        for name, final in self.finals.items():
            is_scalar = isinstance(final, LiveTensor) and final.tensor.numel() == 1
            if isinstance(final, LiveTensor) and is_scalar and name.isidentifier():
                nodes = nodes_behind(final.tensor) if final.grad_fn is not None else []
                if roots & {id(node) for node in nodes}:
                    for leaf in leaves_of(nodes):
                        wholes.setdefault(id(leaf), name)
        return wholes

    @cached_property
    def as_typed(self) -> Draft:
        """The program as typed, only to be read."""
        return self.draft()

    @cached_property
    def updates(self) -> dict[int, str]:
        """By line: the name to which an update such as `w = w - lr * w.grad` gives a new tensor."""
        draft = self.as_typed
        statements = (s for s in draft.nodes(ast.Assign) if is_update(draft, s))
        return {statement.lineno: draft.of(statement.targets[0]) for statement in statements}

    def cause_of(self, cut: Cut) -> str:
        """The key of a cut's cause in `CUT_CAUSES`, as the text of the program tells it."""
        if cut.cause == "no_grad" and isinstance(context_of(self.as_typed, cut), ast.Expr):
            return "set_grad_enabled"
        if cut.cause in ("detach", "data") and cut.cause not in self.line_text(cut.line):
            return "inside"
        if cut.cause == "without_graph":
            nodes = nodes_behind(cut.tensor)
            is_constant = is_linear(nodes) and not any(True for _ in self.cuts_behind(nodes))
            return "constant" if is_constant else cut.cause
        return cut.cause

    def where(self, cut: Cut) -> str:
        """The place and cause of a cut, "on line 4, at y: detach() gives …"."""
        at = f", at {cut.name}" if cut.name else ""
        if self.cause_of(cut) in ("no_grad", "inference_mode", "set_grad_enabled"):
            result = self.as_typed.assigned_name(cut.line)
            at = f", where {result} is computed" if result else at
        why = CUT_CAUSES[self.cause_of(cut)].why.format(name=cut.name or "the tensor")
        if cut.cause in ("bool", "integer", "other"):
            why = f"{why} ({cut.function})"
        return f"on line {cut.line}{at}: {why}"

    def cure_of(self, cut: Cut) -> str:
        """What to write instead."""
        return CUT_CAUSES[self.cause_of(cut)].cure.format(name=cut.name or "the tensor")

    def records_named(self, name: str) -> list[LiveTensor]:
        """The tensors that have had this name, oldest first."""
        return [live for live in self.records if live.named and live.name == name]


def short_text(array: Any) -> str:
    """Values for use in a sentence: on one line, abbreviated if there are many."""
    return " ".join(part.strip() for part in array_lines(array)) if array is not None else "None"


def is_small_array(array: Any) -> TypeGuard[np.ndarray]:
    """Whether these are all the values of a non-empty real tensor, not a summary."""
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiu" and array.size > 0


def parenthesised(name: str) -> str:
    """An expression, in parentheses if a method call needs them: `X @ w` becomes `(X @ w)`."""
    return name if name.replace(".", "").isidentifier() else f"({name})"
