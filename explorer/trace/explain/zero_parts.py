"""Factors of 0, sums that do not depend on what they add, and elements that are left out, as causes
of a gradient of 0."""

from __future__ import annotations

import numpy as np

from explorer.trace.explain.expressions import same_operation
from explorer.trace.explain.zero_step import SATISFIED, Cause, ZeroStep, at_minimum, spoken_name
from explorer.trace.text import number, shape_text, shortened

# -- factors ------------------------------------------------------------------------------------


def factor_cause(stop: ZeroStep) -> Cause | None:
    live = stop.live
    if live is None or not live.inputs:
        return None
    if live.operation in ("dropout", "alpha_dropout", "feature_dropout"):
        return f"dropout {stop.place} has set every element to 0", "dropout"
    if same_operation(live.operation) not in ("mul", "matmul", "linear", "addmm"):
        return None
    is_mul = same_operation(live.operation) == "mul" and len(live.inputs) > 1
    if is_mul and live.inputs[0].tensor is live.inputs[1].tensor:
        name, array = stop.operand()
        is_0 = array is not None and not array.any()
        text = f"line {stop.line} multiplies {name} by itself, and {name} is 0, where a square "
        return at_minimum(stop, text + "has slope 0") if is_0 else None
    matrix = live.operation in ("linear", "addmm")
    candidates = list(live.inputs[:2]) if live.operation != "addmm" else list(live.inputs[1:3])
    if len(candidates) == 2 and not matrix:
        candidates = [candidates[1 - stop.slot]] if stop.slot < 2 else []
    elif len(candidates) == 2:
        # A weight's gradient is multiplied by the input, and that of the input by the weight.
        is_weight = stop.slot == (2 if stop.kind.startswith("Addmm") else 1)
        candidates = [candidates[0 if is_weight else 1]]
    else:
        candidates = []
    zero = [c for c in candidates if (a := stop.values(c)) is not None and not a.any()]
    if zero:
        is_one = zero[0].captured.shape in ((), (1,))
        state = "is 0" if is_one else "is all 0"
        text = f"line {stop.line} multiplies by {spoken_name(zero[0])}, which {state}"
        if zero[0].is_leaf and zero[0].requires_grad:
            return text, "weights"
        return text, "relu" if zero[0].operation == "relu" else "factor"
    other = stop.step.saved.get("other" if stop.slot == 0 else "self")
    if other == 0 and isinstance(other, int | float):
        return f"line {stop.line} multiplies by 0", "factor"
    return None


# -- sums that do not depend on what they add -----------------------------------------------------


def softmax(stop: ZeroStep) -> Cause | None:
    result, dim = stop.saved("result"), stop.step.saved.get("dim")
    if result is None or not isinstance(dim, int):
        return None
    is_log = stop.kind.startswith("Log")
    name = "log_softmax" if is_log else "softmax"
    live = stop.live
    operand = spoken_name(live.inputs[0]) if live is not None and live.inputs else "its input"
    if live is not None and live.operation == "cross_entropy":
        name = "cross_entropy"
    if result.ndim == 0 or result.shape[dim] == 1:
        if name == "cross_entropy":
            return (
                f"{operand} has the shape {shape_text(result.shape)}, scores of a single class, "
                f"and cross_entropy {stop.place} is always 0 for a single class"
            ), "one class"
        return (
            f"{name} {stop.place} is taken over one element (dim={dim} of the shape "
            f"{shape_text(result.shape)}), and {name} over one element is always "
            f"{'0' if is_log else '1'}"
        ), "one element"
    received = stop.received
    probabilities = np.exp(result) if is_log else result
    is_sure = bool(((probabilities == 0) | (probabilities == 1)).all())
    if is_sure and stop.loss == 0:
        return f"{name} {stop.place} is sure of the right class. {SATISFIED}", "minimum"
    if is_sure:
        return (
            f"the scores {operand} lie so far apart that {name} {stop.place} gives exactly 0 and "
            "1, where it is flat"
        ), "scale"
    if not is_log and received is not None and received.shape == result.shape:
        spread = np.abs(received - received.mean(axis=dim, keepdims=True)).max()
        if spread <= 1e-6 * np.abs(received).max():
            return (
                f"softmax {stop.place} always adds up to 1 over dim {dim}, and the loss depends "
                "only on that sum"
            ), "sum"
    return None


