"""Why `.grad` is None, for every tensor where a reader would wonder.

Asked at https://github.com/pytorch/pytorch/issues/17124
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from explorer.trace.explain.cures import certain
from explorer.trace.explain.leaf_repairs import add_argument, move
from explorer.trace.explain.none_reasons import reasons, was_leaf
from explorer.trace.explain.repairs import Repair
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.explain.unused_leaves import Reason
from explorer.trace.recording.cuts import CUT_CAUSES
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaves_of, nodes_behind
from explorer.trace.records import Answer, Symptom

#: Tensors named in one answer; those whose None has the same reason share it.
MOST_NAMES = 4

#: Reasons nobody is surprised by, unless the program read the None.
EXPECTED = {"zero_grad", "autograd.grad", "backward", "requires_grad", "failed", "averaged"}


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Leaves that end with None, and every tensor whose None the program itself read."""
    yield from _asked_in_vain(analysis)
    yield from _too_early(analysis)
    yield from _no_backward(analysis)
    groups: dict[tuple[str, ...], list[LiveTensor]] = {}
    for record in _in_question(analysis):
        same = tuple(_kind_of(reason, record) for reason in reasons(record, analysis))
        groups.setdefault(same, []).append(record)
    for group in groups.values():
        yield _answer(group, analysis)


def _kind_of(reason: Reason, record: LiveTensor) -> str:
    """The same for reasons that one answer names together."""
    if reason.cut is not None:
        return f"{reason.cut.line} {reason.cut.cause} {reason.cut.function}"
    return reason.text.replace(record.name, "…")


