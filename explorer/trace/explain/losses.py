"""Losses that do not measure what they should: shapes, probabilities, classes, reductions.

Asked at https://github.com/pytorch/pytorch/issues/19699
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
from torch import nn

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.cures import certain
from explorer.trace.explain.run_analysis import RunAnalysis, parenthesised
from explorer.trace.recording.function_calls import LOSSES, FunctionCall, shape_of
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number, shape_text

#: Losses that compare element by element, and the operators that do.
ELEMENTWISE = frozenset(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
PAIRED: dict[str, type[ast.operator]] = {
    "sub": ast.Sub,
    "rsub": ast.Sub,
    "subtract": ast.Sub,
    "__rsub__": ast.Sub,
    "mul": ast.Mult,
    "__rmul__": ast.Mult,
}
#: Operations between a residual and the loss.
TOWARDS_LOSS = frozenset(
    [
        *("pow", "square", "abs", "mul", "neg", "div", "mean", "sum", "sqrt", "__pow__", "clamp"),
        *("clamp_min", "truediv", "__truediv__", "__rmul__", "add", "__radd__"),
        *("sub", "rsub", "__rsub__", "relu", "softplus", "logsigmoid"),
    ]
)
#: Operations by which a program says on purpose which dimension belongs to which.
EXPLICIT = frozenset(["unsqueeze", "__getitem__", "expand", "repeat", "expand_as"])


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    calls = analysis.recorder.function_calls.of(LOSSES)
    for call in calls:
        if call.function in ELEMENTWISE:
            yield from _other_shapes(call, analysis)
        if call.function in ("nll_loss", "kl_div"):
            yield from _no_logarithm(call, analysis)
    yield from _grown(analysis)
    yield from _weights(analysis)


# -- shapes -------------------------------------------------------------------------------------


def _other_shapes(call: FunctionCall, analysis: RunAnalysis) -> Iterator[Answer]:
    """mse_loss and its like broadcast a target of another shape."""
    shapes = shape_of(call.arguments.get("input")), shape_of(call.arguments.get("target"))
    given, wanted = shapes
    if given is None or wanted is None or given == wanted or not given or not wanted:
        return
    draft = analysis.draft()
    operands = loss_operands(draft, call)
    names = [
        analysis.recorder.name_of(tensor) if (tensor := call.tensor(what)) is not None else ""
        for what in ("input", "target")
    ]
    if operands is not None:
        names = [name or draft.of(node) for name, node in zip(names, operands, strict=True)]
    names = [name or what for name, what in zip(names, ("the input", "the target"), strict=True)]
    change = _same_shape((names[0], names[1]), given, wanted)
    fix = None
    if change is not None and operands is not None:
        position, method = change
        node = operands[position]
        draft.replace(node, _called(draft, node, method))
        fix = draft.changed()
    grown = tuple(torch.broadcast_shapes(given, wanted))
    yield certain(
        _broadcast_answer(
            call.function, call.line, names, (given, wanted), grown, fix, change, analysis
        )
    )


def _grown(analysis: RunAnalysis) -> Iterator[Answer]:
    """A residual written by hand: (n, 1) against (n,) gives (n, n), of which the mean is taken."""
    lines: set[int] = set()
    for record in analysis.records:
        if record.operation not in PAIRED or len(record.inputs) != 2 or record.line in lines:
            continue
        first, second = record.inputs
        shapes = tuple(first.captured.shape), tuple(second.captured.shape)
        is_prediction = first.requires_grad, second.requires_grad
        if not _is_column_and_row(*shapes) or not any(is_prediction):
            continue
        if first.operation in EXPLICIT or second.operation in EXPLICIT:
            continue
        is_product = PAIRED[record.operation] is ast.Mult
        if (is_product and all(is_prediction)) or not _becomes_loss(record, analysis):
            continue
        names = [bare_name(first), bare_name(second)]
        draft = analysis.draft()
        node = _binary(draft, record.line, PAIRED[record.operation], names)
        change = _same_shape((names[0], names[1]), *shapes, is_prediction[0])
        fixes: list[str | None] = [None]
        if change is not None and node is not None:
            position, method = change
            is_swapped = draft.of(node.left) == names[1]
            side = node.right if (position == 1) is not is_swapped else node.left
            draft.replace(side, _called(draft, side, method))
            fixes = [_at_definition(side, method, analysis), draft.changed()]
        lines.add(record.line)
        grown = tuple(record.captured.shape)
        fix = fixes[0] or fixes[-1]
        answer = _broadcast_answer(
            record.name, record.line, names, shapes, grown, fix, change, analysis
        )
        yield certain(answer, *fixes[1:])


def _weights(analysis: RunAnalysis) -> Iterator[Answer]:
    """The same in a factor without gradient, as the advantage `returns - value.detach()`. What does
    not require a gradient is recorded without its inputs: the text says which they are."""
    shapes = {record.name: tuple(record.captured.shape) for record in analysis.records}
    for record in analysis.records:
        if PAIRED.get(record.operation or "") is not ast.Mult or len(record.inputs) != 2:
            continue
        weight, factor = sorted(record.inputs, key=lambda live: live.requires_grad)
        if weight.requires_grad or tuple(weight.captured.shape) != tuple(factor.captured.shape) * 2:
            continue
        draft = analysis.draft()
        node = _binary(draft, weight.line, ast.Sub, [])
        names = [draft.of(node.left), draft.of(node.right)] if node is not None else []
        given = [shapes.get(name, ()) for name in names]
        if node is None or not _is_column_and_row(*given) or not _becomes_loss(record, analysis):
            continue
        sides, column = (node.left, node.right), int(len(given[1]) > len(given[0]))
        draft.replace(sides[column], _called(draft, sides[column], ".squeeze(-1)"))
        grown = tuple(weight.captured.shape)
        yield certain(
            _broadcast_answer(
                bare_name(weight),
                weight.line,
                names,
                (given[0], given[1]),
                grown,
                draft.changed(),
                (column, ".squeeze(-1)"),
                analysis,
            )
        )
        return


def _at_definition(node: ast.expr, method: str, analysis: RunAnalysis) -> str | None:
    """The program with this change where the variable is made, if it is used several times."""
    draft = analysis.draft()
    name = draft.of(node)
    named = [n for n in draft.nodes(ast.Name) if n.id == name]
    made = [a for a in draft.nodes(ast.Assign) if draft.assigned_name(a.lineno) == name]
    if len(made) != 1 or len(named) < 3 or made[0] not in draft.tree.body:
        return None
    draft.replace(made[0].value, _called(draft, made[0].value, method))
    return draft.changed()


def _called(draft: Draft, node: ast.expr, method: str) -> str:
    """An expression with a method call behind it."""
    is_simple = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"{draft.of(node)}{method}" if is_simple else f"({draft.of(node)}){method}"


def _is_column_and_row(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether one is (…, n, 1) and the other (…, n)."""
    long, short = (first, second) if len(first) > len(second) else (second, first)
    return len(short) > 0 and long == (*short, 1) and short[-1] > 1


