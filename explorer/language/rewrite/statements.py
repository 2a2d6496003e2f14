"""Rewriting statements."""

from __future__ import annotations

import ast
from typing import Any, cast

from explorer.language.rewrite.builder import is_call_of, names_set, roots
from explorer.language.rewrite.expressions import GROWING, Expressions

OPERATORS = {
    **GROWING,
    ast.Sub: "-",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.MatMult: "@",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
}


class Statements(Expressions):
    """Each `visit_` method returns the statement or statements that stand in its place."""

    # -- blocks -----------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], first: list[ast.stmt] | None = None) -> list[ast.stmt]:
        """The statements of a block, each announced by `.step(line)`."""
        out: list[ast.stmt] = list(first or [])
        for statement in body:
            out.append(self.statement("step", statement, ast.Constant(statement.lineno)))
            out.extend(self.rewritten(statement))
        return out

    def rewritten(self, statement: ast.stmt) -> list[ast.stmt]:
        new = self.visit(statement)
        return new if isinstance(new, list) else [new]

    def class_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Like `block`, but nothing is announced: what stands here are the class's attributes."""
        return [
            new
            for statement in body
            for new in self.rewritten(statement)
            if not (isinstance(new, ast.Expr) and is_call_of("bind", new.value))
        ]

    def binds(self, at: ast.stmt | ast.expr, names: list[str]) -> list[ast.stmt]:
        """One `.bind` for each name, once."""
        return [
            self.statement(
                "bind", at, self.place(at), ast.Constant(name), ast.Name(name, ast.Load())
            )
            for name in dict.fromkeys(names)
        ]

    # -- assignments ------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        names = [name for target in node.targets for name in names_set(target)]
        only_name = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        value = self.visited(node.value)
        if only_name and is_call_of("note", value):
            value = cast(ast.Call, value).args[1]  # recorded under the name it is about to get
        node.targets, node.value = [self.target(target) for target in node.targets], value
        return [node, *self.binds(node, names)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """`x += v` as `x = .augment("+", x, v)`, and `x[i] += v` as
        `.augment_item("+", .slot(x, i), v)`: the old value is read before v is computed."""
        operator, target = ast.Constant(OPERATORS[type(node.op)]), node.target
        names = names_set(target)
        if isinstance(target, ast.Name):
            old = ast.copy_location(ast.Name(target.id, ast.Load()), node)
            new = self.call("augment", node, operator, old, self.visited(node.value))
            assign: ast.stmt = ast.copy_location(ast.Assign([target], new), node)
        else:
            slot = self.slot(target)
            value = self.visited(node.value)
            assign = self.statement("augment_item", node, operator, slot, value)
        return [assign, *self.binds(node, names)]

    def slot(self, target: ast.Attribute | ast.Subscript) -> ast.expr:
        receiver = self.visited(target.value)
        if isinstance(target, ast.Attribute):
            field = self.call("field", target, receiver)
            return self.call("slot", target, field, ast.Constant(target.attr))
        cells = self.call("cells", target, receiver)
        return self.call("slot", target, cells, self.index(target.slice))

    def index(self, node: ast.expr) -> ast.expr:
        """An index as a value: `a:b` becomes slice(a, b, None)."""
        if isinstance(node, ast.Slice):
            parts = [node.lower, node.upper, node.step]
            values = [self.visited(p) if p is not None else ast.Constant(None) for p in parts]
            return self.call("slice", node, *values)
        if isinstance(node, ast.Tuple):
            elements = [self.index(element) for element in node.elts]
            return ast.copy_location(ast.Tuple(elements, ast.Load()), node)
        return self.visited(node)

    def visit_Delete(self, node: ast.Delete) -> ast.stmt:
        node.targets = [self.target(target) for target in node.targets]
        return node

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        """A call such as `x.zero_()` may have changed x: it is looked at again."""
        call = node.value
        changed = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        names = list(roots(call)) if changed else []
        node.value = self.visited(call)
        return [node, *self.binds(node, names)]

    # -- control flow -----------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> ast.stmt:
        names = names_set(node.target)
        node.iter = self.visited(node.iter)
        node.target = self.target(node.target)
        node.body = self.block(node.body, self.binds(node.iter, names))
        node.orelse = self.block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        node.test = self.visited(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        node.test = self.visited(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        names: list[str] = []
        for item in node.items:
            manager = self.visited(item.context_expr)
            item.context_expr = self.call("managed", item.context_expr, manager)
            if item.optional_vars is not None:
                names += names_set(item.optional_vars)
                item.optional_vars = self.target(item.optional_vars)
        node.body = self.block(node.body, self.binds(node, names))
        return node

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        """A bare `except:` catches what a program may catch: no stop by a limit. Neither does a
        `finally` end one."""
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        if node.finalbody:
            first = self.statement("go_on_stopping", node.finalbody[0])
            node.finalbody = self.block(node.finalbody, [first])
        for handler in node.handlers:
            every = ast.copy_location(ast.Name(".Exception", ast.Load()), handler)
            handler.type = self.visited(handler.type) if handler.type else every
            handler.body = self.block(handler.body)
        return node

    # -- functions and classes --------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [self.visited(d) for d in node.decorator_list]
        node.returns = None
        self.visit_arguments(node.args)
        self.scopes.append(node.name)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [a.arg for a in arguments if a.arg != "self"]
        enter = self.statement("enter", node, ast.Constant(".".join(self.scopes)))
        body = self.block(node.body, [enter, *self.binds(node, names)])
        doc = ast.get_docstring(node, clean=False)
        node.body = body if doc is None else [_text(doc, node.body[0]), *body]
        self.scopes.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        node.decorator_list = [self.visited(d) for d in node.decorator_list]
        node.bases = [self.call("base", base, self.visited(base)) for base in node.bases]
        self.scopes.append(node.name)
        node.body = self.class_body(node.body)
        self.scopes.pop()
        return node

    # -- imports ----------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.split(".")[0]
            # The whole path is looked up even where only its first part is bound.
            lookup = self.call("module", node, ast.Constant(alias.name), ast.Constant(path))
            out.append(self.named(node, alias.asname or path, lookup))
        return out

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        if node.module == "__future__":
            return [ast.copy_location(ast.Pass(), node)]
        out: list[ast.stmt] = []
        for alias in node.names:
            path, name = ast.Constant(node.module), ast.Constant(alias.name)
            lookup = self.call("member", node, path, name)
            out.append(self.named(node, alias.asname or alias.name, lookup))
        return out

    def named(self, at: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
        return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), at)


def _text(text: str, at: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Expr(ast.Constant(text)), at)
