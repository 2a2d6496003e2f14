""" "Trying to backward through the graph a second time": what leads back into the earlier graph.

Asked at https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from explorer.trace.explain import earlier_iteration, same_iteration
from explorer.trace.explain.cures import first_of
from explorer.trace.explain.earlier_graph import earlier_graph
from explorer.trace.explain.freed_graph import FreedGraph
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.passes import RawStep
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.records import Answer

AGAIN = "backward through the graph a second time"


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """The error, by what is used again: a state, a total, a part computed before the loop, a part
    that two losses share, or the same loss."""
    failed = analysis.failed_pass
    if failed is None or not analysis.error_contains(AGAIN):
        return
    step = next((step for step in reversed(failed.steps) if step.unreadable), None)
    node = failed.functions[step.function] if step is not None else None
    earlier = earlier_graph(analysis, failed, node)
    if step is None or earlier is None:
        return
    freed = FreedGraph(analysis, earlier, step)
    loop = earlier_iteration.loop_of(freed)
    causes = same_iteration.causes(freed) if loop is None else earlier_iteration.causes(freed, loop)
    answers = [answer for answer in causes if answer.fix is not None]
    answers.append(_general(freed))
    yield first_of(answers)


def _general(freed: FreedGraph) -> Answer:
    """What is certain in any case, without a cure that was tried."""
    earlier, analysis = freed.earlier, freed.analysis
    node = earlier.later.functions[freed.step.function]
    result = analysis.result_of_node(node)
    answer = freed.answer(
        "backward.twice",
        f"The call on line {earlier.line} went through {analysis.node_text(node)} and freed "
        f"{_saved_by(freed.step, result)}. {freed.call} on line {freed.line} needs them again.",
        "Run the forward pass again before the second call, or detach the part of it whose "
        "gradients are not needed.",
        (result.name if result is not None else type(node).__name__,),
        None,
    )
    return replace(answer, symptom=None)


def _saved_by(step: RawStep, result: LiveTensor | None) -> str:
    """The values a node had saved, by the reader's names."""
    inputs = [record.name for record in result.inputs] if result is not None else []
    known = dict(zip(("self", "other"), inputs, strict=False))
    names = [known[name] for name in step.unreadable if name in known]
    if result is not None and "result" in step.unreadable:
        names.append(result.name)
    listed = f" ({', '.join(dict.fromkeys(names))})" if names else ""
    return f"the values it had saved{listed}"