def _becomes_loss(record: LiveTensor, analysis: RunAnalysis) -> bool:
    """Whether a pass starts from a mean or sum over all elements of this tensor, of its square, its
    absolute value, and the like."""
    roots = {id(root.grad_fn) for raw in analysis.passes for root in raw.roots}
    pending, visited = [record], {record.number}
    while pending:
        current = pending.pop()
        if id(current.grad_fn) in roots and current.captured.shape in ((), (1,)):
            return True
        for user in analysis.users_of(current):
            reduced = user.captured.shape in ((), (1,))
            same = user.captured.shape == current.captured.shape
            if user.number not in visited and user.operation in TOWARDS_LOSS and (reduced or same):
                visited.add(user.number)
                pending.append(user)
    return False


def _same_shape(
    names: tuple[str, str],
    given: tuple[int, ...],
    wanted: tuple[int, ...],
    first_is_prediction: bool = True,
) -> tuple[int, str] | None:
    """Which of the two to change (0 or 1), and the method that does it: the target, so that it has
    the shape of the prediction."""
    target = 1 if first_is_prediction else 0
    of_target, of_other = (wanted, given) if first_is_prediction else (given, wanted)
    if of_other == (*of_target, 1):
        return target, ".unsqueeze(-1)"
    if of_target == (*of_other, 1):
        return target, ".squeeze(-1)"
    if torch.Size(given).numel() == torch.Size(wanted).numel():
        other = names[1 - target]
        return (target, f".view_as({other})") if other.isidentifier() else None
    return None


def _broadcast_answer(
    what: str,
    line: int,
    names: list[str],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    grown: tuple[int, ...],
    fix: str | None,
    change: tuple[int, str] | None,
    analysis: RunAnalysis,
) -> Answer:
    first, second = names
    is_loss = what in ELEMENTWISE
    pairs = torch.Size(grown).numel()
    sizes = sorted(torch.Size(shape).numel() for shape in shapes)
    meant = sizes[1] if sizes[1] < pairs else sizes[0]
    title = f"Why does {what} have the shape {shape_text(grown)}?"
    cure = f"Give both the same shape, {shape_text(max(shapes, key=len))}."
    if change is not None:
        position, method = change
        cure = f"Give both the same shape: {parenthesised(names[position])}{method}."
    return Answer(
        key="silent.broadcast",
        title=f"Does {what} compare the right elements?" if is_loss else title,
        text=f"On line {line}, {first} has the shape {shape_text(shapes[0])} and {second} the "
        "shape "
        f"{shape_text(shapes[1])}. Broadcasting combines them into {shape_text(grown)}: "
        f"{pairs} numbers instead of {meant}. There is no error, but elements are combined that "
        "do not belong together, and the gradients are wrong.",
        cure=cure,
        line=line,
        names=tuple(dict.fromkeys((first, second) if is_loss else (what, first, second))),
        glossary="broadcasting",
        fix=fix,
        symptom=Symptom("value", value_names(analysis)),
    )


