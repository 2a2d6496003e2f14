"""Exercises: torch's own number is right, and a wrong one is met by what it would be right for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import explorer
from explorer.lessons import factor_exercise, gradient_exercise, parse_answer
from explorer.lessons.exercises import Exercise

pytestmark = pytest.mark.fast

CHAIN = "a = 2 * x\nb = sin(a)\ny = exp(b)"
PATHS = "square = x**2\nline = 5 * x\ny = square + line"
MEAN = """\
import torch
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.mean()
out.backward()"""
BROADCAST = """\
import torch
x = torch.tensor([1.0, 2.0])
s = torch.tensor(3.0, requires_grad=True)
y = x * s
y.sum().backward()"""
TWICE = """\
import torch
w = torch.tensor(2.0, requires_grad=True)
for i in range(2):
    loss = 3 * w
    loss.backward()"""


def gradient(source: str, name: str, **inputs: float) -> Exercise:
    exercise = gradient_exercise(explorer.run(source, inputs=inputs), name)
    assert exercise is not None
    return exercise


def factor(source: str, asked: str, **inputs: float) -> Exercise:
    exercise = factor_exercise(explorer.run(source, inputs=inputs), asked)
    assert exercise is not None
    return exercise


def said(exercise: Exercise, text: str) -> str:
    answer = parse_answer(text)
    assert answer is not None
    assert not exercise.is_right(answer)
    return exercise.explain(answer)


def test_torch_has_the_answer() -> None:
    x = torch.tensor(0.25, requires_grad=True)
    a = 2 * x
    b = torch.sin(a)
    y = torch.exp(b)
    y.backward()
    exercise = gradient(CHAIN, "x", x=0.25)
    assert x.grad is not None
    assert exercise.is_right(np.array(x.grad.item()))
    for asked, derivative in [
        ("y -> b", y),
        ("b -> a", torch.cos(a)),
        ("a -> x", torch.tensor(2.0)),
    ]:
        right = factor(CHAIN, asked, x=0.25)
        assert right.is_right(np.array(derivative.item())), asked
        assert not right.is_right(np.array(1.01 * derivative.item()))


def test_the_edge_and_the_step_are_those_of_the_factor() -> None:
    trace = explorer.run(CHAIN)
    exercise = factor_exercise(trace, "b -> a")
    assert exercise is not None
    shown = trace.passes[0]
    assert exercise.step is not None
    assert shown.steps[exercise.step].name == "SinBackward0"
    assert exercise.edge in {f"{edge.source}-{edge.target}" for edge in shown.edges}


def test_of_a_gradient_that_is_added_to_another_the_step_is_the_addition() -> None:
    step = gradient(TWICE, "w").step
    assert step is not None
    assert explorer.run(TWICE).passes[-1].steps[step].before is not None


@pytest.mark.parametrize(
    ("exercise", "text", "sentence"),
    [
        (gradient(CHAIN, "x", x=0.25), "1.4174", "the gradient of a, without the inner derivative"),
        (
            gradient(CHAIN, "x", x=0.25),
            "2",
            "That is 2 alone, the derivative of a with respect to x",
        ),
        (gradient(CHAIN, "x", x=0.25), "-2.8348", "Only the sign is wrong."),
        (gradient(CHAIN, "x", x=0.25), "0.25", "the value of x, not its gradient"),
        (gradient(CHAIN, "x", x=0.25), "1.6151", "That is the gradient of b."),
        (gradient(CHAIN, "a", x=0.25), "0.8776", "That is cos(a) = 0.87758 alone"),
        (gradient(CHAIN, "x", x=0.25), "1.7552", "The factor at y is left out: 1.6151."),
        (gradient(CHAIN, "x", x=0.25), "3.2303", "The factor at b is left out: 0.87758."),
        (gradient(CHAIN, "x", x=0.25), "None", "x.grad is not None."),
        (gradient(CHAIN, "x", x=0.25), "5.6697", "It is 2 times too large."),
        (gradient(CHAIN, "x", x=0.25), "7.7", "That is not it yet."),
        (gradient(PATHS, "x", x=3.0), "6", "arrives through square. 2 parts meet at x"),
        (gradient(PATHS, "x", x=3.0), "5", "arrives through line. 2 parts meet at x"),
        (gradient(MEAN, "x"), "[18, 24]", "out divides by 2: that is left out."),
        (gradient(MEAN, "x"), "[3, 4]", "The factor at z is left out: 3."),
        (gradient(MEAN, "x"), "[9, 13]", "1 of 2 numbers are right."),
        (gradient(MEAN, "x"), "9", "You entered 1 number; the answer has 2."),
        (gradient(BROADCAST, "s"), "[1, 1]", "[1, 2] and add up the products, because s was"),
        (gradient(BROADCAST, "s"), "[1, 2]", "Those are the products. s was broadcast"),
        (gradient(TWICE, "w"), "3", "what the last backward adds. w.grad held 3 before it."),
        (gradient("y = x.detach() * 2 + b", "x"), "1", "x.grad is None after this program."),
        (factor(CHAIN, "b -> a", x=0.25), "1.4174", "That is the gradient of a"),
        (factor(CHAIN, "b -> a", x=0.25), "1.6151", "the gradient that arrives at b"),
        (factor(CHAIN, "b -> a", x=0.25), "0.5", "the value of a, not a derivative"),
        (factor(CHAIN, "b -> a", x=0.25), "-0.87758", "Only the sign is wrong."),
        (factor(CHAIN, "a -> x", x=0.3), "0.5", "upside down"),
        (factor(PATHS, "square -> x", x=3.0), "9", "the value of square"),
    ],
)
def test_a_wrong_number_is_met_by_what_it_is(exercise: Exercise, text: str, sentence: str) -> None:
    assert sentence in said(exercise, text)


@pytest.mark.parametrize("source", [CHAIN, PATHS, MEAN, TWICE])
def test_no_mistake_is_right(source: str) -> None:
    trace = explorer.run(source)
    for record in trace.tensors:
        exercise = gradient_exercise(trace, record.name)
        for mistake in exercise.mistakes if exercise else ():
            assert not exercise.is_right(mistake.numbers), (record.name, mistake.sentence)


@pytest.mark.parametrize(
    ("text", "grad", "right"),
    [
        ("[[9, 12]]", [[9.0, 12.0]], True),
        ("[9, 12]", [[9.0, 12.0]], True),
        ("[9, 13]", [[9.0, 12.0]], False),
        ("0.33", 1 / 3, False),
        ("0.333", 1 / 3, True),
    ],
)
def test_an_answer_is_compared_with_the_digits_shown(text: str, grad: object, right: bool) -> None:
    answer = parse_answer(text)
    assert answer is not None
    assert Exercise("x.grad", np.array(grad)).is_right(answer) == right


def test_none_is_an_answer() -> None:
    none, one = parse_answer("None"), parse_answer("1")
    assert none is not None
    assert one is not None
    assert Exercise("x.grad", None).is_right(none)
    assert not Exercise("x.grad", None).is_right(one)
    assert not Exercise("x.grad", np.array(1.0)).is_right(none)


@pytest.mark.parametrize("text", ["", "x", "[1, 'a']", "[[1], [2, 3]]", "__import__('os')", "[]"])
def test_what_is_no_number_is_no_answer(text: str) -> None:
    assert parse_answer(text) is None


def test_what_is_not_there_is_no_exercise() -> None:
    trace = explorer.run(CHAIN)
    assert gradient_exercise(trace, "nothing") is None
    assert factor_exercise(trace, "y -> x") is None  # no edge
    assert factor_exercise(trace, "nothing") is None
    assert gradient_exercise(explorer.run("1 +"), "x") is None