def _answer(group: list[LiveTensor], analysis: RunAnalysis) -> Answer:
    """One answer for tensors whose None has the same reasons."""
    first, names = group[0], tuple(record.name for record in group)
    why = reasons(first, analysis)
    text = " ".join(reason.text for reason in why)
    shown = ", ".join(f"{name}.grad" for name in names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    answer = Answer(
        key=f"none.{why[0].key}",
        title=f"Why {'is' if len(names) == 1 else 'are'} {shown}{more} None?",
        text=text if len(names) == 1 else text.replace("It is", "Each is"),
        cure=" ".join(dict.fromkeys(reason.cure for reason in why if reason.cure)),
        line=why[0].line or first.line,
        names=names,
        glossary=why[0].key,
        symptom=_symptom(group, why, analysis),
    )
    return certain(answer, *_fixes(group, analysis))


def _symptom(group: list[LiveTensor], why: list[Reason], analysis: RunAnalysis) -> Symptom:
    """The error, if it came of a None that was read; else the None."""
    names = tuple(record.name for record in group)
    reads = {note.line for r in group for note in analysis.recorder.reads_of(r.tensor)[:1]}
    if analysis.error is not None and analysis.error.line in reads:
        return Symptom("error", names)
    if any("[" in name for name in names) and why[0].key == "non-leaf":
        return Symptom("remark", names)  # such a tensor is a new one each time
    return Symptom("none", names)


def _fixes(group: list[LiveTensor], analysis: RunAnalysis) -> Iterator[str | None]:
    """The program without what cuts by mistake; and without all reasons."""
    found = [reason for record in group for reason in reasons(record, analysis)]
    for among in ([r for r in found if not _is_deliberate(r)], found):
        repair = Repair(analysis.draft())
        for reason in among:
            if reason.mend is not None:
                reason.mend(repair)
        if analysis.cuts:
            for record in group:
                for cut in analysis.cuts:
                    if analysis.cuts_off(cut, record.tensor) and cut.cause in _causes_of(among):
                        repair.one(cut)
        yield repair.draft.changed()


def _is_deliberate(reason: Reason) -> bool:
    return reason.cut is not None and CUT_CAUSES[reason.cut.cause].is_deliberate


def _causes_of(among: list[Reason]) -> set[str]:
    return {reason.cut.cause for reason in among if reason.cut is not None}


def _in_question(analysis: RunAnalysis) -> Iterator[LiveTensor]:
    """Each tensor once."""
    in_question = {id(record.tensor): record for record in _read_as_none(analysis)}
    if any(not raw_pass.ours for raw_pass in analysis.passes):
        for record in analysis.finals.values():
            if (
                isinstance(record, LiveTensor)
                and id(record.tensor) not in in_question
                and not analysis.is_replaced(record)
                and _surprises(record, analysis)
            ):
                in_question[id(record.tensor)] = record
    yield from in_question.values()


def _read_as_none(analysis: RunAnalysis) -> Iterator[LiveTensor]:
    """Tensors whose `.grad` the program read, getting a None that is still there."""
    variables = analysis.variables_by_tensor
    for tensor, note in analysis.recorder.events.things("read"):
        line, passes = note.line, note.passes
        record = variables.get(id(tensor)) or analysis.recorder.find(tensor)
        early = passes == 0 and analysis.recorder.pass_count > 0 and tensor.is_leaf
        if record is None or early or tensor.grad is not None or _is_test(line, analysis):
            continue
        yield record


def _surprises(record: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether a variable's `.grad` is None where a gradient was to be expected."""
    if not record.requires_grad or record.tensor.grad is not None:
        return False
    leaf = record if record.is_leaf else was_leaf(record, analysis)
    if leaf is None or id(leaf.tensor) in analysis.recorder.gradients.asked:
        return False  # torch.autograd.grad has returned its gradient
    if leaf is not record and all(
        other is not leaf.tensor for other in leaves_of(nodes_behind(record.tensor))
    ):
        return False  # the name has been given to something else
    if _is_kept_apart(record, analysis):
        return False
    if record.passes == analysis.recorder.pass_count and not record.is_leaf:
        return False  # the next backward may fill it
    if analysis.created_after_last_pass(record.tensor):
        return False
    why = reasons(record, analysis)
    if _is_used_elsewhere(record, why, analysis):
        return False
    return all(reason.key not in EXPECTED for reason in why)


def _is_used_elsewhere(record: LiveTensor, why: list[Reason], analysis: RunAnalysis) -> bool:
    """Whether it belongs to a computation of its own, as in a tutorial that shows several. What an
    optimizer holds should belong to the loss."""
    uses = analysis.recorder.events.optimizers.values()
    is_held = any(parameter is record.tensor for use in uses for parameter in use.parameters())
    is_used = any(live.tensor is record.tensor and live.first_use for live in analysis.records)
    return is_used and not is_held and all(r.key == "unused" and r.mend is None for r in why)


def _is_kept_apart(record: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether it is a parameter that no optimizer of the program holds: of a target network, of a
    frozen part, or of a model that was copied."""
    uses = analysis.recorder.events.optimizers.values()
    held = {id(parameter) for use in uses for parameter in use.parameters()}
    is_parameter = isinstance(record.tensor, nn.Parameter)
    return is_parameter and bool(held) and id(record.tensor) not in held


def _asked_in_vain(analysis: RunAnalysis) -> Iterator[Answer]:
    """torch.autograd.grad refuses a tensor that its outputs do not depend on."""
    if analysis.error is None or not analysis.error_contains("appears to not have been used"):
        return
    line = analysis.error.line
    for tensor in analysis.recorder.gradients.asked.values():
        record = analysis.recorder.find(tensor)
        if record is None or not record.is_leaf or id(tensor) in analysis.reached:
            continue
        why, name = reasons(record, analysis), record.name
        text = " ".join(reason.text for reason in why).replace("It is", f"{name} is", 1)
        answer = Answer(
            key=f"none.{why[0].key}",
            title=f"Why does torch.autograd.grad say that {name} was not used?",
            text=text,
            cure=" ".join(dict.fromkeys(reason.cure for reason in why if reason.cure)),
            line=why[0].line or line,
            names=(name,),
            glossary=why[0].key,
            symptom=Symptom("error", ()),
        )
        if why[0].key != "unused":
            yield certain(answer, *_fixes([record], analysis))
            continue
        draft = analysis.draft()
        call = draft.call(line, "grad")
        if call is not None:
            add_argument(draft, call, "allow_unused=True")
        cure = f"Leave {name} out on line {line}, or pass allow_unused=True: its gradient is None."
        yield certain(replace(answer, cure=cure), draft.changed())


def _too_early(analysis: RunAnalysis) -> Iterator[Answer]:
    """`.grad` was read before any backward had run."""
    for tensor, note in analysis.recorder.events.things("read"):
        line, passes = note.line, note.passes
        record = analysis.recorder.find(tensor)
        if record is None or passes or not analysis.recorder.pass_count or not tensor.is_leaf:
            continue
        first = analysis.passes[0].line
        if not record.requires_grad or first is None or _is_test(line, analysis):
            continue
        name = record.name
        draft = analysis.draft()
        move(draft, line, first, after=True)
        answer = Answer(
            key="none.backward",
            title=f"Why is {name}.grad None on line {line}?",
            text=f"{name}.grad is filled by backward, which runs only on line {first}.",
            cure=f"Read {name}.grad after line {first}.",
            line=line,
            names=(name,),
            glossary="backward",
            symptom=Symptom("none", (name,)),
        )
        yield certain(answer, draft.changed())


def _no_backward(analysis: RunAnalysis) -> Iterator[Answer]:
    """`.grad` was read, and the program has no backward at all."""
    if not analysis.passes or not all(raw.ours for raw in analysis.passes):
        return
    root = analysis.name_of(analysis.passes[0].roots[0])
    for tensor, note in analysis.recorder.events.things("read"):
        line, passes = note.line, note.passes
        record = analysis.recorder.find(tensor)
        if record is None or passes or _is_test(line, analysis) or not record.requires_grad:
            continue
        if id(tensor) not in analysis.reached or not tensor.is_leaf or not root.isidentifier():
            continue
        draft = analysis.draft()
        reading = draft.statement(line)
        if reading is not None:
            draft.insert_before(reading, f"{root}.backward()")
        answer = Answer(
            key="none.backward",
            title=f"Why is {record.name}.grad None on line {line}?",
            text=f"The program calls no backward, which fills {record.name}.grad.",
            cure=f"Call {root}.backward() before line {line}.",
            line=line,
            names=(record.name,),
            glossary="backward",
            symptom=Symptom("none", (record.name,)),
        )
        yield certain(answer, draft.changed())


def _is_test(line: int, analysis: RunAnalysis) -> bool:
    """`if w.grad is not None:` expects the None; `model.to(device)` reads every gradient."""
    text = analysis.line_text(line)
    return " is None" in text or " is not None" in text or "grad" not in text
