"""What a step of the backward pass says: its rule in words, what went in, what had been saved, and
where the results go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from itertools import pairwise

from explorer.trace import Array, BackwardPass, BackwardStep, Node, Plain
from explorer.trace.rules import UNKNOWN
from explorer.training.formatting import pluralize
from explorer.view import values
from explorer.view.edge_factors import program_names
from explorer.view.glossary import GLOSSARY, Html, html, optional_term_link, term_link
from explorer.view.graph import inputs_of, users_of
from explorer.view.node_words import operation
from explorer.view.walk import Selection, flows_into, steps_of_nodes, sums_at

#: Characters of a value next to the formula.
_WIDTH = 32
_NO_RULE = f"{UNKNOWN} The numbers were read by hooks."
#: What a node does to the gradient, by its name without "Backward0".
BACKWARD_ROLES: dict[str, str] = {
    "T": "the gradient is transposed, because the input was",
    "Transpose": "the two axes of the gradient are swapped back",
    "Permute": "the axes of the gradient are put back in order",
    "View": "the gradient gets the shape of the input again",
    "UnsafeView": "the gradient gets the shape of the input again",
    "ReshapeAlias": "the gradient gets the shape of the input again",
    "Squeeze": "the gradient gets its axis of size 1 again",
    "Unsqueeze": "the added axis is removed from the gradient",
    "Expand": "the gradient is summed over the axes that were repeated",
    "Repeat": "the gradient is summed over the repeats",
    "Clone": "the gradient passes unchanged",
    "Alias": "the gradient passes unchanged",
    "ToCopy": "the gradient is converted to the dtype of the input",
    "Select": "the gradient goes to the selected elements; all others receive 0",
    "Slice": "the gradient goes to the selected elements; all others receive 0",
    "Index": "the gradient goes to the selected elements; all others receive 0",
    "IndexSelect": "the gradient goes to the selected elements; all others receive 0",
    "Gather": "the gradient goes to the gathered elements; all others receive 0",
    "CopySlices": "the gradient is split between the tensor and what overwrote part of it",
    "AsStrided": "the gradient goes to the elements the view shows",
    "Addmm": "two matrix products give the gradients of a linear layer's input and weight",
    "Mm": "two matrix products give the gradients of the two factors",
    "Mv": "the matrix and the vector each receive the gradient times the other",
    "Bmm": "matrix products give the gradients of the two factors, batch by batch",
    "NllLoss": "the score of the right class receives the gradient",
    "LogSoftmax": "softmax times the sum of the gradient is subtracted from the gradient",
    "Sum": "each element that was summed receives the gradient",
    "Mean": "each of the n elements receives 1/n of the incoming gradient",
    "Add": "both inputs receive the gradient",
    "Sub": "the left input receives the gradient, the right one its negative",
    "Mul": "each factor receives the gradient times the other factor",
    "Div": "the numerator receives the gradient divided by the denominator, the denominator the "
    "gradient times minus the quotient divided by the denominator",
    "Neg": "the gradient changes its sign",
    "Pow": "the gradient times the exponent times the base raised to one less",
    "Sqrt": "the gradient is divided by twice the root",
    "Exp": "the gradient times the result, as exp is its own derivative",
    "Log": "the gradient is divided by the input",
    "Sin": "the gradient times the cosine of the input",
    "Cos": "the gradient times minus the sine of the input",
    "Tanh": "the gradient times 1 minus the square of the result",
    "Sigmoid": "the gradient times the result times 1 minus the result",
    "Relu": "the gradient passes where the input is positive; elsewhere it becomes 0",
    "Abs": "the gradient times the sign of the input",
    "Cat": "the gradient is split into the parts that were joined",
    "Stack": "the gradient is split into the parts that were stacked",
    "BackwardHookFunction": "a module's full backward hook is called",
}

_DATA_ROLES = {
    "leaf": "A leaf: a tensor you created. backward fills its .grad.",
    "output": "The result that backward started from.",
    "saved": "A value that an operation saved for its backward.",
    "frozen": "An input that needs no gradient; it is added to torchviz's graph.",
    "base": "The tensor that a view looks into.",
}


def progress(now: int, shown: BackwardPass) -> str:
    """Where a walk stands after `now` steps, such as "3 of 7"."""
    if not now:
        return pluralize(shown.step_count, "step")
    return f"{shown.steps[now - 1].number:,} of {shown.step_count:,}"


def rule_html(
    step: BackwardStep,
    shown: BackwardPass,
    *,
    letters: str = "",
    torch_names: bool = False,
    place: Callable[[int], str] = "line {}".format,
) -> str:
    """What the node of a step is called, and what it does to the gradient. `letters` says what
    those of its formula mean; `torch_names`: the operation is called as autograd does; `place` is
    what a line is called."""
    node = _node(step, shown)
    word = node.name if torch_names else "" if node.kind == "accumulate" else operation(node.name)
    sentences = [
        role(node, shown, place),
        step.words if step.words or step.formula else _NO_RULE,
        letters,
        *(f"Its gradient is a sum: {text}." for text in sums_at(step, shown)),
    ]
    if step.own:
        sentences.append(f"The rule is your own backward, {place(step.own)}.")
    term = term_link("accumulation" if node.kind == "accumulate" else "vjp")
    name = title(node, shown)
    called = f" <code>{_function(node, word)}</code>" if word else ""
    return (
        f'<div class="ax-step"><b>Step {step.number:,} of {shown.step_count:,}: '
        f"{escape(name if name != node.name else '')}</b>{called}: "
        f"{escape(' '.join(filter(None, sentences)))} {term if step.formula else ''}</div>"
    )


def step_html(picked: Selection, shown: BackwardPass | None) -> str:
    """What the picked step took in, what it had saved, and where the results go."""
    if shown is None:
        return '<div class="ax-note">There was no backward pass to step through.</div>'
    if picked.step is None:
        return f'<div class="ax-note">{_unstepped(picked, shown)}</div>'
    step = shown.steps[picked.step]
    return f'<div class="ax-flows">{gradients_in(step, shown)}{gradients_out(step, shown)}</div>'


def _unstepped(picked: Selection, shown: BackwardPass) -> str:
    if picked.node is not None or picked.tensor is not None:
        thing = picked.tensor.name if picked.tensor else picked.node.name if picked.node else ""
        reason = picked.tensor.why_none if picked.tensor else None
        why = f"{escape(reason.text)} {optional_term_link(reason.term)}" if reason else ""
        none = "no recorded step" if left_out(shown) else "no step"
        return f"<b>{escape(thing)}</b> has {none} in this backward pass. {why}"
    return (
        f"{term_link('backward', 'Backward')} starts at <b>{escape(shown.root)}</b> and visits "
        f"{pluralize(shown.step_count, 'node')}, each only after everything that depends on it. "
        "Move the slider, or choose a node." + left_out(shown)
    )


def left_out(shown: BackwardPass) -> str:
    """Which steps of a very long pass cannot be walked."""
    for before, after in pairwise(shown.steps):
        if after.number > before.number + 1:
            return f" Steps {before.number + 1:,} to {after.number - 1:,} are not recorded."
    return ""


def _node(step: BackwardStep, shown: BackwardPass) -> Node:
    return program_names(shown).nodes.get(step.node, Node("unknown", "", step.name))


def _function(node: Node, word: str) -> Html:
    """What the node is called, which opens its own term or that of all such nodes."""
    return term_link(node.name if node.name in GLOSSARY else "grad_fn", word)


def title(node: Node, shown: BackwardPass) -> str:
    """What a reader calls a node: the tensor it made, or the leaf whose gradient it adds to."""
    if node.kind == "accumulate":
        leaves = inputs_of(node.id, shown)
        return f"{leaves[0].label}.grad" if leaves else "a leaf's .grad"
    return node.label or node.name


def gradients_in(step: BackwardStep, shown: BackwardPass) -> str:
    """The gradients in, and where each came from; several paths into one input are added."""
    nodes = program_names(shown).nodes
    parts = []
    for slot, grad in enumerate(step.grads_in):
        flows = flows_into(step.node, slot, shown)
        ways = [(nodes[name], given) for name, given in flows if name in nodes]
        mark = f" {slot}" if len(step.grads_in) > 1 else ""
        added = f": sum of {len(ways)} paths" if len(ways) > 1 else ""
        heading = html(term_link("gradient", "Gradient"), f" in{mark}{added}")
        parts.append(_labelled(heading, grad))
        if len(ways) > 1:
            parts += [_labelled(f"from {title(n, shown)}", g, "ax-way") for n, g in ways[:6]]
        elif ways:
            parts.append(f'<div class="ax-from">from {escape(title(ways[0][0], shown))}</div>')
        else:
            users = users_of(step.node, shown)
            lost = left_out(shown) and any(user.kind == "function" for user in users)
            source = "from a step that is not recorded" if lost else "backward starts here"
            parts.append(f'<div class="ax-from">{source}</div>')
    return f'<div class="ax-flow">{"".join(parts)}</div>'


def gradients_out(step: BackwardStep, shown: BackwardPass) -> str:
    """The gradients out and where they go, and what the node had saved."""
    nodes = program_names(shown).nodes
    parts = [
        _labelled(f"Gradient passed to {title(nodes[flow.to], shown)}", flow.grad)
        for flow in step.grads_out
        if flow.to in nodes
    ]
    if step.after is not None:
        parts.append(_labelled(".grad before", step.before))
        parts.append(_labelled(".grad after", step.after))
    saved = term_link("saved", "saved")
    for name, value in step.saved.items():
        if value is not None and "_sym_" not in name:
            parts.append(_labelled(html(saved, f" {name}"), value, "ax-way"))
            saved = html("saved")  # one of them opens the glossary
    return f'<div class="ax-flow">{"".join(parts)}</div>'


def _labelled(name: str, value: Array | Plain, style: str = "") -> str:
    return (
        f'<div class="{style}"><span>{html(name)}</span>'
        f'<div class="ax-value">{escape(values.any_text(value, width=_WIDTH))}</div></div>'
    )


def role(node: Node, shown: BackwardPass, place: Callable[[int], str] = "line {}".format) -> str:
    """What a node of this pass does to the gradient, and what it is in the reader's program."""
    if node.kind == "accumulate":
        leaf = next((n.label for n in inputs_of(node.id, shown) if n.label), node.label)
        return f"Adds the incoming gradient to {leaf or 'a leaf'}.grad."
    if node.kind != "function":
        return _DATA_ROLES.get(node.kind, "")
    at = steps_of_nodes(shown).get(node.id)
    step = None if at is None or shown.steps[at].node != node.id else shown.steps[at]
    sentences = (
        _backward_role(node),
        _without_gradient(node, step, shown),
        _origin(node, shown, place),
    )
    return " ".join(filter(None, sentences))


