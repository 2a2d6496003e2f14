"""Rewriting a program so that it says what it does; what it does stays the same.

Before each statement, `.step(line)` is inserted, or `.continue(line)` for another one on the same
line; after it, `.bind(location, name, value)` for every name it sets. Each expression that can
create a tensor is wrapped in `.note(location, value)`; a bare one of the program becomes
`.echo(location, value)`. A function begins with `.enter`; a `for` goes through `.counted(items)`, a
`while` begins with `.loop`, and each iteration of it with `.again`. All else is left as it is,
whatever CPython understands.

The helpers' names begin with a dot, so no program can spell them. They are built-ins of it.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from explorer import limits
from explorer.program.completion import Completed
from explorer.program.notebook import echoed, last_statements

__all__ = ["SourceLocation", "rewrite"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
#: The classes whose handlers catch an import of what is not here.
_IMPORT_ERRORS = frozenset(["ImportError", "ModuleNotFoundError", "Exception", "BaseException"])
#: Python's other exceptions.
_OTHER_ERRORS = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
} - _IMPORT_ERRORS


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


def rewrite(tree: ast.Module, completed: Completed) -> tuple[ast.Module, list[SourceLocation]]:
    """Rewrite the tree of `completed.code` in place. Returns it, and the locations that helpers get
    by index. Lines become those of the text as typed, 0 where there is none.

    Raises RecursionError for an expression that is nested too deeply.
    """
    rewriter = _Rewriter(completed)
    tree.body = rewriter.program(tree.body)
    ast.fix_missing_locations(tree)
    if completed.lines is not None:
        for node in ast.walk(tree):
            if "lineno" in node._attributes:
                node.lineno = completed.line(node.lineno) or 0  # type: ignore[attr-defined]
                node.end_lineno = completed.line(node.end_lineno or 0) or 0  # type: ignore[attr-defined]
    return tree, rewriter.locations


class _Rewriter(ast.NodeTransformer):
    """A `visit_` method returns the expression, the statement, or the statements that replace the
    one it visits."""

    def __init__(self, completed: Completed) -> None:
        self.completed = completed
        self.lines = completed.code.encode(errors="replace").split(b"\n")
        self.locations: list[SourceLocation] = []
        self.scopes: list[str] = []
        #: How deep in loops a statement is: see `Watcher.step`.
        self.depth: int | None = 0
        #: The ids of the statements that are echoed, and of those that end a cell.
        self.bare: set[int] = set()
        self.ends_of_cells: set[int] = set()
        #: Whether an error of an import may be caught here: in a `try`, or by who calls a function.
        self.catches_imports = False

    # -- calls of helpers -----------------------------------------------------------------------

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
            text = raw.decode(errors="replace")[: limits.MAX_EXPRESSION]
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

    def binds(self, at: ast.AST, names: list[str]) -> list[ast.stmt]:
        """One `.bind` for each different name."""
        return [
            self.statement("bind", at, self.location(at), _shown(name), ast.Name(name, ast.Load()))
            for name in dict.fromkeys(names)
        ]

    # -- expressions ----------------------------------------------------------------------------

    def noted(self, node: ast.expr) -> ast.expr:
        """The expression, wrapped so that the watcher sees its value."""
        self.generic_visit(node)
        if not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            return self.call("note", node, self.location(node), node)
        return node

    visit_Attribute = visit_Subscript = visit_Call = visit_BinOp = visit_Compare = noted

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        is_plain = isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant)
        return cast(ast.expr, self.generic_visit(node)) if is_plain else self.noted(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        name, value = _shown(node.target.id), self.transform(node.value)
        node.value = self.call("named", node, self.location(node), name, value)
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        """Annotations stay as they are."""
        node.defaults = [self.transform(d) for d in node.defaults]
        node.kw_defaults = [self.transform(d) if d is not None else None for d in node.kw_defaults]
        return node

    # -- blocks ---------------------------------------------------------------------------------

    def program(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of the program, of which the bare expressions are echoed."""
        ends = [self.completed.line(s.end_lineno or s.lineno) or 0 for s in body]
        source = self.completed.source
        shown = [body[n] for n in echoed(source, ends)]
        self.ends_of_cells = {id(body[n]) for n in last_statements(source, ends)}
        self.bare = {id(statement) for statement in shown if self.completed.is_bare(statement)}
        opening = len(list(itertools.takewhile(_is_opening, body)))  # nothing may stand before it
        return [*body[:opening], *self.block(body[opening:])]

    def echo(self, at: ast.stmt, value: ast.expr) -> ast.stmt:
        """`.echo(location, value)`: the watcher shows the value, as a notebook does."""
        return self.statement("echo", at, self.location(at), value)

    def block(self, body: list[ast.stmt], first: list[ast.stmt] | None = None) -> list[ast.stmt]:
        """The statements of a block, each preceded by `.step(line, depth)`; first come others."""
        out: list[ast.stmt] = list(first or [])
        counted = 0
        for statement in body:
            if line := self.line(statement):
                if line != counted and not _shares_line(statement):
                    depth = [] if self.depth == 0 else [ast.Constant(self.depth)]
                    out.append(self.statement("step", statement, ast.Constant(line), *depth))
                else:
                    out.append(self.statement("continue", statement, ast.Constant(line)))
                counted = line
            out.extend(self.rewritten(statement))
            if id(statement) in self.ends_of_cells:
                out.append(self.statement("end_cell", statement))
        return out

    def block_at(
        self, depth: int | None, body: list[ast.stmt], first: list[ast.stmt]
    ) -> list[ast.stmt]:
        """The statements of a block at this depth."""
        outer, self.depth = self.depth, depth
        out = self.block(body, first)
        self.depth = outer
        return out

    def loop(
        self, node: ast.For | ast.AsyncFor | ast.While, first: list[ast.stmt]
    ) -> list[ast.stmt]:
        """A loop whose iterations are counted. How many there will be is known of a `for` that
        nothing leaves. What a class or a generator does belongs to what calls it."""
        before: list[ast.stmt] = []
        depth = None if self.depth is None else self.depth + 1
        if depth is not None:
            deep = ast.Constant(depth)
            if isinstance(node, ast.For):
                leaves = any(not isinstance(jump, ast.Continue) for jump in _jumps(node.body))
                node.iter = self.call("counted", node.iter, node.iter, deep, ast.Constant(leaves))
            else:
                before = [self.statement("loop", node, deep)]
                first = [self.statement("again", node, deep), *first]
        node.body = self.block_at(depth, node.body, first)
        node.orelse = self.block(node.orelse)
        return [*before, node]

    def rewritten(self, statement: ast.stmt) -> list[ast.stmt]:
        new = self.visit(statement)
        return new if isinstance(new, list) else [new]

    # -- assignments ----------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        names = [name for target in node.targets for name in target_names(target)]
        value = self.transform(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _without_note(value)  # it is recorded under its name instead
        node.targets = [self.visit(target) for target in node.targets]
        node.value = value
        is_bare = id(node) in self.bare
        echoes = [self.echo(node, ast.Name(name, ast.Load())) for name in names if is_bare]
        return [node, *self.binds(node, names), *echoes]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is None:
            return [node]
        node.value = self.transform(node.value)
        if isinstance(node.target, ast.Name):
            node.value = _without_note(node.value)
        node.target = self.visit(node.target)
        return [node, *self.binds(node, target_names(node.target))]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        node.target, node.value = self.visit(node.target), self.transform(node.value)
        return [node, *self.binds(node, target_names(node.target))]

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        """A call such as `x.zero_()` may have changed x: its value is recorded again."""
        call = node.value
        changed = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        names = list(root_names(call)) if changed else []
        node.value = self.transform(call)
        shown = self.echo(node, node.value) if id(node) in self.bare else node
        binds = self.binds(node, names)
        if not binds:
            return [shown]
        gone = ast.ExceptHandler(ast.Name("NameError", ast.Load()), None, [ast.Pass()])
        after: ast.stmt = ast.Try(binds, [gone], [], [])  # the call may have deleted the name
        for part in ast.walk(after):
            ast.copy_location(part, node)
        return [shown, after]

    # -- control flow ---------------------------------------------------------------------------

    def visit_For(self, node: ast.For | ast.AsyncFor) -> list[ast.stmt]:
        first = self.binds(node.iter, target_names(node.target))
        node.iter, node.target = self.transform(node.iter), self.visit(node.target)
        return self.loop(node, first)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        node.test = self.transform(node.test)
        return self.loop(node, [])

    def visit_If(self, node: ast.If) -> ast.stmt:
        node.test = self.transform(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        names: list[str] = []
        for item in node.items:
            item.context_expr = self.transform(item.context_expr)
            if item.optional_vars is not None:
                names += target_names(item.optional_vars)
                item.optional_vars = self.visit(item.optional_vars)
        outer, contexts = self.catches_imports, [item.context_expr for item in node.items]
        self.catches_imports = outer or any(map(_names_import_errors, contexts))
        node.body = self.block(node.body, self.binds(node, names))
        self.catches_imports = outer
        return node

    visit_AsyncWith = visit_With  # type: ignore[assignment]

    def visit_Try(self, node: ast.Try) -> ast.stmt:
        outer = self.catches_imports
        self.catches_imports = outer or any(map(_may_catch_imports, node.handlers))
        node.body = self.block(node.body)
        self.catches_imports = outer
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        for handler in node.handlers:
            handler.type = self.transform(handler.type) if handler.type else None
            handler.body = self.block(handler.body)
        return node

    visit_TryStar = visit_Try  # type: ignore[assignment]

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        node.subject = self.transform(node.subject)
        for case in node.cases:
            names = [str(getattr(p, "name", "") or "") for p in ast.walk(case.pattern)]
            if case.guard is not None:
                case.guard = self.transform(case.guard)
            case.body = self.block(case.body, self.binds(case.pattern, [n for n in names if n]))
        return node

    # -- functions and classes ------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [self.transform(d) for d in node.decorator_list]
        self.visit_arguments(node.args)
        self.scopes.append(node.name)
        own = _own_nodes(node.body)
        is_generator = any(isinstance(n, ast.Yield | ast.YieldFrom | ast.Await) for n in own)
        around, self.catches_imports = self.catches_imports, True
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [a.arg for a in arguments if a.arg != "self"]
        enter = self.statement("enter", node, ast.Constant(".".join(self.scopes)))
        doc = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        first = [enter, *self.binds(node, names)]
        depth = None if is_generator else 1
        node.body = [*doc, *self.block_at(depth, node.body, first)]
        self.catches_imports = around
        self.scopes.pop()
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        """Without `.step` and `.bind`: its names are attributes."""
        node.decorator_list = [self.transform(d) for d in node.decorator_list]
        self.scopes.append(node.name)
        outer, self.depth = self.depth, None
        node.body = [
            new
            for statement in node.body
            for new in self.rewritten(statement)
            if not (isinstance(new, ast.Expr) and _is_call_of("bind", new.value))
        ]
        self.depth = outer
        self.scopes.pop()
        return node

    # -- imports --------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return self.imported(node, [a.asname or a.name.split(".")[0] for a in node.names])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        return self.imported(node, [alias.asname or alias.name for alias in node.names])

    def imported(self, node: ast.Import | ast.ImportFrom, names: list[str]) -> list[ast.stmt]:
        """The import; where it finds nothing, and nothing of the program may ask whether it does,
        its names stand for what is missing: `except ImportError as .error: a = .missing(…)`."""
        if self.catches_imports:
            return [node]
        path = "." * getattr(node, "level", 0) + (getattr(node, "module", "") or "")
        attempts: list[ast.stmt] = []
        for alias, name in zip(node.names, names, strict=True):
            one = _import_of(node, alias)
            what = [ast.Constant(path or alias.name), ast.Constant(alias.name if path else "")]
            is_top = isinstance(node, ast.Import) and alias.asname is None
            what.append(ast.Constant(is_top))
            given = self.call("missing", node, ast.Name(".error", ast.Load()), *what)
            stands: ast.stmt = ast.Expr(given)
            if name != "*":
                stands = ast.Assign([ast.Name(name, ast.Store())], given)
            handler = ast.ExceptHandler(ast.Name("ImportError", ast.Load()), ".error", [stands])
            after = [self.statement("star", node, what[0])] if name == "*" else []
            attempts.append(ast.Try([one], [handler], after, []))
        for attempt in attempts:
            for part in ast.walk(attempt):
                ast.copy_location(part, node)
        return attempts


def _shown(name: str) -> ast.Constant:
    """A name as it is shown."""
    return ast.Constant(name[: limits.MAX_EXPRESSION])


def _import_of(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    """An import of one of the names alone."""
    if isinstance(node, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(node.module, [alias], node.level)


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
    while True:
        if _is_call_of("note", node):
            node = node.args[1]  # type: ignore[attr-defined]
        elif isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            break
    if isinstance(node, ast.Name):
        yield node.id


def _is_call_of(helper: str, node: ast.expr) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Name) and function.id == f".{helper}"


def _without_note(node: ast.expr) -> ast.expr:
    return node.args[1] if _is_call_of("note", node) else node  # type: ignore[attr-defined]


def _is_opening(statement: ast.stmt) -> bool:
    """Whether this is a text or an import of `__future__`, with which a file may begin."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _may_catch_imports(handler: ast.ExceptHandler) -> bool:
    """Whether a handler, before it is rewritten, may catch an ImportError: it names a class that
    does, or something that is not an exception of Python's."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(not isinstance(k, ast.Name) or k.id not in _OTHER_ERRORS for k in kinds)


def _names_import_errors(context: ast.expr) -> bool:
    """Whether this is such a thing as `suppress(ImportError)` or `pytest.raises(ImportError)`."""
    return any(isinstance(n, ast.Name) and n.id in _IMPORT_ERRORS for n in ast.walk(context))


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of these statements, without those inside functions and classes in them."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(node)


def _shares_line(statement: ast.stmt) -> bool:
    """Whether the body of a statement begins on its own line, which is counted there."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    return bool(body) and body[0].lineno == statement.lineno


def _jumps(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Each `return`, `break` and `continue` that leaves these statements."""
    for statement in body:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue):
            yield statement
        elif isinstance(statement, _LOOPS):
            yield from (jump for jump in _jumps(statement.body) if isinstance(jump, ast.Return))
            yield from _jumps(statement.orelse)
        elif not isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            for part in ("body", "orelse", "finalbody"):
                yield from _jumps(getattr(statement, part, []))
            for part in ("handlers", "cases"):
                for branch in getattr(statement, part, []):
                    yield from _jumps(branch.body)
