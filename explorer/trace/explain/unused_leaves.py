"""Why backward did not reach a leaf that nothing has cut off: it is not used, or elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from explorer.trace.explain import leaf_repairs
from explorer.trace.explain.repairs import Repair
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.cuts import Cut
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.text import join_names


@dataclass(frozen=True)
class Reason:
    """One reason, in a sentence; `key` is that of its glossary entry, where it has one.

    `mend` changes the program as the cure says; `cut` is the cut that the sentence tells of.
    """

    key: str
    text: str
    cure: str = ""
    line: int | None = None
    mend: Callable[[Repair], object] | None = None
    cut: Cut | None = None


def unused_leaf(record: LiveTensor, used: int, analysis: RunAnalysis) -> Reason:
    """The reason; `used` is the line that first used the leaf, or 0."""
    roots = {analysis.name_of(root) for raw in analysis.passes for root in raw.roots[:1]}
    root = join_names(sorted(roots)) or "what backward started from"
    does = "do" if len(roots) > 1 else "does"
    whole = analysis.whole_losses.get(id(record.tensor), "")
    branch = _branch(record, analysis) if not used else None
    if branch is not None:
        return Reason(
            "unused",
            f"It is used only on line {branch[1]}, in a branch that did not run: the condition on "
            f"line {branch[0]} decided so.",
            f"Only what has run has a gradient: {root} {does} not depend on it here.",
            branch[1],
        )
    if not used:
        return Reason(
            "unused",
            "It is never used in the computation.",
            f"Use it in the computation of {root}, or leave it out.",
            record.line,
        )
    if whole:
        line = analysis.passes[-1].line
        return Reason(
            "unused",
            f"It is used on line {used}, but backward started from {root}, which {does} not depend "
            f"on it; {whole} does.",
            f"Call {whole}.backward().",
            line,
            lambda repair: leaf_repairs.start_from(repair.draft, line, whole),
        )
    return Reason(
        "unused",
        f"It is used on line {used}, but {root} {does} not depend on the result.",
        f"Check which tensor the computation of {root} uses.",
        used,
    )


def _branch(record: LiveTensor, analysis: RunAnalysis) -> tuple[int, int] | None:
    """The lines of a condition and of the only use of a variable, in a branch that did not run."""
    if not record.name.isidentifier():
        return None
    draft, counts = analysis.as_typed, analysis.recorder.run_counts
    start = draft.statement(record.line)
    uses = [
        node.lineno
        for node in draft.nodes(ast.Name)
        if node.id == record.name and isinstance(node.ctx, ast.Load)
    ]
    grads = {
        node.lineno
        for node in draft.nodes(ast.Attribute)
        if draft.of(node) == f"{record.name}.grad"
    }
    uses = [line for line in uses if line not in grads]
    if start is None or not uses or any(counts.get(line) for line in uses):
        return None
    statement = draft.statement(uses[0])
    around = draft.path_to(statement) if statement is not None else []
    test = next((node for node in reversed(around) if isinstance(node, ast.If)), None)
    return (test.lineno, uses[0]) if test is not None and counts.get(test.lineno) else None
