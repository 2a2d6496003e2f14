"""Training and evaluation mode: dropout and batch norm that are active, or not, by mistake.

Asked at https://github.com/pytorch/pytorch/issues/11999
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import nn

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.cures import certain
from explorer.trace.explain.losses import value_names
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.function_calls import DROPOUTS, FunctionCall
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names, number

NORM = "batch_norm"
#: From so many calls with one input on, dropout without gradients is meant: it is sampled.
SAMPLES = 3


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    calls = analysis.recorder.function_calls.of(DROPOUTS | {NORM})
    yield from _functional_dropout(calls, analysis)
    layers = by_layer(calls)
    if any(use.steps for use in analysis.recorder.events.optimizers.values()):
        yield from _active_in_evaluation(layers, analysis)
        yield from _inactive_in_training(layers, analysis)


def by_layer(calls: list[FunctionCall]) -> list[list[FunctionCall]]:
    """The calls of each layer."""
    layers: dict[int, list[FunctionCall]] = defaultdict(list)
    for call in calls:
        if call.modules:
            layers[id(call.modules[0])].append(call)
    return list(layers.values())


def is_active(call: FunctionCall) -> bool:
    """Whether dropout drops, or batch norm uses the batch's own mean and variance."""
    training = call.arguments.get("training", True) is True
    if call.function == NORM:
        return training and call.arguments.get("running_mean") is not None
    return training and probability(call) > 0


def probability(call: FunctionCall) -> float:
    p = call.arguments.get("p", 0.5)
    return float(p) if isinstance(p, int | float) else 0.0


# -- F.dropout ----------------------------------------------------------------------------------


def _functional_dropout(calls: list[FunctionCall], analysis: RunAnalysis) -> Iterator[Answer]:
    """Dropout that works in a module in evaluation mode: F.dropout, which does not know of modes,
    or a layer that forward makes anew, which is in training mode."""
    for call in calls:
        if call.function == NORM or not is_active(call):
            continue
        if call.modules and not call.was_training:
            answer = _without_mode(call, analysis)
        elif len(call.modules) > 1 and not call.modes[1]:
            answer = _new_layer(call, analysis)
        else:
            continue
        if answer is not None:
            yield certain(answer)
            return


def _without_mode(call: FunctionCall, analysis: RunAnalysis) -> Answer | None:
    draft = analysis.draft()
    node = draft.call(call.line, call.function)
    if node is None:
        return None
    text, function = draft.of(node), draft.of(node.func)
    value = next((k.value for k in node.keywords if k.arg == "training"), None)
    if value is not None:
        draft.replace(value, "self.training")
    elif len(node.args) < 3:
        draft.replace(node, f"{text[:-1]}, training=self.training)")
    return Answer(
        key="modes.functional",
        title="Why does dropout work in evaluation mode too?",
        text=f"{function} on line {call.line} does not know whether its module is in training "
        "mode: it drops values unless it gets training=False. Here it set values to 0 with "
        f"a probability of {number(probability(call))}, although eval() had been called.",
        cure="Pass training=self.training, or use a layer nn.Dropout.",
        line=call.line,
        names=(text,),
        glossary="operation",
        fix=draft.changed(),
        symptom=Symptom("value", value_names(analysis)),
    )


def _new_layer(call: FunctionCall, analysis: RunAnalysis) -> Answer | None:
    """`nn.Dropout(0.5)(x)` in forward."""
    draft, layer = analysis.draft(), type(call.modules[0]).__name__
    made = draft.call(call.line, layer)
    used = next((n for n in draft.nodes(ast.Call, call.line) if n.func is made), None)
    if made is None or used is None or len(used.args) != 1:
        return None
    text = draft.of(made)
    dropout = draft.name_in_torch(f"torch.nn.functional.{call.function}")
    inner, p = draft.of(used.args[0]), number(probability(call))
    draft.replace(used, f"{dropout}({inner}, {p}, training=self.training)")
    return Answer(
        key="modes.functional",
        title="Why does dropout work in evaluation mode too?",
        text=f"Line {call.line} makes a new {layer} each time it runs. A new layer is in training "
        "mode, "
        f"and eval() of {type(call.modules[1]).__name__} does not reach it. So it sets values to 0 "
        f"with a probability of {p}.",
        cure=f"Make the layer once, in __init__, or use {dropout} with training=self.training.",
        line=call.line,
        names=(text,),
        glossary="operation",
        fix=draft.changed(),
        symptom=Symptom("value", value_names(analysis)),
    )


