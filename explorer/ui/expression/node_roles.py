"""What each node of the graph is in the reader's program, in one or two sentences."""

from __future__ import annotations

import re

from explorer.trace import BackwardPass, BackwardStep, Node

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


def role(node: Node, shown: BackwardPass) -> str:
    """What a node of this pass does to the gradient, and what it is in the reader's program."""
    if node.kind == "accumulate":
        leaf = next((n.label for n in _inputs(node, shown) if n.label), node.label)
        return f"Adds the incoming gradient to {leaf or 'a leaf'}.grad."
    if node.kind != "function":
        return _DATA_ROLES.get(node.kind, "")
    step = next((s for s in shown.steps if s.node == node.id), None)
    sentences = (_backward_role(node), _without_gradient(node, step, shown), _origin(node, shown))
    return " ".join(filter(None, sentences))


def _origin(node: Node, shown: BackwardPass) -> str:
    """Which result of the program the node computed."""
    module = f", in {node.module}" if node.module else ""
    if not node.label:
        return f"It is part of computing {_user(node, shown)}{module}."
    line = f" on line {node.line}" if node.line else ""
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
    frozen = [n.label for n in _inputs(node, shown) if n.kind == "frozen" and n.label]
    names = list(dict.fromkeys(frozen))
    if names:
        return f"{' and '.join(names)} {'needs' if len(names) == 1 else 'need'} no gradient."
    if missing == 1:
        return f"{'The other' if len(step.grads_out) == 2 else 'One'} input needs no gradient."
    return f"{missing} inputs need no gradient."


def _inputs(node: Node, shown: BackwardPass) -> list[Node]:
    sources = {edge.source for edge in shown.edges if edge.target == node.id}
    return [n for n in shown.nodes if n.id in sources]


def _user(node: Node, shown: BackwardPass) -> str:
    """The nearest named result computed from this node."""
    targets = {edge.target for edge in shown.edges if edge.source == node.id}
    user = next((n for n in shown.nodes if n.id in targets and n.kind != "output"), None)
    return (user.label or user.name) if user is not None else "the result"
