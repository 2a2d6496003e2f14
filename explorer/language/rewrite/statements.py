"""Rewriting statements."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from explorer.language.cells import echoed, last_statements
from explorer.language.completion import Completed
from explorer.language.rewrite.expressions import (
    GROWING_OPERATORS,
    ExpressionRewriter,
    is_helper_call,
    pattern_of,
    root_names,
    target_names,
)
from explorer.language.rewrite.generators import held_body, is_held, own_nodes
from explorer.language.rewrite.matching import rewrite_match
from explorer.language.syntax import Refused

AUGMENTED_OPERATORS = {
    **GROWING_OPERATORS,
    ast.Sub: "-",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
}


#: Expressions with parts that are evaluated several times, or not at all.
_VARYING = (
    ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
#: The classes whose handlers catch an import of what is not here.
_IMPORT_ERRORS = frozenset(["ImportError", "ModuleNotFoundError", "Exception", "BaseException"])
#: In a function, how often the statement that called it is certain to run again.
_LEFT = ".left"
#: How often a statement will run again in a loop of which that is not known, such as `while`.
UNKNOWN = math.inf


@dataclass(frozen=True)
class Repeated:
    """The body of a function or of a loop: what runs each time it is repeated.

    `variable` holds how often it is certain to be repeated: `.left`, or the Turns; without one,
    that is UNKNOWN. `line` is its first line. A statement that is not `certain` may be left out,
    as in an `if`.
    """

    variable: str | None
    line: int
    certain: bool = True

    def arguments(self) -> list[ast.expr]:
        """Those of `.step`, after the line."""
        if self.variable is None:
            return [ast.Constant(UNKNOWN)]
        left: list[ast.expr] = [ast.Name(self.variable, ast.Load())]
        return left if self.certain else [*left, ast.Constant(self.line)]


class StatementRewriter(ExpressionRewriter):
    """Each `visit_` method returns the statement or statements that replace the one it visits."""

    def __init__(self, completed: Completed) -> None:
        super().__init__(completed)
        self.repeated: Repeated | None = None
        #: How many loops have Turns so far, and whether one here may: not in a generator, which
        #: others continue, nor in a class, whose names are attributes.
        self.loops = 0
        self.may_have_turns = True
        #: The ids of the statements that are echoed.
        self.bare: set[int] = set()
        #: The ids of the statements that end a cell.
        self.ends_of_cells: set[int] = set()
        #: Whether an error of an import is caught here, by the handlers of a `try`.
        self.catches_imports = False
        #: Whether the program has generators that are to be closed between its statements.
        self.has_held = False

    # -- blocks -----------------------------------------------------------------------------

    def rewrite_program(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of the program, of which the bare expressions are echoed."""
        ends = [self.completed.line(s.end_lineno or s.lineno) or 0 for s in body]
        source = self.completed.source
        shown = [body[n] for n in echoed(source, ends)]
        self.ends_of_cells = {id(body[n]) for n in last_statements(source, ends)}
        self.bare = {id(statement) for statement in shown if self.completed.is_bare(statement)}
        self.file_names["__doc__"] = ast.get_docstring(ast.Module(body, []), clean=False)
        self.has_held = any(isinstance(n, ast.FunctionDef) and is_held(n) for n in _all_nodes(body))
        return self.rewrite_block(body)

    def echo(self, at: ast.stmt, value: ast.expr) -> ast.stmt:
        """`.echo(location, value)`: the watcher shows the value, as a notebook does."""
        return self.statement("echo", at, self.location(at), value)

    def rewrite_block(
        self, body: list[ast.stmt], first: list[ast.stmt] | None = None, *, certain: bool = False
    ) -> list[ast.stmt]:
        """The statements of a block, each preceded by `.step(line)`; `certain` if all of them run
        whenever the body runs that they are a part of."""
        outer = self.repeated
        if outer is not None and not certain:
            self.repeated = replace(outer, certain=False)
        out: list[ast.stmt] = list(first or [])
        counted = 0
        for statement in body:
            repeated = self.repeated if _does_the_same(statement) else None
            arguments = repeated.arguments() if repeated is not None else []
            if self.has_held:
                out.append(self.statement("close_dropped", statement))
            if line := self.line(statement):
                is_counted = line != counted and not _shares_line(statement)
                step, more = ("step", arguments) if is_counted else ("continue", [])
                out.append(self.statement(step, statement, ast.Constant(line), *more))
                counted = line
            may_leave = any(True for _ in _jumps([statement]))
            out.extend(self.rewrite_statement(statement))
            if id(statement) in self.ends_of_cells:
                out.append(self.statement("end_cell", statement))
            if may_leave and self.repeated is not None:
                self.repeated = replace(self.repeated, certain=False)
        self.repeated = outer
        return out

    def rewrite_repeated(
        self, body: list[ast.stmt], first: list[ast.stmt], variable: str | None
    ) -> list[ast.stmt]:
        """The body of a function or loop, whose `variable` says how often it is repeated; None
        where that is UNKNOWN. Of a generator nothing is said: others continue it."""
        outer = self.repeated
        self.repeated = Repeated(variable, self.line(body[0])) if self.may_have_turns else None
        out = self.rewrite_block(body, first, certain=True)
        self.repeated = outer
        return out

    def rewrite_statement(self, statement: ast.stmt) -> list[ast.stmt]:
        new = self.visit(statement)
        return new if isinstance(new, list) else [new]

    def rewrite_class_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Like `rewrite_block`, without `.step` and `.bind`: its names are attributes."""
        return [
            new
            for statement in body
            for new in self.rewrite_statement(statement)
            if not (isinstance(new, ast.Expr) and is_helper_call("bind", new.value))
        ]

    def make_binds(self, at: ast.AST, names: list[str]) -> list[ast.stmt]:
        """One `.bind` for each different name."""
        return [
            self.statement(
                "bind", at, self.location(at), ast.Constant(name), ast.Name(name, ast.Load())
            )
            for name in dict.fromkeys(names)
        ]

    # -- assignments ------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        names = [name for target in node.targets for name in target_names(target)]
        only_name = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        is_bare = id(node) in self.bare
        value = self.transform(node.value)
        if only_name and is_helper_call("note", value):
            value = cast(ast.Call, value).args[1]  # it is recorded under its name instead
        patterns = [pattern_of(target) for target in node.targets]
        node.targets = [self.target(target) for target in node.targets]
        if len(node.targets) > 1:
            node.targets = [ast.copy_location(ast.Tuple(node.targets, ast.Store()), node)]
            node.value = self.call("unpack_for_each", node, value, *patterns)
        elif patterns[0].value is None or (_is_display(value) and type(patterns[0].value) is int):
            node.value = value
        else:
            node.value = self.call("unpack", node, value, *patterns)
        echoed = [self.echo(node, ast.Name(name, ast.Load())) for name in names if is_bare]
        return [node, *self.make_binds(node, names), *echoed]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """`x += v` as `x = .augment("+", x, v)`, and `x[i] += v` as
        `.augment_item("+", .augmented_item(x, i), v)`: the old value is read before v is
        computed."""
        operator, target = ast.Constant(AUGMENTED_OPERATORS[type(node.op)]), node.target
        names = target_names(target)
        if isinstance(target, ast.Name):
            old = ast.copy_location(ast.Name(target.id, ast.Load()), node)
            new = self.call("augment", node, operator, old, self.transform(node.value))
            new = self.call("admit", node, new)
            assign: ast.stmt = ast.copy_location(ast.Assign([target], new), node)
        else:
            item = self.augmented_item(target)
            value = self.transform(node.value)
            assign = self.statement("augment_item", node, operator, item, value)
        return [assign, *self.make_binds(node, names)]

    def augmented_item(self, target: ast.Attribute | ast.Subscript) -> ast.expr:
        receiver = self.transform(target.value)
        if isinstance(target, ast.Attribute):
            attributes = self.call("attribute_target", target, receiver)
            return self.call("augmented_item", target, attributes, ast.Constant(target.attr))
        items = self.call("guard_items", target, receiver)
        return self.call("augmented_item", target, items, self.index(target.slice))

    def index(self, node: ast.expr) -> ast.expr:
        """An index as a value: `a:b` becomes slice(a, b, None)."""
        if isinstance(node, ast.Slice):
            parts = [node.lower, node.upper, node.step]
            values = [self.transform(p) if p is not None else ast.Constant(None) for p in parts]
            return self.call("slice", node, *values)
        if isinstance(node, ast.Tuple):
            elements = [self.index(element) for element in node.elts]
            return ast.copy_location(ast.Tuple(elements, ast.Load()), node)
        return self.transform(node)

    def visit_Delete(self, node: ast.Delete) -> ast.stmt:
        node.targets = [self.target(target) for target in node.targets]
        return node

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        """A call such as `x.zero_()` may have changed x: its value is recorded again."""
        call = node.value
        changed = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        names = list(root_names(call)) if changed else []
        value = self.transform(call)
        if id(node) in self.bare:
            return [self.echo(node, value), *self.make_binds(node, names)]
        node.value = value
        return [node, *self.make_binds(node, names)]

    # -- control flow -----------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> ast.stmt:
        names, pattern = target_names(node.target), pattern_of(node.target)
        items, first = self.transform(node.iter), self.make_binds(node.iter, names)
        node.target = self.target(node.target)
        may_end = any(not isinstance(jump, ast.Continue) for jump in _jumps(node.body))
        if self.may_have_turns and not may_end:
            number, variable = ast.Constant(self.loops), f".turns{self.loops}"
            self.loops += 1
            turns = self.call("turns", node.iter, number, items, pattern)
            node.iter = ast.copy_location(
                ast.NamedExpr(ast.Name(variable, ast.Store()), turns), node.iter
            )
            node.body = self.rewrite_repeated(node.body, first, variable)
        else:
            node.iter = self.call("iterate", node.iter, items, pattern)
            node.body = self.rewrite_repeated(node.body, first, None)
        node.orelse = self.rewrite_block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        node.test = self.transform(node.test)
        node.body = self.rewrite_repeated(node.body, [], None)
        node.orelse = self.rewrite_block(node.orelse)
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        node.test = self.transform(node.test)
        node.body, node.orelse = self.rewrite_block(node.body), self.rewrite_block(node.orelse)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        names: list[str] = []
        for item in node.items:
            arguments = [self.transform(item.context_expr)]
            if item.optional_vars is not None:
                names += target_names(item.optional_vars)
                arguments.append(pattern_of(item.optional_vars))
                item.optional_vars = self.target(item.optional_vars)
            item.context_expr = self.call("managed", item.context_expr, *arguments)
        node.body = self.rewrite_block(node.body, self.make_binds(node, names), certain=True)
        return node

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        """A bare `except:` becomes `except Exception:`, a `finally` begins with a check, and the
        first handler lets a ProgramStopped and a GeneratorExit pass: so nothing suppresses them,
        and no code of the program, such as the class of a handler, runs while they are raised."""
        outer = self.catches_imports
        self.catches_imports = outer or any(map(_may_catch_imports, node.handlers))
        node.body = self.rewrite_block(node.body)
        self.catches_imports = outer
        node.orelse = self.rewrite_block(node.orelse)
        if node.finalbody:
            check = self.statement("reraise_stop", node.finalbody[0])
            node.finalbody = self.rewrite_block(node.finalbody, [check])
        for handler in node.handlers:
            every = ast.copy_location(ast.Name(".Exception", ast.Load()), handler)
            handler.type = self.transform(handler.type) if handler.type else every
            handler.body = self.rewrite_block(handler.body)
        if node.handlers:
            first = ast.ExceptHandler(ast.Name(".stops", ast.Load()), None, [ast.Raise()])
            node.handlers.insert(0, ast.copy_location(first, node.handlers[0]))
        return node

    # -- functions and classes --------------------------------------------------------------

    def decorators(self, node: ast.FunctionDef | ast.ClassDef) -> list[ast.expr]:
        """What a decorator returns is admitted."""
        return [self.call("decorator", d, self.transform(d)) for d in node.decorator_list]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = self.decorators(node)
        node.returns = None
        self.visit_arguments(node.args)
        self.scopes.append(node.name)
        is_generator = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes(node.body))
        outer, self.may_have_turns = self.may_have_turns, not is_generator
        around, self.catches_imports = self.catches_imports, False
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [a.arg for a in arguments if a.arg != "self"]
        entered = self.call("enter", node, ast.Constant(".".join(self.scopes)))
        left = ast.Name(_LEFT, ast.Store())
        enter = ast.copy_location(ast.Assign([left], entered), node)
        admit = ast.copy_location(ast.Expr(self.admit_arguments(node)), node)
        first = [admit, enter, *self.make_binds(node, names)]
        body = self.rewrite_repeated(node.body, first, _LEFT)
        self.may_have_turns, self.catches_imports = outer, around
        doc = ast.get_docstring(node, clean=False)
        if is_generator and is_held(node):
            body = held_body(self, node, body)
        node.body = body if doc is None else [_docstring(doc, node.body[0]), *body]
        self.scopes.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        node.decorator_list = self.decorators(node)
        node.bases = [self.call("base", base, self.transform(base)) for base in node.bases]
        self.scopes.append(node.name)
        outer, self.may_have_turns = self.may_have_turns, False
        annotated = _annotated(node)
        node.body = [*self.rewrite_class_body(node.body), *annotated]
        self.may_have_turns = outer
        self.scopes.pop()
        return node

    # -- other statements -------------------------------------------------------------------

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        return rewrite_match(self, node)

    def visit_Refused(self, node: Refused) -> ast.stmt:
        error = self.completed.as_typed(node.error)
        parts = (error.message, error.line, error.column, error.text, error.hint)
        return self.statement("refuse", node, *map(ast.Constant, parts))

    # -- imports ----------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.split(".")[0]
            # The whole path is looked up even if only its first part is bound.
            names = [ast.Constant(alias.name), ast.Constant(path)]
            lookup = self.call("module", node, *names, ast.Constant(self.catches_imports))
            out.append(self.assign_name(node, alias.asname or path, lookup))
        return out

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        if node.module == "__future__":
            return [ast.copy_location(ast.Pass(), node)]
        out: list[ast.stmt] = []
        path = ast.Constant("." * node.level + (node.module or ""))
        if node.names[0].name == "*":
            return [self.statement("star", node, path, ast.Constant(self.catches_imports))]
        for alias in node.names:
            names = [path, ast.Constant(alias.name)]
            lookup = self.call("member", node, *names, ast.Constant(self.catches_imports))
            out.append(self.assign_name(node, alias.asname or alias.name, lookup))
        return out

    def assign_name(self, at: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
        return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), at)


def _all_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


def _may_catch_imports(handler: ast.ExceptHandler) -> bool:
    """Whether a handler, before it is rewritten, names a class that catches an ImportError."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(k is None or (isinstance(k, ast.Name) and k.id in _IMPORT_ERRORS) for k in kinds)


