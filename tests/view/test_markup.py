"""What is said of a run, against plain PyTorch and the arithmetic of its program."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import explorer
from explorer.trace import Summary
from explorer.trace.check import check
from explorer.trace.examples import EXAMPLES
from explorer.ui.pages import page
from explorer.ui.widgets import glossary_dialog
from explorer.view import answers, checks, events, tensors

pytestmark = pytest.mark.fast

CHANGED = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y *= 3
y.sum().backward()
"""
SOURCES = {example.key: example.source for example in EXAMPLES}


def words(html: str) -> str:
    return re.sub("<[^>]*>", "", html)


def both(source: str) -> checks.CaptureComparison:
    return checks.compare_captures(
        explorer.run(source), explorer.run(source, capture="retain_grad")
    )


def test_bytes_are_those_of_the_non_leaves() -> None:
    found = both(SOURCES["two_layers"])
    # z1, y1, z2, y2, y2 - y and its square hold two numbers, the sum and the loss one.
    assert found.retained == 4 * (6 * 2 + 2)
    assert not found.differ
    assert "same gradients" in checks.captures_html(found)


def test_a_change_in_place_makes_them_differ() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    seen: list[torch.Tensor] = []
    y.register_hook(seen.append)
    y.retain_grad()
    y *= 3
    y.sum().backward()
    found = both(CHANGED)
    (hooked, retained), *rest = found.differ
    assert not rest
    assert hooked.name == "y"
    np.testing.assert_array_equal(hooked.grad, seen[0])
    assert y.grad is not None
    np.testing.assert_array_equal(retained.grad, y.grad)
    assert "[3, 3]" in checks.captures_html(found)
    assert found.retained == y.numel() * 4 + 4  # y once, and its sum


def test_the_largest_deviation_is_said() -> None:
    shown = checks.check_html(check(SOURCES["two_layers"]))
    assert "Largest deviation" in shown
    assert shown.count("<td>agrees</td>") == 2


def test_a_wrong_backward_is_named() -> None:
    shown = checks.check_html(check(SOURCES["wrong_backward"]))
    assert "The gradient of x is wrong." in shown
    assert "ax-differs" in shown


def test_a_kink_is_named() -> None:
    shown = checks.check_html(check(SOURCES["corner"]))
    assert "no derivative here" in shown
    assert "x[1]" in shown


def test_what_was_not_checked_says_why() -> None:
    shown = checks.check_html(check("import torch\nx = torch.ones(2)\n"))
    assert shown.startswith('<div class="ax-note">Not checked: ')
    assert len(shown) > 60


def test_names_are_escaped_everywhere() -> None:
    source = (
        'import torch\nd = {"<b>": torch.ones(2, requires_grad=True)}\nd["<b>"].sum().backward()\n'
    )
    trace = explorer.run(source)
    record = next(t for t in trace.tensors if "<b>" in t.name)
    for shown in (
        tensors.facts(record),
        events.events_html(trace.events),
        checks.check_html(check(source)),
        glossary_dialog.terms_html("<b>", page("expression")),
    ):
        assert "<b>" not in shown.replace("<b>d[", "").replace("<b>1</b>", "").replace(
            "<b>Largest", ""
        )


def test_events_stand_in_order_with_their_changes() -> None:
    trace = explorer.run(SOURCES["loop"])
    shown = words(events.events_html(trace.events))
    assert shown.index("zero_grad") < shown.index("backward") < shown.index("SGD.step")
    assert "w: 1 → 0.76" in shown


def test_what_was_not_there_is_none_and_what_is_large_says_so() -> None:
    trace = explorer.run(
        "import torch\nw = torch.ones(9, 9, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([w], lr=1)\n"
        "w.sum().backward()\noptimizer.step()\noptimizer.zero_grad()\n"
    )
    shown = words(events.events_html(trace.events))
    assert "w.grad: None → (9, 9) numbers" in shown
    assert "w: (9, 9) numbers → (9, 9) numbers" in shown
    assert "w.grad: (9, 9) numbers → None" in shown


def test_of_a_tensor_only_its_own_changes_are_told() -> None:
    trace = explorer.run(
        "import torch\na = torch.ones(1, requires_grad=True)\n"
        "b = torch.ones(1, requires_grad=True)\n(a * 2 + b * 3).sum().backward()\n"
    )
    shown = words(events.events_html(events.of(trace, "a")))
    assert "a.grad: None → [2]" in shown
    assert "b.grad" not in shown


def test_versions_are_all_runs_of_a_name() -> None:
    trace = explorer.run(SOURCES["loop"])
    loss = next(t for t in trace.tensors if t.name == "loss")
    assert [t.origin.visit for t in tensors.versions(trace, loss)] == [1, 2, 3, 5]


def test_a_large_tensor_has_a_picture_and_bars() -> None:
    trace = explorer.run("import torch\nx = torch.linspace(-1, 1, 10000).reshape(100, 100)\n")
    value = trace.tensors[0].value
    assert isinstance(value, Summary)
    shown = tensors.array_html("Value", value)
    assert "data:image/png" in shown
    assert "min -1 · max 1" in shown
    assert shown.count("<i ") == 20


def test_statistics_count_what_is_not_finite() -> None:
    assert "1 not finite" in tensors.statistics(np.array([1.0, np.nan]))
    assert tensors.statistics(np.array([np.inf])) == "1 not finite"


def test_an_answer_opens_to_its_cure_and_its_word() -> None:
    trace = explorer.run(SOURCES["nonleaf"])
    (found, *_) = trace.answers
    shown = answers.answer_html(found, "", open=True)
    assert shown.startswith('<details class="ax-answer" open>')
    for part in ("Why is y.grad None?", "ax-cure", "Non-leaf"):
        assert part in shown


def test_looking_up() -> None:
    assert "retain_graph" in glossary_dialog.terms_html("frees the values", page("expression"))
    assert "No entry contains" in glossary_dialog.terms_html("zzzz", page("expression"))
