"""What shows that something is wrong in a run, and that a changed program is without it."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from explorer.program.draft import Draft, own_nodes
from explorer.trace.records import (
    SYMPTOMS,
    Answer,
    Array,
    BackwardPass,
    Node,
    Summary,
    TensorRecord,
    Trace,
)
from explorer.trace.text import array_lines, join_names, number, shortened

#: Tensors whose new values a sentence shows: more are not read.
MOST_SHOWN = 3
#: Longest text of values in a sentence.
MAX_VALUES = 120
#: Finds what gives values without their graph, and errors about a tensor that has none.
_CUTS = re.compile(r"detach|no_grad|\.data\b|\.(item|numpy|tolist)\(").search
_NO_GRAPH = re.compile(r"does(n't| not) require grad|requires_grad=False|has no attribute").search
#: Nodes that multiply by a constant: loss / len(parts), 128 * loss, -loss.
_FACTORS = frozenset(["MulBackward0", "DivBackward0", "NegBackward0"])

#: Errors of a graph that was freed or overwritten: a change that leads from one to the other, as
#: retain_graph=True often does, cures nothing.
_GRAPH_ERRORS = ("graph a second time", "modified by an inplace operation")


@dataclass(frozen=True)
class Check:
    """How a symptom is recognised. `is_there` says whether the changed run (the second one) has it
    still, `shows` what it shows instead, as the end of "With this change, …"."""

    is_there: Callable[[Trace, Trace, Answer], bool]
    shows: Callable[[Trace, Trace, Answer], str]


def record_of(trace: Trace, name: str) -> TensorRecord | None:
    """The tensor that has this name at the end, or the last that had it."""
    record = trace.variables.get(name)
    if isinstance(record, TensorRecord):
        return record
    return next((r for r in reversed(trace.tensors) if r.name == name), None)


def records_of(trace: Trace, answer: Answer) -> Iterator[tuple[str, TensorRecord]]:
    """The tensors of an answer's symptom, by name."""
    for name in answer.symptom.names if answer.symptom is not None else ():
        record = record_of(trace, name)
        if record is not None:
            yield name, record


def _same_error(before: Trace, after: Trace, answer: Answer) -> bool:
    if before.error is None or after.error is None:
        return after.error is not None
    if all(any(part in e.detail for part in _GRAPH_ERRORS) for e in (before.error, after.error)):
        return True
    return is_same_error(before, after) or fails_by_change(before, after)


def fails_by_change(before: Trace, after: Trace) -> bool:
    """Whether the changed program fails because of the change: in a changed line, or because that
    cut a tensor from its graph."""
    error = after.error
    if error is None:
        return False
    changed = _changed_lines(before, after)
    if error.text.strip() in changed:
        return True
    if not _NO_GRAPH(f"{error.message} {error.detail}"):
        return False
    draft = Draft(after.source)
    read = {draft.of(node) for node in draft.nodes(ast.expr, error.line or 0)}
    return not read.isdisjoint(_names_cut(draft, changed))


def _names_cut(draft: Draft, changed: set[str]) -> Iterator[str]:
    """What changed lines that cut give a value, or change in place: "y" and "self.h"."""
    for line, text in enumerate(draft.source.split("\n"), 1):
        statement = draft.statement(line) if text.strip() in changed and _CUTS(text) else None
        if statement is None:
            continue
        is_block = isinstance(statement, ast.With)  # of no_grad()
        for node in ast.walk(statement) if is_block else own_nodes(statement, ast.expr):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield draft.of(node)
            elif isinstance(node, ast.Attribute) and node.attr == "detach_":
                yield draft.of(node.value)


def _changed_lines(before: Trace, after: Trace) -> set[str]:
    """The lines of the changed program that the first one has not, without their indentation."""
    return set(map(str.strip, after.source.splitlines())) - set(
        map(str.strip, before.source.splitlines())
    )


def is_same_error(before: Trace, after: Trace) -> bool:
    """Whether both programs fail in the same way, if perhaps with other numbers, and in the same
    line or one that was changed."""
    first, second = before.error, after.error
    if first is None or second is None:
        return False
    same = (without_numbers(first.message), without_numbers(first.detail)) == (
        without_numbers(second.message),
        without_numbers(second.detail),
    )
    places = {first.text.strip(), *_changed_lines(before, after)}
    return same and second.text.strip() in places


