"""Why `.grad` is None, for every tensor where a reader would wonder."""

from __future__ import annotations

from collections.abc import Iterator

from explorer.trace.none_reasons import reasons, was_leaf
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.tensor_registry import LiveTensor

#: Tensors named in one answer; those whose None has the same reason share it.
MOST_NAMES = 4

#: Reasons nobody is surprised by, unless the program read the None.
EXPECTED = {"zero_grad", "autograd.grad", "backward", "requires_grad", "failed"}


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Leaves that end with None, and every tensor whose None the program itself read."""
    yield from _too_early(analysis)
    groups: dict[tuple[str, ...], list[LiveTensor]] = {}
    for record in _in_question(analysis):
        same = tuple(r.text.replace(record.name, "…") for r in reasons(record, analysis))
        groups.setdefault(same, []).append(record)
    for group in groups.values():
        yield _answer(group, analysis)


def _answer(group: list[LiveTensor], analysis: RunAnalysis) -> Answer:
    """One answer for tensors whose None has the same reasons."""
    first, names = group[0], tuple(record.name for record in group)
    why = reasons(first, analysis)
    text = " ".join(reason.text for reason in why)
    shown = ", ".join(f"{name}.grad" for name in names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return Answer(
        key=f"none.{why[0].key}",
        title=f"Why {'is' if len(names) == 1 else 'are'} {shown}{more} None?",
        text=text if len(names) == 1 else text.replace("It is", "Each is"),
        cure=" ".join(dict.fromkeys(reason.cure for reason in why if reason.cure)),
        line=why[0].line or first.line,
        names=names,
        glossary=why[0].key,
    )


def _in_question(analysis: RunAnalysis) -> Iterator[LiveTensor]:
    """Each tensor once."""
    in_question = {id(record.tensor): record for record in _read_as_none(analysis)}
    if any(not raw_pass.ours for raw_pass in analysis.passes):
        for record in analysis.finals.values():
            if (
                isinstance(record, LiveTensor)
                and id(record.tensor) not in in_question
                and _surprises(record, analysis)
            ):
                in_question[id(record.tensor)] = record
    yield from in_question.values()


def _read_as_none(analysis: RunAnalysis) -> Iterator[LiveTensor]:
    """Tensors whose `.grad` the program read, getting a None that is still there."""
    for tensor, line, passes in analysis.recorder.none_reads.values():
        record = analysis.recorder.find(tensor)
        early = passes == 0 and analysis.recorder.pass_count > 0 and tensor.is_leaf
        if record is None or early or tensor.grad is not None or _is_test(line, analysis):
            continue
        yield record


def _surprises(record: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether a variable's `.grad` is None where a gradient was to be expected."""
    if not record.requires_grad or record.tensor.grad is not None:
        return False
    if not record.is_leaf and was_leaf(record, analysis) is None:
        return False
    return all(reason.key not in EXPECTED for reason in reasons(record, analysis))


def _too_early(analysis: RunAnalysis) -> Iterator[Answer]:
    """`.grad` was read before any backward had run."""
    for tensor, line, passes in analysis.recorder.none_reads.values():
        record = analysis.recorder.find(tensor)
        if record is None or passes or not analysis.recorder.pass_count or not tensor.is_leaf:
            continue
        first = analysis.passes[0].line
        if not record.requires_grad or first is None or _is_test(line, analysis):
            continue
        name = record.name
        yield Answer(
            key="none.backward",
            title=f"Why is {name}.grad None on line {line}?",
            text=f"{name}.grad is filled by backward, which runs only on line {first}.",
            cure=f"Read {name}.grad after line {first}.",
            line=line,
            names=(name,),
            glossary="backward",
        )


def _is_test(line: int, analysis: RunAnalysis) -> bool:
    """`if w.grad is not None:` expects the None."""
    return " is None" in analysis.line_text(line) or " is not None" in analysis.line_text(line)
