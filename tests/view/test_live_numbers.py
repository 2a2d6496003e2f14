"""The numbers of the Expression page at the ends of lines."""

from __future__ import annotations

import pytest

import explorer
from explorer.view.live_numbers import line_ends

SOURCE = "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\nout = (x**2).sum()\nout"


@pytest.mark.parametrize("wanted", [False, True])
def test_values_stand_at_the_ends_of_lines(wanted: bool) -> None:
    named = {2: "[1, 2] · grad [2, 4]", 3: "5 · grad 1 (read by a hook)"} if wanted else {}
    assert line_ends(explorer.run(SOURCE), wanted) == {4: "tensor(5.)"} | named


def test_no_number_is_cut() -> None:
    trace = explorer.run("import torch\ntorch.arange(1, 30) * 1.2345e-10")
    (line,) = line_ends(trace, False).values()
    assert line.endswith(", …")
    assert all(number.endswith("e-10") for number in line[8:-3].split(", ") if number)