def without_numbers(text: str) -> str:
    """A message without its digits: lines move when a program is changed."""
    return "".join(character for character in text if not character.isdigit())


def _no_gradient(before: Trace, after: Trace, answer: Answer) -> bool:
    records = [record for _, record in records_of(after, answer)]
    still = not records or any(record.grad is None for record in records)
    still = still or not any(has_nonzero(record.grad) for record in records)
    return still or _same_answer(before, after, answer)


def _zero_gradient(before: Trace, after: Trace, answer: Answer) -> bool:
    gradients = [record.grad for _, record in records_of(after, answer)]
    return not gradients or not all(has_nonzero(gradient) for gradient in gradients)


def _not_finite(before: Trace, after: Trace, answer: Answer) -> bool:
    if answer.key == "nonfinite.steps" and _grows(after):
        return True
    records = list(records_of(after, answer))
    if not records:
        return bool(nonfinite_names(after))
    return any(
        not is_finite(record.grad)
        or (not is_finite(record.value) and not _is_given(record, record_of(before, name)))
        for name, record in records
    )


def _grows(trace: Trace) -> bool:
    """Whether the last loss is larger than the first."""
    losses = _losses(trace)
    return bool(losses) and not losses[-1] <= losses[0]


def _losses(trace: Trace) -> tuple[float, ...]:
    return next((curve.values for curve in trace.curves if curve.kind == "loss"), ())


def _printed_losses(trace: Trace) -> tuple[float, ...]:
    """Those that the program prints: not what was multiplied, or scaled, for backward alone."""
    named = {record.id for record in trace.tensors if record.named}
    return () if any(_is_scaled(shown, named) for shown in trace.passes) else _losses(trace)


def _is_scaled(shown: BackwardPass, named: set[int]) -> bool:
    """Whether a pass starts from a multiple of the loss: of a scalar with a name, or one that has
    none itself."""
    sources: dict[str, list[Node]] = defaultdict(list)
    nodes = {node.id: node for node in shown.nodes}
    for edge in shown.edges:
        if edge.kind == "flow":
            sources[edge.target].append(nodes[edge.source])
    output = next((node for node in shown.nodes if node.kind == "output"), None)
    chain = sources[output.id] if output is not None else []
    while chain and chain[-1].name in _FACTORS:
        inner = sources[chain[-1].id]
        if len(inner) != 1 or inner[0].kind != "function" or math.prod(inner[0].shape or ()) != 1:
            break
        chain = [*chain, *inner]
    root, *multiplied = [node.tensor in named for node in chain] or [True]
    return bool(multiplied) and (any(multiplied) or not root)


def _is_given(record: TensorRecord, before: TensorRecord | None) -> bool:
    """Whether a leaf is what it was: a program may give it an infinity on purpose."""
    return record.is_leaf and before is not None and is_equal(record.value, before.value)


def _unchanged(before: Trace, after: Trace, answer: Answer) -> bool:
    return not list(_moves(after, answer))


def _moves(trace: Trace, answer: Answer) -> Iterator[tuple[str, Array | None, Array | None]]:
    """The first and the last value of the tensors that change."""
    for name, last in records_of(trace, answer):
        same = (r for r in trace.tensors if (r.name, r.shape) == (name, last.shape))
        first = next(same, last)
        if not is_equal(first.value, last.value):
            yield name, first.value, last.value


def _same_answer(before: Trace, after: Trace, answer: Answer) -> bool:
    """Whether the explanations find the same again."""
    names = set(answer.names)
    return any(
        other.key == answer.key and (not names or bool(names & set(other.names)))
        for other in after.answers
    )


def _runs(before: Trace, after: Trace, answer: Answer) -> str:
    if after.error is not None:
        line = f" on line {after.error.line}" if after.error.line else ""
        return f"this error is gone. The program then stops{line}: {after.error.message}"
    gradients = list(_gradients(after, answer))
    if not gradients:
        return "the program runs to its end."
    return f"the program runs, and {join_clauses(gradients)}."


def _gradients(after: Trace, answer: Answer) -> Iterator[str]:
    for name, record in list(records_of(after, answer))[:MOST_SHOWN]:
        if record.grad is not None and record.grad_from == ".grad":
            yield f"{name}.grad is {values_text(record.grad)}"


def _shows_gradients(before: Trace, after: Trace, answer: Answer) -> str:
    return f"{join_clauses(list(_gradients(after, answer)))}."


