"""Rewriting expressions."""

from __future__ import annotations

import ast
from typing import Any, cast

from explorer.language.rewrite.builder import Builder

#: Operators whose result may be far larger than their operands.
GROWING = {ast.Mult: "*", ast.Pow: "**", ast.LShift: "<<", ast.Mod: "%", ast.Add: "+"}


class Expressions(Builder):
    """Each `visit_` method returns what stands in the expression's place."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "__name__":
            return ast.copy_location(ast.Constant("__main__"), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.noted(node, self.read(node))

    def read(self, node: ast.Attribute) -> ast.Call:
        return self.call("get", node, self.visited(node.value), ast.Constant(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self.noted(node, self.item(node))

    def item(self, node: ast.Subscript) -> ast.Subscript:
        """`x[i]` as `.cells(x)[i]`; where it is only read, unless `i` cannot be a list."""
        node.value = self.visited(node.value)
        if not (isinstance(node.ctx, ast.Load) and _is_plain_index(node.slice)):
            node.value = self.call("cells", node.value, node.value)
        node.slice = self.visited(node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        is_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        method = isinstance(node.func, ast.Attribute)
        node.func = self.read(node.func) if method else self.visited(node.func)  # type: ignore[arg-type]
        node.args = [self.visited(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.visited(keyword.value)
        return node if is_super else self.noted(node, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        symbol = GROWING.get(type(node.op))
        node.left, node.right = self.visited(node.left), self.visited(node.right)
        if symbol is None:
            return self.noted(node, node)
        call = self.call("operate", node, ast.Constant(symbol), node.left, node.right)
        return self.noted(node, call)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visited(node.operand)
        if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant):
            return node
        return self.noted(node, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        return self.noted(node, node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        name, value = ast.Constant(node.target.id), self.visited(node.value)
        node.value = self.call("named", node, self.place(node), name, value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.visit_arguments(node.args)
        node.body = self.visited(node.body)
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        """Annotations are dropped: they could run code, and say nothing to autograd."""
        for arg in [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]:
            if arg is not None:
                arg.annotation = None
        node.defaults = [self.visited(d) for d in node.defaults]
        node.kw_defaults = [self.visited(d) if d is not None else None for d in node.kw_defaults]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Format and join through the guard: a width of a billion, or a huge text, is caught."""
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = self.visited(part.format_spec) if part.format_spec else ast.Constant("")
                conversion = ast.Constant(part.conversion)
                part = self.call("format", part, self.visited(part.value), conversion, spec)
            parts.append(part)
        return self.call("joined", node, *parts)

    def comprehension(self, node: Any) -> ast.expr:
        for generator in node.generators:
            generator.iter = self.call("counted", generator.iter, self.visited(generator.iter))
            generator.target = self.target(generator.target)
            generator.ifs = [self.visited(test) for test in generator.ifs]
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                setattr(node, part, self.visited(getattr(node, part)))
        return cast(ast.expr, node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def target(self, node: Any) -> Any:
        """A target with every attribute in it replaced by an item of a guarded field.

        `a.b = v` becomes `.field(a)["b"] = v`: whatever syntax assigns, the write is guarded.
        """
        if isinstance(node, ast.Attribute):
            receiver = self.call("field", node, self.visited(node.value))
            item = ast.Subscript(receiver, ast.Constant(node.attr), type(node.ctx)())
            return ast.copy_location(item, node)
        if isinstance(node, ast.Tuple | ast.List):
            node.elts = [self.target(element) for element in node.elts]
        elif isinstance(node, ast.Starred):
            node.value = self.target(node.value)
        elif isinstance(node, ast.Subscript):
            return self.item(node)
        return node


def _is_plain_index(node: ast.expr) -> bool:
    """Whether an index is written as numbers, strings and slices."""
    if isinstance(node, ast.Tuple):
        return all(_is_plain_index(element) for element in node.elts)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.Constant | ast.Slice)
