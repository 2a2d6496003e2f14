"""Changes of a program's text: only what is meant to change changes."""

from __future__ import annotations

import ast

import pytest

from explorer.program.draft import Draft, changed_line

PROGRAM = """\
import torch
w = torch.tensor(1.0, requires_grad=True)
for i in range(3):
    y = (w * 2).detach()  # cut
    z = y + 1; print(z)
if True:
    w.grad = None
"""


def test_a_call_is_replaced() -> None:
    draft = Draft(PROGRAM)
    call = draft.call(4, "detach")
    assert call is not None
    assert isinstance(call.func, ast.Attribute)
    draft.keep_part(call, call.func.value)
    assert draft.changed() == PROGRAM.replace("(w * 2).detach()", "w * 2")


@pytest.mark.parametrize(
    ("source", "kept"),
    [("y = 3 * (a + b).detach()", "y = 3 * (a + b)"), ("y = 3 * f(a).detach()", "y = 3 * f(a)")],
)
def test_a_part_keeps_its_parentheses_where_it_needs_them(source: str, kept: str) -> None:
    draft = Draft(source)
    call = draft.call(1, "detach")
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    draft.keep_part(call, call.func.value)
    assert draft.changed() == kept


def test_lines_are_added_with_the_indentation_of_their_neighbour() -> None:
    draft = Draft(PROGRAM)
    statement = draft.statement(4)
    assert statement is not None
    draft.insert_before(statement, "a = 1")
    draft.insert_after(statement, "if a:", "    b = 1")
    lines = (draft.changed() or "").split("\n")
    assert lines[3:7] == ["    a = 1", PROGRAM.split("\n")[3], "    if a:", "        b = 1"]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        (2, PROGRAM.replace("w = torch.tensor(1.0, requires_grad=True)\n", "")),
        (4, PROGRAM.replace("    y = (w * 2).detach()  # cut\n", "")),
        (7, PROGRAM.replace("w.grad = None", "pass")),
    ],
)
def test_a_statement_is_left_out(line: int, left: str) -> None:
    draft = Draft(PROGRAM)
    statement = draft.statement(line)
    assert statement is not None
    draft.delete(statement)
    assert draft.changed() == left


def test_one_of_two_statements_on_a_line_is_left_out() -> None:
    draft = Draft(PROGRAM)
    draft.delete(next(iter(draft.nodes(ast.Assign, 5))))
    assert "    pass; print(z)" in (draft.changed() or "")


def test_statements_are_put_under_a_header() -> None:
    draft = Draft(PROGRAM)
    draft.put_under(list(draft.nodes(ast.For)), "with torch.no_grad():")
    lines = (draft.changed() or "").split("\n")
    assert lines[2:5] == [
        "with torch.no_grad():",
        "    for i in range(3):",
        "        y = (w * 2).detach()  # cut",
    ]


def test_a_change_that_is_no_python_is_none() -> None:
    draft = Draft("y = x + 1")
    draft.replace(next(draft.nodes(ast.BinOp)), "x +")
    assert draft.changed() is None


def test_nothing_is_found_in_what_is_not_python() -> None:
    draft = Draft("y = = 1")
    assert draft.statement(1) is None
    assert draft.changed() is None


def test_notebook_commands_stay() -> None:
    draft = Draft("%matplotlib inline\nx = 1\n")
    statement = draft.statement(2)
    assert statement is not None
    draft.insert_after(statement, "y = 2")
    assert draft.changed() == "%matplotlib inline\nx = 1\ny = 2\n"


def test_prompts_are_left_out() -> None:
    draft = Draft(">>> x = 1\n>>> y = 2")
    draft.replace(next(draft.nodes(ast.Assign, 2)), "y = 3")
    assert draft.changed() == "x = 1\ny = 3"


def test_the_changed_line() -> None:
    assert changed_line("a\nb\nc", "a\nB\nc") == (2, "B")
    assert changed_line("a\nb", "a\nx\nb") == (2, "x")


def test_the_tree_is_walked_once_for_all_questions(monkeypatch) -> None:
    walked = []
    walk = ast.walk
    monkeypatch.setattr(ast, "walk", lambda tree: walked.append(tree) or walk(tree))
    draft = Draft("x = f(1)\ny = x.detach()\n")
    for line in (1, 2, 1):
        assert draft.statement(line).lineno == line
        assert [call.lineno for call in draft.nodes(ast.Call, line)] == [line]
    assert walked.count(draft.tree) == 1
