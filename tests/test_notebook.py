"""`%%explore` and `explorer.show` in a notebook that a real kernel runs."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

_CELLS = (
    "%load_ext explorer\nimport torch, explorer\nfrom torch import nn\nruns = []",
    "model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(1))\n"
    "x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])",
    "%%explore rec\nruns.append(1)\nout = model(x)\nloss = nn.functional.cross_entropy(out, y)\n"
    "loss.backward()\nloss.item() > 0",
    "(runs, out.shape, rec.trace.variables['loss'].line, [a.key for a in rec.trace.answers])",
    "%%explore\nbad = torch.randn(2, 3) @ model[0].weight",
    "explorer.show(model, x, loss=lambda out: out.sum())",
    "%%explore --step nonsense\n1",
)


@pytest.fixture(scope="module")
def outputs() -> list[list[Any]]:
    cells = [nbformat.v4.new_code_cell(cell) for cell in _CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True).execute()
    return [cell.outputs for cell in notebook.cells]


def html_of(outputs: list[Any]) -> str:
    return "".join(o.data.get("text/html", "") for o in outputs if "data" in o)


def plain_of(outputs: list[Any]) -> str:
    return "".join(o.data.get("text/plain", "") for o in outputs if "data" in o)


def test_a_cell_runs_once_and_unchanged(outputs: list[list[Any]]):
    assert "True" in plain_of(outputs[2])  # its last line is shown, as without the magic
    assert plain_of(outputs[3]).startswith("([1], torch.Size([5, 3]), 4, ['silent.softmax'")


def test_what_it_did_is_shown_in_a_frame(outputs: list[list[Any]]):
    shown = html_of(outputs[2])
    assert len(shown) <= 200_000
    assert re.search("<iframe[^>]*sandbox='allow-scripts allow-downloads'", shown)
    assert "cross_entropy" in shown
    assert len(plain_of(outputs[2])) < 300


def test_an_error_is_shown_as_ever_and_explained(outputs: list[list[Any]]):
    assert any(o.output_type == "error" for o in outputs[4])
    assert "do not match" in html_of(outputs[4])


def test_a_network_is_drawn(outputs: list[list[Any]]):
    shown = html_of(outputs[5])
    assert len(shown) <= 200_000
    assert "<iframe" in shown
    assert len(plain_of(outputs[5])) < 300


def test_a_wrong_option_is_said(outputs: list[list[Any]]):
    said = "".join(o.get("text", "") for o in outputs[6])
    assert "'nonsense' is no whole number from 1" in said
