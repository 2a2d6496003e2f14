"""Which gradient torch gives where there is no derivative: corners of relu and abs, and ties.

Asked at https://github.com/pytorch/pytorch/issues/184575
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from explorer import limits
from explorer.trace.explain.cures import certain
from explorer.trace.explain.run_analysis import RunAnalysis, is_small_array
from explorer.trace.explain.zero_gradients import receives
from explorer.trace.recording.passes import RawStep
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import nodes_behind
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number

#: Operations that make zeros through which no gradient goes, and those that only pass values on.
CLIPPING = frozenset(["relu", "relu_", "relu6", "dropout", "threshold"])
PASSING = frozenset(
    ["max_pool1d", "max_pool2d", "adaptive_max_pool2d", "view", "reshape", "flatten", "squeeze"]
)
#: A title and a text that lack the name of the input and the line.
Explanation = tuple[str, str]


#: A gradient from which on it is remarkable that a vector of zeros was normalized.
LARGE = 1e8


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Operations at a point where torch's gradient is a convention, or very large."""
    yield from _normalized_zero(analysis)
    if any(use.steps for use in analysis.recorder.events.optimizers.values()):
        return  # training comes to corners and leaves them
    for index, raw_pass in enumerate(analysis.passes):
        later = {
            node.metadata.get("line")
            for other in analysis.passes[index + 1 :]
            for node in other.functions
        }
        for step in raw_pass.steps:
            node = raw_pass.functions[step.function]
            explanation_of = CORNERS.get(type(node).__name__)
            result = analysis.result_of_node(node)
            if explanation_of is None or result is None or not receives(step):
                continue
            if node.metadata.get("line") in later:
                continue  # a corner that a loop comes to and leaves again
            if explanation_of is _equal_pair and _agree(result.inputs):
                continue
            if explanation_of in (_relu, _abs) and _is_clipped(result.inputs):
                continue
            arrays = [a for a in (i.captured.array() for i in result.inputs) if is_small_array(a)]
            explanation = explanation_of(step, arrays) if arrays else None
            if explanation is None:
                continue
            name = result.inputs[0].name if result.inputs else result.name
            if result.inputs and name == result.inputs[0].operation:
                continue  # inside of a layer or a library
            other, operation = result.inputs[-1:], result.operation
            title, text = (
                part.format(
                    name=name,
                    other=other[0].name if other else "the other side",
                    line=result.line,
                    operation=operation,
                )
                for part in explanation
            )
            yield Answer(
                key="zero.corner",
                title=title,
                text=text,
                cure="",
                line=result.line,
                names=(name, result.name),
                glossary="kink",
                symptom=Symptom("remark", (name,)),
            )


def _normalized_zero(analysis: RunAnalysis) -> Iterator[Answer]:
    """F.normalize divides by the norm, and by eps where the norm is less."""
    for record in analysis.records:
        if record.operation != "normalize" or id(record.grad_fn) not in analysis.reached:
            continue
        source, line = record.inputs[0], record.line
        values = source.captured.array()
        gradient = source.tensor.grad if source.is_leaf else None
        if gradient is None or not is_small_array(values) or values.any():
            continue
        largest = float(gradient.abs().max())
        if not LARGE < largest < np.inf:
            continue
        draft = analysis.draft()
        call = draft.call(line, "normalize")
        if call is not None and not any(keyword.arg == "eps" for keyword in call.keywords):
            draft.surround([*call.args, *(k.value for k in call.keywords)][-1], "", ", eps=1e-6")
        answer = Answer(
            key="gradients.large",
            title=f"Why does {source.name}.grad have numbers as large as {number(largest)}?",
            text=f"{source.name} is a vector of zeros. F.normalize on line {line} divides by its "
            "norm, "
            "or by eps (1e-12, if it is not given) where the norm is less. So the slope at 0 is "
            "1/eps.",
            cure=f"Begin {source.name} with other values, or pass a larger eps.",
            line=line,
            names=(source.name,),
            glossary="kink",
            fix=draft.changed(),
            symptom=Symptom("value", (source.name,)),
        )
        yield certain(answer)
        return


def _relu(step: RawStep, arrays: list[np.ndarray]) -> Explanation | None:
    return _corner_at_0("relu", "0", step, arrays)


def _abs(step: RawStep, arrays: list[np.ndarray]) -> Explanation | None:
    return _corner_at_0("abs", "−1", step, arrays)


def _corner_at_0(
    function: str, left: str, step: RawStep, arrays: list[np.ndarray]
) -> Explanation | None:
    if not _receives_where(arrays[0] == 0, step):
        return None
    return (
        f"What is the derivative of {function} at 0?",
        f"{{name}} contains an exact 0 where line {{line}} applies {function}, which has a corner "
        f"there: slope {left} on the left, 1 on the right. torch uses 0; that is a convention, "
        "not a derivative.",
    )


