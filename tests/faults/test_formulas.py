"""A sign, a factor, a comparison or a number that is wrong in the LaTeX of a local rule is noticed
by working the formula out (tests/trace/test_formulas.py)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from explorer.trace.rules import RULES
from tests.trace.test_formulas import NOT_VERIFIED, all_meanings, gives
from tests.trace.tex import NotUnderstood, Tree, parse
from tests.trace.tex_values import Meaning

_TURNED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "=": "!=", "!=": "="}
_PRODUCTS = ("mul", "beside", "div", "star", "star_top", "cross")


def wrong(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """(what is wrong and where, the tree with it) for every small fault of a formula."""
    yield from _wrong_here(tree)
    for place, child in enumerate(tree):
        if isinstance(child, tuple) and child and tree[0] != "index":
            for what, changed in wrong(child):
                yield f"{place}.{what}", (*tree[:place], changed, *tree[place + 1 :])


def _wrong_here(tree: Tree) -> Iterator[tuple[str, Any]]:
    kind, *parts = tree
    if parts[-1:] == [("number", 1.0 if kind in _PRODUCTS else 0.0)] or (
        kind in ("mul", "beside") and parts[0] == ("number", 1.0)
    ):
        return  # nothing is lost without it
    if kind in ("add", "sub"):
        yield "sign turned", ("sub" if kind == "add" else "add", *parts)
        yield "first term dropped", parts[1] if kind == "add" else ("neg", parts[1])
        yield "last term dropped", parts[0]
    elif kind == "neg":
        yield "sign dropped", parts[0]
    elif kind in _PRODUCTS:
        yield "factor dropped", parts[0]
        yield "first factor dropped", ("number", 1.0) if kind == "div" else parts[1]
    elif kind in ("transpose", "inverse", "not", "pow"):
        yield f"{kind} dropped", parts[0]
    elif kind == "compare":
        for place in range(1, len(parts), 2):
            turned = [*parts[:place], _TURNED[parts[place]], *parts[place + 1 :]]
            yield "comparison turned", (kind, *turned)
    elif kind == "number" and isinstance(parts[0], float):
        yield "number + 1", (kind, parts[0] + 1)
    elif kind in ("sum", "mean", "part", "clear"):
        yield f"{kind} dropped", parts[-1 if kind == "sum" else 0]


@pytest.mark.thorough
def test_a_wrong_formula_is_noticed() -> None:
    """Formulas that differ in their numbers alone are one: some step must notice each fault."""
    unnoticed = []
    with np.errstate(all="ignore"):
        for name in sorted(set(RULES) - set(NOT_VERIFIED)):
            passing = defaultdict(list)
            for (slot, text), shown in _by_formula(name).items():
                alike = re.sub(r"[\d.]+", "1", text.replace(r"\odot", r"\cdot"))
                for what, tree in wrong(parse(text)):
                    passes = all(_passes(tree, meaning, grad) for meaning, grad in shown)
                    passing[slot, alike, what].append(passes)
            unnoticed += [(name, *fault) for fault, passed in passing.items() if all(passed)]
    assert unnoticed == []


def _by_formula(name: str) -> dict[tuple[int, str], list[tuple[Meaning, np.ndarray]]]:
    """The steps at which each formula of a rule is shown."""
    shown = defaultdict(list)
    for slot, text, meaning, grad in all_meanings(name):
        shown[slot, text].append((meaning, grad))
    return shown


def _passes(tree: Tree, meaning: Meaning, grad: np.ndarray) -> bool:
    try:
        return gives(tree, meaning, grad)
    except (NotUnderstood, ArithmeticError, ValueError, TypeError, LookupError, RuntimeError):
        return False