def _shows_finite(before: Trace, after: Trace, answer: Answer) -> str:
    losses = _printed_losses(after)
    if answer.key == "nonfinite.steps" and len(losses) > 1:
        return f"the loss goes from {number(losses[0])} to {number(losses[-1])}."
    clauses = list(_gradients(after, answer)) or [
        f"{name} is {values_text(record.value)}"
        for name, record in list(records_of(after, answer))[:MOST_SHOWN]
    ]
    return f"{join_clauses(clauses)}." if clauses else "all values and gradients are finite."


def _shows_moves(before: Trace, after: Trace, answer: Answer) -> str:
    clauses = [
        f"{name} changes from {values_text(first)} to {values_text(last)}"
        for name, first, last in list(_moves(after, answer))[:MOST_SHOWN]
    ]
    return f"{join_clauses(clauses)}."


def _shows_values(before: Trace, after: Trace, answer: Answer) -> str:
    """The values and gradients that are others than before."""
    clauses = []
    for name, record in records_of(after, answer):
        old = record_of(before, name)
        for what, new, was in (
            (name, record.value, old.value if old else None),
            (_name_of_gradient(record, name), record.grad, old.grad if old else None),
        ):
            if not is_equal(new, was) and values_text(new) != values_text(was):
                instead = "" if was is None else f" instead of {values_text(was)}"
                clauses.append(f"{what} is {values_text(new)}{instead}")
    return (
        f"{join_clauses(clauses[:MOST_SHOWN])}." if clauses else _shows_loss(before, after, answer)
    )


def _name_of_gradient(record: TensorRecord, name: str) -> str:
    """What a hook has read is not in `.grad`."""
    return f"the gradient of {name}" if record.grad_from == "hook" else f"{name}.grad"


def _shows_loss(before: Trace, after: Trace, answer: Answer) -> str:
    """The last loss, if it is another one than before."""
    last, old = ([number(v) for v in _printed_losses(t)[-1:]] for t in (after, before))
    return (
        f"the last loss is {last[0]} instead of {old[0]}." if last and old and last != old else ""
    )


#: By `Symptom.kind`. A "value" or a "remark" is still there if the explanations find it again in
#: the changed run; for a "value", the new values of the named tensors are shown, or else the loss.
CHECKS: dict[str, Check] = {
    "error": Check(_same_error, _runs),
    "none": Check(_no_gradient, _shows_gradients),
    "zero": Check(_zero_gradient, _shows_gradients),
    "nonfinite": Check(_not_finite, _shows_finite),
    "still": Check(_unchanged, _shows_moves),
    "value": Check(_same_answer, _shows_values),
    "remark": Check(_same_answer, _shows_loss),
}


# -- nothing worse ------------------------------------------------------------------------------


def has_other_fault(before: Trace, after: Trace, answer: Answer) -> bool:
    """Whether the explanations find something new about the same tensors that is as bad; or that a
    gradient which was None is now a sum over several passes."""
    symptom = answer.symptom
    if symptom is None:
        return False
    known = {(other.key, *other.names) for other in before.answers}
    rank = SYMPTOMS.index(symptom.kind)
    for other in after.answers:
        if other.key == answer.key or not set(symptom.names) & set(other.names):
            continue
        if answer.key.startswith("none.") and other.key == "accumulation.added":
            return True
        is_new = (other.key, *other.names) not in known
        if is_new and other.symptom is not None and SYMPTOMS.index(other.symptom.kind) <= rank:
            return True
    return False


def changes_without_reason(before: Trace, after: Trace, answer: Answer) -> bool:
    """Whether a change that is to make a gradient finite, or not None, changes a finite loss; or,
    where it was not finite, which elements count: a mask that looks for NaN finds none in what was
    replaced by numbers. What is only looked at may change."""
    kind = answer.symptom.kind if answer.symptom is not None else ""
    if kind not in ("none", "nonfinite") or answer.key == "nonfinite.steps":
        return False
    first, second = (_losses(trace)[:1] for trace in (before, after))
    if first and second and np.isfinite(first[0]):
        return not _is_close(first[0], second[0])
    if kind != "nonfinite":
        return False
    now, used = _named_values(after), _names_tracked(before)
    return any(
        not np.allclose(old, now.get(at, old), 0.01, 0.01, equal_nan=True)
        for at, old in _named_values(before).items()
        if at[0] in used and np.isin(old, (0, 1)).all() and old.shape == now.get(at, old).shape
    )


