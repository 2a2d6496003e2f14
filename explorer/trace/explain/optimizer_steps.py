"""Steps that move a parameter without a gradient, or that do not move it in spite of one.

Asked at https://github.com/pytorch/pytorch/issues/38581
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import torch

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.cures import certain
from explorer.trace.explain.run_analysis import RunAnalysis, short_text
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.events import OptimizerUse
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names, number

#: Parameters of which each gets an answer of its own: more would hide the other answers.
MOST_MOVED = 3


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    uses = [use for use in analysis.recorder.events.optimizers.values() if use.steps]
    for use in uses:
        yield from _stale(use, analysis)
        yield from _revived(use, analysis)
        yield from _idle(use, analysis)
        yield from _unmoved(use, analysis)
    yield from _made_again(uses, analysis)


# -- moved without a gradient -------------------------------------------------------------------


def _idle(use: OptimizerUse, analysis: RunAnalysis) -> Iterator[Answer]:
    """A gradient of 0, in all steps or in one that the program looks at."""
    if analysis.recorder.is_part:
        return
    looks = re.search(r"\.grad\b(?!\s*=[^=])", analysis.source)
    held = {id(p): p for p in (*(p for p, _ in use.given), *use.parameters())}
    moved = [
        (name, parameter, *values)
        for name, values in use.moved.items()
        for parameter in held.values()
        if analysis.name_of(parameter) == name and id(parameter) not in use.stale
        if looks or id(parameter) not in use.driven
    ]
    for name, parameter, line, old, new in moved[:MOST_MOVED]:
        yield _moved_by(name, parameter, line, old, new, use, analysis)


def _moved_by(
    name: str,
    parameter: torch.Tensor,
    line: int,
    old: CapturedValues,
    new: CapturedValues,
    use: OptimizerUse,
    analysis: RunAnalysis,
) -> Answer:
    reasons, arguments = _movers(use, parameter, id(parameter) in use.driven_on)
    return Answer(
        key="optimizer.idle",
        title=f"Why does {name} move although its gradient is 0?",
        text=f"The step on line {line} changed {name} from {short_text(old.array())} to "
        f"{short_text(new.array())}: " + (" and ".join(reasons) or f"{use.name} does this") + ".",
        cure="To keep it unchanged, set its .grad to None: step() then skips it.",
        line=line,
        names=(name,),
        glossary="weight_decay" if "weight_decay" in arguments else "momentum",
        symptom=Symptom("value", (name,)),
        counterfactual=_without(arguments, use, analysis),
    )


def _movers(
    use: OptimizerUse, parameter: torch.Tensor, is_driven_on: bool
) -> tuple[list[str], list[str]]:
    """What moves a parameter without a gradient, in words, and the arguments that say so. In the
    first step nothing is driven on: the optimizer has no earlier gradients."""
    group = use.group_of(parameter)
    values = {k: v for k, v in group.items() if isinstance(v, int | float) and v}
    reasons, arguments = [], []
    if "weight_decay" in values:
        reasons.append(f"weight_decay = {number(values['weight_decay'])} moves it towards 0")
        arguments.append("weight_decay")
    if "momentum" in values and is_driven_on:
        shown = number(values["momentum"])
        reasons.append(f"momentum = {shown} continues the movement of earlier steps")
        arguments.append("momentum")
    elif "betas" in group and is_driven_on:
        reasons.append(f"{use.name} uses a running mean, which includes earlier gradients")
    return reasons, arguments


def _without(arguments: list[str], use: OptimizerUse, analysis: RunAnalysis) -> str | None:
    """The program in which these arguments of the optimizer are 0."""
    draft = analysis.draft()
    call = draft.call(use.line, use.name)
    for keyword in call.keywords if call is not None else ():
        if keyword.arg in arguments:
            draft.replace(keyword.value, "0")
    return draft.changed()


def _revived(use: OptimizerUse, analysis: RunAnalysis) -> Iterator[Answer]:
    """An element that the program has set to 0 does not stay 0."""
    for parameter, line, place in list(use.revived.values())[:1]:
        name = analysis.name_of(parameter)
        element = f"{name}[{place}]" if parameter.dim() == 1 else f"an element of {name}"
        reasons, arguments = _movers(use, parameter, is_driven_on=True)
        if not reasons:
            continue
        yield Answer(
            key="optimizer.idle",
            title=f"Why does {element} not stay 0, although its gradient is 0?",
            text=f"The step on line {line} moved {element}: {' and '.join(reasons)}.",
            cure=f"Set it to 0 again after each step, or clear what {use.name} remembers of it.",
            line=line,
            names=(name,),
            glossary="momentum",
            symptom=Symptom("value", (name,)),
            counterfactual=_without(arguments, use, analysis),
        )


def _stale(use: OptimizerUse, analysis: RunAnalysis) -> Iterator[Answer]:
    """A frozen parameter keeps its last gradient, which every step applies again."""
    if not use.stale:
        return
    names = tuple(dict.fromkeys(analysis.name_of(p) for p, _ in use.stale.values()))
    line = next(iter(use.stale.values()))[1]
    draft = analysis.draft()
    for statement in sorted(draft.nodes(ast.stmt), key=lambda s: s.lineno):
        cleared = _cleared_there(draft, statement, analysis)
        if cleared:
            draft.insert_after(statement, cleared)
            break
    one = len(names) == 1
    parameter = next(iter(use.stale.values()))[0]
    reasons, _ = _movers(use, parameter, id(parameter) in use.driven_on)
    why = (
        f".grad still holds the last one. step() on line {line} looks at .grad only, and "
        "applies it again."
    )
    if parameter.grad is not None and not parameter.grad.any() and reasons:
        why = (
            f".grad is 0 and not None. So step() on line {line} still updates "
            f"{'it' if one else 'them'}: {' and '.join(reasons)}."
        )
    yield certain(
        Answer(
            key="optimizer.stale",
            title=f"Why {'does' if one else 'do'} {join_names(names)} still change?",
            text=f"{join_names(names)} {'does' if one else 'do'} not require a gradient any more, "
            "but "
            f"{why}",
            cure=f"Clear it when you freeze {'it' if one else 'them'}: {names[0]}.grad = None.",
            line=line,
            names=names,
            glossary="optimizer",
            fix=draft.changed(),
            symptom=Symptom("value", names),
        )
    )


def _cleared_there(draft: Draft, statement: ast.stmt, analysis: RunAnalysis) -> str:
    """What clears the gradient of a tensor or a model that this statement freezes."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        target, value = statement.targets[0], statement.value
        if target.attr == "requires_grad" and _is_false(value):
            return f"{draft.of(target.value)}.grad = None"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if called_name(call) == "requires_grad_" and call.args and _is_false(call.args[0]):
            receiver = draft.of(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            root = analysis.variables.get(re.split(r"\W", receiver)[0])
            is_module = isinstance(root, torch.nn.Module)
            return f"{receiver}.zero_grad()" if is_module else f"{receiver}.grad = None"
    return ""


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


# -- not moved in spite of a gradient -----------------------------------------------------------


def _unmoved(use: OptimizerUse, analysis: RunAnalysis) -> Iterator[Answer]:
    """A learning rate of 0, or one that is too small for the number type."""
    still = [v for k, v in use.unmoved.items() if k not in use.changed]
    zero = [v for v in still if v[2] == 0]
    small = [v for v in still if v[2] != 0 and use.name == "SGD" and _is_rounded(*v)]
    for found in (zero, small):
        if not found:
            continue
        parameter, line, rate, slope = found[0]
        names = tuple(dict.fromkeys(analysis.name_of(v[0]) for v in found))
        text = f"The learning rate is 0 in every step, so the step on line {line} adds 0."
        cure = "Use a learning rate above 0."
        draft = analysis.draft()
        if rate == 0:
            call = draft.call(use.line, use.name)
            for keyword in call.keywords if call is not None else ():
                if keyword.arg == "lr":
                    draft.replace(keyword.value, "0.01")
        else:
            kind = str(parameter.dtype).removeprefix("torch.")
            text = (
                f"The step on line {line} subtracts lr · gradient = {number(rate * slope)} at "
                f"most. Next to {number(float(parameter.abs().max()))}, that is less than the "
                f"smallest difference that {kind} can hold, so {names[0]} stays as it is."
            )
            cure = "Use a larger learning rate, or float64."
        yield certain(
            Answer(
                key="optimizer.rate",
                title=f"Why {'does' if len(names) == 1 else 'do'} {join_names(names)} not change?",
                text=text,
                cure=cure,
                line=line,
                names=names,
                glossary="learning_rate",
                fix=draft.changed(),
                symptom=Symptom("still", names),
            )
        )


def _is_rounded(parameter: torch.Tensor, line: int, rate: float, slope: float) -> bool:
    """Whether a step is lost because the parameter's numbers are too far apart."""
    if not parameter.is_floating_point():
        return False
    smallest, eps = float(parameter.abs().min()), torch.finfo(parameter.dtype).eps
    is_noise = slope <= eps  # as of a gradient that is 0 but for rounding: no rate is too small
    return rate * slope <= eps * smallest and not is_noise


# -- made again ---------------------------------------------------------------------------------


def _made_again(uses: list[OptimizerUse], analysis: RunAnalysis) -> Iterator[Answer]:
    """The same line makes an optimizer for the same parameters again and again."""
    by_line: dict[tuple[int, tuple[int, ...]], list[OptimizerUse]] = defaultdict(list)
    for use in uses:
        if any(use.remembers(parameter) for parameter, _ in use.given):
            by_line[use.line, tuple(id(p) for p, _ in use.given)].append(use)
    for (line, _), again in by_line.items():
        if len(again) < 2 or not line:
            continue
        use = again[0]
        state = "momentum" if "momentum" in use.group_of(use.given[0][0]) else "running means"
        draft = analysis.draft()
        made = draft.statement(line)
        loops = [s for s in draft.path_to(made) if isinstance(s, ast.For)] if made else []
        inside = any(isinstance(s, ast.FunctionDef) for s in draft.path_to(made)) if made else True
        if made is not None and loops and not inside:
            draft.move_before(made, loops[0])
        yield certain(
            Answer(
                key="optimizer.recreated",
                title=f"Does it matter that line {line} makes {use.name} {len(again)} times?",
                text=f"Line {line} makes a new {use.name} for the same parameters {len(again)} "
                "times. "
                f"Each new one begins without the state of the one before: its {state} of earlier "
                "gradients are lost.",
                cure="Make the optimizer once, before the loop.",
                line=line,
                names=(),
                glossary="optimizer",
                fix=draft.changed(),
                symptom=Symptom("remark"),
            )
        )
