"""Layers that forward makes anew in each call: no optimizer can train them.

Asked at https://github.com/yangze0930/NTS-Net/issues/14
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from explorer.program.draft import called_name
from explorer.trace.explain.losses import bare_name
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.records import Answer, Symptom


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Only of layers with parameters: a new ReLU in each call does no harm."""
    draft, counts = analysis.as_typed, analysis.recorder.run_counts
    forwards = [
        (kind, method)
        for kind in draft.nodes(ast.ClassDef)
        for method in kind.body
        if isinstance(method, ast.FunctionDef) and method.name == "forward"
    ]
    for kind, method in forwards:
        made = [node for node in ast.walk(method) if isinstance(node, ast.Assign)]
        for assignment in made:
            line, layer = assignment.lineno, assignment.value
            name = draft.assigned_name(line)
            names = _parameters(name, line, analysis)
            if counts.get(line, 0) < 2 or not names:
                continue
            if not (isinstance(layer, ast.Call) and hasattr(nn, called_name(layer))):
                continue
            yield Answer(
                key="layers.new",
                title=f"Why is the layer {name} never trained?",
                text=f"Line {line} makes a new {called_name(layer)} with new random weights each "
                "time "
                f"forward runs: {counts[line]} times here. What a step learns is gone in the "
                "next call, and the optimizer never holds these weights.",
                cure=f"Make it once, in __init__ of {kind.name}: self.{name} = {draft.of(layer)}.",
                line=line,
                names=names,
                glossary="optimizer",
                symptom=Symptom("still", names),
            )


def _parameters(name: str, line: int, analysis: RunAnalysis) -> tuple[str, ...]:
    """The parameters of a module that was given this name on this line."""
    names = (
        bare_name(record)
        for record in analysis.records
        if record.line == line and record.is_leaf and record.requires_grad
    )
    return tuple(dict.fromkeys(n for n in names if name and n.startswith(f"{name}.")))
