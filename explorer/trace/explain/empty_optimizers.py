"""Why there was nothing to give to an optimizer: "optimizer got an empty parameter list".

Asked at https://github.com/Lightning-AI/pytorch-lightning/issues/2282
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import GeneratorType

from torch import nn

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.cures import certain
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.explain.unregistered import CONTAINERS, attribute_lists, wrap_attribute
from explorer.trace.recording.objects import named_parameters
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names

#: Names that were meant to be `__init__`.
MISSPELT = frozenset(["_init_", "__int__", "init", "__init", "_init__", "__init_", "__inti__"])


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    error = analysis.error
    if error is None or not analysis.error_contains("empty parameter list"):
        return
    draft = analysis.draft()
    for call in draft.nodes(ast.Call, error.line):
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "params")]
        for node in given:
            name = draft.of(node)
            if isinstance(analysis.variables.get(name), GeneratorType):
                yield _used_up(name, analysis)
                return
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and called_name(inner) == "parameters":
                    model_name = draft.of(inner.func).rpartition(".")[0]
                    model = analysis.variables.get(model_name)
                    if isinstance(model, nn.Module):
                        yield from _without_parameters(model_name, model, analysis)
                        return


def _answer(text: str, cure: str, fixes: list[str | None], analysis: RunAnalysis) -> Answer:
    error = analysis.error
    return certain(
        Answer(
            key="optimizer.empty",
            title="Why does the optimizer get an empty list of parameters?",
            text=text,
            cure=cure,
            line=error.line if error is not None else None,
            names=(),
            glossary="optimizer",
            symptom=Symptom("error"),
        ),
        *fixes,
    )


def _used_up(name: str, analysis: RunAnalysis) -> Answer:
    draft = analysis.draft()
    for statement in draft.nodes(ast.Assign):
        if any(isinstance(t, ast.Name) and t.id == name for t in statement.targets):
            draft.replace(statement.value, f"list({draft.of(statement.value)})")
    return _answer(
        f"{name} is an iterator, which gives its items only once. Earlier lines have taken all of "
        "them, so nothing is left for the optimizer.",
        f"Keep a list: {name} = list(…).",
        [draft.changed()],
        analysis,
    )


def _without_parameters(name: str, model: nn.Module, analysis: RunAnalysis) -> Iterator[Answer]:
    """The model has none, or all of them are frozen."""
    kind = type(model).__name__
    parameters = [p for _, p in named_parameters(model)]
    if parameters:
        if not any(p.requires_grad for p in parameters):
            text = f"All {len(parameters)} parameters of {name} are frozen (requires_grad=False)."
            cure = f"Give the optimizer {name}.parameters(), or unfreeze a part of {name} first."
            yield _answer(text, cure, [], analysis)
        return
    draft = analysis.draft()
    defined = next((c for c in draft.nodes(ast.ClassDef) if c.name == kind), None)
    lists = attribute_lists(model, analysis)
    if lists:
        attribute, container = lists[0]
        _, fix = wrap_attribute(draft, attribute, container, 0)
        short = draft.name_in_torch(container)
        yield _answer(
            f"{name}.{attribute} is a plain Python {CONTAINERS[container.rpartition('.')[2]]}. "
            f"{kind} does not look for parameters inside it, so {name}.parameters() is empty.",
            f"Write self.{attribute} = {short}(…).",
            [fix],
            analysis,
        )
    elif defined is not None:
        yield from _in_class(name, defined, draft, analysis)


def _in_class(
    name: str, defined: ast.ClassDef, draft: Draft, analysis: RunAnalysis
) -> Iterator[Answer]:
    """What the class does in place of storing layers as its attributes."""
    methods = [s for s in defined.body if isinstance(s, ast.FunctionDef)]
    misspelt = next((m.name for m in methods if m.name in MISSPELT), None)
    constructor = next((m for m in methods if m.name == "__init__"), None)
    kind = defined.name
    if constructor is None and misspelt is not None:
        yield _answer(
            f"{kind} has a method {misspelt}, but no __init__. Python calls only __init__ (two "
            f"underscores on each side), so no layer is made and {name}.parameters() is empty.",
            "Rename it to __init__.",
            [draft.source.replace(f"def {misspelt}(", "def __init__(")],
            analysis,
        )
        return
    local = [
        target.id
        for statement in (constructor.body if constructor is not None else [])
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
        for target in statement.targets
        if isinstance(target, ast.Name) and called_name(statement.value)[:1].isupper()
    ]
    if local:
        for node in ast.walk(defined):
            if isinstance(node, ast.Name) and node.id in local:
                draft.replace(node, f"self.{node.id.removeprefix('self_')}")
        yield _answer(
            f"The constructor of {kind} stores {join_names(local)} in local variables. A module "
            "registers only layers that are attributes of self, so "
            f"{name}.parameters() is empty.",
            f"Store each as an attribute: self.{local[0].removeprefix('self_')} = ….",
            [draft.changed()],
            analysis,
        )
