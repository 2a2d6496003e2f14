"""The rows of the tensor table."""

from __future__ import annotations

import numpy as np
import pytest

import explorer
from explorer import limits
from explorer.trace import TensorRecord
from explorer.trace.records import AutogradState, WhyNone
from explorer.view import tensors

pytestmark = pytest.mark.fast


def record(number: int = 0, **changed: object) -> TensorRecord:
    plain: dict[str, object] = {
        "id": number,
        "name": "t",
        "line": 2,
        "shape": (1,),
        "dtype": "float32",
        "requires_grad": True,
        "is_leaf": True,
        "value": np.ones(1),
    }
    return TensorRecord(**(plain | changed))  # type: ignore[arg-type]


def test_a_gradient_says_where_it_was_seen() -> None:
    (row,) = tensors.tensor_rows([record(grad=np.array([2.0]), grad_from=".grad")])
    assert row.cells[-2:] == ("[2]", ".grad")
    assert len(row.cells) == len(tensors.tensor_columns([record()]))
    assert row.kind == "leaf"
    assert row.note == ""
    assert (row.tensor, row.line) == (0, 2)  # what hovering marks


def test_a_tangent_has_a_column_only_where_there_is_one() -> None:
    plain, dual = record(), record(1, autograd=AutogradState(tangent=np.array([3.0])))
    titles = [c.title for c in tensors.tensor_columns([plain, dual])]
    place = titles.index("Tangent")
    assert titles[place - 1] == "Value"
    rows = tensors.tensor_rows([plain, dual])
    assert [row.cells[place] for row in rows] == ["", "[3]"]
    assert "Tangent" not in [c.title for c in tensors.tensor_columns([plain])]


def test_an_inference_tensor_is_marked() -> None:
    (row,) = tensors.tensor_rows(
        [record(requires_grad=False, autograd=AutogradState(is_inference=True))]
    )
    assert "inference tensor" in row.cells


def test_a_none_says_why() -> None:
    (row,) = tensors.tensor_rows([record(why_none=WhyNone("It was never used."))])
    assert row.cells[-1] == "None"
    assert row.note == "It was never used."


def test_a_gradient_from_a_hook_says_why_grad_is_none() -> None:
    seen = record(is_leaf=False, grad=np.ones(1), grad_from="hook", why_none=WhyNone("No leaf."))
    (row,) = tensors.tensor_rows([seen])
    assert row.cells[-1] == "a hook"
    assert row.note == ".grad is None: No leaf."


@pytest.mark.parametrize("size", [(8, 4), (3, 5), (2, 2, 3), (9,), (1, 1)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_numbers_fit_and_begin_with_the_first(size: tuple[int, ...], scale: float) -> None:
    value = np.random.default_rng(0).normal(size=size) * scale
    (row,) = tensors.tensor_rows([record(value=value, shape=size)])
    lines = row.cells[6].split("\n")
    assert max(map(len, lines)) <= 28
    shown = lines[0].strip("[] ").removesuffix(", …").rstrip("]").split(",")
    first = np.atleast_1d(value.reshape(-1, size[-1])[0])[: len(shown)]
    np.testing.assert_allclose([float(n) for n in shown], first, rtol=1e-4)
    assert lines[0].startswith("[" * len(size))


def test_four_short_numbers_are_all_shown() -> None:
    (row,) = tensors.tensor_rows([record(value=np.arange(1.0, 5.0))])
    assert row.cells[6] == "[1, 2, 3, 4]"


def test_a_long_table_is_cut() -> None:
    assert len(tensors.tensor_rows([record(i) for i in range(500)])) == limits.TABLE_ROWS


STEPS = """import torch
w = torch.tensor(5.0, requires_grad=True)
for i in range(3):
    loss = (w - 1) ** 2
    w.grad = None
    loss.backward()
    with torch.no_grad():
        {update}
"""


@pytest.mark.parametrize("update", ["w -= 0.1 * w.grad", "w.data = w.data - 0.1 * w.grad"])
def test_each_value_of_a_leaf_has_its_own_gradient(update: str) -> None:
    """Not the gradient at the end, which belongs to the last of them."""
    trace = explorer.run(STEPS.format(update=update))
    shown = [t for t in tensors.shown_tensors(trace) if t.name == "w"]
    pairs = [(float(t.value), float(t.grad)) for t in shown[:3]]
    assert pairs == [(value, pytest.approx(2 * (value - 1))) for value, _ in pairs]
    last = shown[3]
    assert float(last.grad) == pytest.approx(pairs[2][1])
    assert last.note == "changed since backward filled .grad"


def test_a_value_that_no_backward_went_through_has_no_gradient() -> None:
    trace = explorer.run(
        "import torch\nw = torch.tensor(1.0, requires_grad=True)\n"
        "with torch.no_grad():\n    w *= 3\n(w**2).backward()"
    )
    first, second = (t for t in tensors.shown_tensors(trace) if t.name == "w")
    assert first.grad is None
    assert "No backward" in first.why_none.text
    assert (float(second.grad), second.note) == (6.0, "")


def test_what_grad_returns_is_not_missing_for_a_later_change() -> None:
    trace = explorer.run(
        "import torch\nw = torch.tensor(2.0, requires_grad=True)\n"
        "(g,) = torch.autograd.grad(w**2, w)\nwith torch.no_grad():\n    w -= 0.1 * g"
    )
    first, *_ = (t for t in tensors.shown_tensors(trace) if t.name == "w")
    assert "returns gradients" in first.why_none.text


@pytest.mark.parametrize("change", ["w -= 0.1 * w.grad", "w.fill_(7.0)"])
def test_a_value_that_came_after_backward_says_so(change: str) -> None:
    trace = explorer.run(
        "import torch\nw = torch.tensor(2.0, requires_grad=True)\n(w**2).backward()\n"
        f"with torch.no_grad():\n    {change}"
    )
    *_, last = (t for t in tensors.shown_tensors(trace) if t.name == "w")
    assert (float(last.grad), last.note) == (4.0, "changed since backward filled .grad")
