"""The formulas shown for the local rules, worked out, give the gradients autograd gave."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from explorer.trace import BackwardStep
from explorer.trace.rules import RULES
from tests.trace.expressions import program
from tests.trace.meanings import lines_of, meanings
from tests.trace.steps import steps_by_node, steps_from
from tests.trace.tex import NotUnderstood, Tree, parse
from tests.trace.tex_values import Meaning, evaluate

WINDOWS = "which elements a window has, and how many count at the border, is said in words alone"
#: Rules whose formula cannot be worked out, and why.
NOT_VERIFIED = {
    "CopySlices": "what was written through the view is known to the in-place operation alone",
    "AvgPool2DBackward0": WINDOWS,
    "AvgPool3DBackward0": WINDOWS,
    "AdaptiveAvgPool2DBackward0": WINDOWS,
    "AdaptiveAvgPool3DBackward0": WINDOWS,
}


def gives(tree: Tree, meaning: Meaning, grad: np.ndarray) -> bool:
    """Whether the formula gives the gradient where it is finite: 0/0 is left to the words."""
    result = evaluate(tree, meaning)
    if result.shape != grad.shape:
        return False
    finite = np.isfinite(result)
    return np.allclose(result[finite], grad[finite], rtol=3e-4, atol=3e-5) and (
        bool(finite.any()) or grad.size == 0
    )


def all_meanings(name: str) -> Iterator[tuple[int, str, Meaning, np.ndarray]]:
    for step in steps_by_node()[name]:
        yield from meanings(step)


def test_every_formula_gives_the_gradient() -> None:
    for name in set(RULES) - set(NOT_VERIFIED):
        verified = set()
        for slot, text, meaning, grad in all_meanings(name):
            assert gives(parse(text), meaning, grad), (name, slot, text)
            verified.add(slot)
        inputs = {0} if RULES[name].repeat else set(range(len(RULES[name].parts)))
        assert verified >= inputs, f"{name}: inputs {inputs - verified} are not verified"


@pytest.mark.parametrize("name", NOT_VERIFIED)
def test_what_is_not_verified_cannot_be(name: str) -> None:
    for _, text, meaning, grad in all_meanings(name):
        with pytest.raises((NotUnderstood, KeyError)):
            gives(parse(text), meaning, grad)


def numbers_of(step: BackwardStep) -> Iterator[tuple[str, str, Meaning]]:
    """(what is worked out, its result, the letters of large arrays) of each line with numbers."""
    for (_, _, meaning, _), line in zip(meanings(step), lines_of(step.numbers), strict=False):
        formula, *named = line.split(r",\ ")
        if " = " in formula:
            formula, result = formula.rsplit(" = ", 1)
            yield r",\ ".join([formula, *named]), result, meaning


def test_the_numbers_of_element_wise_rules_multiply_out() -> None:
    seen = set()
    for name, rule in RULES.items():
        for step in steps_by_node()[name] if rule.elementwise else ():
            for formula, result, meaning in numbers_of(step):
                try:
                    wanted = evaluate(parse(result), Meaning({}))
                    meaning.shape = wanted.shape
                    shown = evaluate(parse(formula), meaning)
                except NotUnderstood:  # the result is named by its shape alone
                    continue
                np.testing.assert_allclose(
                    *np.broadcast_arrays(shown, wanted), rtol=5e-3, atol=2e-3, err_msg=step.numbers
                )
                seen.add(name)
    assert len(seen) >= 106


def test_a_wrong_formula_would_be_noticed() -> None:
    assert program("a - b")
    step = next(step for step in steps_from("a - b") if step.name == "SubBackward0")
    _, (slot, text, meaning, grad) = meanings(step)
    assert (slot, text) == (1, "-G")
    assert gives(parse("-G"), meaning, grad)
    assert not gives(parse("G"), meaning, grad)
