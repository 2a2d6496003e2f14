"""A change of the program as it was typed: what the cure of an error or an answer looks like."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar, cast

from explorer import limits
from explorer.program.completion.text import Text
from explorer.program.notebook import without_commands
from explorer.program.parsing import tree_of, without_prompts

Node = TypeVar("Node", bound=ast.AST)
INDENT = "    "
#: Line, column, last line and last column, as in a tree.
Place = tuple[int, int, int, int]
#: Expressions that need parentheses inside another one.
_LOOSE = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr)


class Draft:
    """A program's text and tree, and changes that are to be made to it.

    Lines count as in the text as typed, as they do in records and errors. Nothing can be found in
    a text that Python cannot parse or that is very long, so nothing is changed there. Changes must
    not overlap.
    """

    def __init__(self, source: str) -> None:
        self.source = without_prompts(source)
        self._text = Text(self.source)
        self.tree = _parse(self.source) or ast.Module([], [])
        self._of_kind: dict[type[ast.AST], list[ast.AST]] = {}

    # -- what is there --------------------------------------------------------------------------

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: p for p in ast.walk(self.tree) for child in ast.iter_child_nodes(p)}

    def nodes(self, kind: type[Node], line: int | None = None) -> Iterator[Node]:
        """The nodes of this type, those that begin on or extend over `line` if there is one."""
        if kind not in self._of_kind:
            self._of_kind[kind] = [node for node in self._all if isinstance(node, kind)]
        for node in self._of_kind[kind]:
            if line is None or _spans(node, line):
                yield cast(Node, node)

    @cached_property
    def _all(self) -> list[ast.AST]:
        """Every node, the outermost first. Changes are made to the text: the tree stays."""
        return list(ast.walk(self.tree))

    def statement(self, line: int | None) -> ast.stmt | None:
        """The innermost statement on a line; of a compound one, if it begins there."""
        if line is None:
            return None
        on_line = list(self.nodes(ast.stmt, line))
        return next(
            (s for s in reversed(on_line) if not hasattr(s, "body") or s.lineno == line), None
        )

    def call(self, line: int | None, name: str) -> ast.Call | None:
        """The first call on a line of a function or method with this last name: "detach"."""
        calls = self.nodes(ast.Call, line) if line is not None else iter(())
        return next((call for call in calls if called_name(call) == name), None)

    def node_at(self, place: Place) -> ast.expr | None:
        """The expression that begins and ends at these positions."""
        for node in self.nodes(ast.expr, place[0]):
            if (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == place:
                return node
        return None

    def path_to(self, statement: ast.stmt) -> list[ast.stmt]:
        """The compound statements around a statement, the outermost first."""
        around = [
            node
            for node in self.nodes(ast.stmt, statement.lineno)
            if hasattr(node, "body") and node is not statement
        ]
        return sorted(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))

    def of(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node, as typed."""
        return self._text.of(node)

    def operand(self, node: ast.expr) -> str:
        """Its text, in parentheses if it needs them before a dot or an operator."""
        return f"({self.of(node)})" if isinstance(node, _LOOSE) else self.of(node)

    def name_in_torch(self, path: str) -> str:
        """How the program spells something of torch: "nn.ModuleList" for "torch.nn.ModuleList"."""
        for node in self.nodes(ast.Import):
            for alias in node.names:
                if alias.asname and path.startswith(f"{alias.name}."):
                    return alias.asname + path[len(alias.name) :]
        for imported in self.nodes(ast.ImportFrom):
            for alias in imported.names:
                whole = f"{imported.module}.{alias.name}"
                if path == whole or path.startswith(f"{whole}."):
                    return (alias.asname or alias.name) + path[len(whole) :]
        return path

    def assigned_name(self, line: int | None) -> str:
        """The one name that the statement on a line assigns to, or ""."""
        statement = self.statement(line)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        name = targets[0] if len(targets) == 1 else None
        return name.id if isinstance(name, ast.Name) else ""

    # -- changes --------------------------------------------------------------------------------

    def replace(self, node: ast.expr | ast.stmt | ast.keyword, new: str) -> None:
        """Write something else in place of a node."""
        self._text.replace(self._text.start(node), self._text.end(node), new)

    def keep_part(self, node: ast.expr, part: ast.expr) -> None:
        """Write a part of an expression in place of all of it: `x` for `x.detach()`."""
        text = self.of(part)
        is_whole = any(getattr(parent, "value", None) is node for parent in self.nodes(ast.stmt))
        self.replace(node, f"({text})" if isinstance(part, _LOOSE) and not is_whole else text)

    def delete_between(self, earlier: ast.expr, last: ast.expr) -> None:
        """Leave out what follows an item of a list, up to and including a later one."""
        self._text.replace(self._text.end(earlier), self._text.end(last), "")

    def call_on(self, node: ast.expr, method: str) -> None:
        """Call a method on an expression: `x.float()` for `x`."""
        start, end = self._text.start(node), self._text.end(node)
        before, after = self.source[:start].rstrip(" "), self.source[end:]
        if isinstance(node, _LOOSE) and before.endswith("(") and after.startswith(")"):
            is_called = before[-2:-1].isalnum() or before[-2:-1] in ("_", ")", "]")
            if not is_called:  # it stands in parentheses of its own
                self._text.replace(end + 1, end + 1, f".{method}()")
                return
        self.replace(node, f"{self.operand(node)}.{method}()")

    def unwrap(self, node: ast.expr, part: ast.expr) -> None:
        """Leave out what is around a part of an expression: `float(x)` becomes `x`. The part may
        be changed as well."""
        parent = self.parents.get(node)
        is_alone = isinstance(parent, ast.stmt | ast.List | ast.Tuple | ast.comprehension) or (
            isinstance(parent, ast.Call) and node is not parent.func
        )
        before, after = ("(", ")") if isinstance(part, _LOOSE) and not is_alone else ("", "")
        self._text.replace(self._text.start(node), self._text.start(part), before)
        self._text.replace(self._text.end(part), self._text.end(node), after)

    def surround(self, node: ast.expr, before: str, after: str) -> None:
        """Write something before and after an expression, which may be changed as well."""
        if before:
            self._text.replace(self._text.start(node), self._text.start(node), before)
        if after:
            self._text.replace(self._text.end(node), self._text.end(node), after)

    def delete_line(self, number: int) -> None:
        """Leave out a line of its own, such as a decorator."""
        start = self._text.offset(number, 0)
        self._text.replace(start, min(self._end_of_line(number) + 1, len(self.source)), "")

    def delete_argument(self, call: ast.Call, argument: ast.keyword) -> None:
        """Leave out an argument, with its comma."""
        given = [self._text.end(a) for a in call.args] + [
            self._text.end(keyword) for keyword in call.keywords
        ]
        start, end = self._text.start(argument), self._text.end(argument)
        before = max((position for position in given if position <= start), default=None)
        if before is not None:
            self._text.replace(before, end, "")
        else:
            starts = [self._text.start(k) for k in call.keywords if self._text.start(k) > end]
            self._text.replace(start, min(starts, default=end), "")

    def unindent(self, block: ast.With) -> None:
        """Leave out the header of a block: its statements move to the left."""
        first, last = block.body[0], block.body[-1]
        if first.lineno == block.lineno:  # with …: statement
            self._text.replace(self._text.start(block), self._text.start(first), "")
            return
        start, end = self._text.offset(block.lineno, 0), self._text.offset(first.lineno, 0)
        margin, inner = self._margin(block), self._margin(first)
        self._text.replace(start, end, "")
        for number in range(first.lineno, (last.end_lineno or last.lineno) + 1):
            if self._text.lines[number - 1].startswith(inner):
                start = self._text.offset(number, 0)
                self._text.replace(start, start + len(inner), margin)

    def insert_before(self, statement: ast.stmt, *lines: str) -> None:
        """Add lines before a statement, indented as it is. Lines may be indented further."""
        margin = self._margin(statement)
        start = self._text.offset(_first_line(statement), 0)
        self._text.replace(start, start, "".join(f"{margin}{line}\n" for line in lines))

    def insert_after(self, statement: ast.stmt, *lines: str) -> None:
        """Add lines after a statement, indented as it is."""
        margin = self._margin(statement)
        end = self._end_of_line(statement.end_lineno or statement.lineno)
        self._text.replace(end, end, "".join(f"\n{margin}{line}" for line in lines))

    def delete(self, statement: ast.stmt) -> None:
        """Leave out a statement, and its line if nothing else is on it; `pass` stays if its block
        would be empty."""
        alone = any(
            block == [statement]
            for parent in ast.walk(self.tree)
            for block in (getattr(parent, f, None) for f in ("body", "orelse", "finalbody"))
            if not isinstance(parent, ast.Module)
        )
        first, last = _first_line(statement), statement.end_lineno or statement.lineno
        before = self.source[self._text.offset(first, 0) : self._text.start(statement)]
        after = self.source[self._text.end(statement) : self._end_of_line(last)]
        if alone or before.strip() or (after.strip("; \t") and not after.strip().startswith("#")):
            self.replace(statement, "pass")
            return
        end = min(self._end_of_line(last) + 1, len(self.source))
        self._text.replace(self._text.offset(first, 0), end, "")

    def move_before(self, statement: ast.stmt, other: ast.stmt) -> None:
        """Write a statement before another one, and no longer where it was."""
        self.insert_before(other, self.of(statement))
        self.delete(statement)

    def move_after(self, statement: ast.stmt, other: ast.stmt) -> None:
        """Write a statement after another one, and no longer where it was."""
        if hasattr(other, "body") and statement.end_lineno == other.end_lineno:
            # It ends the other one: it moves to the left.
            for number in range(_first_line(statement), (statement.end_lineno or 0) + 1):
                start, inner = self._text.offset(number, 0), self._margin(statement)
                if self._text.lines[number - 1].startswith(inner):
                    self._text.replace(start, start + len(inner), self._margin(other))
            return
        self.insert_after(other, self.of(statement))
        self.delete(statement)

    def put_under(self, statements: list[ast.stmt], header: str) -> None:
        """Indent statements that follow each other below a header: "with torch.no_grad():"."""
        margin = self._margin(statements[0])
        first = _first_line(statements[0])
        last = statements[-1].end_lineno or statements[-1].lineno
        for number in range(first, last + 1):
            start = self._text.offset(number, 0)
            added = INDENT if self._text.lines[number - 1].strip() else ""
            self._text.replace(
                start, start, f"{margin}{header}\n{added}" if number == first else added
            )

    def changed(self) -> str | None:
        """The changed text; None if nothing was changed, or if it is not Python any more."""
        text = self._text.changed()
        if not self._text.is_changed or text == self.source:
            return None
        return text if _parse(text) is not None else None

    def _margin(self, statement: ast.stmt) -> str:
        line = self._text.lines[_first_line(statement) - 1]
        return line[: len(line) - len(line.lstrip())]

    def _end_of_line(self, number: int) -> int:
        return self._text.offset(number, 0) + len(self._text.lines[number - 1])


def _parse(source: str) -> ast.Module | None:
    return tree_of(without_commands(source).code, limits.MAX_DRAFT)


def called_name(call: ast.Call) -> str:
    """The last name of what is called: "detach" of `x.detach()`."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def own_nodes(statement: ast.stmt, kind: type[Node]) -> Iterator[Node]:
    """The nodes of this type in a statement, not in the statements inside it, nor in f-strings,
    where positions cannot be relied on."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            yield node
        inner = ast.iter_child_nodes(node)
        waiting += [c for c in inner if not isinstance(c, ast.stmt | ast.JoinedStr)]


def changed_line(before: str, after: str) -> tuple[int, str]:
    """The number and the text of the first line of a changed program that is new."""
    old, new = before.split("\n"), after.split("\n")
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    return first + 1, new[first].strip() if first < len(new) else ""


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _spans(node: ast.AST, line: int) -> bool:
    start = getattr(node, "lineno", None)
    return start is not None and start <= line <= (getattr(node, "end_lineno", None) or start)
