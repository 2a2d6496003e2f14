"""Parameters that an optimizer does not change, because it does not hold them, and why.

Asked at https://github.com/pytorch/pytorch/issues/14467
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import nn

from explorer.program.draft import Draft
from explorer.trace.explain.cures import certain
from explorer.trace.explain.loops import block_of
from explorer.trace.explain.missing_leaves import (
    Cause,
    Explained,
    Missing,
    names,
    owners,
    them,
    title,
)
from explorer.trace.explain.optimizer_list import instead, not_given, skipped
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.explain.unregistered import hidden_parameters, in_plain_list, no_parameter
from explorer.trace.recording.bindings import Binding
from explorer.trace.recording.events import OptimizerUse
from explorer.trace.recording.objects import named_parameters
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Each leaf that a step should have changed is explained by one cause, the surest first."""
    missing = _missing(analysis)
    for cause in CAUSES:
        for explained, answer in cause(missing, analysis):
            kept = {id(m.leaf) for m in explained}
            missing = [m for m in missing if id(m.leaf) not in kept]
            yield answer
    uses = analysis.recorder.events.optimizers.values()
    if any(use.steps for use in uses):
        yield from hidden_parameters(analysis, {id(p) for use in uses for p in use.parameters()})
    yield from skipped(analysis)


def _missing(analysis: RunAnalysis) -> list[Missing]:
    """The leaves that got a gradient, which no optimizer holds and nothing has changed."""
    uses = list(analysis.recorder.events.optimizers.values())
    stepped = [use for use in uses if use.steps or use.skips]
    if not stepped:
        return []
    before = min(use.passes if analysis.made_here(use) else 0 for use in stepped)
    held = {id(p) for use in uses if _may_step(use, analysis) for p in use.parameters()}
    gradients = analysis.recorder.gradients
    known = held | set(gradients.asked) | set(gradients.updated)
    # A gradient of an input may be what the program is after.
    trains_modules = any(isinstance(p, nn.Parameter) for use in uses for p, _ in use.given)
    leaves: dict[int, torch.Tensor] = {}
    for raw in analysis.passes:
        is_earlier = raw.number <= before  # any optimizer was made
        if raw.call != "torch.autograd.grad" and not raw.ours and not is_earlier:
            leaves.update((id(leaf), leaf) for leaf in leaves_of(raw.functions))
    missing = []
    for leaf in leaves.values():
        name = analysis.bindings.path_of(leaf)
        is_named = bool(analysis.bindings.names_of(leaf))
        if id(leaf) in known or not (leaf.requires_grad and is_named):
            continue
        is_part = any(isinstance(b.owner, nn.Module) for b in analysis.bindings.names_of(leaf))
        is_read = not is_part and re.search(rf"\b{re.escape(name)}\.grad\b", analysis.source)
        if not (trains_modules and (is_read or _is_one_of_many(leaf, held, analysis))):
            missing.append(Missing(leaf, name, stepped[0]))
    if missing and analysis.recorder.is_part:
        others = {id(p) for p in _held_anywhere()}
        missing = [m for m in missing if id(m.leaf) not in others]
    first = {id(b.value): b.number for b in reversed(list(analysis.bindings))}
    return sorted(missing, key=lambda m: first[id(m.leaf)])


def _held_anywhere() -> Iterator[torch.Tensor]:
    """The parameters of all optimizers that exist: one that makes no step meanwhile is known to
    nobody else."""
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.optim.Optimizer):
            for group in thing.__dict__.get("param_groups", ()):
                yield from group["params"]


def _is_one_of_many(leaf: torch.Tensor, held: set[int], analysis: RunAnalysis) -> bool:
    """Whether it is data: its name was given to another tensor before, which is not held either."""
    if isinstance(leaf, nn.Parameter):
        return False
    earlier = map(analysis.bindings.predecessor, analysis.bindings.names_of(leaf))
    return any(binding is not None and id(binding.value) not in held for binding in earlier)


# -- others are held --------------------------------------------------------------------------


def _may_step(use: OptimizerUse, analysis: RunAnalysis) -> bool:
    """Whether an optimizer has made steps, or still has a name by which it could."""
    names = [b for b in analysis.bindings.names_of(use.optimizer) if b.name != "_"]
    is_named = any(analysis.bindings.successor(b) is None for b in names if not b.scope)
    return bool(use.steps or use.skips) or is_named


def _replaced(missing: list[Missing], analysis: RunAnalysis) -> Iterator[Explained]:
    """After the optimizer was made, the name was given to another parameter, layer or model."""
    by_use: dict[int, list[tuple[Missing, Binding]]] = {}
    for m in missing:
        for use in analysis.recorder.events.optimizers.values():
            new = _replacement(m, use, analysis)
            if new is not None:
                by_use.setdefault(id(use), []).append((replace(m, use=use), new))
                break
    for pairs in by_use.values():
        use, new = pairs[0][0].use, pairs[0][1]
        found = [m for m, _ in pairs]
        draft = analysis.draft()
        lines = sorted({binding.line for _, binding in pairs})
        what = join_names(analysis.bindings.path(binding) for _, binding in pairs)
        where = f"line {lines[0]}" if len(lines) == 1 else f"lines {join_names(map(str, lines))}"
        text = f"{where[0].upper()}{where[1:]} replaced {what}. {use.name} "
        if not analysis.made_here(use):
            text += f"stepped on line {use.stepped} and holds the old parameters."
            cure = f"Make the optimizer after line {lines[-1]}."
        elif all(binding.number > use.made for _, binding in pairs):
            _move_optimizer(draft, use, lines)
            text = (
                f"Line {use.line} gave the parameters to {use.name}. After that, {where} "
                f"replaced {what}. {use.name} still holds the old parameters."
            )
            cure = f"Make the optimizer after line {lines[-1]}."
        else:
            text += f"was made on line {use.line}, but it was given the old parameters."
            cure = f"Collect the parameters after line {lines[-1]}."
        yield (
            found,
            certain(
                Answer(
                    key="optimizer.replaced",
                    title=title(found),
                    text=text,
                    cure=cure,
                    line=lines[0],
                    names=names(found),
                    glossary="optimizer",
                    fix=draft.changed(),
                    symptom=Symptom("still", names(found)),
                )
            ),
        )


