"""Rewriting expressions, and building the calls of helpers that replace them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from explorer.language.completion import Completed

#: Operators whose result may be far larger than their operands.
GROWING_OPERATORS = {
    ast.Mult: "*",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.Mod: "%",
    ast.Add: "+",
    ast.MatMult: "@",
}


@dataclass(frozen=True)
class SourceLocation:
    """Where in the program a value was computed: lines count from 1, columns from 0. A line that
    was added to the program is 0.

    `scope` is the enclosing function ("forward", "Net.forward"), empty at the top level; `text` is
    the source of the expression.
    """

    line: int
    column: int
    text: str
    scope: str


#: Longest annotation that is kept.
MAX_ANNOTATION = 100


def annotation_text(node: ast.expr | None) -> ast.expr | None:
    """An annotation as a string; None for one that names no type in so many characters."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp):
        text = ast.unparse(node)
    else:
        return None
    return ast.copy_location(ast.Constant(text), node) if len(text) <= MAX_ANNOTATION else None


class ExpressionRewriter(ast.NodeTransformer):
    """Each `visit_` method returns the expression that replaces the one it visits."""

    def __init__(self, completed: Completed) -> None:
        self.completed = completed
        self.lines = completed.code.encode(errors="replace").split(b"\n")
        self.locations: list[SourceLocation] = []
        self.scopes: list[str] = []
        self.file_names: dict[str, str | None] = {
            "__name__": "__main__", "__file__": "program.py", "__doc__": None,
        }  # fmt: skip

    def transform(self, node: ast.expr) -> ast.expr:
        return cast(ast.expr, self.visit(node))

    def line(self, node: ast.stmt | ast.expr) -> int:
        """The line of a node in the text as typed; 0 if it was added."""
        return self.completed.line(node.lineno) or 0

    def location(self, node: Any) -> ast.expr:
        """The index of a new SourceLocation for this node, as a constant."""
        text = ""
        if node.lineno == node.end_lineno and node.lineno <= len(self.lines):
            raw = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            text = raw.decode(errors="replace")[:120]
        scope, line = ".".join(self.scopes), self.line(node)
        self.locations.append(SourceLocation(line, node.col_offset, text, scope))
        return ast.Constant(len(self.locations) - 1)

    def call(self, helper: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        """The call `.helper(*args)`, with the position of `at`."""
        call = ast.Call(ast.Name(f".{helper}", ast.Load()), list(args), [])
        return ast.copy_location(call, at)

    def statement(self, helper: str, at: ast.AST, *args: ast.expr) -> ast.stmt:
        """The same call as a statement."""
        return ast.copy_location(ast.Expr(self.call(helper, at, *args)), at)

    def with_note(self, at: ast.expr, new: ast.expr) -> ast.expr:
        """`new`, wrapped so that the watcher sees it as the value of the expression `at`."""
        return self.call("note", at, self.location(at), new)

    def admitted(self, at: ast.expr, new: ast.expr) -> ast.expr:
        """The same, and the value is admitted first."""
        return self.with_note(at, self.call("admit", at, new))

    # -- expressions ------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.file_names:
            return ast.copy_location(ast.Constant(self.file_names[node.id]), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.with_note(node, self.read(node))

    def read(self, node: ast.Attribute) -> ast.Call:
        return self.call("get", node, self.transform(node.value), ast.Constant(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self.admitted(node, self.item(node))

    def item(self, node: ast.Subscript) -> ast.Subscript:
        """`x[i]` as `.guard_items(x)[i]`; for reading, only if `i` may be a list."""
        node.value = self.transform(node.value)
        if not (isinstance(node.ctx, ast.Load) and _is_literal_index(node.slice)):
            node.value = self.call("guard_items", node.value, node.value)
        node.slice = self.transform(node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        is_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        method = isinstance(node.func, ast.Attribute)
        node.func = self.read(node.func) if method else self.transform(node.func)  # type: ignore[arg-type]
        node.args = [self.transform(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.transform(keyword.value)
            if keyword.arg is None:
                keyword.value = self.call("double_starred", keyword.value, keyword.value)
            elif keyword.arg == "device":
                keyword.value = self.call("on_cpu", keyword.value, keyword.value)
        return self.call("admit", node, node) if is_super else self.admitted(node, node)

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        """`f(*x)` as `f(*.starred(x))`: the items are admitted, f may be any function."""
        node.value = self.call("starred", node.value, self.transform(node.value))
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        """Whoever continues the generator may send a value."""
        if node.value is not None:
            node.value = self.transform(node.value)
        return self.call("admit", node, node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        node.value = self.call("delegate", node, self.transform(node.value))
        return self.call("admit", node, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        symbol = GROWING_OPERATORS.get(type(node.op))
        node.left, node.right = (
            self.transform(node.left),
            self.transform(node.right),
        )
        if symbol is None:
            return self.admitted(node, node)
        call = self.call("operate", node, ast.Constant(symbol), node.left, node.right)
        return self.admitted(node, call)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.transform(node.operand)
        if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant):
            return node
        return self.admitted(node, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        return self.admitted(node, node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        name, value = ast.Constant(node.target.id), self.transform(node.value)
        node.value = self.call("named", node, self.location(node), name, value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """`lambda x: f(x)` as `lambda x: f(x) if .are_arguments(x) else None`, always true."""
        self.visit_arguments(node.args)
        body, test = self.transform(node.body), self.admit_arguments(node)
        node.body = ast.copy_location(ast.IfExp(test, body, ast.Constant(None)), node.body)
        return node

    def admit_arguments(self, node: ast.Lambda | ast.FunctionDef) -> ast.expr:
        """The call that admits this function's arguments: torch or Python may be the caller."""
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        return self.call("are_arguments", node, *(ast.Name(name, ast.Load()) for name in names))

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        """Keep annotations as text: they could run code, and matter only to `custom_op`."""
        for arg in [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]:
            if arg is not None:
                arg.annotation = annotation_text(arg.annotation)
        node.defaults = [self.transform(d) for d in node.defaults]
        node.kw_defaults = [self.transform(d) if d is not None else None for d in node.kw_defaults]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Format and join through the guard, which refuses huge widths and texts."""
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = self.transform(part.format_spec) if part.format_spec else ast.Constant("")
                conversion = ast.Constant(part.conversion)
                part = self.call("format", part, self.transform(part.value), conversion, spec)
            parts.append(part)
        return self.call("join_parts", node, *parts)

    def comprehension(self, node: Any) -> ast.expr:
        for generator in node.generators:
            items, pattern = self.transform(generator.iter), pattern_of(generator.target)
            generator.iter = self.call("counted", generator.iter, items, pattern)
            generator.target = self.target(generator.target)
            generator.ifs = [self.transform(test) for test in generator.ifs]
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                setattr(node, part, self.transform(getattr(node, part)))
        return cast(ast.expr, node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def target(self, node: Any) -> Any:
        """The target with every attribute in it replaced by an item of an AttributeTarget.

        `a.b = v` becomes `.attribute_target(a)["b"] = v`: the write is guarded, whatever the syntax
        of the assignment.
        """
        if isinstance(node, ast.Attribute):
            receiver = self.call("attribute_target", node, self.transform(node.value))
            item = ast.Subscript(receiver, ast.Constant(node.attr), type(node.ctx)())
            return ast.copy_location(item, node)
        if isinstance(node, ast.Tuple | ast.List):
            node.elts = [self.target(element) for element in node.elts]
        elif isinstance(node, ast.Starred):
            node.value = self.target(node.value)
        elif isinstance(node, ast.Subscript):
            return self.item(node)
        return node


def is_helper_call(helper: str, node: Any) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == f".{helper}"
    )


def pattern_of(target: ast.expr) -> ast.Constant:
    """The `guard.values.Pattern` of a target."""
    return ast.Constant(_pattern_of(target))


def _pattern_of(target: ast.expr) -> Any:
    if isinstance(target, ast.Starred):
        return _pattern_of(target.value)
    if not isinstance(target, ast.Tuple | ast.List):
        return None
    stars = [place for place, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
    parts = tuple(map(_pattern_of, target.elts))
    return (parts, stars[0] if stars else None) if stars or any(parts) else len(parts)


def target_names(target: ast.expr) -> list[str]:
    """The names that assigning to this target sets or changes: `x[0]` and `x.data` change x."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in target_names(element)]
    if isinstance(target, ast.Starred):
        return target_names(target.value)
    return list(root_names(target))


def root_names(node: ast.expr) -> Iterator[str]:
    """The variable at the start of `x.data.mul_(2)`, if there is one."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id


def _is_literal_index(node: ast.expr) -> bool:
    """Whether an index consists of literal numbers, strings and slices."""
    if isinstance(node, ast.Tuple):
        return all(_is_literal_index(element) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.Constant | ast.Slice)
