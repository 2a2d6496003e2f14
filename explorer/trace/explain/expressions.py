"""The expression in a program's text that computed a tensor, and its operands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from explorer.program.draft import Draft, called_name
from explorer.trace.recording.tensor_registry import LiveTensor

#: torch's names of Python's operators.
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.Mod: "remainder",
}  # fmt: skip
#: Other names of the same operation.
ALIASES = {
    "true_divide": "div", "divide": "div", "__rdiv__": "div", "__rtruediv__": "div", "div_": "div",
    "rsub": "sub", "__rsub__": "sub", "multiply": "mul", "mul_": "mul", "__rpow__": "pow",
    "arccos": "acos", "arcsin": "asin", "arctanh": "atanh", "relu_": "relu", "clip": "clamp",
    "clamp_min": "clamp", "clamp_max": "clamp", "clamp_": "clamp", "special_log_softmax":
    "log_softmax", "special_softmax": "softmax", "expit": "sigmoid", "sgn": "sign", "mm": "matmul",
    "mv": "matmul", "dot": "matmul", "bmm": "matmul", "__matmul__": "matmul", "absolute": "abs",
    "maximum": "maximum", "fmax": "maximum", "minimum": "minimum", "fmin": "minimum",
}  # fmt: skip
#: Modules that a program may use without importing them itself.
MODULES = frozenset(["torch", "F", "nn", "np", "math"])
#: Expressions that need parentheses as operands.
LOOSE = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr)


@dataclass(frozen=True)
class Operation:
    """An operation in the text: its name in torch, and what it is applied to. For a method, the
    first operand is the tensor whose method it is."""

    name: str
    node: ast.expr
    operands: tuple[ast.expr, ...]

    def keyword(self, name: str) -> ast.expr | None:
        """The value of a keyword argument."""
        keywords = self.node.keywords if isinstance(self.node, ast.Call) else []
        return next((k.value for k in keywords if k.arg == name), None)

    def argument(self, position: int, name: str) -> ast.expr | None:
        """An argument, given by its position among the operands or by its name."""
        given = self.operands[position] if len(self.operands) > position else None
        return given if given is not None else self.keyword(name)


def same_operation(name: str) -> str:
    """One name for all names of an operation."""
    return ALIASES.get(name, name)


def operations_for(draft: Draft, live: LiveTensor) -> list[Operation]:
    """What may have computed a tensor: the operations of that name in its statement, those whose
    text is known to belong to it first."""
    if not live.operation:
        found = _by_text(draft, live)
        return [found] if found is not None else []
    wanted = same_operation(live.operation)
    inputs = [name_in_text(source) for source in live.inputs]

    def rank(operation: Operation) -> tuple[bool, bool]:
        texts = [draft.of(operand) for operand in operation.operands]
        return (
            draft.of(operation.node) != live.name,
            not all(name in texts for name in inputs),
        )

    candidates = [o for o in operations_on(draft, live.statement) if o.name == wanted]
    return sorted(candidates, key=rank)


def operations_on(draft: Draft, line: int) -> Iterator[Operation]:
    """The operations of the statement on a line."""
    statement = draft.statement(line)
    if statement is None:
        return
    nodes = draft.nodes(ast.expr, line) if hasattr(statement, "body") else ast.walk(statement)
    for node in nodes:
        operation = operation_of(draft, node) if isinstance(node, ast.expr) else None
        if operation is not None:
            yield operation


def operation_of(draft: Draft, node: ast.expr | None) -> Operation | None:
    """The operation that an expression is."""
    if isinstance(node, ast.BinOp):
        name = OPERATORS.get(type(node.op), "")
        return Operation(name, node, (node.left, node.right)) if name else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return Operation("neg", node, (node.operand,))
    if isinstance(node, ast.Subscript):
        return Operation("__getitem__", node, (node.value, node.slice))
    if not isinstance(node, ast.Call):
        return None
    name = same_operation(called_name(node))
    is_method = isinstance(node.func, ast.Attribute) and not is_module(draft, node.func.value)
    receiver = (node.func.value,) if is_method and isinstance(node.func, ast.Attribute) else ()
    return Operation(name, node, (*receiver, *node.args)) if name else None


def is_module(draft: Draft, node: ast.expr) -> bool:
    """Whether an expression is the name of a module, or of a part of one (torch.special)."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and (node.id in MODULES or node.id in _imported(draft))


def meaning_of(draft: Draft, node: ast.expr, line: int) -> Operation | None:
    """The operation that an expression is, or that was assigned to the name that it is: for `p`,
    what the last assignment to p before this line computes."""
    if isinstance(node, ast.Name):
        assigned = [
            statement
            for statement in draft.nodes(ast.Assign)
            if statement.lineno < line
            and len(statement.targets) == 1
            and draft.of(statement.targets[0]) == node.id
        ]
        latest = max(assigned, key=lambda statement: statement.lineno, default=None)
        return operation_of(draft, latest.value) if latest is not None else None
    return operation_of(draft, node)


def operand_text(draft: Draft, node: ast.expr) -> str:
    """The text of an expression, in parentheses if it needs them as an operand."""
    text = draft.of(node)
    return f"({text})" if isinstance(node, LOOSE) else text


def _by_text(draft: Draft, live: LiveTensor) -> Operation | None:
    """The operation whose text is the name of a tensor, or whose result it is assigned."""
    statement = draft.statement(live.line)
    if statement is None:
        return None
    if live.named:
        is_result = isinstance(statement, ast.Assign) and live.name.endswith(
            draft.assigned_name(live.line) or "\n"
        )
        return operation_of(draft, statement.value) if is_result else None  # type: ignore[attr-defined]
    return next((o for o in operations_on(draft, live.line) if draft.of(o.node) == live.name), None)


def _imported(draft: Draft) -> set[str]:
    return {
        alias.asname or alias.name.split(".")[0]
        for statement in draft.nodes(ast.Import)
        for alias in statement.names
    } | {
        alias.asname or alias.name
        for statement in draft.nodes(ast.ImportFrom)
        for alias in statement.names
    }


def name_in_text(live: LiveTensor) -> str:
    """The name of a tensor as its line writes it."""
    return live.own_name
