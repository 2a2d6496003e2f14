"""The Memory tab of the Network page."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df

from explorer.networks import problem, trace_memory
from explorer.ui.network.memory import HOOKS
from explorer.ui.network.table import to_size
from tests.pages.test_network import PAGE, fine, preset, view
from tests.pages.test_pages import component, html_of, opened


@pytest.fixture
def memory() -> Any:
    return view(preset(fine(opened(PAGE)), "shapes net"), "Memory")


def test_the_peak_is_said_drawn_and_compared(memory: Any) -> None:
    net = problem("shapes net")
    plain, again = (
        trace_memory(net.model, *net.inputs, mode=mode, loss=net.network.criterion)
        for mode in ("plain", "checkpointing")
    )
    text = html_of(memory)
    assert f"{to_size(plain.peak.bytes)} in backward of {plain.peak.layer}" in text
    assert f"{again.macs / plain.macs:.2f} × the multiply-adds" in text
    assert text.count("<tr><th><i") == 3
    chart = memory.get("vega_lite_chart")[-1].proto
    points = convert_arrow_bytes_to_pandas_df(chart.data.data)
    assert sum(points["mode"] == "checkpointing") == len(again.points)
    assert set(points["peak"]) >= {to_size(plain.peak.bytes), to_size(again.peak.bytes)}
    kept = component(memory, "rows")["rows"]
    assert [row["cells"][0] for row in kept] == [layer.layer or "the loss" for layer in plain.kept]


def test_the_selected_layers_row_is_marked(memory: Any) -> None:
    table = component(memory, "rows")
    assert table["selected"] is None
    memory.query_params["at"] = table["rows"][1]["cells"][0]
    assert component(fine(memory.run()), "rows")["selected"] == 1


def test_single_layers_are_no_blocks_and_hooks_are_measured_too() -> None:
    page = view(preset(fine(opened(PAGE)), "ToyModel"), "Memory")
    assert "Checkpointing needs blocks" in html_of(page)
    page.session_state["memory"] = HOOKS
    assert "retain_grad" in html_of(fine(page.run()))
