""" "element 0 of tensors does not require grad": why a result has no graph, and the cure that only
hides it.

Asked at https://discuss.pytorch.org/t/gradient-is-lost-when-use-torch-tensor-t1-t2/23261
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch
from torch import nn

from explorer.program.draft import Draft, called_name
from explorer.trace.explain import leaf_repairs
from explorer.trace.explain.cures import certain
from explorer.trace.explain.leaf_repairs import in_place_on
from explorer.trace.explain.origins import origins
from explorer.trace.explain.recording_off import context_line
from explorer.trace.explain.refused_in_place import without_grad
from explorer.trace.explain.repairs import Repair
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.cuts import CUT_CAUSES, Cut
from explorer.trace.recording.recorder import RefusedBackward
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names

#: Leaves that an answer names: its sentence stays short.
MOST_NAMES = 3
#: The message for the backward of a plain number.
NO_TENSOR = re.compile(r"\b(float|int)'?( object)? has no attribute '?backward")

#: The functions of torch.autograd.functional whose results have no graph, unless that is asked for.
FUNCTIONAL = ("jacobian", "hessian", "vjp", "jvp", "hvp", "vhp")
#: Methods that register a function which gets gradients.
HOOKS = ("register_hook", "register_full_backward_hook")

#: What torch says of a reentrant checkpoint whose inputs do not require grad.
CHECKPOINT = "None of the inputs have requires_grad=True"


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """A backward call that torch refuses, and one that goes no further than a new leaf."""
    yield from _no_graph(analysis)
    yield from _plain_number(analysis)
    yield from _new_leaf(analysis)


# -- torch refuses --------------------------------------------------------------------------------


def _no_graph(analysis: RunAnalysis) -> Iterator[Answer]:
    refused = analysis.recorder.refused_backward
    if refused is None or not analysis.error_contains("does not require grad"):
        return
    if any(CHECKPOINT in warning.text for warning in analysis.warned):
        return  # `torch_warnings` explains it
    root = analysis.name_of(refused.tensor)
    is_grad = analysis.as_typed.call(refused.line, "backward") is None
    call = "torch.autograd.grad" if is_grad else "backward"
    title = f"Why does {call} on line {refused.line} say that {root} does not require grad?"
    cuts = analysis.cuts
    updates = [cut for cut in cuts if cut.line in analysis.updates]
    inside = _inside_backward(title, root, analysis)
    if inside is not None:
        yield inside
    elif updates:
        yield _rebound(title, root, updates, analysis)
    elif cuts:
        yield _cut(title, root, cuts, analysis)
    else:
        yield _never_required(title, root, refused, analysis)


def _rebound(title: str, root: str, cuts: list[Cut], analysis: RunAnalysis) -> Answer:
    """`w = w - lr * w.grad` inside no_grad: the next loss is computed from plain tensors."""
    line = min(cut.line for cut in cuts)
    name = analysis.updates[line]
    answer = Answer(
        key="history.rebound",
        title=title,
        text=f"Line {line} gives the name {name} to a new tensor. Made where nothing is recorded, "
        "it "
        f"does not require grad, and nor does {root}, which is computed from it.",
        cure=f"Change {name} itself: `{in_place_on(analysis.as_typed, line)}` inside "
        "torch.no_grad().",
        line=line,
        names=(name, root),
        glossary="cut",
        symptom=Symptom("error", (name,)),
    )
    repair = Repair(analysis.draft())
    for cut in cuts:
        repair.line(cut.line)
    return certain(answer, repair.draft.changed())


def _cut(title: str, root: str, cuts: list[Cut], analysis: RunAnalysis) -> Answer:
    accidental = [c for c in cuts if not CUT_CAUSES[c.cause].is_deliberate]
    first = min(_before_trained(accidental or cuts, analysis), key=lambda cut: cut.line)
    names = tuple(leaf.name for leaf in _leaves_behind(analysis, cuts))
    answer = Answer(
        key="history.cut",
        title=title,
        text=f"The graph behind {root} was cut {analysis.where(first)}. What is computed from that "
        "alone "
        "does not require grad, so backward has no graph to follow.",
        cure=analysis.cure_of(first),
        line=first.line,
        names=(first.name, root),
        glossary="cut",
        symptom=Symptom("error", names),
    )
    return certain(answer, *_fixes(analysis, accidental, cuts))


def _before_trained(cuts: list[Cut], analysis: RunAnalysis) -> list[Cut]:
    """The cuts on the paths of what an optimizer holds; all of them if there are none."""
    uses = analysis.recorder.events.optimizers.values()
    held = [parameter for use in uses for parameter in use.parameters()]
    return [cut for cut in cuts if any(analysis.cuts_off(cut, p) for p in held)] or cuts


def _fixes(analysis: RunAnalysis, *choices: list[Cut], hidden: str = "") -> Iterator[str | None]:
    """The program without some of its cuts, and without the line that hides them."""
    for cuts in choices:
        if cuts:
            repair = Repair(analysis.draft())
            if hidden:
                leaf_repairs.drop_requires_grad(repair.draft, hidden)
            yield repair.all(cuts)


def _never_required(
    title: str, root: str, refused: RefusedBackward, analysis: RunAnalysis
) -> Answer:
    """Nothing was cut: nothing behind the result required a gradient."""
    leaf = next((r for r in analysis.records if r.tensor.grad is refused.tensor), None)
    if leaf is not None:
        return _gradient_itself(title, root, leaf, analysis)
    gradient = _of_gradients(title, root, refused.line, analysis)
    if gradient is not None:
        return gradient
    frozen = [
        (frozen, analysis.recorder.frozen_at(frozen))
        for frozen, _ in analysis.recorder.events.things("freeze")
        if not frozen.requires_grad and analysis.bindings.names_of(frozen)  # none inside of torch
    ]
    leaves = _plain_leaves(refused, analysis)
    trained = [leaf for leaf in leaves if _is_trained(leaf.own_name, analysis)]
    if frozen and not trained:
        return _frozen(title, root, frozen, analysis)
    trained = trained or leaves[:1]
    names = ", ".join(leaf.name for leaf in leaves[:MOST_NAMES])
    of = f"None of the tensors that {root} was computed from required a gradient"
    cure = _require_grad(trained[0], analysis) if trained else "Set requires_grad=True on an input."
    made = analysis.recorder.find(refused.tensor)
    if made is not None and leaf_repairs.is_created_here(analysis.as_typed, made.line):
        of, names = f"Line {made.line} makes {root} of plain numbers, which have no history", ""
        cure = "Compute it with torch, from a tensor that requires grad."
    answer = Answer(
        key="history.none",
        title=title,
        text=f"{of} ({names}), so autograd recorded no graph." if names else f"{of}.",
        cure=cure,
        line=trained[0].line if trained else None,
        names=tuple(leaf.name for leaf in trained[:MOST_NAMES]),
        glossary="requires_grad",
        symptom=Symptom("error", tuple(leaf.name for leaf in trained[:MOST_NAMES])),
    )
    draft = analysis.draft()
    for leaf in trained:
        integers = not leaf.tensor.is_floating_point()
        leaf_repairs.require(draft, leaf.line, leaf.own_name, integers)
    update = _first_update(draft, {leaf.own_name for leaf in trained})
    if update is not None:  # of a leaf that requires grad, torch refuses it
        without_grad(draft, update)
        more = f"{cure.rstrip('.')}. Change it inside `with torch.no_grad():`."
        answer = replace(answer, cure=more)
    return certain(answer, draft.changed())


def _first_update(draft: Draft, names: set[str]) -> ast.AugAssign | None:
    """The first `w -= … w.grad` of one of these names where autograd records."""
    return next(
        (
            statement
            for statement in draft.nodes(ast.AugAssign)
            if draft.of(statement.target) in names
            and ".grad" in draft.of(statement)
            and all(context_line(around) is None for around in draft.path_to(statement))
        ),
        None,
    )


def _inside_backward(title: str, root: str, analysis: RunAnalysis) -> Answer | None:
    """torch.autograd.grad inside the backward of a Function, where nothing is recorded."""
    draft, line = analysis.draft(), analysis.error.line if analysis.error is not None else None
    statement = draft.statement(line)
    path = draft.path_to(statement) if statement is not None else []
    function = path[-1] if path else None
    if statement is None or not isinstance(function, ast.FunctionDef) or len(path) < 2:
        return None
    if function.name != "backward" or not isinstance(path[-2], ast.ClassDef):
        return None
    before = [s for s in function.body if s.lineno < statement.lineno]
    name = root.rpartition(".")[2].partition("_")[0]
    made = next((s for s in before if draft.assigned_name(s.lineno) == name), None)
    if made is not None:
        draft.put_under([made], "with torch.enable_grad():")
    answer = Answer(
        key="history.none",
        title=title,
        text=f"Line {line} runs inside the backward of {path[-2].name}. There autograd records "
        "nothing, "
        f"so {name} has no graph.",
        cure=f"Compute {name} inside `with torch.enable_grad():`.",
        line=made.lineno if made is not None else line,
        names=(name,),
        glossary="requires_grad",
        symptom=Symptom("error"),
    )
    return certain(answer, draft.changed())


def _gradient_itself(title: str, root: str, leaf: LiveTensor, analysis: RunAnalysis) -> Answer:
    """Backward from a gradient that backward filled."""
    lines = [raw.line for raw in analysis.passes if raw.call == "Tensor.backward" and raw.line]
    draft = analysis.draft()
    call = draft.call(lines[-1], "backward") if lines else None
    if call is not None:
        leaf_repairs.add_argument(draft, call, "create_graph=True")
    answer = Answer(
        key="history.none",
        title=title,
        text=f"{root} is {leaf.name}.grad. backward stores plain numbers there: the computation of "
        "the "
        "gradient itself was not recorded.",
        cure="To differentiate a gradient again, compute it with create_graph=True.",
        line=lines[-1] if lines else None,
        names=(root, leaf.name),
        glossary="create_graph",
        symptom=Symptom("error", (leaf.name,)),
    )
    return certain(answer, draft.changed())


def _of_gradients(title: str, root: str, line: int, analysis: RunAnalysis) -> Answer | None:
    """A gradient, or a result of one, that was computed without create_graph=True."""
    draft = analysis.draft()
    calls: list[ast.Call] = []
    for node in origins(draft, line, _lines_run(analysis)):
        if isinstance(node, ast.Attribute) and node.attr == "grad" and _is_read(draft, node):
            text = (
                f"{root} is computed from {draft.of(node)}. backward stores plain numbers there: "
                "the computation of the gradient itself was not recorded."
            )
        elif isinstance(node, ast.Call) and called_name(node) in HOOKS:
            text = (
                f"{root} comes from the gradients that the hook on line {node.lineno} gets. They "
                "were computed without a graph."
            )
        elif isinstance(node, ast.Call) and _is_functional(draft, node):
            calls = [node]
            text = (
                f"{root} comes from {draft.of(node.func)} on line {node.lineno}, whose results are "
                "computed without a graph."
            )
        else:
            continue
        break
    else:
        return None
    if not calls:
        lines = [raw.line for raw in analysis.passes if raw.call == "Tensor.backward"]
        calls = [call for at in lines[-1:] if at and (call := draft.call(at, "backward"))]
    for call in calls:
        leaf_repairs.add_argument(draft, call, "create_graph=True")
    answer = Answer(
        key="history.none",
        title=title,
        text=text,
        cure="To differentiate a gradient again, compute it with create_graph=True.",
        line=calls[0].lineno if calls else None,
        names=(root,),
        glossary="create_graph",
        symptom=Symptom("error"),
    )
    return certain(answer, draft.changed())


def _lines_run(analysis: RunAnalysis) -> set[int]:
    return {line for line, count in analysis.recorder.run_counts.items() if count}


def _is_read(draft: Draft, node: ast.Attribute) -> bool:
    """Whether a `.grad` is that of a tensor, and not the function torch.func.grad."""
    is_called = getattr(draft.parents[node], "func", None) is node
    return isinstance(node.ctx, ast.Load) and not is_called


def _is_functional(draft: Draft, call: ast.Call) -> bool:
    path = f"torch.autograd.functional.{called_name(call)}"
    is_one = called_name(call) in FUNCTIONAL and draft.of(call.func) == draft.name_in_torch(path)
    return is_one and not any(keyword.arg == "create_graph" for keyword in call.keywords)


def _frozen(
    title: str, root: str, frozen: list[tuple[torch.Tensor, int]], analysis: RunAnalysis
) -> Answer:
    line = frozen[0][1]
    names = [analysis.name_of(tensor) for tensor, at in frozen if at == line]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    draft = analysis.draft()
    leaf_repairs.unfreeze(draft, line)
    answer = Answer(
        key="history.none",
        title=title,
        text=f"Line {line} set requires_grad of {', '.join(names[:MOST_NAMES])}{more} to False. "
        "Nothing "
        f"that {root} was computed from requires a gradient.",
        cure=f"Leave out line {line}, or freeze only a part.",
        line=line,
        names=tuple(names[:MOST_NAMES]),
        glossary="requires_grad",
        symptom=Symptom("error", tuple(names[:MOST_NAMES])),
    )
    return replace(answer, fix=draft.changed())


def _is_trained(name: str, analysis: RunAnalysis) -> bool:
    """Whether the program reads this tensor's gradient, or gives it to an optimizer."""
    text = re.escape(name)
    return bool(
        re.search(rf"\b{text}\.grad\b|optim\.\w+\(.*\b{text}\b|\b{text} -=", analysis.source)
    )


