"""From a checked tree to guarded code.

Attribute reads and writes become calls of the guard, which decides by the receiver's type;
imports become look-ups in our own namespaces; operators that can grow without bound (`*`, `**`,
`<<`, `%`, `+`) and everything that formats go through the guard too. Before each statement stands
`.step(line)`, after it `.bind(place, name, value)` for every name it set, and around each
expression that can make a tensor `.note(place, value)`.

The helpers' names begin with a dot, so no program can spell them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

N = TypeVar("N", bound=ast.AST)

#: Operators whose result may be far larger than their operands.
GROWING = {ast.Mult: "*", ast.Pow: "**", ast.LShift: "<<", ast.Mod: "%", ast.Add: "+"}
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


@dataclass(frozen=True)
class Place:
    """Where in the program a value was made: lines from 1, columns from 0.

    `scope` is the function it stands in ("forward", "Net.forward"), empty at the top level;
    `text` the source of the expression.
    """

    line: int
    column: int
    text: str
    scope: str


def rewrite(tree: ast.Module, source: str) -> tuple[ast.Module, list[Place]]:
    """Rewrite a checked tree in place. Returns it, and the places the helpers refer to by index."""
    rewriter = _Rewriter(source)
    tree.body = rewriter.block(tree.body)
    ast.fix_missing_locations(tree)
    return tree, rewriter.places


class _Rewriter(ast.NodeTransformer):
    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.encode().split(b"\n")
        self.places: list[Place] = []
        self.scopes: list[str] = []

    # -- small builders ---------------------------------------------------------------------

    def place(self, node: Any) -> ast.expr:
        """The index of a new Place for this node, as a constant."""
        text = ""
        if getattr(node, "lineno", None) == getattr(node, "end_lineno", None):
            raw = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            text = raw.decode(errors="replace")[:120]
        scope = ".".join(self.scopes)
        self.places.append(Place(node.lineno, node.col_offset, text, scope))
        return ast.Constant(len(self.places) - 1)

    def call(self, helper: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        call = ast.Call(ast.Name(f".{helper}", ast.Load()), list(args), [])
        return self.located(call, at)

    def located(self, new: N, at: ast.AST) -> N:
        for node in ast.walk(new):
            if not hasattr(node, "lineno") and isinstance(node, ast.expr | ast.stmt):
                ast.copy_location(node, at)
        return new

    def visited(self, node: ast.expr) -> ast.expr:
        return cast(ast.expr, self.visit(node))

    def noted(self, original: ast.expr, new: ast.expr) -> ast.expr:
        return self.call("note", original, self.place(original), new)

    # -- statements -------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], first: list[ast.stmt] | None = None) -> list[ast.stmt]:
        out: list[ast.stmt] = list(first or [])
        for statement in body:
            out.append(self.step(statement))
            rewritten = self.visit(statement)
            out.extend(rewritten if isinstance(rewritten, list) else [rewritten])
        return out

    def step(self, at: ast.stmt) -> ast.stmt:
        return self.located(ast.Expr(self.call("step", at, ast.Constant(at.lineno))), at)

    def binds(self, at: ast.stmt | ast.expr, names: list[str]) -> list[ast.stmt]:
        """One `.bind` for each name, once."""
        return [
            self.located(
                ast.Expr(
                    self.call(
                        "bind",
                        at,
                        self.place(at),
                        ast.Constant(name),
                        ast.Name(name, ast.Load()),
                    )
                ),
                at,
            )
            for name in dict.fromkeys(names)
        ]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        names = [name for target in node.targets for name in _names(target)]
        only_name = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        value = self.top(node.value) if only_name else self.visited(node.value)
        targets = [self.target(target) for target in node.targets]
        assign = self.located(ast.Assign(targets, value), node)
        return [assign, *self.binds(node, names)]

    def target(self, node: Any) -> Any:
        """A target with every attribute in it replaced by an item of a guarded field.

        `a.b = v` becomes `.field(a)["b"] = v`: whatever syntax assigns, the write is guarded.
        """
        if isinstance(node, ast.Attribute):
            receiver = self.call("field", node, self.visited(node.value))
            item = ast.Subscript(receiver, ast.Constant(node.attr), type(node.ctx)())
            return self.located(item, node)
        if isinstance(node, ast.Tuple | ast.List):
            node.elts = [self.target(element) for element in node.elts]
        elif isinstance(node, ast.Starred):
            node.value = self.target(node.value)
        elif isinstance(node, ast.Subscript):
            node.value, node.slice = self.visited(node.value), self.visited(node.slice)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Annotations are dropped: they could run code, and say nothing to autograd."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit_Assign(self.located(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        operator = ast.Constant(OPERATORS[type(node.op)])
        names = _names(node.target)
        value = self.visited(node.value)
        new: ast.stmt
        if isinstance(node.target, ast.Name):
            old = self.located(ast.Name(node.target.id, ast.Load()), node)
            new = ast.Assign([node.target], self.call("augment", node, operator, old, value))
        elif isinstance(node.target, ast.Attribute):
            receiver = self.call("field", node, self.visited(node.target.value))
            key = ast.Constant(node.target.attr)
            new = ast.Expr(self.call("augment_item", node, operator, receiver, key, value))
        else:
            target = node.target
            new = ast.Expr(
                self.call(
                    "augment_item",
                    node,
                    operator,
                    self.visited(target.value),
                    self.index(target.slice),
                    value,
                )
            )
        return [self.located(new, node), *self.binds(node, names)]

    def index(self, node: ast.expr) -> ast.expr:
        """An index as a value: `a:b` becomes slice(a, b, None)."""
        if isinstance(node, ast.Slice):
            parts = [node.lower, node.upper, node.step]
            values = [self.visited(p) if p is not None else ast.Constant(None) for p in parts]
            return self.call("slice", node, *values)
        if isinstance(node, ast.Tuple):
            return self.located(
                ast.Tuple([self.index(element) for element in node.elts], ast.Load()), node
            )
        return self.visited(node)

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant | ast.Yield):
            node.value = self.visited(node.value)
            return [node]
        call = node.value
        method = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        changed = list(_roots(call)) if method else []
        node.value = self.visited(node.value)
        return [node, *[self.touch(node, name) for name in changed]]

    def touch(self, at: ast.stmt, name: str) -> ast.stmt:
        """`x.zero_()` may have changed x: look at it again."""
        return self.binds(at, [name])[0]

    def visit_Delete(self, node: ast.Delete) -> ast.stmt:
        node.targets = [self.target(target) for target in node.targets]
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        names = _names(node.target)
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
            item.context_expr = self.visited(item.context_expr)
            if item.optional_vars is not None:
                names += _names(item.optional_vars)
                item.optional_vars = self.target(item.optional_vars)
        node.body = self.block(node.body, self.binds(node, names))
        return node

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        node.finalbody = self.block(node.finalbody)
        for handler in node.handlers:
            kind = handler.type
            if kind is None:
                handler.type = self.located(ast.Name("Exception", ast.Load()), handler)
            else:
                handler.type = self.visited(kind)
            handler.body = self.block(handler.body)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [self.visited(d) for d in node.decorator_list]
        node.returns = None
        self.visit_arguments(node.args)
        self.scopes.append(node.name)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [a.arg for a in arguments if a.arg != "self"]
        node.body = self.block(node.body, [self.enter(node), *self.binds(node, names)])
        self.scopes.pop()
        return node

    def enter(self, node: ast.FunctionDef) -> ast.stmt:
        """Tells the watcher that a call of this function begins."""
        call = self.call("enter", node, ast.Constant(".".join(self.scopes)))
        return self.located(ast.Expr(call), node)

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        for arg in [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]:
            if arg is not None:
                arg.annotation = None
        node.defaults = [self.visited(d) for d in node.defaults]
        node.kw_defaults = [self.visited(d) if d is not None else None for d in node.kw_defaults]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.visit_arguments(node.args)
        node.body = self.visited(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        node.decorator_list = [self.visited(d) for d in node.decorator_list]
        node.bases = [self.call("base", base, self.visited(base)) for base in node.bases]
        self.scopes.append(node.name)
        node.body = [cast(ast.stmt, s) for s in self.class_body(node.body)]
        self.scopes.pop()
        return node

    def class_body(self, body: list[ast.stmt]) -> list[Any]:
        """Like `block`, without binding: what stands here are attributes of the class."""
        out: list[Any] = []
        for statement in body:
            rewritten = self.visit(statement)
            statements = rewritten if isinstance(rewritten, list) else [rewritten]
            out += [s for s in statements if not _is_bind(s)]
        return out

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.split(".")[0]
            # The whole path is looked up even where only its first part is bound.
            lookup = self.call("module", node, ast.Constant(alias.name), ast.Constant(path))
            name = alias.asname or path
            out.append(self.located(ast.Assign([ast.Name(name, ast.Store())], lookup), node))
        return out

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        if node.module == "__future__":
            return [ast.copy_location(ast.Pass(), node)]
        return [
            self.located(
                ast.Assign(
                    [ast.Name(alias.asname or alias.name, ast.Store())],
                    self.call(
                        "member", node, ast.Constant(node.module), ast.Constant(alias.name)
                    ),
                ),
                node,
            )
            for alias in node.names
        ]

    # -- expressions ------------------------------------------------------------------------

    def top(self, node: ast.expr) -> ast.expr:
        """An expression that is about to be given a name: recorded under it, so not noted."""
        new = self.visited(node)
        is_note = (
            isinstance(new, ast.Call)
            and isinstance(new.func, ast.Name)
            and new.func.id == ".note"
            and getattr(new, "lineno", None) == node.lineno
            and new is not node
        )
        return cast(ast.Call, new).args[1] if is_note else new

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "__name__":
            return ast.copy_location(ast.Constant("__main__"), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.noted(node, self.read(node))

    def read(self, node: ast.Attribute) -> ast.Call:
        return self.call("get", node, self.visited(node.value), ast.Constant(node.attr))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute):
            node.func = self.read(node.func)
        else:
            node.func = self.visited(node.func)
        original = ast.copy_location(ast.Constant(None), node)
        node.args = [self.visited(a) for a in node.args]
        node.keywords = [
            ast.keyword(k.arg, self.visited(k.value), lineno=k.lineno, col_offset=k.col_offset)
            for k in node.keywords
        ]
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return node
        return self.noted(original, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        symbol = GROWING.get(type(node.op))
        original = ast.copy_location(ast.Constant(None), node)
        left, right = self.visited(node.left), self.visited(node.right)
        if symbol is None:
            node.left, node.right = left, right
            return self.noted(original, node)
        return self.noted(
            original, self.call("operate", node, ast.Constant(symbol), left, right)
        )

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visited(node.operand)
        if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant):
            return node
        return self.noted(node, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        original = ast.copy_location(ast.Constant(None), node)
        self.generic_visit(node)
        return self.noted(original, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        original = ast.copy_location(ast.Constant(None), node)
        node.value, node.slice = self.visited(node.value), self.visited(node.slice)
        return self.noted(original, node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.call(
            "named",
            node,
            self.place(node),
            ast.Constant(node.target.id),
            self.visited(node.value),
        )
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Format through the guard: a width of a billion, or a huge repr, is caught there."""
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = self.visited(part.format_spec) if part.format_spec else ast.Constant("")
                text = self.call(
                    "format", part, self.visited(part.value), ast.Constant(part.conversion), spec
                )
                parts.append(self.located(ast.FormattedValue(text, -1, None), part))
            else:
                parts.append(part)
        node.values = parts
        return node

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


def _names(target: ast.expr) -> list[str]:
    """The names an assignment to this target sets or changes: `x[0]` and `x.data` change x."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in _names(element)]
    if isinstance(target, ast.Starred):
        return _names(target.value)
    return list(_roots(target))


def _roots(node: ast.expr) -> Iterator[str]:
    """The variable at the left end of `x.data.mul_(2)`, if there is one."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Name):
            yield node.id
            return


def _is_bind(node: Any) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == ".bind"
    )
