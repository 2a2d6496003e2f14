"""Why a tensor's `.grad` is None: every reason that holds, with its line and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from explorer.program.draft import changed_line
from explorer.trace.explain import leaf_repairs
from explorer.trace.explain.repairs import Repair
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.explain.unused_leaves import Reason, unused_leaf
from explorer.trace.recording.cuts import Cut
from explorer.trace.recording.repetitions import CHECKED, FIRST_RUN, RECOMPUTED
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaves_of, nodes_behind
from explorer.trace.records import WhyNone
from explorer.trace.terms import GLOSSARY

#: Operations that keep the numbers, and make a new tensor.
_CONVERSIONS = {"to", "double", "float", "half", "cuda", "cpu", "reshape", "view", "clone"}


def why_none(record: LiveTensor, analysis: RunAnalysis) -> WhyNone | None:
    """All reasons why `.grad` is None, with the first one's term; None where none is known."""
    why = reasons(record, analysis)
    term = next((reason.key for reason in why if reason.key in GLOSSARY), "")
    return WhyNone(" ".join(reason.text for reason in why), term) if why else None


def reasons(record: LiveTensor, analysis: RunAnalysis) -> list[Reason]:
    """The reasons, in the order in which to fix them."""
    if not record.tensor.is_floating_point() and not record.tensor.is_complex():
        return [_integers()]
    if not record.requires_grad:
        return list(_not_required(record, analysis))
    if record.note == RECOMPUTED:
        return [
            Reason("checkpoint", "checkpoint computed it again, because backward needs its value.")
        ]
    if record.note.startswith(CHECKED):
        return [Reason("check", "gradcheck computed it, to compare gradients with slopes.")]
    if id(record.tensor) in analysis.recorder.repetitions.averaged:
        return [Reason("averaged", "It is an average of other weights, and has no gradient.")]
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
    if record.note == FIRST_RUN:
        yield Reason("checkpoint", "checkpoint keeps no graph here: backward computes it again.")
        return
    if record.line in analysis.updates:
        yield _update(record, analysis)
        return
    for cut in analysis.recorder.history.cuts_of(record.tensor)[:1]:
        yield _cut(f"Its history was cut {analysis.where(cut)}.", cut, analysis)
    if line := analysis.recorder.frozen_at(record.tensor):
        yield Reason(
            "requires_grad",
            f"Line {line} set its requires_grad to False, so autograd computes no gradient for it.",
            f"Leave out line {line} if it should be trained.",
            line,
            lambda repair: leaf_repairs.unfreeze(repair.draft, line),
        )
        return
    name, start = record.own_name, record.line
    buffer = name.rpartition(".")[2]
    if any(buffer in m.__dict__.get("_buffers", ()) for m in analysis.modules()):
        yield Reason(
            "requires_grad",
            f"{buffer} is a buffer of its module: part of its state, but not trained.",
            f"To train it, make it a parameter: self.{buffer} = torch.nn.Parameter(…).",
            mend=lambda repair: leaf_repairs.parameter_for_buffer(repair.draft, buffer),
        )
        return
    yield Reason(
        "requires_grad",
        "requires_grad is False, so autograd does not record what is computed from it.",
        f"Create {name} with requires_grad=True."
        if leaf_repairs.is_created_here(analysis.as_typed, start)
        else "",
        start,
        lambda repair: leaf_repairs.require(repair.draft, start, name),
    )


def _update(record: LiveTensor, analysis: RunAnalysis) -> Reason:
    """`w = w - lr * w.grad`: the name w is given to a new tensor."""
    name, line = record.own_name, record.line
    why = "a result, not a leaf: backward fills .grad only for leaves"
    if record.is_leaf and record.requires_grad:
        why = "a new leaf, which no backward has reached since"
    elif not record.requires_grad:
        why = "made where nothing is recorded, and does not require grad"
    new = leaf_repairs.in_place_on(analysis.as_typed, line)
    return Reason(
        "rebound",
        f"Line {line} gives the name {name} to a new tensor. It is {why}.",
        f"Change {name} itself: `{new}` inside torch.no_grad().",
        line,
        lambda repair: repair.line(line),
    )


def _cut(text: str, cut: Cut, analysis: RunAnalysis) -> Reason:
    cure = analysis.cure_of(cut)
    return Reason("cut", text, cure, cut.line, lambda repair: repair.one(cut), cut)


