"""Errors of backward: several numbers, a gradient of another shape, integers.

Asked at https://github.com/pytorch/pytorch/issues/53466
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.run_analysis import RunAnalysis, parenthesised
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import shape_text

#: Functions whose results are losses, with one number for each sample if they are not reduced.
LOSSES = frozenset(
    ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss",
     "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div")
)  # fmt: skip
#: Gradients of a cured program that its sentence shows: more are not read.
MOST_GRADIENTS = 2


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Other errors of the backward call, and of asking integers for a gradient."""
    yield from _not_scalar(analysis)
    yield from _gradient_shape(analysis)
    yield from _integers(analysis)


# -- refusals -------------------------------------------------------------------------------


def _not_scalar(analysis: RunAnalysis) -> Iterator[Answer]:
    failed = analysis.failed_pass
    if failed is None or not analysis.error_contains(
        "can be implicitly created only for scalar outputs"
    ):
        return
    root = failed.roots[0]
    name = analysis.name_of(root)
    how = _reduction(root, analysis)
    reduced = f"{parenthesised(name)}.{how}()"
    draft, names = analysis.draft(), _leaf_names(failed, analysis)
    start = _starting_argument(draft, failed)
    if start is not None:
        draft.call_on(start, how)
    is_grad = failed.call == "torch.autograd.grad"
    pass_on = f"grad_outputs=torch.ones_like({name})" if is_grad else f"torch.ones_like({name})"
    yield Answer(
        key="backward.scalar",
        title=f"Why can {'autograd.grad' if is_grad else 'backward'} not start from {name}?",
        text=f"{name} has {root.numel()} elements, shape {shape_text(tuple(root.shape))}. backward "
        "starts with a gradient of 1 where there is a single number; for several numbers it "
        "cannot know which gradient each should start with.",
        cure=f"Start from {reduced}, or pass the gradients to start with: {pass_on}.",
        line=failed.line,
        names=(name,),
        glossary="scalar",
        fix=draft.changed(),
        symptom=Symptom("error", names),
    )


def _reduction(root: torch.Tensor, analysis: RunAnalysis) -> str:
    """What makes one number of several: the mean of a loss of each sample, else the sum."""
    record = analysis.recorder.find(root)
    is_loss = record is not None and record.operation in LOSSES
    return "mean" if is_loss or analysis.recorder.events.optimizers else "sum"


def _leaf_names(failed: RawPass, analysis: RunAnalysis) -> tuple[str, ...]:
    leaves = sorted(leaves_of(failed.functions), key=lambda leaf: leaf.numel())
    return tuple(map(analysis.name_of, leaves[:MOST_GRADIENTS]))


def _starting_argument(draft: Draft, failed: RawPass) -> ast.expr | None:
    """The expression that a call goes back from: y of `y.backward()`, or of `grad(y, x)`."""
    call = draft.call(failed.line, "backward" if "backward" in failed.call else "grad")
    if call is None:
        return None
    if failed.call == "Tensor.backward":
        return call.func.value if isinstance(call.func, ast.Attribute) else None
    first = call.args[0] if call.args else None
    if isinstance(first, ast.List | ast.Tuple):
        return first.elts[0] if len(first.elts) == 1 else None
    return first


def _gradient_shape(analysis: RunAnalysis) -> Iterator[Answer]:
    """A gradient to start from that does not have the shape of the result."""
    failed = analysis.failed_pass
    if failed is None or not analysis.error_contains("Mismatch in shape: grad_output"):
        return
    root = failed.roots[0]
    name = analysis.name_of(root)
    draft = analysis.draft()
    call = draft.call(failed.line, "backward" if "backward" in failed.call else "grad")
    given = _given_gradient(call, failed)
    if call is None or given is None:
        return
    new = f"torch.ones_like({name})"
    is_ones = isinstance(given, ast.Call) and called_name(given) in ("ones", "tensor", "ones_like")
    if is_ones and name.isidentifier():
        draft.replace(given, new)
    else:
        new = f"{draft.operand(given)}.reshape({parenthesised(name)}.shape)"
        draft.replace(given, new)
    yield Answer(
        key="backward.gradient-shape",
        title=f"Why does the gradient not fit {name}?",
        text=f"{name} has the shape {shape_text(tuple(root.shape))}, and the gradient passed on "
        "line "
        f"{failed.line} has another one. It must have one number for each element of {name}: how "
        f"much the final result changes with that element.",
        cure=f"Pass {new}.",
        line=failed.line,
        names=(name,),
        glossary="gradient",
        fix=draft.changed(),
        symptom=Symptom("error", _leaf_names(failed, analysis)),
    )


def _given_gradient(call: ast.Call | None, failed: RawPass) -> ast.expr | None:
    """The gradient that a call was given to start from."""
    if call is None:
        return None
    names = ("gradient", "grad_outputs", "grad_tensors")
    place = {"Tensor.backward": 0, "torch.autograd.backward": 1}.get(failed.call, 2)
    named = next((k.value for k in call.keywords if k.arg in names), None)
    given = named or (call.args[place] if len(call.args) > place else None)
    if isinstance(given, ast.List | ast.Tuple):
        return given.elts[0] if len(given.elts) == 1 else None
    return given


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
        key="backward.integer",
        title=f"Why can {name} not require a gradient?",
        text=f"Line {error.line} makes a tensor of integers. A gradient describes the effect of an "
        "arbitrarily small change, and an integer cannot change by less than 1.",
        cure=f"Write {with_points}"
        if can_rewrite
        else "Use floating-point numbers: dtype=torch.float32.",
        line=error.line,
        names=(name,),
        glossary="integer",
    )