def value_names(analysis: RunAnalysis) -> tuple[str, ...]:
    """The variables that show the effect: the loss, and a leaf of the last pass."""
    raw = analysis.passes[-1] if analysis.passes else None
    if raw is None:
        return ()
    tensors = [*raw.roots[:1], *leaves_of(raw.functions)[:1]]
    return tuple(analysis.name_of(tensor) for tensor in tensors)


# -- probabilities ------------------------------------------------------------------------------


def _no_logarithm(call: FunctionCall, analysis: RunAnalysis) -> Iterator[Answer]:
    """nll_loss and kl_div expect logarithms of probabilities."""
    given = call.tensor("input")
    live = analysis.recorder.find(given) if given is not None else None
    if live is None or live.operation not in ("softmax", "sigmoid"):
        return
    draft = analysis.draft()
    node = draft.call(live.line, live.operation)
    fix = None
    if live.operation == "softmax" and node is not None:
        text, changed = draft.of(node.func), node.func
        layers = [n.func for n in draft.nodes(ast.Call) if called_name(n) == "Softmax"]
        if text.startswith("self.") or isinstance(analysis.variables.get(text), nn.Module):
            changed, text = (layers[0], draft.of(layers[0])) if len(layers) == 1 else (changed, "")
        elif text == "softmax":
            text = draft.name_in_torch("torch.nn.functional.softmax")
        if text.endswith(".softmax"):
            draft.replace(changed, f"{text[: -len('softmax')]}log_softmax")
        elif text.endswith(".Softmax"):
            draft.replace(changed, f"{text[: -len('Softmax')]}LogSoftmax")
        fix = draft.changed()
    value = call.result if isinstance(call.result, torch.Tensor) else None
    if value is not None and (value.numel() != 1 or not torch.isfinite(value)):
        value = None
    shows = "" if value is None else f" Here the loss is {number(float(value))}."
    yield certain(
        Answer(
            key="loss.logarithm",
            title="Why is the loss below 0?"
            if value is not None and value < 0
            else f"Why does {call.function} not measure the error?",
            text=f"{call.function} on line {call.line} expects logarithms of probabilities, but "
            "line "
            f"{live.line} computes {live.operation}: the probabilities themselves.{shows}",
            cure=f"Use log_softmax on line {live.line}"
            + (", or pass the scores to cross_entropy." if call.function == "nll_loss" else "."),
            line=live.line,
            names=(live.name,),
            glossary="logits",
            fix=fix,
            symptom=Symptom("value", value_names(analysis)),
        )
    )


# -- what the program says ----------------------------------------------------------------------


def loss_operands(draft: Draft, call: FunctionCall) -> tuple[ast.expr, ast.expr] | None:
    """The input and the target in the text of a loss: `criterion(out, y)`."""
    calls = [node for node in draft.nodes(ast.Call, call.line) if len(node.args) >= 2]
    named = [node for node in calls if called_name(node) == call.function]
    chosen = named or [
        node for node in calls if "loss" in called_name(node).lower() or len(calls) == 1
    ]
    if len(chosen) == 1:
        return chosen[0].args[0], chosen[0].args[1]
    built = [node for node in calls if isinstance(node.func, ast.Call)]  # nn.MSELoss()(a, b)
    return (built[0].args[0], built[0].args[1]) if len(built) == 1 else None


def _binary(
    draft: Draft, line: int, operator: type[ast.operator], names: list[str]
) -> ast.BinOp | None:
    """The `a - b` of a line between these names; the only one, if there is no other."""
    nodes = [node for node in draft.nodes(ast.BinOp, line) if isinstance(node.op, operator)]
    same = [n for n in nodes if {draft.of(n.left), draft.of(n.right)} == set(names)]
    found = same or nodes
    return found[0] if len(found) == 1 else None


def bare_name(live: LiveTensor) -> str:
    """A variable's name as the program writes it: `x` for "forward.x_1"."""
    return live.name.split(".", 1)[-1].rpartition("_")[0] if live.scope else live.name
