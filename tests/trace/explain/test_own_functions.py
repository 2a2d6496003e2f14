"""A Function of the program's own whose backward does not use the incoming gradient."""

from __future__ import annotations

import pytest

from tests.trace.explain.proved import proved

SQUARE = """\
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x

w = torch.tensor([1.0, 3.0], requires_grad=True)
loss = Square.apply(w).mean()
loss.backward()
print(w.grad)
"""


def test_the_gradient_that_is_not_used_is_told_and_its_cure_works() -> None:
    trace = proved(SQUARE)
    (answer,) = trace.answers
    assert answer.key == "function.wrong"
    assert "grad_output (line 10)" in answer.text
    assert "[0.5, 0.5]" in answer.text
    assert answer.fix == SQUARE.replace("2 * x\n", "grad_output * (2 * x)\n")
    assert "w.grad is [1, 3] instead of [2, 6]" in answer.tried


def test_ones_of_its_shape_do_not_use_it() -> None:
    trace = proved(SQUARE.replace("2 * x\n", "2 * x * torch.ones_like(grad_output)\n"))
    assert [answer.key for answer in trace.answers] == ["function.wrong"]


PRODUCT = """\
import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w, None

x = torch.tensor([1.0, 2.0])
w = torch.tensor([3.0, 4.0], requires_grad=True)
Product.apply(x, w).sum().backward()
print(w.grad)
"""


def test_none_for_an_input_that_requires_grad_is_told() -> None:
    answers = proved(PRODUCT).answers
    assert [answer.key for answer in answers] == ["function.none"]
    assert "w is input 2 of Product, and Product.backward (line 10)" in answers[0].text


@pytest.mark.parametrize(
    "program",
    [
        SQUARE.replace("return 2 * x", "return grad_output * 2 * x"),
        SQUARE.replace("return 2 * x", "return grad_output"),
        SQUARE.replace(".mean()", ".sum()"),
        SQUARE.replace("grad_output", "*grads").replace("return 2 * x", "return 2 * x * grads[0]"),
        PRODUCT.replace("* w, None", "* w, grad_output * x"),
    ],
    ids=["it is used", "straight through", "it is 1", "all arguments", "both gradients"],
)
def test_a_look_alike_gets_no_answer(program: str) -> None:
    assert proved(program).answers == ()