def _origin(node: Node, shown: BackwardPass, place: Callable[[int], str]) -> str:
    """Which result of the program the node computed."""
    module = f", in {node.module}" if node.module else ""
    if not node.label:
        return f"It is part of computing {_user(node, shown)}{module}."
    line = f" on {place(node.line)}" if node.line else ""
    return f"It computed {node.label}{line}{module}."


def _backward_role(node: Node) -> str:
    kind = re.sub(r"Backward\d*$", "", node.name)
    text = BACKWARD_ROLES.get(kind, "")
    if node.name.endswith("Backward") and kind != "BackwardHookFunction":
        text = f"the backward you wrote in {kind} is called"
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _without_gradient(node: Node, step: BackwardStep | None, shown: BackwardPass) -> str:
    """The inputs that need no gradient, by name where they have one."""
    missing = sum(flow.to is None for flow in step.grads_out) if step is not None else 0
    if step is None or not missing:
        return ""
    frozen = [n.label for n in inputs_of(node.id, shown) if n.kind == "frozen" and n.label]
    names = list(dict.fromkeys(frozen))
    if names:
        return f"{' and '.join(names)} {'needs' if len(names) == 1 else 'need'} no gradient."
    if missing == 1:
        return f"{'The other' if len(step.grads_out) == 2 else 'One'} input needs no gradient."
    return f"{missing} inputs need no gradient."


def _user(node: Node, shown: BackwardPass) -> str:
    """The nearest named result computed from this node."""
    user = next((n for n in users_of(node.id, shown) if n.kind != "output"), None)
    return (user.label or user.name) if user is not None else "the result"