def _plain_leaves(refused: RefusedBackward, analysis: RunAnalysis) -> list[LiveTensor]:
    """Variables behind a result that could have required a gradient."""
    behind = origins(analysis.as_typed, refused.line, _lines_run(analysis))
    read = {node.id for node in behind if isinstance(node, ast.Name)}
    known = [record for record in analysis.finals.values() if isinstance(record, LiveTensor)]
    local = [record for record in analysis.records if record.named and record.scope]
    leaves = {
        id(record.tensor): record
        for record in (*known, *local)
        if record.grad_fn is None
        and not record.requires_grad
        and record.tensor is not refused.tensor
        and record.own_name.partition("[")[0] in read
        and not record.tensor.is_complex()
        and record.tensor.dtype != torch.bool
        and leaf_repairs.is_created_here(analysis.as_typed, record.line)
    }
    floats = [leaf for leaf in leaves.values() if leaf.tensor.is_floating_point()]
    return floats or list(leaves.values())


def _require_grad(leaf: LiveTensor, analysis: RunAnalysis) -> str:
    text = analysis.line_text(leaf.line)
    if text.startswith(f"{leaf.own_name} = ") and text.endswith(")"):
        return f"Write {text[:-1]}, requires_grad=True)"
    return f"Call {leaf.own_name}.requires_grad_() before it is used."


