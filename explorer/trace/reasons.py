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


def why_none(seen: LiveTensor, analysis: RunAnalysis) -> tuple[str, str]:
    """All reasons why `.grad` is None, in a few sentences; and the key of the first one's term."""
    found = reasons(seen, analysis)
    term = next((reason.key for reason in found if reason.key in GLOSSARY), "")
    return " ".join(reason.text for reason in found), term


def reasons(seen: LiveTensor, analysis: RunAnalysis) -> list[Reason]:
    """The reasons, the first one first to be mended."""
    if not seen.tensor.is_floating_point() and not seen.tensor.is_complex():
        return [_integers()]
    if not seen.requires_grad:
        return list(_not_required(seen, analysis))
    if seen.grad_fn is not None:
        return list(_non_leaf(seen, analysis))
    return list(_leaf(seen, analysis))


def _integers() -> Reason:
    return Reason(
        "integer",
        "It holds integers or truth values; only floating-point numbers have gradients.",
        "Write its numbers with a point (1. instead of 1).",
    )


def _not_required(seen: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    cuts = analysis.recorder.history.of(seen.tensor)
    for cut in cuts[:1]:
        yield Reason("cut", f"Its history ended {where(cut)}.", cure_of(cut), cut.line)
    yield Reason("requires_grad", "requires_grad is False, so autograd does not follow it.")


def _non_leaf(seen: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    name, node = seen.name, type(seen.grad_fn).__name__
    leaf = was_leaf(seen, analysis)
    if leaf is not None:
        yield Reason(
            "rebound",
            f"{name} no longer is the leaf of line {leaf.line}: line {seen.line} computed a new "
            f"tensor ({node}) and gave it the name {name}.",
            _keep_name(seen, analysis),
            seen.line,
        )
    else:
        yield Reason(
            "non-leaf",
            f"{name} is not a leaf: line {seen.line} computed it ({node}), and backward keeps "
            ".grad for leaves only.",
            f"Call {name}.retain_grad() before backward, or read its gradient in a hook."
            if name.isidentifier()
            else "Give it a name and call retain_grad() on it before backward.",
            seen.line,
        )
    if not analysis.recorder.pass_count:
        yield Reason("backward", "No backward has run.")
    elif id(seen.grad_fn) not in analysis.reached:
        yield from _not_reached(seen, analysis)


def _leaf(seen: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    recorder = analysis.recorder
    if not recorder.pass_count:
        cuts = [cut for cut in analysis.cuts if analysis.cuts_off(cut, seen.tensor)]
        for cut in cuts[:2]:
            yield Reason("cut", f"The path was cut {where(cut)}.", cure_of(cut), cut.line)
        if not cuts or recorder.refused is None:
            yield Reason("backward", "No backward has run.", "Call .backward() on the result.")
        return
    if id(seen.tensor) in analysis.reached:
        if id(seen.tensor) in recorder.cleared:
            line = recorder.cleared[id(seen.tensor)]
            yield Reason(
                "zero_grad",
                f"It had a gradient; line {line} set it to None.",
                "Read .grad before it is cleared, or pass set_to_none=False.",
                line,
            )
        elif not analysis.stored:
            yield Reason(
                "autograd.grad",
                "torch.autograd.grad returns gradients; it stores none in .grad.",
                "Use what it returns, or call .backward().",
            )
        elif analysis.error is not None and not analysis.finished(seen.tensor):
            yield Reason("failed", "backward failed before it got here.")
        else:
            yield Reason("flow", "It was reached, but None arrived: no gradient was handed to it.")
        return
    yield from _not_reached(seen, analysis)


def _not_reached(seen: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    """A backward ran, and not through this tensor."""
    tensor = seen.tensor
    records = [s for s in analysis.every if s.tensor is tensor]
    late = next(
        (
            user
            for user in analysis.every
            for frozen in user.frozen
            if frozen.tensor is tensor and not frozen.requires_grad
        ),
        None,
    )
    unasked = next((s for s in records if not s.requires_grad and s.used), None)
    line_used = late.line if late is not None else unasked.used if unasked is not None else 0
    found = False
    if line_used and seen.is_leaf:
        found = True
        since = next((s.line for s in records if s.requires_grad), seen.line)
        yield Reason(
            "late",
            f"requires_grad was set too late: line {line_used} had used {seen.name} before "
            f"line {since} set it.",
            f"Set requires_grad before line {line_used}.",
            since,
        )
    for cut in [cut for cut in analysis.cuts if analysis.cuts_off(cut, tensor)][:2]:
        found = True
        yield Reason("cut", f"The path was cut {where(cut)}.", cure_of(cut), cut.line)
    if found:
        return
    used = next((s.used for s in records if s.used), 0)
    roots = {analysis.name(root) for raw in analysis.passes for root in raw.roots[:1]}
    root = " and ".join(sorted(roots)) or "what backward started from"
    if not used:
        yield Reason(
            "unused",
            "It is never used in the computation.",
            f"Use it on the way to {root}, or leave it out.",
            seen.line,
        )
    else:
        yield Reason(
            "unused",
            f"It is used on line {used}, but {root} does not depend on what comes of it.",
            f"Check which tensor the computation of {root} uses.",
            used,
        )


def was_leaf(seen: LiveTensor, analysis: RunAnalysis) -> LiveTensor | None:
    """The leaf that had this tensor's name before."""
    for earlier in reversed(analysis.history_of(seen.name)):
        own_name = earlier.first_name in ("", seen.name)
        is_leaf = earlier.is_leaf and earlier.requires_grad
        if earlier.number < seen.number and is_leaf and own_name:
            return earlier
    return None


def _keep_name(seen: LiveTensor, analysis: RunAnalysis) -> str:
    name, text = seen.name, analysis.text(seen.line)
    if f"{name}.grad" in text or seen.operation in ("sub", "__isub__", "rsub"):
        return f"Change the leaf itself: with torch.no_grad(): {name} -= …"
    if ".to(" in text or ".cuda(" in text or ".float(" in text or ".double(" in text:
        return f"Convert first, then set requires_grad: {name} = {name}.to(…).requires_grad_()."
    return f"Give the result another name than {name}."


def where(cut: Cut) -> str:
    """ "on line 4, at y: detach() gives …" """
    at = f", at {cut.name}" if cut.name else ""
    reason = CAUSES[cut.how]
    if cut.how in ("bool", "integer", "other"):
        reason = f"{reason} ({cut.function})"
    return f"on line {cut.line}{at}: {reason}"


def cure_of(cut: Cut) -> str:
    """What to write instead."""
    name = cut.name or "the tensor"
    cures = {
        "detach": f"Use {name} itself, without detach(), where the gradient must pass.",
        "detach_": "Leave detach_() out.",
        "data": f"Use {name} itself, without .data.",
        "no_grad": "Compute it outside the torch.no_grad() block.",
        "tensor": f"Use {name} itself, or torch.stack([…]) to join several tensors.",
        "as_tensor": f"Use {name} itself, or torch.stack([…]) to join several tensors.",
        "argmax": "Use softmax and a weighted sum instead of the position.",
        "argmin": "Use softmax and a weighted sum instead of the position.",
        "bool": "Use a smooth function such as sigmoid instead of the comparison.",
        "integer": "Keep floating-point numbers where the gradient must pass.",
        "other": "Use a function that has a derivative.",
    }
    return cures.get(cut.how, f"Keep {name} as a tensor: compute with torch functions only.")
