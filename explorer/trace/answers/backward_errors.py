"""Errors of backward: a result without a graph, a second backward, several numbers, integers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch

from explorer.trace.history import Cut
from explorer.trace.none_reasons import cure_of, where
from explorer.trace.passes import RawStep
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.text import join_names, shape_text
from explorer.trace.torchviz_graph import leaves_of


def explain_missing_graph(analysis: RunAnalysis) -> Iterator[Answer]:
    """ "element 0 of tensors does not require grad", and the cure that only hides it."""
    yield from _no_graph(analysis)
    yield from _new_leaf(analysis)


def explain_refusals(analysis: RunAnalysis) -> Iterator[Answer]:
    """Other errors of the backward call, and of asking integers for a gradient."""
    yield from _second_time(analysis)
    yield from _not_scalar(analysis)
    yield from _integers(analysis)


# -- a result without a graph ---------------------------------------------------------------


def _no_graph(analysis: RunAnalysis) -> Iterator[Answer]:
    refused = analysis.recorder.refused_backward
    if refused is None or not analysis.error_contains("does not require grad"):
        return
    root = analysis.name_of(refused.tensor)
    title = f"Why does backward on line {refused.line} say that {root} does not require grad?"
    cut = min(analysis.cuts, key=lambda cut: cut.line, default=None)
    if cut is not None:
        yield Answer(
            "history.cut",
            title,
            f"The graph behind {root} was cut {where(cut)}. What is computed from that alone is a "
            "plain tensor, so backward has no graph to follow.",
            cure_of(cut),
            cut.line,
            (cut.name, root),
            "cut",
        )
        return
    leaves = _plain_leaves(analysis)
    names = ", ".join(leaf.name for leaf in leaves[:3]) or "its inputs"
    yield Answer(
        "history.none",
        title,
        f"None of the tensors that {root} was computed from requires a gradient ({names}), so "
        "autograd recorded no graph.",
        _require_grad(leaves[0], analysis) if leaves else "Set requires_grad=True on an input.",
        leaves[0].line if leaves else refused.line,
        tuple(leaf.name for leaf in leaves[:3]),
        "requires_grad",
    )


def _plain_leaves(analysis: RunAnalysis) -> list[LiveTensor]:
    """Variables that could have required a gradient."""
    leaves = {
        id(record.tensor): record
        for record in analysis.finals.values()
        if isinstance(record, LiveTensor)
        and record.grad_fn is None
        and not record.requires_grad
        and record.tensor.is_floating_point()
        and f"{record.name} = torch." in analysis.line_text(record.line)
    }
    return list(leaves.values())


def _require_grad(leaf: LiveTensor, analysis: RunAnalysis) -> str:
    text = analysis.line_text(leaf.line)
    if text.startswith(f"{leaf.name} = ") and text.endswith(")"):
        return f"Write {text[:-1]}, requires_grad=True)"
    return f"Call {leaf.name}.requires_grad_() before it is used."


def _new_leaf(analysis: RunAnalysis) -> Iterator[Answer]:
    """A loss made anew with requires_grad=True: backward runs, and ends where it began."""
    for raw_pass in analysis.passes:
        root = raw_pass.roots[0]
        leaves = leaves_of(raw_pass.functions)
        cuts = [analysis.recorder.history.cuts_of(leaf) for leaf in leaves]
        if not leaves or not all(cuts) or root.numel() != 1 or leaves[0].numel() != 1:
            continue
        cut = cuts[0][-1]
        name = analysis.name_of(leaves[0])
        lost = [leaf.name for leaf in _leaves_behind(analysis, cut)]
        verb = "does" if len(lost) == 1 else "do"
        yield Answer(
            "history.rebuilt",
            f"backward runs. Why {verb} {join_names(lost)} get no gradient?"
            if lost
            else f"Why does the gradient not go further back than {name}?",
            f"{name} is a new leaf: its history was cut {where(cut)}. requires_grad=True lets "
            f"backward run, but it does not restore the history, so the gradient stops at {name}.",
            "Leave out requires_grad here. " + cure_of(cut),
            cut.line,
            (name, *lost),
            "cut",
        )
        return


def _leaves_behind(analysis: RunAnalysis, cut: Cut) -> list[LiveTensor]:
    """The variables that get no gradient because of this cut or an earlier one."""
    records = [record for record in analysis.finals.values() if isinstance(record, LiveTensor)]
    leaves = [record for record in records if record.is_leaf and record.requires_grad]
    return [leaf for leaf in leaves if _is_behind(analysis, cut, leaf.tensor)]


def _is_behind(analysis: RunAnalysis, cut: Cut, leaf: torch.Tensor) -> bool:
    return any(analysis.cuts_off(c, leaf) for c in (cut, *analysis.cuts))


# -- refusals -------------------------------------------------------------------------------


def _second_time(analysis: RunAnalysis) -> Iterator[Answer]:
    failed = analysis.failed_pass
    if failed is None or not analysis.error_contains("backward through the graph a second time"):
        return
    step = next((step for step in reversed(failed.steps) if step.unreadable), None)
    if step is None:
        return
    node = failed.functions[step.function]
    earlier = next(
        (p for p in analysis.passes if p is not failed and any(f is node for f in p.functions)),
        None,
    )
    result = analysis.result_of_node(node)
    name, line = (result.name, result.line) if result is not None else (type(node).__name__, None)
    freed = f"line {earlier.line}" if earlier is not None else "an earlier line"
    cure = f"Compute {name} again before the second backward"
    if result is not None and failed.line is not None and line is not None and earlier is not None:
        inside = earlier.line == failed.line
        cure = f"Move line {line} into the loop" if inside else cure
    cure += f", or call backward on {freed} with retain_graph=True."
    if retained := analysis.recorder.events.retain_grad_lines:
        cure += (
            f" retain_grad (line {retained[0]}) does something else: it keeps the gradient of a "
            "tensor, while retain_graph keeps the graph."
        )
    yield Answer(
        "backward.twice",
        f"Why does backward on line {failed.line} fail?",
        f"backward on {freed} went through {analysis.node_text(node)} and freed "
        f"{_saved_by(step, result)}; backward on line {failed.line} needs them again.",
        cure,
        failed.line,
        (name,),
        "retain_graph",
    )


def _saved_by(step: RawStep, result: LiveTensor | None) -> str:
    """The values a node had saved, by the reader's names."""
    inputs = [record.name for record in result.inputs] if result is not None else []
    known = dict(zip(("self", "other"), inputs, strict=False))
    names = [known[name] for name in step.unreadable if name in known]
    if result is not None and "result" in step.unreadable:
        names.append(result.name)
    listed = f" ({', '.join(dict.fromkeys(names))})" if names else ""
    return f"the values it had saved{listed}"


