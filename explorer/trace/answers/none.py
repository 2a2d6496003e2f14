"""`.grad` is None."""

from __future__ import annotations

from collections.abc import Iterator

from explorer.trace.reasons import reasons, was_leaf
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.tensor_registry import LiveTensor

#: Parameters of one model whose None has the same reason are told together.
MOST_NAMES = 4


#: Reasons nobody is surprised by, unless the program read the None.
EXPECTED = {"zero_grad", "autograd.grad", "backward", "requires_grad", "failed"}


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """Leaves that end with None, and every tensor whose None the program itself read."""
    yield from _too_early(analysis)
    groups: dict[tuple[str, ...], list[LiveTensor]] = {}
    for seen in _in_question(analysis):
        same = tuple(r.text.replace(seen.name, "…") for r in reasons(seen, analysis))
        groups.setdefault(same, []).append(seen)
    for group in groups.values():
        first, names = group[0], tuple(seen.name for seen in group)
        found = reasons(first, analysis)
        verb = "is" if len(names) == 1 else "are"
        shown = ", ".join(f"{name}.grad" for name in names[:MOST_NAMES])
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        yield Answer(
            key=f"none.{found[0].key}",
            title=f"Why {verb} {shown}{more} None?",
            text=_told(" ".join(reason.text for reason in found), len(names)),
            cure=" ".join(dict.fromkeys(reason.cure for reason in found if reason.cure)),
            line=found[0].line or first.line,
            names=names,
            glossary=found[0].key,
        )


def _told(text: str, count: int) -> str:
    return text if count == 1 else text.replace("It is", "Each is")


def _in_question(analysis: RunAnalysis) -> Iterator[LiveTensor]:
    """Each tensor once."""
    asked = {id(seen.tensor): seen for seen in _read_as_none(analysis)}
    if any(not raw.ours for raw in analysis.passes):
        for seen in analysis.finals.values():
            if (
                isinstance(seen, LiveTensor)
                and id(seen.tensor) not in asked
                and _surprises(seen, analysis)
            ):
                asked[id(seen.tensor)] = seen
    yield from asked.values()


def _read_as_none(analysis: RunAnalysis) -> Iterator[LiveTensor]:
    """Tensors whose `.grad` the program read, finding None that is still there."""
    for tensor, line, passes in analysis.recorder.none_reads.values():
        seen = analysis.recorder.find(tensor)
        early = passes == 0 and analysis.recorder.pass_count > 0 and tensor.is_leaf
        if seen is not None and not early and tensor.grad is None and not _is_test(line, analysis):
            yield seen


def _surprises(seen: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether a variable's `.grad` is None where a gradient was to be expected."""
    if not seen.requires_grad or seen.tensor.grad is not None:
        return False
    if not seen.is_leaf and was_leaf(seen, analysis) is None:
        return False
    return all(reason.key not in EXPECTED for reason in reasons(seen, analysis))


def _too_early(analysis: RunAnalysis) -> Iterator[Answer]:
    """`.grad` was read before any backward had run."""
    for tensor, line, passes in analysis.recorder.none_reads.values():
        seen = analysis.recorder.find(tensor)
        if seen is None or passes or not analysis.recorder.pass_count or not tensor.is_leaf:
            continue
        first = analysis.passes[0].line
        if not seen.requires_grad or first is None or _is_test(line, analysis):
            continue
        yield Answer(
            key="none.backward",
            title=f"Why is {seen.name}.grad None on line {line}?",
            text=f"backward runs on line {first}; until then nothing has filled {seen.name}.grad.",
            cure=f"Read {seen.name}.grad after line {first}.",
            line=line,
            names=(seen.name,),
            glossary="backward",
        )


def _is_test(line: int, analysis: RunAnalysis) -> bool:
    """`if w.grad is not None:` expects the None."""
    return " is None" in analysis.text(line) or " is not None" in analysis.text(line)