# -- a number instead of a tensor -----------------------------------------------------------------


def _plain_number(analysis: RunAnalysis) -> Iterator[Answer]:
    """`.backward()` of the sum of item(): a Python number has no such method."""
    error = analysis.error
    call = analysis.as_typed.call(error.line, "backward") if error is not None else None
    if error is None or call is None or not NO_TENSOR.search(f"{error.message} {error.detail}"):
        return
    name = analysis.as_typed.of(call.func).rpartition(".")[0]
    cuts = list(analysis.recorder.history.names.get(name, ()))
    if not cuts:
        return
    leaves = tuple(leaf.name for leaf in _leaves_behind(analysis, cuts))
    answer = Answer(
        key="history.cut",
        title=f"Why has {name} no backward?",
        text=f"{name} is a plain Python number, not a tensor. It was cut from the graph "
        f"{analysis.where(cuts[0])}.",
        cure=analysis.cure_of(cuts[0]),
        line=cuts[0].line,
        names=(name,),
        glossary="cut",
        symptom=Symptom("error", leaves),
    )
    yield certain(answer, *_fixes(analysis, cuts))


# -- a new leaf -----------------------------------------------------------------------------------


def _new_leaf(analysis: RunAnalysis) -> Iterator[Answer]:
    """A loss made anew with requires_grad=True: backward runs, and ends where it began."""
    for raw_pass in analysis.passes:
        root = raw_pass.roots[0]
        leaves = leaves_of(raw_pass.functions)
        cuts = [analysis.recorder.history.cuts_of(leaf) for leaf in leaves]
        if not leaves or not all(cuts) or root.numel() != 1 or leaves[0].numel() != 1:
            continue
        if isinstance(leaves[0], nn.Parameter):  # made anew on purpose
            continue
        name = analysis.name_of(leaves[0])
        behind = [*cuts[0], *analysis.cuts]
        lost = [leaf for leaf in _leaves_behind(analysis, behind) if leaf.tensor.grad is None]
        if not lost:
            continue
        cut = cuts[0][-1]
        verb = "does" if len(lost) == 1 else "do"
        names = tuple(leaf.name for leaf in lost)
        answer = Answer(
            key="history.rebuilt",
            title=f"backward runs. Why {verb} {join_names(list(names[:MOST_NAMES]))} get no "
            "gradient?",
            text=f"{name} is a new leaf: its history was cut {analysis.where(cut)}. "
            "requires_grad=True "
            f"lets backward run, but it does not restore the history, so the gradient stops at "
            f"{name}.",
            cure="Leave out requires_grad here. " + analysis.cure_of(cut),
            line=cut.line,
            names=(name, *names),
            glossary="cut",
            symptom=Symptom("none", names),
        )
        yield certain(answer, *_fixes(analysis, behind, hidden=name))
        return


def _leaves_behind(analysis: RunAnalysis, cuts: Iterable[Cut]) -> list[LiveTensor]:
    """The variables whose path leads through one of these cuts."""
    cuts = list(cuts)
    records = [record for record in analysis.finals.values() if isinstance(record, LiveTensor)]
    leaves = [record for record in records if record.is_leaf and record.requires_grad]
    return [leaf for leaf in leaves if any(analysis.cuts_off(c, leaf.tensor) for c in cuts)]
