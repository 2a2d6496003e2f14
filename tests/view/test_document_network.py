"""The HTML file of a report on a network: its graph in every folding, its layers, an error."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from explorer import limits
from explorer.networks import Report, inspect
from explorer.view import graphviz
from explorer.view.document import page, report_document
from tests.view.test_document import Elements, needs_dot, parsed, part

pytestmark = pytest.mark.fast


class Blocks(nn.Module):
    """Five equal blocks, and a last layer of which the input has another size if it `fails`."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        blocks = [nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(5)]
        self.embed, self.blocks = nn.Linear(3, 3), nn.Sequential(*blocks)
        self.norm, self.drop = nn.LayerNorm(3), nn.Identity()
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(4 if fails else 3, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.drop(self.norm(self.blocks(self.embed(x)))))


def report(*, fails: bool = False) -> Report:
    return inspect(Blocks(fails=fails), torch.ones(2, 3), seed=0)


@needs_dot
def test_every_block_unfolds_down_to_single_operations() -> None:
    html = report_document(report())
    graph = parsed(html, "data")["graph"]
    drawn = part(html, "layouts").split("\n")
    assert len(drawn) == len(graph["unfolded"]) - 1
    labels = {name: label for name, (label, _, _) in graph["blocks"].items()}
    assert {"blocks", "blocks.0…4", "blocks.2", "head", "head.1"} <= set(labels.values())
    for name, (_, _, around) in graph["blocks"].items():
        at = next(i for i, open in enumerate(graph["unfolded"]) if {*around, name} <= set(open))
        svg = drawn[at - 1] if at else html
        assert f'id="{name}" class="cluster frame"' in svg
    every = drawn[len(max(graph["unfolded"], key=len)) and -1]
    assert "addmm" in every or "@ +" in every
    assert "gradient norm" in html
    assert any("5 × Sequential" in svg for svg in (html, *drawn))


def test_layers_health_and_totals_are_there() -> None:
    html = report_document(report(), title="<b>")
    rows = parsed(html, "data")["layers"]["tables"]["Layers"]["rows"]
    assert rows[0][1] == "(model)"
    assert "<h1>&lt;b&gt;</h1>" in html
    assert "Total params" in html
    assert "Input size <b>24 B</b>" in html
    assert "no loss given: backward from the sum of the outputs" in html
    assert len(parsed(html, "data")["plots"][0]["lines"][0]["y"]) == len(report().parameters)


@needs_dot
def test_after_an_error_the_calls_up_to_it_are_drawn() -> None:
    failed = report(fails=True)
    html = report_document(failed)
    elements = Elements()
    elements.feed(html)
    assert "it expects 4 features and got 3" in html
    assert "The calls up to the error, in their order." in html
    graph = parsed(html, "data")["graph"]
    assert graph["failed"] == "head.1"
    assert 'class="node block failed"' in html
    assert "the error is here" in html
    assert ">embed<" in html


def test_a_cell_is_small_and_a_repr_short(tmp_path: Path) -> None:
    shown = report()
    assert repr(shown).startswith("<Report on Blocks: ")
    assert len(repr(shown)) < 200
    cell = shown._repr_html_()
    assert len(cell.encode()) <= limits.CELL_BYTES
    assert ("data:image/svg+xml;base64," in cell) == graphviz.available()
    shown.save(tmp_path / "net.html")
    assert "<h1>Blocks</h1>" in (tmp_path / "net.html").read_text("utf-8")


@needs_dot
def test_a_budget_leaves_out_blocks_first() -> None:
    whole = report_document(report())
    budget = page.size_in_frame(whole) - len(page.packed(part(whole, "layouts"))) // 2
    small = report_document(report(), budget=budget)
    assert page.size_in_frame(small) <= budget
    assert "Not in this cell: the insides of other blocks." in small
    assert parsed(small, "data")["layers"]
    drawn = [len(parsed(html, "data")["graph"]["unfolded"]) for html in (whole, small)]
    assert 1 <= drawn[1] < drawn[0]


def test_a_loss_is_called_so_where_it_was_given_or_the_output_has_one() -> None:
    with_loss = inspect(nn.Linear(3, 1), torch.ones(1, 3), loss=lambda output: output.sum())
    assert with_loss.scalar == "loss"
    assert "<p class='ax-note'>loss " in report_document(with_loss)

    class Own(nn.Linear):
        def forward(self, x: torch.Tensor) -> SimpleNamespace:
            return SimpleNamespace(loss=super().forward(x).sum())

    assert inspect(Own(3, 1), torch.ones(1, 3)).scalar == "loss"
    assert "sum of the outputs" in repr(inspect(nn.Linear(3, 1), torch.ones(1, 3)))
