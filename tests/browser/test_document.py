"""The HTML file of a program and that of a network, opened from the disk without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import explorer
from explorer.networks import inspect
from explorer.view import graphviz
from tests.view.test_document import LAYERS
from tests.view.test_document_network import Blocks

pytestmark = pytest.mark.skipif(not graphviz.available(), reason="needs dot")

WIDTHS = (1280, 390)


@pytest.fixture(params=WIDTHS)
def reader(chromium: Any, request: Any) -> Iterator[Any]:
    """A tab without a network, in the dark on a phone, that fails on errors of a script."""
    width = request.param
    theme = "dark" if width < 400 else "light"
    context = chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme, offline=True
    )
    tab, errors = context.new_page(), []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: said.type == "error" and errors.append(said.text))
    yield tab
    assert errors == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_a_program_is_walked_searched_and_unfolded(reader: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    trace = explorer.run(LAYERS)
    trace.save(tmp_path / "step.html")
    count = len(trace.passes[0].steps)
    reader.goto((tmp_path / "step.html").as_uri())
    reader.get_by_role("button", name="Next step").focus()
    reader.keyboard.press("Enter")
    reader.keyboard.press("Enter")
    expect(reader.locator("#where")).to_have_text(f"2 of {count}")
    expect(reader.locator("#rule")).to_contain_text(f"Step 2 of {count}")
    expect(reader.locator("#tensors")).to_contain_text(re.compile(r"It arrives at step \d"))
    expect(reader.locator("#foot")).to_contain_text("“(hook)”")
    expect(reader.locator("#rule math").first).to_be_visible()
    expect(reader.locator("g.node.current")).to_have_count(1)
    expect(reader.locator(".line.selected")).to_have_attribute("data-line", "7")
    block = reader.locator("g.node.block").filter(has_text="×6")
    block.focus()
    reader.keyboard.press("Enter")
    expect(block).to_have_count(0)
    expect(reader.get_by_role("button", name="Close model.0 … 5 ×6")).to_have_count(1)
    reader.get_by_label("Find a node or block").fill("model.3.2.weight")
    reader.keyboard.press("Enter")
    expect(reader.locator("#tensors tr.selected td.name")).to_have_text("model.3.2.weight")
    expect(reader.locator("#detail")).to_contain_text("model.3.2.weight (3, 3) float32")
    table = reader.locator("#tensors")
    table.get_by_role("button", name="Gradient", exact=True).click()
    expect(reader.get_by_role("dialog")).to_contain_text("Gradient")
    reader.get_by_role("button", name="Close", exact=True).click()
    table.get_by_role("button", name="Line").click()
    expect(table.locator("th.number").first).to_have_attribute("aria-sort", "ascending")
    reader.get_by_label("Filter the tensors").fill("bias")
    biases = [tensor for tensor in trace.tensors if "bias" in tensor.name]
    expect(table.locator(".rest")).to_have_text(f"{len(biases)} of {len(trace.tensors)} rows")
    table.locator("tbody tr").first.click()
    expect(reader.locator(".line.selected")).to_have_attribute("data-line", str(biases[0].line))


def test_a_network_unfolds_in_a_frame_that_hides_the_still_picture(
    reader: Any, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    cell = inspect(Blocks(), torch.ones(2, 3), seed=0)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{cell}", "utf-8")
    reader.goto((tmp_path / "notebook.html").as_uri())
    expect(reader.locator("img")).to_be_hidden()
    shown = reader.frame_locator("iframe")
    shown.get_by_role("button", name="head, Sequential").press("Enter")
    shown.get_by_role("button", name="head.1, Linear").press("Enter")
    expect(shown.get_by_role("button", name="Close head.1")).to_have_count(1)
    shown.get_by_role("button", name="head.1.bias").press("Enter")
    expect(shown.locator("#layers tr.selected td.name")).to_have_text("1")
    shown.get_by_role("button", name="Close head.1").press("Enter")
    expect(shown.get_by_role("button", name="head.1, Linear")).to_have_count(1)


def test_a_failed_run_opens_at_the_layer_that_failed(reader: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    inspect(Blocks(fails=True), torch.ones(2, 3), seed=0).save(tmp_path / "net.html")
    reader.goto((tmp_path / "net.html").as_uri())
    expect(reader.locator("g.node.failed")).to_be_in_viewport()
    expect(reader.locator("g.node.failed")).to_contain_text("the error is here")


def test_names_stay_in_view_and_stand_at_the_chart(reader: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    inspect(Blocks(), torch.ones(2, 3), seed=0).save(tmp_path / "net.html")
    reader.goto((tmp_path / "net.html").as_uri())
    table = reader.locator("#layers .frame")
    table.scroll_into_view_if_needed()
    assert table.evaluate("frame => (frame.scrollLeft = 9999) && frame.scrollLeft > 0")
    expect(table.get_by_text("embed")).to_be_in_viewport(ratio=1)
    name = reader.locator("#plots svg text", has_text="embed.weight")
    expect(name).to_be_visible()
    expect(reader.locator("#plots svg text title").first).to_have_text("embed.weight")