def _annotated(node: ast.ClassDef) -> list[ast.stmt]:
    """`__annotations__ = {…}` of a class: its annotated names and the texts of the annotations,
    for dataclasses and named tuples."""
    found = [
        s for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    ]
    if not found:
        return []
    names = [ast.Constant(s.target.id) for s in found if isinstance(s.target, ast.Name)]
    texts = [ast.Constant(ast.unparse(s.annotation)) for s in found]
    target = ast.Name("__annotations__", ast.Store())
    statement = ast.Assign([target], ast.Dict([*names], [*texts]))
    return [ast.fix_missing_locations(ast.copy_location(statement, found[-1]))]


def _does_the_same(statement: ast.stmt) -> bool:
    """Whether all expressions of a statement are evaluated once, whenever it runs; its blocks and
    bodies, which have statements of their own, do not count."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, _VARYING):
            return False
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            children = ast.iter_child_nodes(node)
            pending += (n for n in children if not isinstance(n, ast.stmt | ast.ExceptHandler))
    return True


def _shares_line(statement: ast.stmt) -> bool:
    """Whether the body of a statement begins on its own line, which is counted there."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    return bool(body) and body[0].lineno == statement.lineno


def _jumps(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Each `return`, `break` and `continue` that leaves these statements."""
    for statement in body:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue):
            yield statement
        elif isinstance(statement, ast.For | ast.While):
            yield from (jump for jump in _jumps(statement.body) if isinstance(jump, ast.Return))
            yield from _jumps(statement.orelse)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                yield from _jumps(case.body)
        elif isinstance(statement, ast.If | ast.With | ast.Try):
            yield from _jumps(statement.body)
            for handler in getattr(statement, "handlers", ()):
                yield from _jumps(handler.body)
            yield from _jumps(
                [*getattr(statement, "orelse", ()), *getattr(statement, "finalbody", ())]
            )


def _is_display(value: ast.expr) -> bool:
    """Whether this is `a, b`: a tuple of expressions, each of which has been admitted."""
    return isinstance(value, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in value.elts)


def _docstring(text: str, at: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Expr(ast.Constant(text)), at)
