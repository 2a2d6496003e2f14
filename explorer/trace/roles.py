"""What each node of a graph is in the reader's program."""

from __future__ import annotations

from explorer.trace.records import BackwardPass, Node

#: What a node does with the gradient, by the beginning of its name.
ROLES: tuple[tuple[str, str], ...] = (
    ("TBackward", "turns the gradient back, because a transpose was used"),
    ("Transpose", "swaps the gradient's axes back"),
    ("Permute", "puts the gradient's axes back in order"),
    ("View", "gives the gradient its shape back"),
    ("UnsafeView", "gives the gradient its shape back"),
    ("Reshape", "gives the gradient its shape back"),
    ("Squeeze", "gives the gradient its axis of size 1 back"),
    ("Unsqueeze", "takes the added axis out of the gradient"),
    ("Expand", "sums the gradient over the axes that were repeated"),
    ("Repeat", "sums the gradient over the repeats"),
    ("Clone", "passes the gradient on unchanged"),
    ("Alias", "passes the gradient on unchanged"),
    ("ToCopy", "converts the gradient to the input's type"),
    ("Select", "puts the gradient in its place among zeros"),
    ("Slice", "puts the gradient in its place among zeros"),
    ("Index", "puts the gradient in its place among zeros"),
    ("Gather", "puts the gradient in its place among zeros"),
    ("CopySlices", "splits the gradient after part of a tensor was overwritten"),
    ("AsStrided", "puts the gradient back where a view took it from"),
    ("Addmm", "the backward of a linear layer: a product and an added bias"),
    ("Mm", "the backward of a matrix product"),
    ("Mv", "the backward of matrix times vector"),
    ("Bmm", "the backward of a batch of matrix products"),
    ("NllLoss", "hands the gradient to the score of the right class"),
    ("LogSoftmax", "takes softmax times the sum off the gradient"),
    ("Sum", "hands the gradient to every element that was summed"),
    ("Mean", "hands 1/n of the gradient to each of n elements"),
    ("Add", "hands the gradient to both sides"),
    ("Sub", "hands the gradient to the left side and its negative to the right"),
    ("Mul", "hands each factor the gradient times the other factor"),
    ("Cat", "cuts the gradient into the parts that were joined"),
    ("Stack", "cuts the gradient into the parts that were stacked"),
    ("BackwardHook", "calls a module's full backward hook"),
)


def role(node: Node, shown: BackwardPass) -> str:
    """What a node of this pass is in the reader's program, in one or two sentences."""
    if node.kind == "accumulate":
        leaf = next((n.label for n in _inputs(node, shown) if n.label), node.label)
        return f"Adds the gradient that arrives to {leaf or 'a leaf'}.grad."
    if node.kind != "function":
        return _DATA_ROLES.get(node.kind, "")
    what = next((text for start, text in ROLES if node.name.startswith(start)), "")
    owner = f"Belongs to {node.label}" if node.label else f"Part of {_user(node, shown)}"
    line = f"line {node.line}" if node.line and node.label else ""
    inside = f"in {node.module}" if node.module else ""
    place = ", ".join(filter(None, (line, inside)))
    if not node.name[-1:].isdigit() and node.name.endswith("Backward"):
        what = f"calls the backward you wrote in {node.name.removesuffix('Backward')}"
    sentence = f"{owner} ({place})." if place else f"{owner}."
    if what:
        sentence += f" Going back it {what}." if not what.startswith("the ") else f" It is {what}."
    silent = [n.label for n in _inputs(node, shown) if n.kind == "frozen" and n.label]
    step = next((s for s in shown.steps if s.node == node.id), None)
    if step is not None and any(flow.to is None for flow in step.grads_out):
        names = f" ({', '.join(dict.fromkeys(silent))})" if silent else ""
        sentence += f" One edge leads to None: that input{names} needs no gradient."
    return sentence


_DATA_ROLES = {
    "leaf": "A leaf: you created it, and backward fills its .grad.",
    "output": "The result backward started from.",
    "saved": "A value an operation saved for its backward.",
    "frozen": "It took part and needs no gradient; torchviz leaves it out.",
    "base": "The tensor a view looks into.",
}


def _inputs(node: Node, shown: BackwardPass) -> list[Node]:
    sources = {edge.source for edge in shown.edges if edge.target == node.id}
    return [n for n in shown.nodes if n.id in sources]


def _user(node: Node, shown: BackwardPass) -> str:
    """The nearest named thing computed from this node."""
    targets = {edge.target for edge in shown.edges if edge.source == node.id}
    user = next((n for n in shown.nodes if n.id in targets and n.kind != "output"), None)
    return (user.label or user.name) if user is not None else "the result"