def _replacement(m: Missing, use: OptimizerUse, analysis: RunAnalysis) -> Binding | None:
    """When a name whose object held by the optimizer was given to this leaf, or to what has it."""
    given = {id(p) for p, _ in use.given}
    for binding in owners(m.leaf, analysis):
        old = analysis.bindings.predecessor(binding)
        if old is not None and not binding.scope and (use.steps or use.skips):
            if id(old.value) in given:
                return binding
            if isinstance(old.value, nn.Module) and isinstance(binding.value, nn.Module):
                parameters = (p for _, p in named_parameters(old.value))
                if any(id(p) in given for p in parameters):
                    return binding
    return None


def _move_optimizer(draft: Draft, use: OptimizerUse, lines: list[int]) -> None:
    """Make the optimizer after the last of these lines, if it is one of the statements there."""
    made, last = draft.statement(use.line), draft.statement(lines[-1])
    if made is not None and last is not None:
        block = block_of(draft, made)
        if last in block and block.index(made) < block.index(last):
            draft.move_after(made, last)


def _frozen(missing: list[Missing], analysis: RunAnalysis) -> Iterator[Explained]:
    """Frozen parameters were filtered out when the optimizer was made, and unfrozen later."""
    for use in analysis.recorder.events.optimizers.values():
        ids = set(map(id, use.frozen))
        found = [replace(m, use=use) for m in missing if id(m.leaf) in ids]
        if not (found and analysis.made_here(use)):
            continue
        draft = analysis.draft()
        line = _add_group(draft, use, analysis)
        optimizer = analysis.bindings.path_of(use.optimizer)
        yield (
            found,
            certain(
                Answer(
                    key="optimizer.frozen",
                    title=title(found),
                    text=f"When line {use.line} made {use.name}, {join_names(names(found))} did "
                    "not "
                    f"require a gradient, and the optimizer was not given {them(found)}. Setting "
                    "requires_grad later does not add anything to it.",
                    cure=f'Add {them(found)}: {optimizer}.add_param_group({{"params": …}}).',
                    line=line or use.line,
                    names=names(found),
                    glossary="optimizer",
                    fix=draft.changed(),
                    symptom=Symptom("still", names(found)),
                )
            ),
        )
        missing = [m for m in missing if id(m.leaf) not in ids]


def _add_group(draft: Draft, use: OptimizerUse, analysis: RunAnalysis) -> int | None:
    """Give the optimizer what is unfrozen after it was made, right there. Returns the line."""
    optimizer = analysis.bindings.path_of(use.optimizer)
    for statement in sorted(draft.nodes(ast.stmt), key=lambda s: s.lineno):
        if statement.lineno <= use.line:
            continue
        target = _unfrozen(draft, statement)
        if target is not None:
            draft.insert_after(statement, f'{optimizer}.add_param_group({{"params": {target}}})')
            return statement.lineno
    return None


def _unfrozen(draft: Draft, statement: ast.stmt) -> str | None:
    """What a statement makes require a gradient, as an expression of parameters."""
    if isinstance(statement, ast.For) and any(_unfrozen(draft, s) for s in statement.body):
        return draft.of(statement.iter)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        target, value = statement.targets[0], statement.value
        if target.attr == "requires_grad" and isinstance(value, ast.Constant) and value.value:
            return f"[{draft.of(target.value)}]"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        is_on = not call.args or (isinstance(call.args[0], ast.Constant) and call.args[0].value)
        if is_on and isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_":
            return f"{draft.of(call.func.value)}.parameters()"
    return None


def _copied(missing: list[Missing], analysis: RunAnalysis) -> Iterator[Explained]:
    """The optimizer holds a copy, which the loss does not use."""
    history = analysis.recorder.history
    for m in missing:
        for use in analysis.recorder.events.optimizers.values():
            for copy, _ in use.given:
                cut = next((c for c in history.cuts_of(copy) if c.tensor is m.leaf), None)
                if cut is None or id(copy) in analysis.reached:
                    continue
                name = analysis.bindings.path_of(copy)
                draft = analysis.draft()
                call = draft.call(use.line, use.name)
                for node in ast.walk(call) if call is not None else ():
                    if isinstance(node, ast.Name) and node.id == name:
                        draft.replace(node, m.name)
                yield (
                    [replace(m, use=use)],
                    certain(
                        Answer(
                            key="optimizer.copy",
                            title=f"Why does {m.name} not change?",
                            text=f"{use.name} holds {name}, which line {cut.line} made as a copy "
                            "of "
                            f"{m.name}. The loss uses {m.name} itself: {name} gets no gradient, "
                            f"and {m.name} no step.",
                            cure=f"Give the optimizer {m.name}.",
                            line=cut.line,
                            names=(m.name,),
                            glossary="optimizer",
                            fix=draft.changed(),
                            symptom=Symptom("still", (m.name,)),
                        )
                    ),
                )


CAUSES: tuple[Cause, ...] = (
    in_plain_list,
    no_parameter,
    _replaced,
    _frozen,
    _copied,
    instead,
    not_given,
)