# -- while training -----------------------------------------------------------------------------


def _active_in_evaluation(
    layers: list[list[FunctionCall]], analysis: RunAnalysis
) -> Iterator[Answer]:
    """A trained model runs under no_grad after its training, and is still in training mode.

    One that repeats the same input samples dropout on purpose, and a call of train() next to the
    evaluation says that training mode is meant.
    """
    active = []
    for calls in layers:
        latest = max((c.order for c in calls if c.has_grad_mode), default=None)
        late = [c for c in calls if latest is not None and c.order > latest and is_active(c)]
        late = [c for c in late if not c.has_grad_mode and c.steps]
        if late and not _is_sampled(late):
            active.append(late[0])
    samples = len(analysis.recorder.events.optimizers) > 1  # as GANs do, of the batch they draw
    if not active or (samples and all(call.function == NORM for call in active)):
        return
    call = active[0]
    draft = analysis.draft()
    block, line = _no_grad_block(draft, call)
    if block is None or _switches_to_training(draft, block):
        return
    name = _model_name(draft, line, call.modules[-1], analysis)
    kinds = {"batch norm" if c.function == NORM else "dropout" for c in active}
    effects = {
        "dropout": "Dropout sets values to 0 at random.",
        "batch norm": "Batch norm uses the mean and variance of this batch alone, and changes its "
        "running statistics.",
    }
    fix = None
    if name:
        first = block.body[0] if isinstance(block, ast.FunctionDef) else block
        draft.insert_before(first, f"{name}.eval()")
        fix = draft.changed()
    shown = name or analysis.recorder.module_name(call.modules[-1])
    yield certain(
        Answer(
            key="modes.train",
            title=f"Why does the result of {shown} on line {line} depend on more than its input?",
            text=f"{join_names(sorted(kinds)).capitalize()} {'is' if len(kinds) == 1 else 'are'} "
            "still "
            f"in training mode when line {line} "
            f"runs {shown} under no_grad. "
            + " ".join(effects[kind] for kind in sorted(kinds))
            + " no_grad does not change this: it only turns recording off.",
            cure=f"Call {shown}.eval() before the evaluation, and {shown}.train() before training "
            "continues.",
            line=line,
            names=(shown,),
            glossary="operation",
            fix=fix,
            symptom=Symptom("value"),
        )
    )


def _is_sampled(calls: list[FunctionCall]) -> bool:
    """Whether a dropout layer gets one input again and again, as a source of randomness."""
    inputs = [given for call in calls if (given := call.tensor("input")) is not None]
    return (
        calls[0].function != NORM
        and len(inputs) >= SAMPLES
        and all(is_equal(a, b) for a, b in pairwise(inputs))
    )


def is_equal(first: torch.Tensor, second: torch.Tensor) -> bool:
    return first.shape == second.shape and torch.equal(first, second)


def _no_grad_block(
    draft: Draft, call: FunctionCall
) -> tuple[ast.With | ast.FunctionDef | None, int]:
    """The `with torch.no_grad():`, or the function decorated with it, around a running line; and
    that line."""
    for line in call.lines:
        for statement in draft.nodes(ast.With, line):
            if any(_is_no_grad(item.context_expr) for item in statement.items):
                return statement, line
        for function in draft.nodes(ast.FunctionDef, line):
            if any(_is_no_grad(decorator) for decorator in function.decorator_list):
                return function, line
    return None, 0


