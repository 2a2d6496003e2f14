"""Layers and tensors of a module that it does not register, so that no optimizer gets them.

Asked at https://github.com/pytorch/pytorch/issues/666
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.cures import certain
from explorer.trace.explain.missing_leaves import (
    Explained,
    Missing,
    names,
    owners,
    them,
    title,
)
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.bindings import Binding
from explorer.trace.recording.torchviz_graph import leaves_of, walk_graph
from explorer.trace.records import Answer, Symptom


def in_plain_list(missing: list[Missing], analysis: RunAnalysis) -> Iterator[Explained]:
    """The layer, or the parameter, is in a list or dict that is an attribute of a module."""
    by_list: dict[tuple[int, str], tuple[Binding, list[Missing]]] = {}
    for m in missing:
        for binding in owners(m.leaf, analysis):
            if isinstance(binding.owner, nn.Module) and "[" in binding.name:
                attribute = binding.name.partition("[")[0]
                key = (id(binding.owner), attribute)
                by_list.setdefault(key, (binding, []))[1].append(m)
                break
    for binding, found in by_list.values():
        attribute, kind = binding.name.partition("[")[0], _container(binding)
        what = "layers" if isinstance(binding.value, nn.Module) else "parameters"
        owner = analysis.bindings.path_of(binding.owner)
        draft = analysis.draft()
        line, fix = wrap_attribute(draft, attribute, f"torch.nn.{kind}", binding.line)
        yield (
            found,
            certain(
                Answer(
                    key="optimizer.not-held",
                    title=title(found),
                    text=f"{owner}.{attribute} is a plain Python {CONTAINERS[kind]}. A "
                    f"module does not look for {what} inside it, so {owner}.parameters() leaves "
                    f"them out, and {found[0].use.name} does not hold {them(found)}.",
                    cure=f"Put them into {draft.name_in_torch(f'torch.nn.{kind}')}(…).",
                    line=line,
                    names=names(found),
                    glossary="optimizer",
                    fix=fix,
                    symptom=Symptom("still", tuple(_in_module(m.name) for m in found)),
                )
            ),
        )


#: What a program uses instead of these, by their names in torch.nn.
CONTAINERS = {
    **dict.fromkeys(("ModuleList", "ParameterList"), "list"),
    **dict.fromkeys(("ModuleDict", "ParameterDict"), "dict"),
}


def attribute_lists(module: nn.Module, analysis: RunAnalysis) -> list[tuple[str, str]]:
    """The attributes of a module that are lists or dicts of layers or parameters, each with what
    should be used in their place: ("blocks", "torch.nn.ModuleList")."""
    kinds: dict[str, str] = {}
    for binding in analysis.bindings:
        attribute, bracket, _ = binding.name.partition("[")
        if binding.owner is module and bracket:
            kind = _container(binding)
            if kind:
                kinds.setdefault(attribute, f"torch.nn.{kind}")
    return list(kinds.items())


def _container(binding: Binding) -> str:
    """The class of torch.nn for the list or dict that an item is in; "" for other items."""
    kinds = {nn.Module: "Module", torch.Tensor: "Parameter"}
    prefix = next((name for cls, name in kinds.items() if isinstance(binding.value, cls)), "")
    is_list = binding.name.partition("[")[2][:1].isdigit()
    return f"{prefix}{'List' if is_list else 'Dict'}" if prefix else ""


def _in_module(name: str) -> str:
    """The name that an item has in a ModuleList or ModuleDict: "net.blocks.0.weight"."""
    return re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", name)


def wrap_attribute(
    draft: Draft, attribute: str, container: str, line: int
) -> tuple[int, str | None]:
    """The line that assigns `self.attribute`, and the program with its value in a container."""
    assigned = [s for s in draft.nodes(ast.Assign) if _is_attribute(s.targets, attribute)]
    for statement in assigned:
        value = statement.value
        if isinstance(value, ast.List | ast.ListComp | ast.Dict | ast.DictComp | ast.Call):
            draft.replace(value, f"{draft.name_in_torch(container)}({draft.of(value)})")
    for call in draft.nodes(ast.Call):  # a list that is appended to it
        items = call.args[0] if called_name(call) == "append" and call.args else None
        added_to = getattr(call.func, "value", None)
        if isinstance(items, ast.List) and _is_attribute([added_to], attribute):
            draft.replace(items, f"{draft.name_in_torch(container)}({draft.of(items)})")
    return (assigned[0].lineno if assigned else line), draft.changed()


def _is_attribute(targets: Sequence[ast.expr | None], attribute: str) -> bool:
    return any(isinstance(t, ast.Attribute) and t.attr == attribute for t in targets)


def no_parameter(missing: list[Missing], analysis: RunAnalysis) -> Iterator[Explained]:
    """A tensor is an attribute of a module, but no Parameter."""
    for m in missing:
        for binding in analysis.bindings.names_of(m.leaf):
            owner = binding.owner
            if not isinstance(owner, nn.Module) or binding.name not in owner.__dict__:
                continue
            draft = analysis.draft()
            statement = draft.statement(binding.line)
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                value = _without_requires_grad(draft.of(statement.value))
                parameter = draft.name_in_torch("torch.nn.Parameter")
                draft.replace(statement.value, f"{parameter}({value})")
            yield (
                [m],
                certain(
                    Answer(
                        key="optimizer.not-held",
                        title=f"Why does {m.name} not change?",
                        text=f"Line {binding.line} makes {m.name} a plain tensor. A module "
                        "registers "
                        "only attributes that are an nn.Parameter, so parameters() leaves it out, "
                        f"and {m.use.name} does not hold it.",
                        cure=f"Make it a parameter: {binding.name} = nn.Parameter(…).",
                        line=binding.line,
                        names=(m.name,),
                        glossary="optimizer",
                        fix=draft.changed(),
                        symptom=Symptom("still", (m.name,)),
                    )
                ),
            )
            break


def hidden_parameters(analysis: RunAnalysis, held: set[int]) -> Iterator[Answer]:
    """An attribute of a module is computed from a parameter that has no name: it is none itself."""
    for binding in list(analysis.bindings):
        owner: Any = binding.owner
        value: Any = binding.value
        if not (isinstance(owner, nn.Module) and isinstance(value, torch.Tensor)):
            continue
        if value.grad_fn is None or owner.__dict__.get(binding.name) is not value:
            continue
        hidden = [
            leaf
            for leaf in leaves_of(walk_graph([binding.value]))
            if isinstance(leaf, nn.Parameter)
            and not analysis.bindings.names_of(leaf)
            and id(leaf) in analysis.reached
            and id(leaf) not in held
        ]
        draft = analysis.draft()
        statement = draft.statement(binding.line)
        if not hidden or not isinstance(statement, ast.Assign):
            continue
        path = analysis.bindings.path(binding)
        for call in ast.walk(statement.value):
            if isinstance(call, ast.Call) and called_name(call) == "Parameter" and call.args:
                whole, inner = draft.of(statement.value), draft.of(call)
                plain = whole.replace(inner, f"({draft.of(call.args[0])})", 1)
                draft.replace(statement.value, f"{draft.of(call.func)}({plain})")
                break
        yield certain(
            Answer(
                key="optimizer.not-held",
                title=f"Why does {path} not change?",
                text=f"Line {binding.line} computes {path} from an nn.Parameter. The result is a "
                "plain "
                "tensor, which a module does not register, and the parameter itself has no name. "
                "So parameters() contains neither.",
                cure="Compute the values first: nn.Parameter(… all of it …).",
                line=binding.line,
                names=(path,),
                glossary="optimizer",
                fix=draft.changed(),
                symptom=Symptom("still", (path,)),
            )
        )


def _without_requires_grad(text: str) -> str:
    text = re.sub(r",\s*requires_grad\s*=\s*True", "", text)
    return re.sub(r"\.requires_grad_\((True)?\)$", "", text)
