"""One layer that stands several times in a network, as in `[nn.Linear(3, 3)] * 3`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.objects import named_modules, named_parameters
from explorer.trace.records import Answer, Symptom


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """A list that is multiplied, where the program keeps what it contains more than once."""
    draft = analysis.draft()
    for node in draft.nodes(ast.BinOp):
        items = node.left if isinstance(node.left, ast.List) else node.right
        number = node.right if items is node.left else node.left
        if not isinstance(node.op, ast.Mult) or not isinstance(items, ast.List):
            continue
        if len(items.elts) != 1 or not isinstance(items.elts[0], ast.Call):
            continue
        name, part, count = _repeated(analysis)
        if part is None:
            continue
        made = draft.of(items.elts[0])
        new = f"[{made} for _ in range({draft.of(number)})]"
        draft.replace(node, new)
        size = _size(part)
        kind = type(part).__name__
        yield Answer(
            key="shared.copies",
            title=f"How many different layers does {name} have?"
            if isinstance(part, nn.Module)
            else f"How many different tensors does {name} have?",
            text=f"Line {node.lineno} multiplies a list, which repeats the same object: {name} has "
            "one "
            f"{kind} {count} times, so {size} parameters and not {count * size}. Its gradient is "
            "the sum over all its uses.",
            cure=f"Make each of them: {new}.",
            line=node.lineno,
            names=(name,),
            glossary="gradient",
            fix=draft.changed(),
            symptom=Symptom("remark", (name,)),
        )
        return


def _repeated(analysis: RunAnalysis) -> tuple[str, Any, int]:
    """The variable in which the same layer or parameter stands several times, and how often."""
    for name, value in list(analysis.variables.items())[: limits.MOST_SEARCHED_VARIABLES]:
        for items in _collections(value):
            counts = Counter(map(id, items))
            for item in items:
                is_known = isinstance(item, nn.Module) and any(named_parameters(item))
                is_leaf = isinstance(item, torch.Tensor) and item.requires_grad and item.is_leaf
                if counts[id(item)] > 1 and (is_known or is_leaf):
                    return name, item, counts[id(item)]
    return "", None, 0


def _collections(value: Any) -> Iterator[list[Any]]:
    """The lists of parts in a variable: itself, or the layers of each of its containers."""
    if type(value) in (list, tuple):
        yield list(value)
    elif isinstance(value, nn.Module):
        for _, part in named_modules(value):
            if isinstance(part, nn.Sequential | nn.ModuleList):
                yield list(part.__dict__["_modules"].values())
            elif isinstance(part, nn.ParameterList):
                yield list(part.__dict__["_parameters"].values())


def _size(part: Any) -> int:
    if isinstance(part, nn.Module):
        return sum(parameter.numel() for _, parameter in named_parameters(part))
    return int(part.numel())