def _names_tracked(trace: Trace) -> set[str]:
    """The names that are read where something is computed that autograd tracks."""
    lines = {record.line for record in trace.tensors if record.requires_grad}
    return {
        node.id
        for statement in Draft(trace.source).nodes(ast.stmt)
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)
        and statement.lineno in lines
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _named_values(trace: Trace) -> dict[tuple[str, int], np.ndarray]:
    """The values of real tensors with a name, by that and by how many came before."""
    counts: Counter[str] = Counter()
    values = {}
    for record in trace.tensors:
        array = record.value
        if record.named and isinstance(array, np.ndarray) and array.dtype.kind in "fbiu":
            values[record.name, counts[record.name]] = array
            counts[record.name] += 1
    return values


def _is_close(first: float, second: float) -> bool:
    return abs(first - second) <= 0.01 * (1 + abs(first))


def is_worse(before: Trace, after: Trace) -> bool:
    """Whether the changed run has a fault that the first did not have: an error, an earlier one, or
    values that are not finite."""
    if after.error is not None:
        if before.error is None or is_same_error(before, after):
            return before.error is None
        if after.pass_count < before.pass_count or len(after.tensors) < len(before.tensors):
            return True
    return bool(nonfinite_names(after) - nonfinite_names(before))


def loses_gradient(before: Trace, after: Trace) -> bool:
    """Whether a leaf that had a gradient has none in the changed run."""
    if after.error is not None or all(backward.ours for backward in before.passes):
        return False
    old, new = _leaves_with_gradient(before), _leaves_with_gradient(after)
    leaves = {name for name, record in _tensors(after) if record.is_leaf}
    lost = (old.keys() - new.keys()) & leaves  # what is computed now has no .grad of its own
    if before.error is not None and (stepped := _names_stepped(before)):
        lost &= stepped  # it had failed: a tensor that no optimizer changes may become a constant
    kept = [old[name] for name in old.keys() & new.keys()]
    # A copy of a leaf has no gradient, while the leaf has it still, under its other name.
    return any(not any(_is_same(old[name], other) for other in kept) for name in lost)


def _names_stepped(trace: Trace) -> set[str]:
    """The tensors that an optimizer changed."""
    steps = (event for event in trace.events if event.kind == "step")
    return {change.name for event in steps for change in event.changes}


def nonfinite_names(trace: Trace) -> set[str]:
    """The variables with a value or gradient that is not finite."""
    return {
        name
        for name, record in _tensors(trace)
        if not is_finite(record.value) or not is_finite(record.grad)
    }


def _leaves_with_gradient(trace: Trace) -> dict[str, TensorRecord]:
    """The leaves that have a gradient at the end, by name."""
    return {n: r for n, r in _tensors(trace) if r.is_leaf and r.grad is not None}


def _is_same(first: TensorRecord, second: TensorRecord) -> bool:
    return is_equal(first.value, second.value) and is_equal(first.grad, second.grad)


def _tensors(trace: Trace) -> Iterator[tuple[str, TensorRecord]]:
    return ((n, r) for n, r in trace.variables.items() if isinstance(r, TensorRecord))


# -- arrays -------------------------------------------------------------------------------------


def is_finite(values: Array | None) -> bool:
    """Whether all elements are finite; True if there are none."""
    if isinstance(values, Summary):
        return values.nonfinite == 0
    return values is None or values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def has_nonzero(values: Array | None) -> bool:
    """Whether an element is not 0."""
    if isinstance(values, Summary):
        return values.norm > 0
    return values is not None and bool(values.any())


def is_equal(first: Array | None, second: Array | None) -> bool:
    """Whether both are the same, as far as they are recorded."""
    if isinstance(first, Summary) and isinstance(second, Summary):
        return (first.shape, first.mean, first.norm) == (second.shape, second.mean, second.norm)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.shape == second.shape and np.array_equal(
            first, second, equal_nan=first.dtype.kind in "fc" and second.dtype.kind in "fc"
        )
    return first is None and second is None


def values_text(values: Array | None) -> str:
    """Values in a sentence, abbreviated if there are many."""
    if values is None:
        return "None"
    return shortened(" ".join(part.strip() for part in array_lines(values)), MAX_VALUES)


def join_clauses(clauses: list[str]) -> str:
    """ "a is 1, b is 2 and c is 3"."""
    return join_names(clauses) if clauses else "it is gone"
