"""The result of a computation has no history: backward refuses, or runs and reaches nothing."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from explorer.trace.history import Cut
from explorer.trace.reasons import cure_of, where
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.torchviz_graph import leaves_of


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """ "element 0 of tensors does not require grad", and the cure that only hides it."""
    yield from _refused(analysis)
    yield from _rebuilt(analysis)


def _refused(analysis: RunAnalysis) -> Iterator[Answer]:
    refused = analysis.recorder.refused
    if refused is None or not analysis.says("does not require grad"):
        return
    root = analysis.name(refused.tensor)
    title = f"Why does backward on line {refused.line} say that {root} does not require grad?"
    cut = _first_cut(analysis)
    if cut is not None:
        yield Answer(
            "history.cut",
            title,
            f"The history of {root} was lost {where(cut)}. Whatever is computed from that is a "
            "plain tensor, with no way back.",
            cure_of(cut),
            cut.line,
            (cut.name, root),
            "cut",
        )
        return
    leaves = _plain_leaves(analysis)
    names = ", ".join(seen.name for seen in leaves[:3]) or "its inputs"
    yield Answer(
        "history.none",
        title,
        f"Nothing {root} was computed from requires a gradient: {names}.",
        _asked(leaves[0], analysis) if leaves else "Set requires_grad=True on an input.",
        leaves[0].line if leaves else refused.line,
        tuple(seen.name for seen in leaves[:3]),
        "requires_grad",
    )


def _first_cut(analysis: RunAnalysis) -> Cut | None:
    """The cut on the way to the refused tensor that came first."""
    return min(analysis.cuts, key=lambda cut: cut.line, default=None)


def _plain_leaves(analysis: RunAnalysis) -> list[LiveTensor]:
    """Variables that could have asked for a gradient."""
    found = {
        id(seen.tensor): seen
        for seen in analysis.finals.values()
        if isinstance(seen, LiveTensor)
        and seen.grad_fn is None
        and not seen.requires_grad
        and seen.tensor.is_floating_point()
        and "torch." in analysis.text(seen.line)
        and f"{seen.name} = torch." in analysis.text(seen.line)
    }
    return list(found.values())


def _asked(seen: LiveTensor, analysis: RunAnalysis) -> str:
    text = analysis.text(seen.line)
    if text.startswith(f"{seen.name} = ") and text.endswith(")"):
        return f"Write {text[:-1]}, requires_grad=True)"
    return f"Call {seen.name}.requires_grad_() before it is used."


def _rebuilt(analysis: RunAnalysis) -> Iterator[Answer]:
    """A loss made anew with requires_grad=True: backward runs, and ends where it began."""
    for raw in analysis.passes:
        root = raw.roots[0]
        leaves = leaves_of(raw.functions)
        cuts = [analysis.recorder.history.of(leaf) for leaf in leaves]
        if not leaves or not all(cuts) or root.numel() != 1 or leaves[0].numel() != 1:
            continue
        cut = cuts[0][-1]
        name = analysis.name(leaves[0])
        lost = [seen.name for seen in _lost(analysis, cut)]
        title = f"Why does backward run, but {_listed(lost)} get no gradient?"
        yield Answer(
            "history.rebuilt",
            title if lost else f"Why does backward from {name} reach nothing?",
            f"{name} is a new leaf. Its history was lost {where(cut)}. requires_grad=True lets "
            "backward run, but it does not bring the history back: the gradient ends at "
            f"{name} itself.",
            "Leave requires_grad out here. " + cure_of(cut),
            cut.line,
            (name, *lost),
            "cut",
        )
        return


def _lost(analysis: RunAnalysis, cut: Cut) -> list[LiveTensor]:
    finals = [seen for seen in analysis.finals.values() if isinstance(seen, LiveTensor)]
    return [s for s in finals if s.is_leaf and s.requires_grad and _behind(analysis, cut, s.tensor)]


def _behind(analysis: RunAnalysis, cut: Cut, leaf: torch.Tensor) -> bool:
    return any(analysis.cuts_off(c, leaf) for c in (cut, *analysis.cuts))


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