def normalised(stop: ZeroStep) -> Cause | None:
    """The sum of what a norm layer has normalised is always the same."""
    received = stop.received
    operation = stop.live.operation if stop.live is not None else ""
    if operation not in ("batch_norm", "layer_norm", "group_norm", "instance_norm"):
        return None
    if received is None or stop.slot != 0:
        return None
    if received.size and np.ptp(received) <= 1e-6 * np.abs(received).max():
        return (
            f"{operation} {stop.place} makes the mean 0 whatever its input is, and the loss "
            "depends only on the sum of its result"
        ), "sum"
    return None


def summed(stop: ZeroStep) -> Cause | None:
    """The gradients of broadcast elements, which cancel."""
    received = stop.received
    if received is None or received.size < 2 or not received.any():
        return None
    scale = float(np.abs(received).sum())
    if abs(float(received.sum(dtype=np.float64))) > 1e-6 * scale:
        return None
    values = ", ".join(number(v) for v in received.reshape(-1)[:4])
    more = ", …" if received.size > 4 else ""
    return (
        f"the same number is used for {received.size} elements {stop.place}, and their gradients "
        f"({values}{more}) add up to 0"
    ), ""


# -- other elements -------------------------------------------------------------------------------


def where_cause(stop: ZeroStep) -> Cause | None:
    condition = stop.saved("condition")
    if condition is None or condition.dtype.kind != "b" or not stop.is_own:
        return None
    chosen = condition if stop.slot == 0 else ~condition
    if chosen.any():
        return None
    return f"torch.where {stop.place} takes the other value for every element", ""


def masked_fill(stop: ZeroStep) -> Cause | None:
    mask = stop.saved("mask")
    if mask is None or not mask.all() or not stop.is_own:
        return None
    return f"masked_fill {stop.place} replaces every element", ""


def extreme(stop: ZeroStep) -> Cause | None:
    first, second = stop.operand(0), stop.operand(1)
    if first[1] is None or second[1] is None:
        return None
    name = "maximum" if stop.kind.startswith("Maximum") else "minimum"
    mine, other = (first, second) if stop.slot == 0 else (second, first)
    wins = mine[1] > other[1] if name == "maximum" else mine[1] < other[1]  # type: ignore[operator]
    if np.any(wins | (mine[1] == other[1])):
        return None
    return f"{name} {stop.place} takes {other[0]} for every element", ""


def joined(stop: ZeroStep) -> Cause | None:
    live = stop.live
    if live is None or not stop.is_own or stop.slot >= len(live.inputs):
        return None
    name = shortened(live.inputs[stop.slot].name)
    whole = shortened(live.name)
    return f"{name} is a part of {whole} (line {stop.line}), and what is used of it later has " \
        "no part of it", ""  # fmt: skip


def embedding(stop: ZeroStep) -> Cause | None:
    indices, padding = stop.saved("indices"), stop.step.saved.get("padding_idx")
    if indices is None or not isinstance(padding, int) or padding < 0:
        return None
    if (indices != padding).any():
        return None
    return (
        f"every index {stop.place} is {padding}, the padding_idx, whose row gets no gradient"
    ), ""


def product_cause(stop: ZeroStep) -> Cause | None:
    array = stop.saved("self")
    if array is None or (array == 0).sum() < 2:
        return None
    name, _ = stop.operand()
    others = f"the derivative {stop.place} is the product of the other elements"
    return f"several elements of {name} are 0, and {others}, which contains a 0", ""


def always_0(stop: ZeroStep) -> Cause | None:
    return f"the result {stop.place} is always 0", ""
