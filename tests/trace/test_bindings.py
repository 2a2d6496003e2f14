"""Names are followed by the objects they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import explorer
from explorer import limits
from explorer.trace import Answer, assemble
from explorer.trace.explain import explain
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.bindings import Binding, Bindings

HEAD = "import torch\nfrom torch import nn\n"


Analyse = Callable[[str], RunAnalysis]


@pytest.fixture
def analyse(monkeypatch: pytest.MonkeyPatch) -> Analyse:
    """A function that runs a program and returns what its explanations get."""
    seen: list[RunAnalysis] = []

    def keep(analysis: RunAnalysis) -> tuple[Answer, ...]:
        seen.append(analysis)
        return explain(analysis)

    monkeypatch.setattr(assemble, "explain", keep)

    def run(source: str) -> RunAnalysis:
        trace = explorer.run(HEAD + source)
        assert trace.error is None, trace.error
        return seen[-1]

    return run


def meanings(analysis: RunAnalysis, path: str) -> list[Binding]:
    """All that a name meant, in order: "w", "layers[0]" or "net.fc.weight"."""
    bindings = analysis.bindings
    found = (b for b in bindings if bindings.path(b) == path and not b.scope)
    return sorted(found, key=lambda binding: binding.number)


def meaning(analysis: RunAnalysis, path: str, number: int | None = None) -> Any:
    """The object that a name meant at a moment, or means at the end."""
    before = [b for b in meanings(analysis, path) if number is None or b.number <= number]
    return before[-1].value


def lines_and_types(analysis: RunAnalysis, path: str) -> list[tuple[int, str]]:
    """The lines on which a name got its meanings, counted without `HEAD`, and their types."""
    return [(b.line - 2, type(b.value).__name__) for b in meanings(analysis, path)]


def test_a_variable_means_another_tensor_after_an_assignment(analyse: Analyse) -> None:
    analysis = analyse("w = torch.ones(2, requires_grad=True)\nw.data.mul_(2)\nv = w\nw = w * 2")
    old, new = meanings(analysis, "w")
    assert (old.line, new.line) == (3, 6)
    assert analysis.bindings.successor(old) is new
    assert analysis.bindings.predecessor(new) is old
    assert [b.name for b in analysis.bindings.names_of(old.value)] == ["w", "v"]
    assert meaning(analysis, "w", old.number) is old.value
    assert meaning(analysis, "w") is new.value


def test_an_attribute_is_the_same_name_inside_and_outside(analyse: Analyse) -> None:
    analysis = analyse(
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(2, 2)\n"
        "        self.parts = [nn.Linear(2, 2)]\n"
        "        self.scale = torch.ones(1, requires_grad=True)\n"
        "    def new_head(self):\n"
        "        self.fc = nn.Linear(2, 3)\n"
        "net = Net()\n"
        "net.new_head()\n"
        "net.fc.weight = nn.Parameter(torch.zeros(3, 2))\n"
    )
    assert lines_and_types(analysis, "net.fc") == [(4, "Linear"), (8, "Linear")]
    assert lines_and_types(analysis, "net.parts[0]") == [(5, "Linear")]
    assert lines_and_types(analysis, "net.scale") == [(6, "Tensor")]
    assert lines_and_types(analysis, "net.fc.weight") == [(n, "Parameter") for n in (4, 8, 11)]
    layer = meanings(analysis, "net.fc")[0].value
    assert analysis.bindings.path_of(layer.weight) == "net.fc.weight"


def test_an_optimizer_is_known_from_the_line_that_makes_it(analyse: Analyse) -> None:
    analysis = analyse(
        "net = nn.Linear(2, 1)\n"
        "net.bias.requires_grad = False\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "net.weight = nn.Parameter(torch.zeros(1, 2))\n"
        "net.bias.requires_grad = True\n"
        "sched = torch.optim.lr_scheduler.StepLR(torch.optim.Adam([net.weight]), 1)\n"
    )
    first, second = analysis.recorder.events.optimizers.values()
    assert (first.line - 2, second.line - 2, first.steps) == (3, 6, 0)
    assert [needs for _, needs in first.given] == [True, False]
    assert first.given[0][0] is meaning(analysis, "net.weight", first.made)
    assert first.given[0][0] is not meaning(analysis, "net.weight")
    assert second.given[0][0] is meaning(analysis, "net.weight")
    assert isinstance(meaning(analysis, "opt"), torch.optim.SGD)


def test_of_a_long_loop_the_first_meanings_and_the_last_are_kept(analyse: Analyse) -> None:
    analysis = analyse("w = torch.ones(1)\nfor i in range(500):\n    w = w + 1\n")
    bound = meanings(analysis, "w")
    assert len(bound) == 4
    assert bound[-1].value.item() == 501
    assert len(analysis.bindings.names_of(bound[-1].value)) == 1


def test_an_optimizer_made_in_a_turn_that_is_not_recorded_knows_its_model(analyse: Analyse) -> None:
    analysis = analyse(
        "for i in range(100):\n"
        "    net = nn.Linear(1, 1)\n"
        "    if i == 50:\n"
        "        kept = net\n"
        "        opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    )
    (use,) = analysis.recorder.events.optimizers.values()
    assert use.line - 2 == 5
    assert meaning(analysis, "kept").weight is use.given[0][0]
    assert analysis.bindings.path_of(use.given[0][0]) == "kept.weight"


def test_there_is_an_end_to_the_names() -> None:
    bindings = Bindings()
    for i in range(3 * limits.MOST_NAMES):
        bindings.give(f"x{i}", torch.zeros(1), 1)
    assert sum(1 for _ in bindings) == limits.MOST_NAMES


def test_a_module_without_its_parts_and_a_module_of_itself_do_no_harm(analyse: Analyse) -> None:
    analysis = analyse(
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        self.n = 3\n"
        "        super().__init__()\n"
        "        self.all = [self]\n"
        "net = Net()\n"
        "net.again = [net]\n"
    )
    assert analysis.bindings.path_of(analysis.variables["net"]) == "net"
