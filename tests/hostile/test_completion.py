"""Texts that are made to be completed wrongly, or never."""

from __future__ import annotations

import pytest

from explorer import limits
from explorer.program import Program, ProgramRefused
from explorer.program.completion import complete


@pytest.mark.parametrize("part", ["sin 2x^", "√x", "|x", "d/dx ", "x→", "(", "f'{x", "\\"])
def test_refuses_a_repeated_notation_with_an_error_for_the_reader(part: str) -> None:
    source = part * (limits.MAX_COMPLETED // len(part))
    with pytest.raises(ProgramRefused):
        Program(source, {})


def test_leaves_a_long_text_as_it_is() -> None:
    source = "x**2 + " * (limits.MAX_COMPLETED // 7) + "1"
    assert complete(source).inputs == {"x": 2.0}
    assert complete(source + " + x**2").code == source + " + x**2"


def test_a_function_of_the_program_is_not_replaced() -> None:
    assert complete("def max(a, b): return 7 * b\nmax(0, x)").code.endswith("out = max(0, x)")


def test_the_name_of_a_function_is_no_input() -> None:
    assert "sin" not in complete("sin^2(x)").inputs
