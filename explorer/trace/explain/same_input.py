"""A model that nothing trains, and that gives another result for the same input.

Asked at https://github.com/pytorch/pytorch/issues/5406
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from explorer.program.draft import called_name
from explorer.trace.explain.cures import certain
from explorer.trace.explain.modes import NORM, by_layer, is_active, is_equal, matters, probability
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.function_calls import DROPOUTS, FunctionCall
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number

#: What is called to collect samples.
COLLECTING = frozenset(["append", "stack", "cat", "mean", "std", "var", "std_mean", "var_mean"])


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Batch norm used in both modes, or dropout in training mode."""
    if any(use.steps for use in analysis.recorder.events.optimizers.values()):
        return
    for calls in by_layer(analysis.recorder.function_calls.of(DROPOUTS | {NORM})):
        module = analysis.recorder.module_name(calls[0].modules[0])
        active = [call for call in calls if is_active(call)]
        passive = [call for call in calls if not is_active(call) and matters(call)]
        if not active:
            continue
        line = active[0].lines[-1]
        repeated = any(_repeats(a, b) for a in calls for b in calls if a is not b)
        if active[0].function == NORM and passive and repeated:
            after = passive[0].order < active[0].order < passive[-1].order
            changed = (
                f"The run on line {line}, in training mode, changed its running mean and variance, "
                "also without gradients and with frozen parameters. Evaluation mode uses these "
                "running statistics."
                if after
                else f"In training mode (line {line}) it uses the mean and variance of the batch; "
                f"in evaluation mode (line {passive[0].lines[-1]}) the running mean and variance "
                "of earlier batches."
            )
            yield Answer(
                key="modes.running" if after else "modes.batch_norm",
                title="Why is the result different for the same input and the same weights?",
                text=f"{module} is a BatchNorm layer. {changed}",
                cure=f"Keep it in evaluation mode: call {module}.eval() after train()."
                if after
                else "Compare results in the same mode: call eval() on the model for both.",
                line=line,
                names=(module,),
                glossary="operation",
            )
            return
        if active[0].function != NORM and _is_repeated_at_random(active, analysis):
            answer = Answer(
                key="modes.dropout",
                title="Why does the model give different results for the same input?",
                text=f"{module} is in training mode (line {line}): it sets each value to 0 with a "
                f"probability of {number(probability(active[0]))}, at random in each call.",
                cure="Call eval() on the model before you use it.",
                line=line,
                names=(module,),
                glossary="operation",
                fix=_in_evaluation_mode(active[0], line, analysis),
                symptom=Symptom("remark", (module,)),
            )
            yield certain(answer)
            return


def _in_evaluation_mode(call: FunctionCall, line: int, analysis: RunAnalysis) -> str | None:
    """The program with `model.eval()` before this line."""
    draft = analysis.draft()
    names = [n for n, value in analysis.variables.items() if value is call.modules[-1]]
    statement = draft.statement(line)
    if names and statement is not None:
        draft.insert_before(statement, f"{names[0]}.eval()")
    return draft.changed()


def _repeats(first: FunctionCall, second: FunctionCall) -> bool:
    a, b = first.tensor("input"), second.tensor("input")
    return a is not None and b is not None and is_equal(a, b)


def _is_repeated_at_random(active: list[FunctionCall], analysis: RunAnalysis) -> bool:
    """Whether the program calls a model several times with one input, and does not ask for
    randomness: from three calls on, not if it collects the results."""
    called = {called_name(call) for call in analysis.as_typed.nodes(ast.Call)}
    is_collected = bool(called & COLLECTING) or any(analysis.as_typed.nodes(ast.ListComp))
    return (
        (len(active) == 2 or (len(active) > 2 and not is_collected))
        and active[0].was_training
        and all(_repeats(first, second) for first, second in pairwise(active))
        and not analysis.passes
        and "train" not in called
    )
