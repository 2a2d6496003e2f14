"""What completion leaves as it is, tells or offers, and where its lines and values are."""

import math

import numpy as np
import pytest
import torch

import explorer
from explorer.program.completion import complete
from explorer.trace.examples import EXAMPLES
from tests.program.programs import PROGRAMS as LANGUAGE_PROGRAMS
from tests.program.test_completion import check_completed
from tests.trace.programs import PROGRAMS as TRACE_PROGRAMS

pytestmark = pytest.mark.fast


# -- what stays as it is ------------------------------------------------------------------------

COMPLETE = {
    **{
        f"example {example.title}": example.source
        for example in EXAMPLES
        if "import" in example.source
    },
    **{f"trace {name}": source for name, source in TRACE_PROGRAMS.items()},
    **{f"language {name}": source for name, source in LANGUAGE_PROGRAMS.items()},
}


@pytest.mark.parametrize("name", COMPLETE)
def test_a_complete_program_stays_as_it_is(name):
    completed = complete(COMPLETE[name], {"x": 1.0})
    assert completed.code == completed.source == COMPLETE[name]
    assert (completed.inputs, completed.notices, completed.output) == ({}, (), "")


X = "x = torch.tensor(2.0, requires_grad=True)\n"
X3 = X.replace("2.0", "3.0")
#: Names that are no inputs: the message, part of the hint, and the program that is offered.
MISTAKES = {
    "sine(x)": ("The name sine is not defined.", "Did you mean sin?", "sin(x)"),
    "y = sen(x)": ("The name sen is not defined.", "", None),
    "x**2 + x.gard": ("Tensor has no attribute gard.", "Did you mean .grad?", None),
    "torhc.sin(x)": ("The name torhc is not defined.", "Did you mean torch?", "torch.sin(x)"),
    "rate = x*2\nrat1 + 1": ("The name rat1 is not defined.", "rate?", "rate = x*2\nrate + 1"),
    "x": ("The name x is not defined.", "such as x**2", "x**2"),
    "x(x + 1)": ("The name x is not defined.", "For a product, write x*(…).", "x*(x + 1)"),
    "model.fc(x)": ("The name model is not defined.", "Give it a value", None),
    "y = x**2\ndy/dx": ("The name dy is not defined.", "read x.grad", None),
    "plt.plot(x)": ("cannot become a numpy array", "x.detach().numpy()", None),
    X + "y = w*x": (
        "The name w is not defined.", "line above", X.replace("x", "w") + X + "y = w*x",
    ),
    X + "y = x^2": ("The operator ^ is exclusive or", "**", X + "y = x**2"),
    X.replace("2.0", "[1, -2]"): (
        "Only floating-point tensors", "decimal point", X.replace("2.0", "[1.0, -2.0]"),
    ),
    "x = 3.0\ny = x**2\ny.backward()": (
        "float has no attribute backward", "plain number", X3 + "y = x**2\ny.backward()",
    ),
    "x = 3\ntorch.sin(x)": ("needs a tensor", "plain number", X3 + "torch.sin(x)"),
    "d/dx x^2 + 3x": ("not valid Python", "x**2 + 3*x", "x**2 + 3*x"),
    "sin x^2": ("not valid Python", "sin(x**2)", "sin(x**2)"),
    "√2x": ("not valid Python", "sqrt(2)*x", "sqrt(2)*x"),
    "x y": ("not valid Python", "x*y", "x*y"),
    "f'(x)": ("not valid Python", "f(x)", "f(x)"),
    "lambda*x": ("not valid Python", "lambda_", "lambda_*x"),
    r"\frac{x}{2}": ("not valid Python", "without LaTeX", None),
    "hello world": ("not valid Python", "brackets", None),
    "x!": ("not valid Python", "brackets", None),
    "x²\ny =": ("not valid Python", "", None),
}  # fmt: skip


@pytest.mark.parametrize("source", MISTAKES)
def test_a_mistake_is_told_with_the_change_that_may_help(source):
    message, hint, fix = MISTAKES[source]
    error = explorer.run(source).error
    assert error is not None
    assert message in error.message
    assert hint in error.hint
    assert "min" not in error.hint
    assert error.fix == fix
    if fix is not None and "f(x)" not in fix:
        assert explorer.run(fix).error is None


@pytest.mark.parametrize(
    ("source", "title", "fix"),
    [
        ("x = 3\nx**2", "Why is there no gradient?", X3 + "x**2"),
        ("x = 3\ny = sin(x)*x", "Why is there no gradient?", X3 + "y = sin(x)*x"),
        ("x = 3\nx^2", "Why is x^2 not a power?", "x = 3\nx**2"),
        ("f(x) = x^2\nf(3)", "Why is there no gradient?", "def f(x): return x**2\n" + X3 + "f(x)"),
        ("2^10 + 1", "Why is 2^10 + 1 not a power?", "2**10 + 1"),
    ],
)  # fmt: skip
def test_plain_numbers_and_exclusive_or_are_explained(source, title, fix):
    trace = explorer.run(source)
    [answer] = [a for a in trace.answers if a.key.startswith("typed.")]
    assert (answer.title, answer.fix) == (title, fix)
    assert explorer.run(fix).error is None