def _not_scalar(analysis: RunAnalysis) -> Iterator[Answer]:
    failed = analysis.failed_pass
    if failed is None or not analysis.error_contains(
        "can be implicitly created only for scalar outputs"
    ):
        return
    root = failed.roots[0]
    name = analysis.name_of(root)
    yield Answer(
        "backward.scalar",
        f"Why can backward not start from {name}?",
        f"{name} has {root.numel()} elements, shape {shape_text(tuple(root.shape))}. backward "
        "starts with a gradient of 1 where there is a single number; for several numbers it "
        "cannot know which gradient each should start with.",
        f"Write {name}.sum().backward(), or pass the gradients to start with: "
        f"{name}.backward(torch.ones_like({name})).",
        failed.line,
        (name,),
        "scalar",
    )


def _integers(analysis: RunAnalysis) -> Iterator[Answer]:
    error = analysis.error
    if error is None or not re.search(
        r"[Oo]nly Tensors of floating point|only require_grad.* for Tensors of floating",
        error.detail,
    ):
        return
    text = analysis.line_text(error.line)
    name = text.split("=")[0].strip() if re.match(r"\w+\s*=[^=]", text) else "this tensor"
    with_points = re.sub(r"(?<![\w.])(-?\d+)(?![\w.])", r"\1.", text)
    can_rewrite = "torch.tensor(" in text and with_points != text
    yield Answer(
        "backward.integer",
        f"Why can {name} not require a gradient?",
        f"Line {error.line} makes a tensor of integers. A gradient describes the effect of an "
        "arbitrarily small change, and an integer cannot change by less than 1.",
        f"Write {with_points}"
        if can_rewrite
        else "Use floating-point numbers: dtype=torch.float32.",
        error.line,
        (name,),
        "integer",
    )
