"""Rewriting `match`: each `case` becomes an `if` that asks the guard whether its pattern matches.

`case P(x) if x > 0:` becomes
`if (.match0 := .match(.subject0, pattern, P)) is not None and (x := .match0["x"],) and x > 0:`.
"""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from explorer.language.guard.matching import Spec

if TYPE_CHECKING:
    from explorer.language.rewrite.statements import StatementRewriter


def rewrite_match(rewriter: StatementRewriter, node: ast.Match) -> list[ast.stmt]:
    """The statements in the place of a `match`."""
    subject, found = f".subject{node.lineno}", f".match{node.lineno}"
    value = rewriter.transform(node.subject)
    first = ast.copy_location(ast.Assign([ast.Name(subject, ast.Store())], value), node)
    cases = [_case(rewriter, case, subject, found) for case in node.cases]
    for case, following in pairwise(cases):
        case.orelse = [following]
    return [first, cases[0]]


def _case(rewriter: StatementRewriter, case: ast.match_case, subject: str, found: str) -> ast.If:
    operands: list[ast.expr] = []
    names: dict[str, None] = {}
    spec = ast.Constant(_spec(case.pattern, operands, names))  # type: ignore[arg-type]
    values = [rewriter.transform(operand) for operand in operands]
    call = rewriter.call("match", case.pattern, ast.Name(subject, ast.Load()), spec, *values)
    result = ast.NamedExpr(ast.Name(found, ast.Store()), call)
    tests: list[ast.expr] = [ast.Compare(result, [ast.IsNot()], [ast.Constant(None)])]
    if names:
        tests.append(ast.Tuple([_capture(name, found) for name in names], ast.Load()))
    if case.guard is not None:
        tests.append(rewriter.transform(case.guard))
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    binds = rewriter.make_binds(case.pattern, [*names])
    body = rewriter.rewrite_block(case.body, binds)
    return ast.copy_location(ast.If(test, body, []), case.pattern)


def _capture(name: str, found: str) -> ast.expr:
    value = ast.Subscript(ast.Name(found, ast.Load()), ast.Constant(name), ast.Load())
    return ast.NamedExpr(ast.Name(name, ast.Store()), value)


def _spec(pattern: Any, operands: list[ast.expr], names: dict[str, None]) -> Spec:
    """The pattern as data; what has to be computed is added to `operands`, what it binds to
    `names`."""

    def name(bound: str | None) -> str | None:
        if bound is not None:
            names[bound] = None
        return bound

    def operand(value: ast.expr) -> int:
        operands.append(value)
        return len(operands) - 1

    def specs(patterns: list[Any]) -> tuple[Spec, ...]:
        return tuple(_spec(part, operands, names) for part in patterns)

    match pattern:
        case ast.MatchValue(value):
            return ("value", operand(value))
        case ast.MatchSingleton(value):
            return ("is", value)
        case ast.MatchOr(patterns):
            return ("or", *specs(patterns))
        case ast.MatchSequence(patterns):
            stars = [i for i, part in enumerate(patterns) if isinstance(part, ast.MatchStar)]
            rest = name(getattr(patterns[stars[0]], "name", None)) if stars else None
            others = [part for part in patterns if not isinstance(part, ast.MatchStar)]
            return ("sequence", specs(others), stars[0] if stars else None, rest)
        case ast.MatchMapping(keys, patterns, rest):
            places = tuple(map(operand, keys))
            return ("mapping", places, specs(patterns), name(rest))
        case ast.MatchClass(cls, patterns, keywords, keyword_patterns):
            place = operand(cls)
            return ("class", place, specs([*patterns, *keyword_patterns]), tuple(keywords))
        case ast.MatchAs(inner, bound):
            inner_spec = None if inner is None else _spec(inner, operands, names)
            return ("as", inner_spec, name(bound))
    raise TypeError(f"not a pattern: {pattern}")
