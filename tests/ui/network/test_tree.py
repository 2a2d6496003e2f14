"""What the tree of layers sends to the browser, and what comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import nn

from explorer import limits
from explorer.networks import Report, inspect
from explorer.networks.records import ModuleCall, Structure
from explorer.networks.tree import make_tree, walk
from explorer.ui.network import table, tree
from tests.networks.helpers import Awkward, Fails

pytestmark = pytest.mark.fast


def report_of(model: nn.Module, *shape: int) -> Report:
    return inspect(model, torch.ones(shape, requires_grad=True), seed=0)


def cells(report: Report, kind: str = "Layers") -> dict[str, dict[str, Any]]:
    """A row's whole name to its cells by their heading."""
    shown = tree.make_tables(report)[kind]
    titles = [column["title"] for column in shown["columns"][1:]]
    return {row[1]: dict(zip(titles, row[5], strict=True)) for row in shown["rows"]}


def test_a_second_call_has_its_parameters_counted_once() -> None:
    shown = cells(report_of(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), 3, 2))
    assert shown["(model)"]["Params"] == shown["0"]["Params"] == 6
    assert shown["1"]["MACs"] == "not counted"
    awkward = cells(report_of(Awkward().eval(), 3, 6))
    assert (awkward["tied"]["Params"], awkward["tied"]["MACs"]) == (6, 108)
    assert awkward["unused"]["Gradient of params"] == "None"
    assert awkward["frozen"]["Gradient of params"] == "None"
    assert awkward["relu #1"]["Gradient of params"] is None


def test_a_block_with_parameters_of_its_own_counts_alone_in_a_list() -> None:
    x = torch.ones(2, 3, 4)
    report = inspect(nn.MultiheadAttention(4, 2), x, x, x)
    rows = tree.make_tables(report)["Layers"]["rows"]
    (block,) = (row for row in rows if row[4])
    inside = sum(row[5][3] for row in rows if not row[4])
    assert (block[5][3], block[8][3], inside) == (80, 60, 20)


def test_numbers_that_json_lacks_are_texts() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    with torch.no_grad():
        model[1].weight.fill_(torch.inf)
    report = report_of(model, 3, 2)
    json.dumps(tree.make_tables(report), allow_nan=False)
    assert cells(report, "Parameters")["1.weight"]["Norm"] == "inf"
    assert cells(report)["1"]["Output norm"].endswith("nan/inf")


def test_a_number_is_rounded_once() -> None:
    """22.87496 is 22.87 in the graph; rounded to 22.875 first, it would be 22.88."""
    model = nn.Linear(1, 1, bias=False)
    report = report_of(model, 1, 1)
    report = replace(report, parameters=[replace(report.parameters[0], grad_norm=22.87496)])
    assert cells(report, "Parameters")["weight"]["Gradient norm"] == 22.87


@pytest.mark.parametrize("model", [Awkward(), Fails(), nn.Identity()])
def test_csv_has_a_line_for_every_row(model: nn.Module) -> None:
    report = report_of(model.eval(), 3, 6)
    layers = table.layers_csv(report).decode().splitlines()
    assert len(layers) == 1 + len(list(walk(make_tree(report))))
    assert len(table.parameters_csv(report).decode().splitlines()) == 1 + len(report.parameters)
    json.dumps(tree.make_tables(report), allow_nan=False)


def test_a_chain_of_calls_of_any_depth_is_drawn_up_to_a_limit() -> None:
    calls = [ModuleCall("", 0, "Deep", None, None, None)]
    calls += [ModuleCall(f"a{i}", 0, "A", i, None, None) for i in range(2 * limits.MOST_TREE_ROWS)]
    report = replace(
        report_of(nn.Identity(), 1), structure=Structure(tuple(calls), (), (), {}, {}), layers=()
    )
    shown = tree.make_tables(report)["Layers"]
    assert len(shown["rows"]) == limits.MOST_TREE_ROWS
    assert shown["rest"] == "The first 4,000 of 8,001 rows."


def script() -> None:
    import streamlit as st
    import torch
    from torch import nn

    from explorer.networks import inspect
    from explorer.networks.settings import Settings, describe_preset
    from explorer.ui.network.selection import Shown

    report = inspect(nn.Sequential(nn.Linear(1, 1), nn.ReLU()), torch.ones(1, 1))
    shown = Shown(Settings("linear layer"), describe_preset("linear layer"), report, None)
    select = {"layer": shown.select_layer, "parameter": shown.select_parameter}
    select[st.session_state["kind"]](st.session_state["name"])
    st.text(shown.layer)
    st.text(st.session_state.get("parameter"))


@pytest.mark.parametrize(
    ("kind", "name", "layer", "parameter"),
    [
        ("layer", "1", "1", None),
        ("layer", "0", "0", "0.weight"),
        ("parameter", "0.bias", "0", "0.bias"),
        *(
            (kind, name, "None", None)
            for kind in ("layer", "parameter")
            for name in ("", "x", "0.")
        ),
    ],
)
def test_only_what_the_network_has_is_selected(
    kind: str, name: str, layer: str, parameter: str | None
) -> None:
    at = AppTest.from_function(script)
    at.session_state["kind"], at.session_state["name"] = kind, name
    at.run()
    assert not at.exception
    assert [shown.value for shown in at.text] == [layer, str(parameter)]
