"""The places of leaves' numbers in a text."""

import pytest

from explorer.program.literals import leaf_literals


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("a = torch.tensor(2.0, requires_grad=True)", "2.0"),
        ("a = torch.tensor(-3, dtype=torch.float32).requires_grad_()", "-3"),
        ("a = nn.Parameter(torch.tensor(1e-3))", "1e-3"),
        ("é = torch.tensor(0.5, requires_grad=True)", "0.5"),
    ],
)
def test_the_number_of_a_leaf_is_where_it_stands(line: str, number: str) -> None:
    (literal,) = leaf_literals(f"import torch\n{line}\n")
    assert literal.line == 2
    assert line[literal.column : literal.end] == literal.text == number
    assert literal.value == float(number)
    assert literal.name == line[0]


def test_lists_have_a_place_for_each_number() -> None:
    source = "a = torch.tensor([[1.0, -2],\n  [b, 3e1]])"
    found = {each.index: (each.line, each.value, each.start) for each in leaf_literals(source)}
    assert found == {(0, 0): (1, 1, 1), (0, 1): (1, -2, 1), (1, 1): (2, 30, 1)}


@pytest.mark.parametrize(
    "line",
    [
        "a = torch.randn(3)",
        "a = torch.tensor([[[1.0]]])",
        "a = 2.0",
        "a = torch.tensor(2.0) + torch.tensor(1.0)",
        "a, b = torch.tensor(1.0), 2",
        "def f():\n    a = torch.tensor(2.0)",
        "a = torch.tensor(True)",
        "a = torch.tensor(b)",
        "a = torch.tensor(",
        "a = tensor()",
        "(" * 500 + ")" * 500,
    ],
)
def test_anything_else_has_none(line: str) -> None:
    assert leaf_literals(line) == []