@pytest.mark.parametrize(
    "source",
    ["n = 3\nfor i in range(n):\n    print(n*i)", "import math\nx = 1\nmath.sin(x)*x", "2 + 2"],
)
def test_other_numbers_are_not_explained(source):
    assert not [a for a in explorer.run(source).answers if a.key.startswith("typed.")]


def test_the_text_keeps_its_lines():
    source = (
        '"""Title."""\nfrom __future__ import annotations\nimport torch\n\ny = x²\nz = (\n  y[5])'
    )
    completed = complete(source)
    assert completed.lines == (1, 2, 3, None, 4, 5, 6, 7)
    trace = explorer.run(source)
    assert (trace.error.line, trace.error.text) == (7, "  y[5])")
    assert [(t.name, t.line) for t in trace.tensors if t.named] == [("x", None), ("y", 5)]
    assert complete("import torch; x**2").code.startswith("import torch\nx = ")
    assert explorer.run(">>> x**2\n4\n>>> x**3\n8").echo[1][0] == 3


def test_an_error_of_a_changed_line_has_no_column():
    assert explorer.run("x² + q(1)").error.column is None
    assert explorer.run("y = x\nprint(y + q(1))").error.column == 10


def test_names_of_the_program_win():
    assert explorer.run("e = 2\nx*e").variables["x"].grad == 2
    assert explorer.run("def sin(t):\n    return t\nsin(x)*3").variables["x"].grad == 3
    assert explorer.run("d = 2\ndx = 3\nd/dx * y").variables["y"].value == 2
    assert explorer.run("out = 5\nx*out").variables["out_"].value == 10
    assert "__x" not in explorer.run("__x**2").inputs


def test_values_and_shapes_of_inputs_can_be_given():
    trace = explorer.run("x**2 + y", inputs={"x": [1, 2], "unused": 3})
    assert trace.inputs == {"x": [1.0, 2.0], "y": 3.0}
    assert trace.variables["x"].grad.tolist() == [2, 4]
    assert trace.needs_upstream == "out"
    assert trace.completed.endswith("\nout.sum().backward()\n")
    mean = explorer.run("x**2 + y", inputs={"x": np.array([1, 2])}, upstream="mean")
    assert mean.variables["x"].grad.tolist() == [1, 2]
    assert mean.completed.endswith("\nout.mean().backward()\n")
    given = explorer.run("x**2", inputs={"x": torch.ones(2)}, upstream=[3, 4])
    assert given.variables["x"].grad.tolist() == [6, 8]
    check_completed(given)
    assert explorer.run("y = x**2 at x=3", inputs={"x": 5}).variables["x"].grad == 10
    for value in (math.nan, [[1], [1, 2]], "1", [], {}):
        with pytest.raises(ValueError, match="x"):
            explorer.run("x**2", inputs={"x": value})


def test_bare_expressions_are_shown_as_in_a_notebook():
    source = "2**10\nx*2\nNone\n'text'\n[1, (2, 3)]\nlambda: 1\nprint(5)\nx.zero_\nx**3"
    assert [(line, text[:9]) for line, text in explorer.run(source).echo] == [
        (1, "1024"), (2, "tensor(4."), (5, "[1, (2, 3"), (9, "tensor(8."),
    ]  # fmt: skip
    numbers = "\n".join(["'a'*3000", *["1 + 1"] * 200])
    echo = explorer.run(numbers).echo
    assert len(echo) == 100
    assert len(echo[0][1]) == 2000 + len("…")
    unkind = "class A:\n    def __repr__(self):\n        return 1/0\nA()\n3"
    assert explorer.run(unkind).echo == ((5, "3"),)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 59_000, "|" * 59_000, "x" + ".a" * 20_000, "-" * 50_000 + "x", "2x+" * 19_000 + "1",
        '"""\\' * 15_000, "'" * 59_000, "a=1," * 14_000 + "2x", "f(x)=x\n" * 500, "√" * 50_000,
        "x" * 100_000, "\x00²", "\ud800²", "sin " * 15_000, "d/dx " * 10_000, "x^" * 20_000 + "x",
        "²", "|", "√", "x²²", "sin²", "x₁₂₃₄", "at x=3", ", x=3", "f(x) =", "→", "x →", "d/dx", "½",
        "𝑥²", "x\f²", "\t2x", "2x\\\n+1", "x = 2x at x=3", "import x\n2y", "__x²", "f(__x)=2__x",
    ],
)  # fmt: skip
def test_any_text_is_completed_or_left_as_it_is(text):
    completed = complete(text)
    assert completed.source == text
    assert complete(completed.code).code == completed.code
    assert not any(name.startswith("__") for name in completed.inputs)
    if completed.lines is not None:
        assert len(completed.lines) == completed.code.count("\n") + 1


@pytest.mark.parametrize("source", ["1/2x", "x / 2y", "e^2x", "x**2y"])
def test_a_product_after_a_quotient_or_power_is_only_offered(source):
    trace = explorer.run(source)
    assert trace.error.fix is not None
    assert not trace.passes
