"""A loss that grows with the steps, or becomes NaN, because the steps are too large.

Asked at https://github.com/chenyuntc/pytorch-book/issues/138
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from explorer.program.draft import Draft
from explorer.trace.explain import divergence, explosion
from explorer.trace.explain.cures import with_cures
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.passes import RawPass
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number

#: A loss that grows by this factor, over the last so many finite values, has run away.
GREW, LAST = 100.0, 2
#: A loss that is still a number has run away if it has grown by this factor.
FAR = 1000.0


def has_grown(analysis: RunAnalysis) -> bool:
    """Whether the loss grew with the steps, until it was not finite any more."""
    losses = _finite_losses(analysis)[0]
    last = losses[-LAST:]
    return len(last) == LAST and last == sorted(last) and last[-1] > GREW * losses[0]


def has_run_away(analysis: RunAnalysis) -> bool:
    """Whether the loss grew, or a weight that is used many times was thrown far away."""
    if has_grown(analysis):
        return True
    step = explosion.longest_step(analysis) if _finite_losses(analysis)[0] else None
    return step is not None and step.uses >= explosion.MANY_USES


def explain(raw_pass: RawPass, analysis: RunAnalysis) -> Iterator[Answer]:
    """Why a loss is not finite in this pass, though it was at first."""
    losses, first_bad = _finite_losses(analysis)
    names = tuple(live.name for live in raw_pass.leaves.values() if live is not None)
    if first_bad is None or not losses:
        return
    answer = Answer(
        key="nonfinite.steps",
        title=f"Why is the loss NaN or infinite from backward call {first_bad} on?",
        text="",
        cure="",
        line=raw_pass.line,
        names=names[:3],
        glossary="learning_rate",
        symptom=Symptom("nonfinite", names),
    )
    long_step = explosion.longest_step(analysis)
    if long_step is not None and long_step.uses >= explosion.MANY_USES:
        yield _exploding(answer, long_step, analysis)
    elif has_grown(analysis):
        text = (
            f"The loss grows with the steps: backward starts from {_listed(losses)}. Each step "
            "goes too far, until the numbers are larger than their dtype can hold."
        )
        cures = [
            (f"Use a smaller learning rate, for example {rate}.", fix)
            for divisor in _divisors(_overshoot(losses))
            for rate, fix in [_with_smaller_steps(analysis.draft(), divisor)]
        ]
        answer = replace(answer, text=text, cure="Use a smaller learning rate.")
        yield with_cures(answer, cures, is_certain=False)
    elif long_step is not None:
        yield _exploding(answer, long_step, analysis)
    elif not any(p.number == first_bad for p in analysis.passes):
        yield replace(
            answer,
            text=f"The loss is finite in the first {len(losses)} calls of backward. The NaN is "
            "made in an iteration whose operations are not recorded.",
            cure=f"Choose iteration {first_bad - 1} or {first_bad} to see where.",
            glossary="nan",
        )


def explain_growth(analysis: RunAnalysis) -> Iterator[Answer]:
    """Why a loss has grown far beyond its first value, though it is still a number."""
    losses, first_bad = _finite_losses(analysis)
    if first_bad is not None or len(losses) < LAST or losses[-1] <= FAR * max(losses[0], 1):
        return
    if analysis.recorder.gradients.clippings:
        return  # it is known, and `call_order` says whether clipping does what it should
    step = explosion.longest_step(analysis)
    if step is None or any(divergence.explain(analysis)):
        return
    answer = Answer(
        key="nonfinite.steps",
        title="Why does the loss grow?",
        text="",
        cure="",
        line=analysis.passes[-1].line,
        names=(step.name,),
        glossary="learning_rate",
        symptom=Symptom("nonfinite", (step.name,)),
    )
    yield _exploding(answer, step, analysis)


def _exploding(answer: Answer, step: explosion.LongStep, analysis: RunAnalysis) -> Answer:
    """The answer about a gradient that is too large: clipping helps, or smaller steps."""
    cure, fix = explosion.clipped(step, analysis)
    overshoot = step.rate * step.gradient / step.value
    rate, slower = _with_smaller_steps(analysis.draft(), overshoot)
    cures = [(cure, fix), (f"Use a smaller learning rate, for example {rate}.", slower)]
    return with_cures(replace(answer, text=step.text, cure=cure), cures, is_certain=False)


def _listed(losses: list[float]) -> str:
    values = [number(value) for value in losses]
    return ", ".join(values if len(values) <= 5 else [*values[:3], "…", values[-1]])


def _finite_losses(analysis: RunAnalysis) -> tuple[list[float], int | None]:
    """The sizes of the losses up to the first that is not finite, and the number of its pass."""
    curve = next((c for c in analysis.recorder.curves.plain() if c.kind == "loss"), None)
    losses: list[float] = []
    for at, value in zip(curve.at, curve.values, strict=True) if curve is not None else ():
        if not math.isfinite(value):
            return losses, at
        losses.append(abs(value))
    return losses, None


def _overshoot(losses: list[float]) -> float:
    """How many times too long the steps are. On a parabola with curvature h, a step multiplies the
    distance to the minimum by 1 − lr · h, and the loss by its square; lr = 1/h ends there."""
    ratios = [after / before for before, after in itertools.pairwise(losses) if before > 0]
    return 1 + math.sqrt(max(ratios[:3]))


def _divisors(overshoot: float) -> list[float]:
    """What the learning rate is divided by, one after the other: where the loss is steeper than a
    parabola, less than the overshoot is enough."""
    return [overshoot / part for part in (1000, 100, 10, 1) if overshoot / part > 2] + [
        10 * overshoot
    ]


def _with_smaller_steps(draft: Draft, divisor: float) -> tuple[str, str | None]:
    """A smaller learning rate, rounded down to one digit, and the program with it."""
    for node in _rates(draft):
        smaller = float(node.value) / divisor  # type: ignore[arg-type]
        if not 1e-12 < smaller < 1e6:
            continue
        digit = 10.0 ** math.floor(math.log10(smaller))
        rate = f"{math.floor(smaller / digit) * digit:g}"
        draft.replace(node, rate)
        return rate, draft.changed()
    return "", None


def _rates(draft: Draft) -> Iterator[ast.Constant]:
    """The numbers that are a learning rate: of an optimizer, of a name such as `lr`, or the factor
    of a gradient that is subtracted."""
    for node in ast.walk(draft.tree):
        if isinstance(node, ast.keyword) and node.arg == "lr":
            yield from _constants(node.value)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id.lower()
            if name in ("lr", "alpha", "eta", "step_size") or "learning_rate" in name:
                yield from _constants(node.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            if any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in ast.walk(node)):
                yield from _constants(node.left)
                yield from _constants(node.right)
        elif isinstance(node, ast.Call) and len(node.args) == 2 and "optim" in draft.of(node.func):
            yield from _constants(node.args[1])


def _constants(node: ast.expr) -> Iterator[ast.Constant]:
    is_number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    if is_number and not isinstance(node.value, bool):  # type: ignore[attr-defined]
        yield node  # type: ignore[misc]
