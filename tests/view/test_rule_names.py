"""A rule in the program's names says nothing false, and is LaTeX that can be shown."""

from __future__ import annotations

import re

import pytest

import explorer
from explorer.trace.examples import EXAMPLES
from explorer.view.mathml import math_html
from explorer.view.rule_names import Rule, named_rule

pytestmark = pytest.mark.fast


def rules(source: str) -> list[Rule]:
    shown = explorer.run(f"x = torch.tensor(2., requires_grad=True)\n{source}").passes[0]
    return [named_rule(step, shown) for step in shown.steps]


def test_the_names_are_the_programs() -> None:
    first, second, _ = rules("y = torch.sin(x)\nout = 3 * y\nout.backward()")
    assert first.formula.startswith(r"\frac{\partial \text{out}}{\partial y} = ")
    assert second.formula.endswith(r"\frac{\partial \text{out}}{\partial y} \cdot \cos(x)")
    assert first.letters == second.letters == ""


@pytest.mark.parametrize("source", ["y = x**2 + 3 * x", "y = x * x", "y = (x * x).sin() * x"])
def test_what_is_a_part_of_a_gradient_says_so(source: str) -> None:
    trace = explorer.run(f"x = torch.tensor(2., requires_grad=True)\n{source}\ny.backward()")
    lines = [
        line
        for step in trace.passes[0].steps
        for line in named_rule(step, trace.passes[0]).numbers.split(r"\\")
        if r"{\partial x}" in line
    ]
    assert len(lines) > 1
    assert all(r"\text{part of }" in line for line in lines)
    parts = [float(line.split("=")[-1].split(r"\end")[0]) for line in lines]
    assert sum(parts) == pytest.approx(float(trace.variables["x"].grad), rel=1e-4)


def test_a_gradient_that_comes_from_one_place_is_no_part() -> None:
    for rule in rules("y = torch.sin(x) ** 2\ny.backward()"):
        assert "part of" not in rule.formula + rule.numbers


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("y = x**2\ny.backward(torch.tensor(5.))", "gradient that backward started with"),
        ("y = x**2\ny.register_hook(lambda g: 7 * g)\nz = 3 * y\nz.backward()", "A hook changed"),
        ("b = torch.exp(x + x**2 * 3)\nb.backward()", "u is the first input"),
        ("x = 3 * x\nx = x**2\nx.backward()", "G is the gradient that arrives"),
        ("G = x**2 * 3 + x\nG.backward()", "r is the gradient that arrives|u is"),
    ],
)
def test_what_has_no_clear_name_gets_a_letter_that_is_explained(source: str, said: str) -> None:
    assert any(re.search(said, rule.letters) for rule in rules(source))


def test_a_letter_is_never_one_of_the_program() -> None:
    for rule in rules("a, u = x * 2, x * 3\n(torch.exp(a * u + 1) * u).sum().backward()"):
        assert not re.search(r"\b[axu] is the", rule.letters)


def test_there_are_letters_for_a_program_that_has_all() -> None:
    source = "u, v, r, s, t, p, q, k, z = [x * i for i in range(1, 10)]\n"
    source += "(torch.exp(u + v + r + s + t + p + q + k + z + 1) * x * 3).backward()"
    assert any("u_1 is the" in rule.letters for rule in rules(source))


def test_the_name_of_a_leaf_is_no_latex() -> None:
    key = r"}$$ [a](b) \href{c}{d}"
    source = f"d = {{{key!r}: torch.tensor(1., requires_grad=True)}}\n(d[{key!r}] * x).backward()"
    assert not any("href" in rule.formula + rule.numbers for rule in rules(source))


def test_a_transpose_of_a_transpose_is_none() -> None:
    source = "W = torch.ones(3, 1, requires_grad=True)\ny = (W @ x.reshape(1, 1)).T @ W"
    formulas = [rule.formula for rule in rules(f"{source}\ny.sum().backward()")]
    assert not any(re.search(r"\\top\}\s*\^\{\\top", formula) for formula in formulas)


def test_every_rule_of_the_examples_becomes_mathml() -> None:
    for example in EXAMPLES:
        for shown in explorer.run(example.source).passes[:1]:
            for step in shown.steps[:40]:
                rule = named_rule(step, shown)
                for tex in filter(None, (rule.formula, rule.numbers)):
                    assert "<math" in math_html(tex), tex
