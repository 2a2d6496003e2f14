"""What is unusual about a network, in one sentence each, from a report on one run.

A finding is a fact about this run; where the report does not suffice for one, there is none. The
thresholds are wide: every preset and untrained torchvision classifier is far from them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from explorer.networks.records import LayerRecord, ParameterRecord, Report

#: The part of a ReLU's units that are 0 everywhere. SageMaker Debugger draws the line at half
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/dead-relu.html), but with a few images an
#: untrained SqueezeNet reaches that.
DEAD = 0.75
#: So many samples, and values of each unit, are needed to say so: half the units of a healthy ReLU
#: can be 0 for one sample, and for one image at every position.
SAMPLES, EVIDENCE = 4, 16
#: The part of a layer's outputs that is saturated (see `statistics.saturation`).
SATURATED = 0.5
#: How many times the weights' gradients shrink from the last third of the layers to the first. A
#: sigmoid divides them by at least 4 (Glorot and Bengio 2010,
#: https://proceedings.mlr.press/v9/glorot10a.html): this is five of them.
VANISHING = 1_000
#: How many times they grow; an untrained ResNet with batch norm reaches 500 (Yang et al. 2019,
#: https://arxiv.org/abs/1902.08129). Outputs that grow make gradients grow too.
EXPLODING, GROWING = 10_000, 1_000
#: Fewer layers with weights show no trend.
_LEAST = 4
_RELUS = ("ReLU", "ReLU6")
#: Types whose layers do something else in eval mode begin or end so.
_MODES = ("BatchNorm", "Dropout")


@dataclass(frozen=True)
class Finding:
    """`layers` are those that the `sentence` is about, by name; it follows their names on the page.
    `kind` is "dead", "saturated", "vanishing", "exploding", "not finite", "never used", "frozen",
    "shared" or "eval mode". Without `warns` it may well be intended."""

    kind: str
    layers: tuple[str, ...]
    sentence: str
    warns: bool


def find_health(report: Report) -> tuple[Finding, ...]:
    """What is unusual, warnings first. Nothing after an error or on meta, where values lack."""
    if report.error is not None or report.loss is None:
        return ()
    findings = [finding for rule in _RULES for finding in rule(report)]
    return tuple(sorted(findings, key=lambda finding: not finding.warns))


def _never_used(report: Report) -> Iterator[Finding]:
    unused = [row.name for row in report.layers if row.why_none.startswith("never used")]
    if unused:
        them, their = ("it", "its") if len(unused) == 1 else ("them", "their")
        sentence = f"forward does not call {them}, so {their} parameters get no gradient."
        yield Finding("never used", tuple(unused), sentence, True)


def _not_finite(report: Report) -> Iterator[Finding]:
    bad = [
        p for p in report.parameters if p.grad_norm is not None and not math.isfinite(p.grad_norm)
    ]
    if bad:
        count = "1 parameter" if len(bad) == 1 else f"{len(bad)} parameters"
        sentence = f"NaN or infinity is in the gradient of {count}."
        yield Finding("not finite", _names(p.layer for p in bad), sentence, True)


def _dead(report: Report) -> Iterator[Finding]:
    for row in report.layers:
        activation = row.activation
        if row.type not in _RELUS or activation is None or not activation.units:
            continue
        dead, seen = activation.dead or 0, math.prod(activation.shape) // activation.units
        enough = seen >= EVIDENCE and activation.shape[0] >= SAMPLES
        if enough and dead >= DEAD * activation.units:
            sentence = (
                f"{dead} of {activation.units} units are 0 for every sample and position and pass "
                "no gradient back."
            )
            yield Finding("dead", (row.name,), sentence, True)


def _saturated(report: Report) -> Iterator[Finding]:
    for row in report.layers:
        if row.saturated is not None and row.saturated >= SATURATED:
            sentence = (
                f"{row.saturated:.0%} of the outputs are where {row.type} is flat: its derivative "
                "is below 1 % of the largest."
            )
            yield Finding("saturated", (row.name,), sentence, True)


def _trends(report: Report) -> Iterator[Finding]:
    """Vanishing and exploding: steady changes along the layers that have weights. Batch norm in
    eval mode does not normalise what it was not trained on, so that nothing follows."""
    if any("BatchNorm" in row.type and row.training is False for row in report.layers):
        return
    weights = _weights(report)
    names = _names(row.name for row, _ in weights)
    if len(weights) < _LEAST or any(not math.isfinite(p.grad_norm or 0) for _, p in weights):
        return
    gradients = [(p.grad_norm or 0.0) / math.sqrt(p.numel) for _, p in weights]
    first, last = (_largest(gradients, part) for part in ("first", "last"))
    if first * VANISHING < last and _is_gradual(gradients):
        factor = _factor(last / first) if first else "more than 10³⁸"
        sentence = f"gradients shrink by a factor of {factor} from the last layers to the first."
        yield Finding("vanishing", names[:1], sentence, True)
    elif first > EXPLODING * last and _is_gradual(gradients):
        factor = _factor(first / last) if last else "more than 10³⁸"
        sentence = f"gradients grow by a factor of {factor} from the last layers to the first."
        yield Finding("exploding", names[:1], sentence, True)
    outputs = [_root_mean_square(row) for row, _ in weights]
    first, last = (_largest(outputs, part) for part in ("first", "last"))
    if last > GROWING * first > 0 and _is_gradual(outputs):
        sentence = (
            f"outputs grow by a factor of {_factor(last / first)} from the first layers to the "
            "last, and gradients with them."
        )
        yield Finding("exploding", names[-1:], sentence, True)


def _weights(report: Report) -> list[tuple[LayerRecord, ParameterRecord]]:
    """Matrices and kernels with a gradient, in the order in which forward first uses them."""
    rows = {row.name: row for row in reversed(report.layers) if row.call is not None}
    order = {name: position for position, name in enumerate(reversed(rows))}
    weights = [
        (rows[p.layer], p)
        for p in report.parameters
        if p.grad_norm is not None
        and p.layer in rows
        and len(p.shape) > 1
        and p.name.rpartition(".")[2].startswith("weight")
    ]
    return sorted(weights, key=lambda pair: order[pair[0].name])


def _root_mean_square(row: LayerRecord) -> float:
    if row.activation is None or not math.isfinite(row.activation.norm):
        return 0.0
    return row.activation.norm / math.sqrt(math.prod(row.activation.shape))


def _largest(values: Sequence[float], part: str) -> float:
    third = len(values) // 3
    return max(values[:third] if part == "first" else values[-third:])


def _is_gradual(values: Sequence[float]) -> bool:
    """Whether no single step makes half of the change: a head of zeros stops all gradients, a small
    layer scale one branch, and neither is a trend."""
    logs = [math.log10(value) for value in values if value]  # a steep trend ends at 0
    if len(logs) < _LEAST:
        return False
    return max(abs(b - a) for a, b in pairwise(logs)) < (max(logs) - min(logs)) / 2


def _factor(value: float) -> str:
    exponent = math.floor(math.log10(value))
    if exponent >= 6:
        return "10" + str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{round(value, 1 - exponent):,.0f}"


def _frozen(report: Report) -> Iterator[Finding]:
    frozen = [p for p in report.parameters if not p.trainable]
    if frozen and len(frozen) < len(report.parameters):  # else a note says so
        sentence = "requires_grad is False, so no gradient is computed and no step changes them."
        yield Finding("frozen", _names(p.layer for p in frozen), sentence, False)


def _shared(report: Report) -> Iterator[Finding]:
    for parameter in report.parameters:
        if parameter.aliases:
            layers = _names(n.rpartition(".")[0] for n in (parameter.name, *parameter.aliases))
            sentence = f"share {parameter.name}: its gradient is the sum over both uses."
            if len(layers) > 2:
                sentence = f"share {parameter.name}: its gradient is the sum over all uses."
            yield Finding("shared", layers, sentence, False)
    calls = Counter(row.name for row in report.layers if row.call and row.shared)
    for name, again in calls.items():
        sentence = f"is called {again + 1} times; the gradient of its parameters is the sum."
        yield Finding("shared", (name,), sentence, False)


def _in_eval_mode(report: Report) -> Iterator[Finding]:
    rows = [row for row in report.layers if any(mode in row.type for mode in _MODES)]
    still = [row for row in rows if row.training is False]
    if not still:
        return
    parts = []
    for kind, count in Counter(row.type for row in still).items():
        effect = "drop nothing" if "Dropout" in kind else "use their running statistics"
        parts.append(f"{count} {kind} {effect if count > 1 else _singular(effect)}")
    mixed = len(still) < len(rows)
    others = f"; {len(rows) - len(still)} such layers are in train mode" if mixed else ""
    sentence = f"{', '.join(parts)}{others}."
    # All of them in eval mode: no single layer is meant.
    yield Finding("eval mode", _names(row.name for row in still) if mixed else (), sentence, False)


def _singular(effect: str) -> str:
    return effect.replace("drop ", "drops ").replace("use their", "uses its")


def _names(layers: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(layers))


_RULES: tuple[Callable[[Report], Iterator[Finding]], ...] = (
    *(_never_used, _not_finite, _dead, _saturated, _trends),
    *(_frozen, _shared, _in_eval_mode),
)
