"""Results that are lost: a part of the loss that autograd takes for a constant, and tensors that an
optimizer refuses.

Asked at https://github.com/pytorch/pytorch/issues/140469
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

import torch

from explorer.program.draft import called_name, own_nodes
from explorer.trace.explain import leaf_repairs
from explorer.trace.explain.cures import certain
from explorer.trace.explain.none_reasons import was_leaf
from explorer.trace.explain.repairs import Repair
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.cuts import Cut
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaves_of, nodes_behind
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names

#: Operations that add a term to a loss.
ADDING = {"add", "__add__", "radd", "__radd__", "sub", "__sub__", "rsub", "__rsub__", "__iadd__"}
#: Ways to cut that nobody uses on purpose inside a loss.
ACCIDENTAL = {
    *("grad", "item", "__float__", "tensor", "list", "tolist"),
    *("argmax", "argmin", "bool", "integer"),
}


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    yield from _not_optimizable(analysis)
    yield from _constant_term(analysis)


# -- what an optimizer refuses --------------------------------------------------------------------


def _not_optimizable(analysis: RunAnalysis) -> Iterator[Answer]:
    """ "can't optimize a non-leaf Tensor"."""
    if analysis.error is None or not analysis.error_contains("can't optimize a non-leaf"):
        return
    line, draft = analysis.error.line, analysis.draft()
    statement = draft.statement(line)
    if statement is None:
        return
    rows = [name for name in _names(statement) if _is_iterated(name, statement, analysis)]
    found = [record for name in _names(statement) for record in _computed(name, analysis)]
    if found:
        records = list({id(record.tensor): record for record in found}.values())
        first, names = records[0], [record.name for record in records]
        for at in dict.fromkeys((r.line, _leaf_line(r, analysis)) for r in records):
            leaf_repairs.require_at_the_end(draft, *at)
        is_one = len(names) == 1
        text = (
            f"An optimizer changes leaves. {join_names(names[:3])} {'is' if is_one else 'are'} no "
            f"leaf: line {first.line} computed {'it' if is_one else 'them'} from the tensor that "
            "has requires_grad=True."
        )
        cure = "Compute first, and set requires_grad on the result."
        place: int | None = first.line
    elif rows:
        names, place = rows, line
        for node in own_nodes(statement, ast.Name):
            if node.id in rows:
                draft.replace(node, f"[{node.id}]")
        text = (
            f"{rows[0]} is a tensor, not a list of tensors. Iterating over it gives its rows, and "
            "a row is computed from it: it is no leaf."
        )
        cure = f"Put it into a list: [{rows[0]}]."
    else:
        return
    answer = Answer(
        key="leaf.optimizer",
        title=f"Why can the optimizer not take {join_names(names[:3])}?",
        text=text,
        cure=cure,
        line=place,
        names=tuple(names),
        glossary="leaf",
        symptom=Symptom("error", tuple(names)),
    )
    yield certain(answer, draft.changed())


def _names(statement: ast.stmt) -> list[str]:
    return [node.id for node in own_nodes(statement, ast.Name)]


def _computed(name: str, analysis: RunAnalysis) -> Iterator[LiveTensor]:
    """The tensors of this variable, or in this list, that were computed from others."""
    value = analysis.variables.get(name)
    for item in value[:20] if isinstance(value, list | tuple) else [value]:
        record = analysis.recorder.find(item) if isinstance(item, torch.Tensor) else None
        if record is not None and record.grad_fn is not None:
            yield record


def _is_iterated(name: str, statement: ast.stmt, analysis: RunAnalysis) -> bool:
    """Whether a leaf is an argument of itertools.chain, or the list of parameters itself."""
    value = analysis.variables.get(name)
    if not isinstance(value, torch.Tensor) or not value.is_leaf:
        return False
    return any(
        called_name(call) in ("chain", *dir(torch.optim))
        and any(isinstance(arg, ast.Name) and arg.id == name for arg in call.args)
        for call in own_nodes(statement, ast.Call)
    )


def _leaf_line(record: LiveTensor, analysis: RunAnalysis) -> int:
    leaf = was_leaf(record, analysis)
    return record.line if leaf is None else leaf.line


# -- a part of the loss that is a constant --------------------------------------------------------


def _constant_term(analysis: RunAnalysis) -> Iterator[Answer]:
    """A part without a path back, as a penalty of gradients without create_graph: it is added,
    and changes no gradient."""
    for raw in analysis.passes:
        if not raw.roots or raw.roots[0].numel() != 1:
            continue
        term = _term(analysis.recorder.find(raw.roots[0]), analysis)
        if term is None:
            continue
        record, cut = term
        answer = Answer(
            key="cut.constant",
            title=f"Why does a part of {record.name} change no gradient?",
            text=f"Line {record.line} adds a number to {record.name} that is a constant for "
            "backward. "
            f"It was cut {analysis.where(cut)}.",
            cure=analysis.cure_of(cut),
            line=cut.line,
            names=(record.name,),
            glossary="cut",
            symptom=Symptom("remark", (record.name,)),
        )
        yield certain(answer, Repair(analysis.draft()).all([cut]))
        return


def _term(record: LiveTensor | None, analysis: RunAnalysis) -> tuple[LiveTensor, Cut] | None:
    """The sum behind a loss to which a constant was added that had been cut from the graph."""
    for _ in range(20):
        if (
            record is None
            or record.operation not in ADDING
            or math.prod(record.captured.shape) != 1
        ):
            return None
        cuts = [cut for cut in record.cuts if cut.cause in ACCIDENTAL]
        if cuts and all(_has_gradient(cut, analysis) for cut in cuts):
            return record, cuts[0]
        record = next((r for r in record.inputs if r.grad_fn is not None), None)
    return None


def _has_gradient(cut: Cut, analysis: RunAnalysis) -> bool:
    """Whether the number depends on what is trained, and that gets a gradient by another way: a
    gradient that is None has an answer of its own."""
    leaves = leaves_of(nodes_behind(cut.tensor))
    return cut.tensor.requires_grad and all(id(leaf) in analysis.reached for leaf in leaves)