def _non_leaf(record: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    leaf = was_leaf(record, analysis)
    if analysis.updates.get(record.line) == record.own_name:
        yield _update(record, analysis)
        return
    if leaf is not None:
        yield _renamed(record, leaf)
    else:
        yield from _computed(record, analysis)
    if not analysis.recorder.pass_count:
        yield Reason("backward", "backward has not run yet.")
    elif record.name.endswith("]"):  # a new tensor each time, which nothing else uses
        return
    elif record.grad is None and id(record.grad_fn) not in analysis.reached:
        yield from _not_reached(record, analysis)


def _renamed(record: LiveTensor, leaf: LiveTensor) -> Reason:
    """The name of a leaf was given to what was computed from it."""
    name, line, first = record.name, record.line, leaf.line
    text = (
        f"{name} is no longer the leaf of line {first}: line {line} computed a new tensor "
        f"({type(record.grad_fn).__name__}) and gave it the name {name}."
    )
    if record.operation in _CONVERSIONS:
        return Reason(
            "rebound",
            text,
            f"Convert first, and then make {name} a leaf with requires_grad_().",
            line,
            lambda repair: leaf_repairs.require_at_the_end(repair.draft, line, first),
        )
    return Reason(
        "rebound",
        text,
        f"Give the result a name other than {name}.",
        line,
        lambda repair: leaf_repairs.rename_result(repair.draft, line, name),
    )


def _computed(record: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    """The result of an operation, which was never a leaf."""
    name, line = record.name, record.line
    written = analysis.as_typed.assigned_name(line)
    text = (
        f"{name} is not a leaf: line {line} computed it ({type(record.grad_fn).__name__}), and "
        "backward fills .grad only for leaves."
    )
    reads = analysis.recorder.reads_of(record.tensor)
    whole = name.partition("[")[0]
    if _is_leaf_made_here(record, analysis):
        draft = analysis.draft()
        leaf_repairs.require_at_the_end(draft, line, line)
        new = changed_line(draft.source, draft.changed() or draft.source)[1]
        yield Reason(
            "non-leaf",
            f"{text} The leaf is the tensor inside, to which requires_grad was given; it has no "
            "name.",
            f"Compute first, then set requires_grad: `{new[:100]}`."
            if new
            else f"Compute first, and then make {name} a leaf with requires_grad_().",
            line,
            lambda repair: leaf_repairs.require_at_the_end(repair.draft, line, line),
        )
    elif "[" in name and reads and whole.replace(".", "").isidentifier():
        read = reads[0].line
        yield Reason(
            "non-leaf",
            f"Every {name} makes a new tensor, and backward fills .grad only for leaves.",
            f"Read the gradient of {whole}: {whole}.grad{name[len(whole) :]}.",
            read,
            lambda repair: leaf_repairs.read_from_whole(repair.draft, read, name),
        )
    else:
        yield Reason(
            "non-leaf",
            text,
            f"Call {written}.retain_grad() before backward, or read its gradient in a hook."
            if written
            else "Give it a name, and call retain_grad() on it before backward.",
            line,
            lambda repair: leaf_repairs.retain(repair.draft, line, name),
        )


def _is_leaf_made_here(record: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether the only leaf behind a tensor was made by the same statement: `randn(…) * 0.1`."""
    text = analysis.line_text(record.line)
    makes_leaf = "requires_grad=True" in text or "Parameter(" in text
    if not (makes_leaf and text.startswith(f"{record.name} = ")):
        return False
    leaves = leaves_of(nodes_behind(record.tensor))
    return len(leaves) == 1 and analysis.recorder.name_of(leaves[0]) not in analysis.variables


def _leaf(record: LiveTensor, analysis: RunAnalysis) -> Iterator[Reason]:
    recorder = analysis.recorder
    if not recorder.pass_count:
        cuts = [cut for cut in analysis.cuts if analysis.cuts_off(cut, record.tensor)]
        for cut in cuts[:2]:
            yield _cut(f"The path was cut {analysis.where(cut)}.", cut, analysis)
        if not cuts or recorder.refused_backward is None:
            yield Reason("backward", "backward has not run yet.", "Call .backward() on the result.")
        return
    if analysis.updates.get(record.line) == record.own_name:
        yield _update(record, analysis)
        return
    if analysis.created_after_last_pass(record.tensor):
        yield Reason("backward", f"Line {record.line} made it after the last backward.")
        return
    if id(record.tensor) in analysis.reached:
        if cleared := recorder.events.observations_of("clear", record.tensor):
            line = cleared[-1].line
            yield Reason(
                "zero_grad",
                f"It had a gradient; line {line} set it to None.",
                "Read .grad before it is cleared.",
                line,
                _read_before(record, line, analysis),
            )
        elif not analysis.stores_gradients:
            yield Reason(
                "autograd.grad",
                "torch.autograd.grad returns gradients; it does not store them in .grad.",
                "Use what it returns, or call .backward().",
                mend=lambda repair: repair.store_gradients(),
            )
        elif analysis.error is not None and not analysis.was_visited(record.tensor):
            yield Reason("failed", "backward failed before it reached this tensor.")
        else:
            yield Reason(
                "flow", "backward went as far as this, but brought None instead of a gradient."
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
            lambda repair: leaf_repairs.require_earlier(repair.draft, line_used, since or 0),
        )
    cuts = _first_cuts(cut for cut in analysis.cuts if analysis.cuts_off(cut, tensor))
    for cut in cuts:
        yield _cut(f"The path was cut {analysis.where(cut)}.", cut, analysis)
    if is_late or cuts:
        return
    used = next((s.first_use for s in records if s.first_use), 0)
    yield unused_leaf(record, used, analysis)


def was_leaf(record: LiveTensor, analysis: RunAnalysis) -> LiveTensor | None:
    """The leaf that had this tensor's name before."""
    for earlier in reversed(analysis.records_named(record.name)):
        own_name = earlier.first_name in ("", record.name)
        is_leaf = earlier.is_leaf and earlier.requires_grad
        if earlier.number < record.number and is_leaf and own_name:
            return earlier
    return None


def _first_cuts(cuts: Iterable[Cut]) -> list[Cut]:
    """The first two cuts, those on one line once."""
    places = {(cut.line, cut.cause): cut for cut in reversed(list(cuts))}
    return list(places.values())[::-1][:2]


def _read_before(
    record: LiveTensor, line: int, analysis: RunAnalysis
) -> Callable[[Repair], object] | None:
    """Reads the gradient before it is cleared."""
    reads = analysis.recorder.reads_of(record.tensor)
    if not reads:
        return None
    return lambda repair: leaf_repairs.move(repair.draft, reads[0].line, line, after=False)