def _shared(step: RawStep, arrays: list[np.ndarray]) -> Explanation | None:
    array = arrays[0]
    if array.ndim == 0:
        return None
    dims = step.saved.get("dim")
    axes = tuple(dims) if isinstance(dims, list) and dims else None
    extremes = [array == f(array, axis=axes, keepdims=True) for f in (np.max, np.min)]
    counts = [int(e.sum(axis=axes).max()) if _gets_all(step, array, e) else 1 for e in extremes]
    count = max(counts)
    if count < 2:
        return None
    which = "largest" if counts[0] >= 2 else "smallest"
    return (
        f"Which element gets the gradient when several are the {which}?",
        f"{count} elements of {{name}} are equal on line {{line}}. torch gives each of them "
        f"1/{count} of the gradient here; max(dim=…) would give all of it to one of them. Both "
        "are conventions.",
    )


def _gets_all(step: RawStep, array: np.ndarray, where: Any) -> bool:
    """Whether the gradient went to these elements alone."""
    grad = _grad_out(step)
    return grad is not None and grad.shape == array.shape and bool(((grad != 0) <= where).all())


def _picked(step: RawStep, arrays: list[np.ndarray]) -> Explanation | None:
    array, dim = arrays[0], step.saved.get("dim")
    if not isinstance(dim, int) or array.ndim == 0:
        return None
    grad = _grad_out(step)
    if grad is None or grad.shape != array.shape:
        return None
    value = np.take_along_axis(array, np.expand_dims(np.abs(grad).argmax(dim), dim), dim)
    count = int((array == value).sum(dim).max())
    if count < 2:
        return None
    return (
        "Which of several equal elements gets the gradient?",
        f"{count} elements of {{name}} are equal on line {{line}}. With dim=…, torch gives all of "
        "the gradient to the element whose index it returns; amax would divide it among them. "
        "Both are conventions.",
    )


def _equal_pair(step: RawStep, arrays: list[np.ndarray]) -> Explanation | None:
    if len(arrays) < 2 or not _receives_where(np.equal(*np.broadcast_arrays(*arrays[:2])), step):
        return None
    return (
        "Which side gets the gradient when both are equal?",
        "On line {line}, {operation} finds the same value in {name} and {other}. For such a tie, "
        "torch gives each side half of the gradient; that is a convention, not a derivative.",
    )


def _is_clipped(inputs: Sequence[LiveTensor]) -> bool:
    """Whether the zeros were made by an operation that lets no gradient through there, as in
    relu(max_pool2d(relu(x))): then it does not matter what torch uses."""
    for _ in range(limits.MOST_CORNER_STEPS):
        if not inputs:
            return False
        if inputs[0].operation in CLIPPING:
            return True
        if inputs[0].operation not in PASSING:
            return False
        inputs = inputs[0].inputs
    return False


def _agree(sides: Sequence[LiveTensor]) -> bool:
    """Whether both sides are the same function of a common source where they are equal, as a ratio
    and its clamp: they agree at different values. Then there is no corner."""
    if len(sides) < 2:
        return False
    first, second = (side.captured.array() for side in sides[:2])
    if not is_small_array(first) or not is_small_array(second) or first.shape != second.shape:
        return False
    sources = [{id(node) for node in nodes_behind(side.tensor)} for side in sides[:2]]
    return len(np.unique(first[first == second])) > 1 and bool(sources[0] & sources[1])


#: By backward node: its explanation, given the step and the inputs; None away from a corner.
CORNERS = {
    "ReluBackward0": _relu,
    "AbsBackward0": _abs,
    "MaxBackward1": _shared,
    "MinBackward1": _shared,
    "AmaxBackward0": _shared,
    "AminBackward0": _shared,
    "MaxBackward0": _picked,
    "MinBackward0": _picked,
    "MaximumBackward0": _equal_pair,
    "MinimumBackward0": _equal_pair,
}


def _grad_out(step: RawStep) -> np.ndarray | None:
    """The gradient passed on to the first input, if its values are known."""
    first = step.grads_out[0] if step.grads_out else None
    array = first.array() if first is not None else None
    return array if is_small_array(array) else None


def _receives_where(where: Any, step: RawStep) -> bool:
    """Whether a gradient other than 0 arrives where the condition holds."""
    first = step.grads_in[0] if step.grads_in else None
    grad = first.array() if first is not None else None
    if not is_small_array(grad) or grad.shape != where.shape:
        return bool(where.any())
    return bool((where & (grad != 0)).any())
