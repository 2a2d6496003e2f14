"""Changes of a program after which an operation gives finite numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
import torch

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.expressions import (
    Operation,
    meaning_of,
    operand_text,
    operations_for,
    operations_on,
)
from explorer.trace.explain.nonfinite_values import values_of
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.text import shortened

#: A cure in a sentence, and the changed program.
Cure = tuple[str, str | None]

EXPONENTIALS = ("exp", "expm1", "sinh", "cosh")
#: By operation: which operand is kept away from what, and how that is written.
AWAY: dict[str, tuple[int, str]] = {
    **dict.fromkeys(("log", "log2", "log10", "logit"), (0, "{x}.clamp(min=1e-8)")),
    **dict.fromkeys(("sqrt", "rsqrt", "pow"), (0, "{x}.clamp(min=1e-8)")),
    "log1p": (0, "{x}.clamp(min=-1 + 1e-6)"),
    **dict.fromkeys(("div", "reciprocal"), (-1, "({x} + 1e-8)")),
    **dict.fromkeys(("acos", "asin", "atanh", "erfinv"), (0, "{x}.clamp(-1 + 1e-6, 1 - 1e-6)")),
    "acosh": (0, "{x}.clamp(min=1 + 1e-6)"),
    **dict.fromkeys(EXPONENTIALS, (0, "{x}.clamp(max=80)")),
}
#: Expressions whose logarithm, by the operation inside it, has a function of its own.
LOG_OF = {"softmax": "torch.log_softmax", "sigmoid": "torch.nn.functional.logsigmoid"}


def forward_cures(
    origin: LiveTensor,
    inputs: list[LiveTensor],
    analysis: RunAnalysis,
    *,
    is_overflow: bool = False,
) -> Iterator[Cure]:
    """Ways to compute a value without NaN or infinity, the best first."""
    for number in range(min(2, len(operations_for(analysis.draft(), origin)))):
        for kind in KINDS:
            draft = analysis.draft()
            place = operations_for(draft, origin)[number]
            if is_overflow and kind is _away and place.name not in EXPONENTIALS:
                continue
            words = kind(draft, place, origin, inputs, analysis)
            if words:
                yield words, draft.changed()


def _as_one_function(
    draft: Draft, place: Operation, origin: LiveTensor, inputs: list[LiveTensor],
    analysis: RunAnalysis,
) -> str:  # fmt: skip
    """log(softmax(z)) as log_softmax(z), and the like: torch computes these without overflow."""
    for found, new in written_out(draft):
        is_whole = found.node is place.node
        if is_whole or (place.name in ("exp", "div") and found.name != "log"):
            draft.replace(found.node, new)
            return f"Write {shortened(new)}: torch computes both together, without overflow."
    return ""


def written_out(draft: Draft) -> Iterator[tuple[Operation, str]]:
    """What a program writes out although torch has a function for it, and a call of that."""
    for statement in draft.nodes(ast.stmt):
        if not hasattr(statement, "body"):
            for place in operations_on(draft, statement.lineno):
                forms = {"log": _log, "div": _quotient}.get(place.name)
                new = forms(draft, place, statement.lineno) if forms is not None else ""
                if new:
                    yield place, new


def _log(draft: Draft, place: Operation, line: int) -> str:
    """log(softmax(z)), log(sigmoid(z)), log(1 − sigmoid(z)), log(1 + exp(z)), log(Σ exp(z))."""
    inner = meaning_of(draft, place.operands[0], line) if place.operands else None
    if inner is None:
        return ""
    if inner.name in LOG_OF and isinstance(inner.node, ast.Call):
        keywords = [f"{k.arg}={draft.of(k.value)}" for k in inner.node.keywords if k.arg]
        return f"{LOG_OF[inner.name]}({', '.join([*map(draft.of, inner.operands), *keywords])})"
    second = meaning_of(draft, inner.operands[-1], line) if inner.operands else None
    if second is None or not second.operands:
        return ""
    argument = second.operands[0]
    if inner.name == "sub" and second.name == "sigmoid" and _is_one(draft, inner.operands[0]):
        return f"{LOG_OF['sigmoid']}(-{operand_text(draft, argument)})"
    if inner.name == "add" and second.name == "exp" and _is_one(draft, inner.operands[0]):
        return f"torch.nn.functional.softplus({draft.of(argument)})"
    inside = meaning_of(draft, inner.operands[0], line)
    if inner.name == "sum" and inside is not None and inside.name == "exp":
        dim = _dim_of(draft, inner) or "dim=0"
        return f"torch.logsumexp({draft.of(inside.operands[0])}, {dim})"
    return ""


def _quotient(draft: Draft, place: Operation, line: int) -> str:
    """exp(z) / Σ exp(z), 1 / (1 + exp(−z)) and exp(z) / (1 + exp(z))."""
    above, below = (meaning_of(draft, operand, line) for operand in place.operands[:2])
    if below is None:
        return ""
    if below.name == "add" and _is_one(draft, below.operands[0]):
        inside = meaning_of(draft, below.operands[1], line)
        if inside is None or inside.name != "exp":
            return ""
        power = inside.operands[0]
        if _is_one(draft, place.operands[0]):
            is_negative = isinstance(power, ast.UnaryOp) and isinstance(power.op, ast.USub)
            z = draft.of(power.operand) if is_negative else f"-{operand_text(draft, power)}"  # type: ignore[attr-defined]
            return f"torch.sigmoid({z})"
        is_same = above is not None and draft.of(above.node) == draft.of(inside.node)
        return f"torch.sigmoid({draft.of(power)})" if is_same else ""
    if above is not None and (above.name, below.name) == ("exp", "sum"):
        inside = meaning_of(draft, below.operands[0], line)
        if inside is not None and draft.of(inside.node) == draft.of(above.node):
            dim = _dim_of(draft, below) or "dim=0"
            return f"torch.softmax({draft.of(above.operands[0])}, {dim})"
    return ""


def _is_one(draft: Draft, node: ast.expr) -> bool:
    return draft.of(node) in ("1", "1.", "1.0")


def _dim_of(draft: Draft, place: Operation) -> str:
    """The axis of a sum, as an argument: "dim=1"."""
    dim = place.argument(1, "dim") or place.keyword("axis")
    return f"dim={draft.of(dim)}" if dim is not None else ""


def _mask_with_a_number(
    draft: Draft, place: Operation, origin: LiveTensor, inputs: list[LiveTensor],
    analysis: RunAnalysis,
) -> str:  # fmt: skip
    """A large negative number in place of −inf, in the statement that made the mask."""
    if place.name not in ("softmax", "log_softmax", "logsumexp"):
        return ""
    source: LiveTensor | None = inputs[0] if inputs else None
    for _ in range(20):
        if source is None:
            return ""
        line = source.statement if source.operation else source.line
        statement = draft.statement(line)
        for node in ast.walk(statement) if statement is not None else ():
            if isinstance(node, ast.expr) and _is_minus_infinity(draft, node):
                draft.replace(node, "-1e9")
                return "Mask with a large negative number, such as -1e9, in place of -inf."
        source = source.inputs[0] if source.inputs else None
    return ""


def _is_minus_infinity(draft: Draft, node: ast.expr) -> bool:
    text = draft.of(node).replace(" ", "").replace('"', "'")
    return text in (
        "float('-inf')", "-float('inf')", "-torch.inf", "-math.inf", "-np.inf", "float('-infinity')"
    )  # fmt: skip


def _away(
    draft: Draft, place: Operation, origin: LiveTensor, inputs: list[LiveTensor],
    analysis: RunAnalysis,
) -> str:  # fmt: skip
    """The operand kept away from the numbers for which the operation is not finite."""
    if place.name not in AWAY or not place.operands:
        return ""
    position, form = AWAY[place.name]
    operand = place.operands[position]
    if isinstance(operand, ast.Constant):
        return ""
    new = form.format(x=operand_text(draft, operand))
    draft.replace(operand, new)
    return f"Keep the input away from this value: write {shortened(new)}."


def _finite_factor(
    draft: Draft, place: Operation, origin: LiveTensor, inputs: list[LiveTensor],
    analysis: RunAnalysis,
) -> str:  # fmt: skip
    """The infinite factor of 0 replaced by 0."""
    if place.name != "mul" or len(place.operands) != 2 or len(inputs) != 2:
        return ""
    for operand, source in zip(place.operands, inputs, strict=True):
        array = values_of(source)
        if array is not None and np.isinf(array).any():
            new = f"torch.nan_to_num({draft.of(operand)}, posinf=0.0, neginf=0.0)"
            draft.replace(operand, new)
            return f"Replace the infinity before multiplying: write {shortened(new)}."
    return ""


def _over_all(
    draft: Draft, place: Operation, origin: LiveTensor, inputs: list[LiveTensor],
    analysis: RunAnalysis,
) -> str:  # fmt: skip
    """The deviation of a single element with n in place of n − 1."""
    if place.name not in ("std", "var") or not isinstance(place.node, ast.Call):
        return ""
    text = draft.of(place.node)
    if "correction" in text or "unbiased" in text or not text.endswith(")"):
        return ""
    comma = "" if text.endswith("()") else ", "
    draft.replace(place.node, f"{text[:-1]}{comma}correction=0)")
    return "Use more than one element, or divide by n: pass correction=0."


def _in_float32(
    draft: Draft, place: Operation, origin: LiveTensor, inputs: list[LiveTensor],
    analysis: RunAnalysis,
) -> str:  # fmt: skip
    """bfloat16, with the range of float32, in place of float16."""
    if origin.tensor.dtype != torch.float16:
        return ""
    in_bfloat16(draft)
    return "Use bfloat16, which has the range of float32, or float32 for this step."


KINDS = (
    _as_one_function,
    _mask_with_a_number,
    _finite_factor,
    _away,
    _over_all,
    _in_float32,
)


def from_the_start(origin: LiveTensor, what: str, analysis: RunAnalysis) -> tuple[str, list[Cure]]:
    """What to say about a value that was not computed, and how to replace its NaN before use."""
    name, line = shortened(origin.name), origin.first_use or origin.line
    text = f"{name} contains {what} from the start, on line {origin.line}."
    if origin.first_use > origin.line:
        text = f"{name} contains {what} when line {line} reads it."
    draft = analysis.draft()
    use = draft.statement(origin.first_use)
    if use is None or not origin.named or not origin.name.isidentifier():
        return text, []
    new = f"{name} = torch.nan_to_num({name})"
    if what != "NaN":
        new = f"{name} = torch.nan_to_num({name}, posinf=0.0, neginf=0.0)"
    draft.insert_before(use, new)
    return text, [
        (f"Replace it before it is used ({new}), or leave those elements out.", draft.changed())
    ]


def in_bfloat16(draft: Draft) -> None:
    """Write bfloat16 wherever a program says float16."""
    for node in draft.nodes(ast.Attribute):
        if draft.of(node) in ("torch.float16", "torch.half"):
            draft.replace(node, "torch.bfloat16")
    for call in draft.nodes(ast.Call):
        if called_name(call) == "half" and isinstance(call.func, ast.Attribute) and not call.args:
            draft.replace(call, f"{operand_text(draft, call.func.value)}.bfloat16()")