def _is_no_grad(node: ast.expr) -> bool:
    function = node.func if isinstance(node, ast.Call) else node
    return getattr(function, "attr", getattr(function, "id", "")) in ("no_grad", "inference_mode")


def _switches_to_training(draft: Draft, block: ast.With | ast.FunctionDef) -> bool:
    """Whether train() is called in the block, or in the statement before it."""
    last = block.end_lineno or block.lineno
    calls = [c for c in draft.nodes(ast.Call) if called_name(c) == "train" and not c.args]
    return any(block.lineno - 2 <= call.lineno <= last for call in calls)


def _model_name(draft: Draft, line: int, model: nn.Module, analysis: RunAnalysis) -> str:
    """The name under which a line calls the model."""
    names = {binding.name for binding in analysis.bindings.names_of(model)}
    called = (draft.of(call.func) for call in draft.nodes(ast.Call, line))
    return next((name for name in called if name in names), "")


def _inactive_in_training(
    layers: list[list[FunctionCall]], analysis: RunAnalysis
) -> Iterator[Answer]:
    """Training goes on after eval(): dropout does nothing, and batch norm's statistics stay."""
    kept, steps = analysis.recorder.function_calls, analysis.recorder.events.steps
    for calls in layers:
        in_training = [
            call
            for call in calls
            if call.has_grad_mode and call.steps < kept.steps_after(call, steps) and matters(call)
        ]
        late = [c for c in in_training if not is_active(c)]
        if not late or late[-1] is not in_training[-1]:
            continue
        call = late[0]
        draft = analysis.draft()
        switch = _whole_model_eval(draft, call, analysis)
        if switch is None or _is_meant(call.modules[-1], analysis):
            continue
        name = draft.of(switch.func)[: -len(".eval")]
        loops = [
            loop
            for loop in draft.nodes(ast.For)
            if any(s.lineno <= call.lines[-1] <= (s.end_lineno or 0) for s in loop.body)
        ]
        if loops:
            draft.insert_before(loops[0].body[0], f"{name}.train()")
        what = "dropout does nothing"
        if call.function == NORM:
            what = "batch norm uses its running statistics, which no longer change"
        yield certain(
            Answer(
                key="modes.eval",
                title=f"Is {name} in training mode while it is trained?",
                text=f"{name}.eval() on line {switch.lineno} switched to evaluation mode, and "
                "training "
                f"goes on in it: on line {call.lines[-1]}, {what}.",
                cure=f"Call {name}.train() before training continues.",
                line=switch.lineno,
                names=(name,),
                glossary="operation",
                fix=draft.changed() if loops else None,
                symptom=Symptom("value", value_names(analysis)),
            )
        )
        return


def _is_meant(model: nn.Module, analysis: RunAnalysis) -> bool:
    """Whether evaluation mode is meant: the model is frozen, or only a part of what is trained,
    and the rest is in training mode."""
    uses = [use for use in analysis.recorder.events.optimizers.values() if use.steps]
    trained = {id(p) for use in uses for p in use.parameters() if p.requires_grad}
    own = {id(p) for p in model.parameters()}
    return not own & trained or any(
        module.training and {id(p) for p in module.parameters()} & (trained - own)
        for module in analysis.modules()
    )


def matters(call: FunctionCall) -> bool:
    return call.function == NORM or probability(call) > 0


def _whole_model_eval(draft: Draft, call: FunctionCall, analysis: RunAnalysis) -> ast.Call | None:
    """The eval() of the model that was running, not of a part of it."""
    for node in draft.nodes(ast.Call):
        if called_name(node) != "eval" or not isinstance(node.func, ast.Attribute):
            continue
        known = analysis.variables.get(draft.of(node.func.value))
        if known is call.modules[-1] and analysis.recorder.run_counts.get(node.lineno):
            return node
    return None
