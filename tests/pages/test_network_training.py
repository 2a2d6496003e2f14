"""Histograms over steps of training, on the Network page."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df

from explorer.networks import problem
from explorer.networks.training_steps import train_for_histograms
from explorer.trace.text import number
from explorer.ui.network.histograms import TRAINING
from tests.pages.test_network import PAGE, fine, preset, view
from tests.pages.test_pages import html_of, opened

pytestmark = pytest.mark.fast


def points(page: Any, position: int) -> Any:
    chart = page.get("vega_lite_chart")[position].proto
    return convert_arrow_bytes_to_pandas_df(chart.data.data)


def test_a_ridge_for_each_step_and_one_for_each_parameter() -> None:
    page = view(preset(fine(opened(PAGE)), "LeNet-5"), "Histogram")
    page.session_state["histograms"] = TRAINING
    page.session_state["train-steps"] = 5
    fine(page.run())
    steps = list(train_for_histograms(problem("LeNet-5"), 5))
    by_step, by_layer = (points(page, position) for position in (-2, -1))
    assert list(by_step["which"].unique()) == [f"step {i}" for i in range(1, 6)]
    assert list(by_layer["which"].unique()) == list(steps[-1].names)
    assert f"loss {number(steps[-1].loss)}" in html_of(page)
    page.slider(key="train-step").set_value(2)
    assert f"before step 2: loss {number(steps[1].loss)}" in html_of(fine(page.run()))
