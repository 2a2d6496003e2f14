"""Why a tensor's `.grad` is None: every reason that holds, with its line and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from explorer.trace.history import CAUSES, Cut
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.terms import GLOSSARY


@dataclass(frozen=True)
class Reason:
    """One reason, in a sentence; `key` is that of its glossary entry, where it has one."""

    key: str
    text: str
    cure: str = ""
    line: int | None = None


def why_none(record: LiveTensor, analysis: RunAnalysis) -> tuple[str, str]:
    """All reasons why `.grad` is None, in a few sentences; and the key of the first one's term."""
    why = reasons(record, analysis)
    term = next((reason.key for reason in why if reason.key in GLOSSARY), "")
    return " ".join(reason.text for reason in why), term


def reasons(record: LiveTensor, analysis: RunAnalysis) -> list[Reason]:
    """The reasons, in the order in which to fix them."""
    if not record.tensor.is_floating_point() and not record.tensor.is_complex():
        return [_integers()]
    if not record.requires_grad:
        return list(_not_required(record, analysis))
    if record.grad_fn is not None:
        return list(_non_leaf(record, analysis))
    return list(_leaf(record, analysis))


def _integers() -> Reason:
    return Reason(
        "integer",
        "It holds integers or booleans; only floating-point numbers have gradients.",
        "Write its numbers with a decimal point (1. instead of 1).",
    )


