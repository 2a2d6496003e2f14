"""Values that are carried from one iteration of a loop into the next, and how to detach them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from explorer.program.draft import Draft
from explorer.trace.explain.earlier_graph import Entry
from explorer.trace.explain.loops import (
    Loop,
    assignments,
    block_of,
    contains,
)
from explorer.trace.explain.run_analysis import parenthesised

#: How a value is detached, by the form in which it is kept.
DETACHED = {"tuple": "tuple(t.detach() for t in {})", "list": "[t.detach() for t in {}]"}


@dataclass(frozen=True)
class Carried:
    """The tensor of an entry, which the program keeps in `text`: "h", "net.hidden", "outputs".

    `is_made_before` says whether it was computed before the loop, and `form` whether it is kept as
    a "tensor", in a "tuple" or "list", or among the "items" appended to a list. A total is a sum
    to which each iteration adds with `adding`; `start` is what started it, or the list.
    """

    entry: Entry
    text: str
    is_made_before: bool = False
    form: str = "tensor"
    adding: ast.stmt | None = None
    start: ast.stmt | None = None

    @property
    def can_restart(self) -> bool:
        """Whether an iteration can start it anew: a total, or a list, also one in an attribute."""
        return self.start is not None or (self.form == "items" and "." in self.text)

    # -- changes ------------------------------------------------------------------------------

    def detached(self, text: str) -> str:
        """A value without its graph."""
        return DETACHED.get(self.form, "{}.detach()").format(text)

    def detach(self, draft: Draft, loop: Loop, backward: ast.stmt | None, at_source: bool) -> str:
        """Detach the value, at the statement that hands it on or at the end of the iteration; what
        was written, or ""."""
        if self.form == "items":
            for call in appends(draft, self.text):
                new = f"{parenthesised(draft.of(call.args[0]))}.detach()"
                draft.replace(call.args[0], new)
                return f"{self.text}.append({new})"
            return ""
        written = self._use_result(draft, loop)
        if not written and at_source:
            written = self._detach_handed_on(draft, loop)
        if written:
            return written
        new = f"{self.text} = {self.detached(self.text)}"
        draft.insert_after(end_of_iteration(draft, loop, backward), new)
        return new

    def _use_result(self, draft: Draft, loop: Loop) -> str:
        """Change `h.detach()`, whose result nobody uses, to `h = h.detach()`."""
        for statement in draft.nodes(ast.Expr):
            if contains(loop, statement.lineno) and draft.of(statement) == f"{self.text}.detach()":
                new = f"{self.text} = {self.text}.detach()"
                draft.replace(statement, new)
                return f"{new} on line {statement.lineno}, as detach() returns a new tensor"
        return ""

    def _detach_handed_on(self, draft: Draft, loop: Loop) -> str:
        """Change `previous = y` to `previous = y.detach()`."""
        for statement in assignments(draft, self.text):
            value = statement.value if isinstance(statement, ast.Assign) else None
            is_single = isinstance(statement, ast.Assign) and len(statement.targets) == 1
            is_alias = isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
            if is_single and is_alias and value is not None and contains(loop, statement.lineno):
                new = self.detached(draft.of(value))
                draft.replace(value, new)
                return f"{self.text} = {new}"
        return ""

    def restart(self, draft: Draft, loop: Loop, backward: ast.stmt) -> str:
        """Start a total or a list anew in each iteration, or take the one result itself; what was
        written, or ""."""
        adding, start = self.adding, self.start
        if self.form == "items" and "." in self.text:
            new = f"{self.text}.clear()"
            draft.insert_after(end_of_iteration(draft, loop, backward), new)
            return new
        if start is None:
            return ""
        added = adding.value if isinstance(adding, ast.AugAssign) else None
        if (
            adding is not None
            and added is not None
            and any(adding is statement for statement in loop.body)
        ):
            call = backward.value if isinstance(backward, ast.Expr) else None
            function = call.func if isinstance(call, ast.Call) else None
            is_root = isinstance(function, ast.Attribute) and draft.of(function.value) == self.text
            if isinstance(added, ast.Name) and isinstance(function, ast.Attribute) and is_root:
                draft.replace(function.value, added.id)
                draft.replace(added, f"{added.id}.item()")
                return f"{added.id}.backward() and {self.text} += {added.id}.item()"
            new = f"{self.text} = {draft.of(added)}"
            draft.replace(adding, new)
            return new
        text = draft.of(start)
        if any(backward is statement for statement in loop.body):
            draft.delete(start)
            draft.insert_before(loop.body[0], text)
        else:
            draft.insert_after(end_of_iteration(draft, loop, backward), text)
        return text


def end_of_iteration(draft: Draft, loop: Loop, backward: ast.stmt | None) -> ast.stmt:
    """The last statement after backward: of the loop, or of a condition in it around backward."""
    if backward is not None and contains(loop, backward.lineno):
        block = block_of(draft, backward)
        around = [node for node in draft.path_to(backward) if contains(loop, node.lineno)]
        if around and isinstance(around[-1], ast.If):
            return block[-1]
    return loop.body[-1]


def appends(draft: Draft, name: str) -> list[ast.Call]:
    """The calls that append to a list."""
    return [
        call
        for call in draft.nodes(ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and draft.of(call.func.value) == name
        and len(call.args) == 1
    ]
