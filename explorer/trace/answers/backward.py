"""backward refuses: a second time, from several numbers, from integers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from explorer.trace.passes import RawStep
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.text import shape_text


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """Errors of the backward call itself."""
    yield from _second_time(analysis)
    yield from _not_scalar(analysis)
    yield from _integers(analysis)


def _second_time(analysis: RunAnalysis) -> Iterator[Answer]:
    raw = analysis.failed_pass
    if raw is None or not analysis.says("backward through the graph a second time"):
        return
    step = next((step for step in reversed(raw.steps) if step.refused), None)
    if step is None:
        return
    node = raw.functions[step.function]
    earlier = next(
        (p for p in analysis.passes if p is not raw and any(f is node for f in p.functions)), None
    )
    made = analysis.made_by(node)
    name, line = (made.name, made.line) if made is not None else (type(node).__name__, None)
    freed = f"line {earlier.line}" if earlier is not None else "an earlier line"
    text = (
        f"backward on {freed} ran through {analysis.called(node)} and freed {_saved(step, made)}; "
        f"backward on line {raw.line} needs it again."
    )
    cure = f"Compute {name} again before the second backward"
    if made is not None and raw.line is not None and line is not None and earlier is not None:
        inside = earlier.line == raw.line
        cure = f"Move line {line} into the loop" if inside else cure
    cure += f", or call backward on {freed} with retain_graph=True."
    if retained := analysis.recorder.events.retained:
        cure += (
            f" retain_grad (line {retained[0]}) is something else: it keeps "
            "a tensor's gradient; retain_graph keeps the graph."
        )
    yield Answer(
        "backward.twice",
        f"Why can backward on line {raw.line} not run a second time?",
        text,
        cure,
        raw.line,
        (name,),
        "retain_graph",
    )


def _saved(step: RawStep, made: LiveTensor | None) -> str:
    """What a node had kept, by the reader's names."""
    inputs = [seen.name for seen in made.inputs] if made is not None else []
    known = dict(zip(("self", "other"), inputs, strict=False))
    names = [known[name] for name in step.refused if name in known]
    if made is not None and "result" in step.refused:
        names.append(made.name)
    return (
        f"what it had saved ({', '.join(dict.fromkeys(names))})" if names else "what it had saved"
    )


def _not_scalar(analysis: RunAnalysis) -> Iterator[Answer]:
    raw = analysis.failed_pass
    if raw is None or not analysis.says("can be implicitly created only for scalar outputs"):
        return
    root = raw.roots[0]
    name = analysis.name(root)
    yield Answer(
        "backward.scalar",
        f"Why can backward not start from {name}?",
        f"{name} has {root.numel()} elements, shape {shape_text(tuple(root.shape))}. Each could "
        "have another gradient to start from, so torch starts by itself only from one number.",
        f"Write {name}.sum().backward(), or hand over the start: "
        f"{name}.backward(torch.ones_like({name})).",
        raw.line,
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
    text = analysis.text(error.line)
    name = text.split("=")[0].strip() if re.match(r"\w+\s*=[^=]", text) else "this tensor"
    with_points = re.sub(r"(?<![\w.])(-?\d+)(?![\w.])", r"\1.", text)
    able = "torch.tensor(" in text and with_points != text
    yield Answer(
        "backward.integer",
        f"Why can {name} not require a gradient?",
        f"Line {error.line} makes whole numbers. A gradient asks what an arbitrarily small change "
        "does, and whole numbers have no small changes.",
        f"Write {with_points}" if able else "Use floating-point numbers: dtype=torch.float32.",
        error.line,
        (name,),
        "integer",
    )
