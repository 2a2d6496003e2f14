"""A sign, an operator, a number or a saved value that is wrong in one of the local rules is noticed
by multiplying the rules out against what autograd did (tests/trace/test_rules.py)."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from explorer import trace
from explorer.trace import BackwardStep
from explorer.trace.rules import RULES, NotStated
from tests.faults.changed import loaded, path_of
from tests.faults.corners import CORNERS
from tests.trace.expressions import EXPRESSIONS, program
from tests.trace.test_rules import multiply_out, steps_of

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


def faults(text: str) -> Iterator[tuple[str, str, str]]:
    """(rule or "", what was changed, the module with it) for what is computed, one at a time.

    A fault in a function of the module's own may show in any of its rules: then "" is given.
    """
    tree = ast.parse(text)
    for rule, place in [*_parts(tree), *_functions(tree)]:
        for node in _numeric(place):
            for what, undo in _changed(node):
                yield rule, f"{what} in {ast.unparse(place)[:60]}", ast.unparse(tree)
                undo()


def _parts(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The lambdas that work a part of a rule out, with the node's name."""
    for table in ast.walk(tree):
        for key, value in zip(table.keys, table.values, strict=True) if _is_table(table) else ():
            if isinstance(value, ast.Call):
                tuples = [k.value for k in value.keywords if isinstance(k.value, ast.Tuple)]
                yield from ((key.value, t.elts[-1]) for t in tuples)
            elif isinstance(value, ast.Tuple):  # functions.py: the formula, the derivative
                yield f"{key.value}Backward0", value.elts[-1]


def _is_table(node: ast.AST) -> bool:
    return isinstance(node, ast.Dict) and all(isinstance(k, ast.Constant) for k in node.keys)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    return (("", node) for node in tree.body if isinstance(node, ast.FunctionDef))


def _numeric(place: ast.AST) -> Iterator[ast.AST]:
    """What is below, but nothing that makes text: formulas are held to their numbers elsewhere."""
    makes_text = isinstance(place, ast.FunctionDef) and ast.unparse(place.returns or place) == "str"
    if makes_text or isinstance(place, ast.JoinedStr):
        return
    if isinstance(place, ast.Lambda) and any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and "<" in str(n.value))
        for n in ast.walk(place)
    ):
        return
    yield place
    for child in ast.iter_child_nodes(place):
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


@pytest.fixture(scope="module")
def steps() -> dict[str, list[BackwardStep]]:
    """By node, steps of the vocabulary's expressions, as autograd did them."""
    found = defaultdict(list)
    for expression in [*CORNERS, *(e for group in EXPRESSIONS.values() for e in group)]:
        for step in steps_of(trace.run(program(expression))):
            found[step.name].append(step)
    return found


def noticed(steps: list[BackwardStep]) -> bool:
    for step in steps:
        try:
            multiply_out(step)
        except (AssertionError, NotStated, ArithmeticError, ValueError, TypeError, IndexError):
            return True
    return False


#: By module, faults that nothing notices: judged in docs/quality.md. It may only get fewer.
UNNOTICED = {
    "arithmetic": 3, "functions": 12, "linear": 7, "losses": 4, "reductions": 11, "scans": 0,
    "shapes": 9, "indexing": 2, "layers": 20,
}  # fmt: skip


def test_the_corners_multiply_out(steps: dict[str, list[BackwardStep]]) -> None:
    for expression in CORNERS:
        assert trace.run(program(expression)).error is None, expression
    with np.errstate(all="ignore"):
        for name, found in steps.items():
            for step in found if name in RULES else ():
                multiply_out(step)


@pytest.mark.parametrize("module", UNNOTICED)
def test_a_wrong_rule_is_noticed(
    module: str, steps: dict[str, list[BackwardStep]], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = f"{PACKAGE}.{module}"
    text = path_of(full).read_text()
    mine = [name for name in loaded(full, text).RULES if name in steps]
    unnoticed = []
    for rule, what, changed in faults(text):
        rules = loaded(full, changed).RULES
        looked_at = [rule] if rule else mine
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            for name in looked_at:
                patch.setitem(RULES, name, rules[name])
            if not any(noticed(steps[name]) for name in looked_at):
                unnoticed.append(f"{rule} {what}")
    assert len(unnoticed) <= UNNOTICED[module], unnoticed
