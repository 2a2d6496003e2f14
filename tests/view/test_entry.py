"""One entry of a gradient: the terms that are written add up to what autograd computed."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest

import explorer
from explorer.view.entry import entries_html, matrix_inputs

pytestmark = pytest.mark.fast

PROGRAMS = {
    "softmax": "x = torch.tensor([1., 2., -1.], requires_grad=True)\n"
    "y = torch.softmax(x, 0)\n(y * torch.tensor([1., 3., -2.])).sum().backward()",
    "product": "A = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)\n"
    "B = torch.tensor([[0.5, -1.], [2., 1.]], requires_grad=True)\nC = A @ B\n"
    "(C * C).sum().backward()",
    "convolution": "x = torch.arange(9.).reshape(1, 1, 3, 3).requires_grad_()\n"
    "k = torch.tensor([[[[1., -1.], [2., 0.5]]]], requires_grad=True)\n"
    "F.conv2d(x, k).pow(2).sum().backward()",
}


@pytest.mark.parametrize("key", PROGRAMS)
def test_the_terms_of_every_entry_add_up(key: str) -> None:
    (shown,) = explorer.run(PROGRAMS[key]).passes
    followed = 0
    for step in shown.steps:
        for one in matrix_inputs(step, shown):
            grad = step.grads_out[one.slot].grad
            for index, html in zip(one.entries, entries_html(step, one, one.entries), strict=True):
                text = unescape(re.sub(r"<[^>]*>", " ", html))
                sum_text, total = re.findall(r"there\.(.*) = (\S+)", text)[0]
                sum_text = sum_text.rpartition("is 0.")[2]
                assert float(total) == pytest.approx(float(grad[index]), rel=1e-3)
                if "more" not in sum_text:
                    value = eval(sum_text.replace("·", "*"), {"__builtins__": {}})
                    np.testing.assert_allclose(value, grad[index], rtol=2e-3, atol=1e-4)
                    followed += 1
    assert followed >= 3


def test_where_the_factor_is_a_number_there_is_no_row() -> None:
    (shown,) = explorer.run("x = torch.tensor(2., requires_grad=True)\n(x * x).backward()").passes
    assert [matrix_inputs(step, shown) for step in shown.steps] == [[], []]
