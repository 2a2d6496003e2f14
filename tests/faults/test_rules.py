"""A sign, an operator, a number or a saved value that is wrong in one of the local rules is noticed
by multiplying the rules out against what autograd did (tests/trace/test_rules.py)."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import FrameType

import numpy as np
import pytest

from explorer.trace import BackwardStep
from explorer.trace.rules import RULES, NotStated
from explorer.trace.rules.rule import Rule
from tests.faults.changed import load_changed, path_of
from tests.trace.steps import steps_by_node
from tests.trace.test_rules import multiply_out

PACKAGE = "explorer.trace.rules"
_OTHER: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}


#: Lines of a module, first and last: those of a function, or of a lambda of the table.
Lines = tuple[int, int]


def faults(text: str) -> Iterator[tuple[Lines, str, str]]:
    """(lines of the function, what was changed, the module with it), one change at a time."""
    tree = ast.parse(text)
    for function in _functions(tree):
        for node in _numeric(function):
            for what, undo in _changed(node):
                lines = (function.lineno, function.end_lineno or 0)
                yield lines, f"{what} in line {node.lineno}", ast.unparse(tree)  # type: ignore[attr-defined]
                undo()


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.Lambda]:
    """The module's functions and the lambdas of its tables."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
        else:
            yield from _functions(child)


def _numeric(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, without code that makes text: test_formulas.py has the formulas' faults."""
    makes_text = isinstance(tree, ast.FunctionDef) and ast.unparse(tree.returns or tree) == "str"
    if makes_text or isinstance(tree, ast.JoinedStr):
        return
    if isinstance(tree, ast.Lambda) and any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and "<" in str(n.value))
        for n in ast.walk(tree)
    ):
        return
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _numeric(child)


def _changed(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    if isinstance(node, ast.BinOp) and type(node.op) in _OTHER:
        old = node.op
        node.op = _OTHER[type(old)]()
        yield f"{type(old).__name__} to {type(node.op).__name__}", lambda: setattr(node, "op", old)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
        was = node.ops[0]
        node.ops[0] = _OTHER[type(was)]()
        yield f"{type(was).__name__} turned", lambda: node.ops.__setitem__(0, was)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign = node.op
        node.op = ast.UAdd()
        yield "no sign", lambda: setattr(node, "op", sign)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number = node.value
        node.value = number + 1
        yield f"{number} + 1", lambda: setattr(node, "value", number)


MODULES = [
    "reductions", "arithmetic", "functions", "linear", "losses", "shapes", "indexing", "layers",
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("module", MODULES)
def test_a_wrong_rule_is_noticed(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = f"{PACKAGE}.{module}"
    text = path_of(full).read_text()
    callers = rules_by_line(full, load_changed(full, text).RULES)
    unnoticed = []
    for (first, last), what, changed in faults(text):
        tried = sorted({name for line in range(first, last + 1) for name in callers[line]})
        rules = load_changed(full, changed).RULES
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            for name in tried:
                patch.setitem(RULES, name, rules[name])
            if not any(noticed(steps_by_node()[name]) for name in tried):
                unnoticed.append(f"{module}: {what}")
    assert unnoticed == []


def rules_by_line(module: str, rules: dict[str, Rule]) -> dict[int, set[str]]:
    """By the first line of each function of a module, the rules whose arithmetic calls it."""
    callers = defaultdict(set)
    path = str(path_of(module))

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == path:
            callers[frame.f_code.co_firstlineno].add(name)

    steps = steps_by_node()  # made before calls are counted, which is slow
    for name in rules:
        before = sys.getprofile()
        sys.setprofile(called)
        try:
            assert not noticed(steps[name]), name
        finally:
            sys.setprofile(before)
    return callers


def noticed(steps: list[BackwardStep]) -> bool:
    for step in steps:
        try:
            multiply_out(step)
        except (AssertionError, NotStated, ArithmeticError, ValueError, TypeError, LookupError):
            return True
    return False
