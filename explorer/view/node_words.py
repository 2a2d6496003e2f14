"""What a node of the graph is called: in the reader's words, or in PyTorch's.

The reader's are the sign or the function that stands in the program: "+", "sin", "x²". PyTorch's
are the names of its autograd nodes: "AddBackward0". Both are equally wide, so that a graph keeps
its layout whichever are shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from explorer.networks.graphs import FoldedGraph
from explorer.program.parsing import parse_tree
from explorer.trace import BackwardStep, Node
from explorer.trace.rules.plain import raised
from explorer.trace.text import number, shape_text

#: Operations that a program writes as a sign; of all others the function's name is said.
SIGNS = {
    "Add": "+", "Sub": "−", "Rsub": "−", "Mul": "×", "Div": "÷", "Neg": "−", "Mm": "@", "Bmm": "@",
    "Mv": "@", "Dot": "@", "Pow": "power", "T": "transpose", "ToCopy": "to", "CopySlices": "[…] =",
    "Select": "[…]", "Slice": "[…]", "Index": "[…]", "Addmm": "@ +", "Addmv": "@ +", "Rsqrt": "1/√",
    "UnsafeView": "view",
    "CopyBackwards": "to", "ReshapeAlias": "reshape", "MulBackward1": "×", "Baddbmm": "@ +",
}  # fmt: skip
#: torch's names that are not the function's with an underscore before each capital.
_NAMES = {
    "NllLoss": "nll_loss", "Log1P": "log1p", "Expm1": "expm1", "Exp2": "exp2", "Atan2": "atan2",
    "MaxPool2DWithIndices": "max_pool2d", "NativeBatchNorm": "batch_norm", "Log10": "log10",
    "NativeLayerNorm": "layer_norm", "NativeGroupNorm": "group_norm", "NativeDropout": "dropout",
    "Convolution": "conv", "AdaptiveAvgPool2D": "adaptive_avg_pool2d", "AvgPool2D": "avg_pool2d",
    "LinalgVectorNorm": "norm", "SafeSoftmax": "softmax", "PreluKernel": "prelu", "Log2": "log2",
}  # fmt: skip
#: How much of the program's text is a name for what it computes.
_SHORT = 12
_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: " + ", ast.Sub: " − ", ast.Mult: "·", ast.Div: "/", ast.MatMult: " @ ",
}  # fmt: skip


def head(
    node: Node, step: BackwardStep | None, operand: str, *, named: bool, torch_names: bool
) -> tuple[str, str]:
    """The first line of a node: the name of its tensor, and its kind and shape.

    `operand` is the name of its first input; `named`: whether the program has one for its tensor.
    """
    theirs = node.label, _kind(node)
    ours = _readers(node, step, operand, named)
    width = max(len(" ".join(filter(None, both))) for both in (theirs, ours))
    label, more = theirs if torch_names else ours
    return label, more.ljust(width - len(label) - (1 if label else 0))


def _kind(node: Node) -> str:
    """The node in PyTorch's words. A leaf's box is also that of its AccumulateGrad."""
    name = "AccumulateGrad" if node.kind == "leaf" else node.name
    return f"{name} {shape_text(node.shape)}".strip()


def _readers(node: Node, step: BackwardStep | None, operand: str, named: bool) -> tuple[str, str]:
    shape = shape_text(node.shape) if node.shape else ""
    if node.kind != "function":
        return node.label, f"{node.name} {shape}".strip()
    word = f"{operation(node.name, step, operand)} {shape}".strip()
    if named or not node.label:
        return node.label, word
    text = written(node.label)
    return (text, shape) if text else ("", word)


def in_words(folded: FoldedGraph) -> FoldedGraph:
    """A network's graph with operations named as a program writes them: "relu", not
    "ReluBackward0"."""
    nodes = (
        replace(node, name=operation(node.name)) if node.kind == "operation" else node
        for node in folded.nodes
    )
    return replace(folded, nodes=tuple(nodes))


def operation(name: str, step: BackwardStep | None = None, operand: str = "") -> str:
    """The operation of an autograd node as a program writes it: "+", "sin", "max_pool2d", "x²"."""
    kind = re.sub(r"Backward\d*(_copy)?$", "", name)
    exponent = step.saved.get("exponent") if step is not None else None
    if kind == "Pow" and isinstance(exponent, int | float):
        return f"{operand or '(…)'}{raised(number(exponent))}"
    if word := SIGNS.get(name) or SIGNS.get(kind) or _NAMES.get(kind):
        return word
    if kind == name and not name.endswith("Backward"):
        return name  # AccumulateGrad, or a name that follows no rule
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.removeprefix("Linalg")).lower()


@lru_cache(4096)
def written(source: str) -> str:
    """One operation on names and numbers as it is written by hand, such as "x²" for `x**2`; empty
    for anything longer."""
    try:
        tree = parse_tree(source, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    match tree:
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            text = f"{_operand(left)}{raised(str(power))}" if _operand(left) else ""
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            parts = _operand(left), _operand(right)
            text = _OPERATORS[type(op)].join(parts) if all(parts) else ""
        case ast.UnaryOp(op=ast.USub(), operand=operand) if _operand(operand):
            text = f"−{_operand(operand)}"
        case ast.Call(func=function, args=[*args], keywords=[]) if args:
            given = [_operand(each) for each in args]
            name = function.attr if isinstance(function, ast.Attribute) else _operand(function)
            is_method = isinstance(function, ast.Attribute) and _operand(function.value) not in (
                *("torch", "F", "math"),
            )
            text = f"{name}({', '.join(given)})" if all(given) and not is_method else ""
        case ast.Attribute(attr="T" | "mT"):
            text = _operand(tree)
        case _:
            text = ""
    return text if len(text) <= _SHORT else ""


def _operand(tree: ast.expr) -> str:
    """A name or a number; empty for anything else."""
    match tree:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int() | float() as value):
            return str(value)
        case ast.Attribute(value=ast.Name(id=name), attr="T" | "mT"):
            return f"{name}ᵀ"
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return ""
