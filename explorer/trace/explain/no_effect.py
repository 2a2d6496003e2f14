"""Statements that do less than they seem to: a method that is not called, an iterator that is used
up.

Asked at https://github.com/pytorch/pytorch/issues/148259
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.losses import value_names
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.records import Answer, Symptom

#: Methods that a statement calls for their effect: what does not happen without parentheses.
METHODS = {
    "backward": "computes no gradient",
    "step": "changes no parameter",
    "zero_grad": "clears no gradient",
    "eval": "leaves dropout and batch norm in training mode",
    "train": "does not switch to training mode",
    "detach_": "detaches nothing",
    "requires_grad_": "changes nothing",
    "retain_grad": "has no effect",
    "zero_": "changes nothing",
}
#: Methods whose result is printed.
PRINTED = frozenset(["item", "tolist", "detach", "numel", "parameters", "state_dict"])
#: What a name is given that can be gone through only once.
MAKERS = frozenset(
    [
        *("parameters", "named_parameters", "buffers", "modules", "children", "zip", "map"),
        *("filter", "iter", "enumerate", "reversed", "named_children", "named_modules"),
    ]
)
#: Functions that go through all of an argument.
CONSUMERS = frozenset(
    [
        *("list", "tuple", "sum", "max", "min", "sorted", "set", "dict", "enumerate", "zip"),
        *("clip_grad_norm_", "clip_grad_value_", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad"),
        *("stack", "cat", "parameters_to_vector"),
    ]
)


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    draft = analysis.as_typed
    yield from _not_called(draft, analysis)
    yield from _used_up(draft, analysis)


# -- a method without parentheses ---------------------------------------------------------------


def _not_called(draft: Draft, analysis: RunAnalysis) -> Iterator[Answer]:
    for statement in draft.nodes(ast.Expr):
        value, line = statement.value, statement.lineno
        if not analysis.recorder.run_counts.get(line):
            continue
        if isinstance(value, ast.Attribute) and value.attr in METHODS:
            yield _add_parentheses(value, METHODS[value.attr], analysis)
        elif isinstance(value, ast.Call) and called_name(value) == "print":
            for shown in value.args:
                if isinstance(shown, ast.Attribute) and shown.attr in PRINTED:
                    yield _add_parentheses(shown, "gives the method itself", analysis)


def _add_parentheses(method: ast.Attribute, outcome: str, analysis: RunAnalysis) -> Answer:
    draft = analysis.draft()
    text = draft.of(method)
    draft.replace(method, f"{text}()")
    return Answer(
        key="typed.parentheses",
        title=f"What does {text} do without parentheses?",
        text=f"Line {method.lineno} names the method {method.attr}, but does not call it. It "
        f"{outcome}.",
        cure=f"Write {text}().",
        line=method.lineno,
        names=(text,),
        glossary="backward",
        fix=draft.changed(),
        symptom=_symptom_of(method, analysis),
    )


def _symptom_of(method: ast.Attribute, analysis: RunAnalysis) -> Symptom:
    """What does not happen: gradients, a step, or something that only this answer tells."""
    kind = {"backward": "none", "step": "still"}.get(method.attr)
    leaves = [r for r in analysis.finals.values() if isinstance(r, LiveTensor) and r.is_leaf]
    names = tuple(leaf.name for leaf in leaves if leaf.requires_grad)
    if kind is None or not names:
        return Symptom("value", value_names(analysis))
    return Symptom(kind, names)


# -- an iterator that is used up ----------------------------------------------------------------


def _used_up(draft: Draft, analysis: RunAnalysis) -> Iterator[Answer]:
    """A generator is gone through twice: the second time, it has nothing left."""
    counts = analysis.recorder.run_counts
    for assignment in draft.nodes(ast.Assign):
        target, value = assignment.targets[0], assignment.value
        is_once = isinstance(value, ast.GeneratorExp) or (
            isinstance(value, ast.Call) and called_name(value) in MAKERS
        )
        if not (is_once and isinstance(target, ast.Name) and counts.get(assignment.lineno) == 1):
            continue
        name = target.id
        if sum(_stores(node, name) for node in draft.nodes(ast.Name)) != 1:
            continue
        uses = _uses(draft, name)
        loads = sum(node.id == name for node in draft.nodes(ast.Name)) - 1
        times = [line for line in uses for _ in range(min(counts.get(line, 0), 2))]
        if len(times) < 2 or len(uses) != loads:
            continue
        first, second = times[:2]
        again = (
            f"line {first} goes through it several times"
            if first == second
            else f"line {first} goes through all of it, and line {second} finds nothing left"
        )
        new, fix = _kept(assignment, analysis)
        yield Answer(
            key="generator.exhausted",
            title=f"Why does line {second} do nothing with {name}?",
            text=f"{name} (line {assignment.lineno}) is an iterator: it gives each of its items "
            "only "
            f"once. Here {again}.",
            cure=f"Keep the items: {name} = {new}.",
            line=assignment.lineno,
            names=(name,),
            glossary="backward",
            fix=fix,
            symptom=Symptom("value", value_names(analysis)),
        )


def _kept(assignment: ast.Assign, analysis: RunAnalysis) -> tuple[str, str | None]:
    """A list in place of an iterator: its text, and the program with it."""
    draft = analysis.draft()
    same = next(a for a in draft.nodes(ast.Assign) if a.lineno == assignment.lineno)
    value = same.value
    if isinstance(value, ast.GeneratorExp):
        text = draft.of(value)
        new = f"[{text[1:-1]}]" if text.startswith("(") else f"list({text})"
    elif isinstance(value, ast.Call) and called_name(value) == "iter" and len(value.args) == 1:
        new = draft.of(value.args[0])
    else:
        new = f"list({draft.of(value)})"
    draft.replace(value, new)
    return new, draft.changed()


def _stores(node: ast.Name, name: str) -> bool:
    return node.id == name and not isinstance(node.ctx, ast.Load)


def _uses(draft: Draft, name: str) -> list[int]:
    """The lines that go through all of the items of this name, in order."""
    lines = []
    for node in ast.walk(draft.tree):
        if isinstance(node, ast.For) and _is_name(node.iter, name) and not _ends_early(node):
            lines.append(node.lineno)
        elif isinstance(node, ast.comprehension) and _is_name(node.iter, name):
            lines.append(node.iter.lineno)
        elif isinstance(node, ast.Call) and called_name(node) in CONSUMERS:
            lines += [node.lineno for argument in node.args if _is_name(argument, name)]
    return sorted(lines)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _ends_early(loop: ast.For) -> bool:
    return any(isinstance(node, ast.Break | ast.Return | ast.Yield) for node in ast.walk(loop))
