"""The backward of a Function of the program's own: what it does not use, and does not return.

Asked at https://github.com/pytorch/tutorials/issues/216
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.cures import certain
from explorer.trace.explain.losses import value_names
from explorer.trace.explain.run_analysis import RunAnalysis, is_small_array, short_text
from explorer.trace.recording.passes import RawStep
from explorer.trace.recording.torchviz_graph import leaf_of
from explorer.trace.records import Answer, Symptom

#: What depends on the shape of a tensor, not on its values.
OF_SHAPE = frozenset(
    [
        *("ones_like", "zeros_like", "full_like", "empty_like", "shape", "dtype", "device"),
        *("size", "dim", "numel", "new_ones", "new_zeros", "new_full"),
    ]
)


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    yield from _returns_none(analysis)
    for kind in _own_functions(analysis.as_typed):
        backward = _method(kind, "backward")
        incoming = _incoming(backward) if backward is not None else ""
        if backward is None or not incoming or _reads(backward, incoming):
            continue
        received = _received(kind.name, analysis)
        if received is not None:
            yield certain(_unused(kind.name, backward, incoming, received, analysis))


def _returns_none(analysis: RunAnalysis) -> Iterator[Answer]:
    """None in place of the gradient of a leaf that requires grad and gets no other one."""
    kinds = {f"{kind.name}Backward": kind for kind in _own_functions(analysis.as_typed)}
    for raw in analysis.passes if kinds else ():
        for step in raw.steps:
            node = raw.functions[step.function]
            kind = kinds.get(type(node).__name__)
            backward = _method(kind, "backward") if kind is not None else None
            if kind is None or backward is None:
                continue
            pairs = zip(node.next_functions, step.grads_out, strict=False)
            for place, ((target, _), gradient) in enumerate(pairs, 1):
                leaf = leaf_of(target) if target is not None else None
                if leaf is None or gradient is not None or leaf.grad is not None:
                    continue
                name = analysis.name_of(leaf)
                yield Answer(
                    key="function.none",
                    title=f"Why is {name}.grad None?",
                    text=f"{name} is input {place} of {kind.name}, and {kind.name}.backward (line "
                    f"{backward.lineno}) returns None for this input. None stands for an input "
                    f"without a gradient, but {name} requires one.",
                    cure=f"Return the gradient of {name} as value {place}: the incoming gradient "
                    "times "
                    f"the derivative of forward with respect to it.",
                    line=backward.lineno,
                    names=(name,),
                    glossary="vjp",
                    symptom=Symptom("none", (name,)),
                )


def _own_functions(draft: Draft) -> Iterator[ast.ClassDef]:
    """The classes derived from torch.autograd.Function."""
    for kind in draft.nodes(ast.ClassDef):
        names = [getattr(base, "attr", getattr(base, "id", "")) for base in kind.bases]
        if "Function" in names:
            yield kind


def _method(kind: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    methods = (node for node in kind.body if isinstance(node, ast.FunctionDef))
    return next((method for method in methods if method.name == name), None)


def _incoming(backward: ast.FunctionDef) -> str:
    """The name of the one gradient that backward gets, after ctx."""
    arguments = backward.args
    is_plain = len(arguments.args) == 2 and arguments.vararg is None
    return arguments.args[1].arg if is_plain else ""


def _reads(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function uses the values of this argument: its shape alone does not count."""
    of_shape = {
        id(part)
        for node in ast.walk(function)
        if (isinstance(node, ast.Call) and called_name(node) in OF_SHAPE)
        or (isinstance(node, ast.Attribute) and node.attr in OF_SHAPE)
        for part in ast.walk(node)
    }
    loads = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return any(
        node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in of_shape
        for node in loads
    )


def _received(name: str, analysis: RunAnalysis) -> np.ndarray | None:
    """The gradient that a node of this Function received, if it was not all ones."""
    for raw in analysis.passes:
        for step in raw.steps:
            node = raw.functions[step.function]
            array = _gradient(step)
            is_own = type(node).__name__ == f"{name}Backward"
            if is_own and is_small_array(array) and not (array == 1).all():
                return array
    return None


def _gradient(step: RawStep) -> object:
    values = step.grads_in[0] if step.grads_in else None
    return values.array() if values is not None else None


def _unused(
    name: str, backward: ast.FunctionDef, incoming: str, received: np.ndarray, analysis: RunAnalysis
) -> Answer:
    draft = analysis.draft()
    for node in draft.nodes(ast.Return):
        if backward.lineno <= node.lineno <= (backward.end_lineno or 0) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for value in values:
                if not (isinstance(value, ast.Constant) and value.value is None):
                    text = draft.of(value)
                    is_simple = isinstance(value, ast.Name | ast.Call | ast.Attribute)
                    draft.replace(value, f"{incoming} * {text if is_simple else f'({text})'}")
    return Answer(
        key="function.wrong",
        title=f"Is the gradient that {name}.backward returns right?",
        text=f"No: it does not use the values of {incoming} (line {backward.lineno}), the gradient "
        "of "
        f"the loss with respect to the output of {name}. Here that is {short_text(received)}. By "
        "the chain rule, backward must multiply it by the derivative of forward.",
        cure=f"Multiply what backward returns by {incoming}.",
        line=backward.lineno,
        names=(name,),
        glossary="vjp",
        fix=draft.changed(),
        symptom=Symptom("value", value_names(analysis)),
    )