def _not_required(record: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    cuts = analysis.recorder.history.cuts_of(record.tensor)
    for cut in cuts[:1]:
        yield Reason("cut", f"Its history was cut {where(cut)}.", cure_of(cut), cut.line)
    yield Reason(
        "requires_grad",
        "requires_grad is False, so autograd does not record what is computed from it.",
    )


def _non_leaf(record: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    name, node = record.name, type(record.grad_fn).__name__
    leaf = was_leaf(record, analysis)
    if leaf is not None:
        yield Reason(
            "rebound",
            f"{name} is no longer the leaf of line {leaf.line}: line {record.line} computed a new "
            f"tensor ({node}) and gave it the name {name}.",
            _keep_name(record, analysis),
            record.line,
        )
    else:
        yield Reason(
            "non-leaf",
            f"{name} is not a leaf: line {record.line} computed it ({node}), and backward fills "
            ".grad only for leaves.",
            f"Call {name}.retain_grad() before backward, or read its gradient in a hook."
            if name.isidentifier()
            else "Give it a name, and call retain_grad() on it before backward.",
            record.line,
        )
    if not analysis.recorder.pass_count:
        yield Reason("backward", "backward has not run yet.")
    elif record.grad is None and id(record.grad_fn) not in analysis.reached:
        yield from _not_reached(record, analysis)


def _leaf(record: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    recorder = analysis.recorder
    if not recorder.pass_count:
        cuts = [cut for cut in analysis.cuts if analysis.cuts_off(cut, record.tensor)]
        for cut in cuts[:2]:
            yield Reason("cut", f"The path was cut {where(cut)}.", cure_of(cut), cut.line)
        if not cuts or recorder.refused_backward is None:
            yield Reason("backward", "backward has not run yet.", "Call .backward() on the result.")
        return
    if id(record.tensor) in analysis.reached:
        if id(record.tensor) in recorder.cleared:
            line = recorder.cleared[id(record.tensor)]
            yield Reason(
                "zero_grad",
                f"It had a gradient; line {line} set it to None.",
                "Read .grad before it is cleared, or pass set_to_none=False.",
                line,
            )
        elif not analysis.stores_gradients:
            yield Reason(
                "autograd.grad",
                "torch.autograd.grad returns gradients; it does not store them in .grad.",
                "Use what it returns, or call .backward().",
            )
        elif analysis.error is not None and not analysis.was_visited(record.tensor):
            yield Reason("failed", "backward failed before it reached this tensor.")
        else:
            yield Reason(
                "flow", "backward reached it, but passed None to it instead of a gradient."
            )
        return
    yield from _not_reached(record, analysis)


def _not_reached(record: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    """A backward ran, and not through this tensor."""
    tensor = record.tensor
    records = [r for r in analysis.records if r.tensor is tensor]
    late = next(
        (
            user
            for user in analysis.records
            for frozen in user.frozen
            if frozen.tensor is tensor and not frozen.requires_grad
        ),
        None,
    )
    early = next((s for s in records if not s.requires_grad and s.first_use), None)
    line_used = late.line if late is not None else early.first_use if early is not None else 0
    is_late = bool(line_used) and record.is_leaf
    if is_late:
        since = next((s.line for s in records if s.requires_grad), record.line)
        yield Reason(
            "late",
            f"requires_grad was set too late: line {line_used} used {record.name} before line "
            f"{since} set it.",
            f"Set requires_grad before line {line_used}.",
            since,
        )
    cuts = [cut for cut in analysis.cuts if analysis.cuts_off(cut, tensor)][:2]
    for cut in cuts:
        yield Reason("cut", f"The path was cut {where(cut)}.", cure_of(cut), cut.line)
    if is_late or cuts:
        return
    used = next((s.first_use for s in records if s.first_use), 0)
    roots = {analysis.name_of(root) for raw in analysis.passes for root in raw.roots[:1]}
    root = " and ".join(sorted(roots)) or "what backward started from"
    if not used:
        yield Reason(
            "unused",
            "It is never used in the computation.",
            f"Use it in the computation of {root}, or leave it out.",
            record.line,
        )
    else:
        yield Reason(
            "unused",
            f"It is used on line {used}, but {root} does not depend on the result.",
            f"Check which tensor the computation of {root} uses.",
            used,
        )


def was_leaf(record: LiveTensor, analysis: RunAnalysis) -> LiveTensor | None:
    """The leaf that had this tensor's name before."""
    for earlier in reversed(analysis.records_named(record.name)):
        own_name = earlier.first_name in ("", record.name)
        is_leaf = earlier.is_leaf and earlier.requires_grad
        if earlier.number < record.number and is_leaf and own_name:
            return earlier
    return None


def _keep_name(record: LiveTensor, analysis: RunAnalysis) -> str:
    """How to do what the line does without taking the leaf's name away."""
    name, text = record.name, analysis.line_text(record.line)
    if f"{name}.grad" in text or record.operation in ("sub", "__isub__", "rsub"):
        return f"Change the leaf itself: with torch.no_grad(): {name} -= …"
    if ".to(" in text or ".cuda(" in text or ".float(" in text or ".double(" in text:
        return f"Convert first, then set requires_grad: {name} = {name}.to(…).requires_grad_()."
    return f"Give the result a name other than {name}."


def where(cut: Cut) -> str:
    """The place and cause of a cut, "on line 4, at y: detach() gives …"."""
    at = f", at {cut.name}" if cut.name else ""
    cause = CAUSES[cut.cause]
    if cut.cause in ("bool", "integer", "other"):
        cause = f"{cause} ({cut.function})"
    return f"on line {cut.line}{at}: {cause}"


def cure_of(cut: Cut) -> str:
    """What to write instead."""
    name = cut.name or "the tensor"
    cures = {
        "detach": f"Use {name} itself, without detach(), where the gradient must flow.",
        "detach_": "Leave out detach_().",
        "data": f"Use {name} itself, without .data.",
        "no_grad": "Compute it outside the torch.no_grad() block.",
        "tensor": f"Use {name} itself, or torch.stack([…]) to join several tensors.",
        "as_tensor": f"Use {name} itself, or torch.stack([…]) to join several tensors.",
        "argmax": "Use softmax and a weighted sum instead of argmax.",
        "argmin": "Use softmax and a weighted sum instead of argmin.",
        "bool": "Use a smooth function such as sigmoid instead of the comparison.",
        "integer": "Keep floating-point numbers where the gradient must flow.",
        "other": "Use a function that has a derivative.",
    }
    return cures.get(cut.cause, f"Keep {name} as a tensor: compute only with torch functions.")
