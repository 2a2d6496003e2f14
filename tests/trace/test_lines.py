"""On which line something happens: that of the statement that does it, wherever it has been."""

import pytest

from explorer.trace import run

pytestmark = pytest.mark.fast

PROGRAM = """\
import torch
def f(x):
    a = x.sin()
    return a
x = torch.ones(2, requires_grad=True)
y = torch.abs(f(x) * 2) + f(x).exp()
z = sum(map(f, [x, x]))
f(x * 3).sum().backward()
w = torch.ones(1, requires_grad=True)
torch.optim.SGD([w], lr=f(torch.zeros(1)).item()).step()
"""


def test_what_follows_a_call_belongs_to_the_statement_that_called() -> None:
    trace = run(PROGRAM)
    lines = {record.name: record.line for record in trace.tensors}
    assert lines["f.a_1"] == 3
    assert {lines["f(x) * 2"], lines["f(x).exp()"], lines["y"]} == {6}
    assert {lines["add"], lines["z"]} == {7}  # inside sum
    assert [(event.kind, event.line) for event in trace.events] == [("backward", 8), ("step", 10)]
    assert trace.passes[0].line == 8


def test_what_a_loop_asks_for_belongs_to_its_line() -> None:
    """A dataset's tensors are made where the loop takes them, not where the last turn ended."""
    trace = run(
        "import torch\nfrom torch.utils.data import DataLoader\n"
        "loader = DataLoader(torch.arange(6.0), batch_size=2)\n"
        "w = torch.ones(1, requires_grad=True)\n"
        "total = 0.0\n"
        "for batch in loader:\n"
        "    loss = (w * batch).sum()\n"
        "    total += loss.item()\n"
        "    if total > 99:\n"
        "        break\n"
    )
    batches = [record for record in trace.tensors if record.name == "batch"]
    assert [record.line for record in batches] == [6, 6, 6]
    assert all("cut" not in (record.why_none.text if record.why_none else "") for record in batches)
