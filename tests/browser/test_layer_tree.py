"""The tree of layers and the chart of gradient norms in a real browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from explorer.networks import inspect, problem

pytestmark = pytest.mark.browser

ROWS = ".st-key-layers tr[data-id]"


@pytest.fixture(scope="module")
def norms() -> dict[str, float]:
    """resnet18's gradient norms by parameter."""
    preset = problem("resnet18")
    report = inspect(preset.model, *preset.inputs, loss=preset.network.criterion)
    return {p.name: p.grad_norm for p in report.parameters if p.grad_norm is not None}


def open_page(tab: Any, url: str, query: str) -> None:
    tab.goto(f"{url}/network{query}")
    tab.wait_for_selector(".st-key-norm-chart svg.marks", timeout=60_000)
    tab.wait_for_selector(ROWS, timeout=60_000)


def names(tab: Any) -> list[str]:
    return [name.strip("▾▸ ") for name in tab.locator(f"{ROWS} td.name").all_inner_texts()]


def sort_by(tab: Any, column: str) -> Any:
    heading = tab.locator("th").filter(has_text=re.compile(f"^{column}"))
    heading.locator(".sort").click()
    return heading


def test_resnet18_smallest_gradient_in_one_action(
    tab: Any, app: str, norms: dict[str, float]
) -> None:
    open_page(tab, app, "?preset=resnet18")
    smallest = min(norms, key=norms.__getitem__)
    tab.locator(".st-key-extremes").get_by_role("button", name=smallest).click()
    layer = smallest.rpartition(".")[0]
    expect(tab).to_have_url(re.compile(f"at={re.escape(layer)}"))
    selected = tab.locator(f"{ROWS}.selected td.name")
    expect(selected).to_have_attribute("title", layer)  # its block was unfolded
    row, frame = (selected.bounding_box(), tab.locator(".st-key-layers .frame").bounding_box())
    assert frame["y"] < row["y"] < frame["y"] + frame["height"] - row["height"]


@pytest.mark.thorough
def test_headings_sort_and_the_dotted_word_opens_the_glossary(
    tab: Any, app: str, norms: dict[str, float]
) -> None:
    open_page(tab, app, "?preset=resnet18")
    before = names(tab)
    tab.get_by_role("button", name="Parameters", exact=True).click()
    heading = sort_by(tab, "Gradient norm")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert names(tab) == sorted(norms, key=norms.__getitem__)
    expect(tab.locator(ROWS).first).to_contain_text("smallest")
    sort_by(tab, "Gradient norm")
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert names(tab)[0] == max(norms, key=norms.__getitem__)
    tab.goto(tab.url)  # the address reproduces it
    expect(tab.locator(ROWS).first).to_contain_text("largest", timeout=60_000)
    sort_by(tab, "Gradient norm")
    assert names(tab) == list(norms)
    tab.get_by_role("button", name="Layers", exact=True).click()
    assert names(tab) == before
    tab.locator("th [data-term=gradient]").last.click()
    expect(tab.get_by_role("dialog")).to_contain_text("Gradient")


def test_blocks_fold_by_keyboard_and_runs_unfold_to_each(tab: Any, app: str) -> None:
    open_page(tab, app, "?preset=resnet18")
    expect(tab.locator("[role=treegrid]")).to_have_count(1)
    run = tab.locator(ROWS).filter(has_text="2 × BasicBlock")
    count = tab.locator(ROWS).count()
    run.focus()
    tab.keyboard.press("ArrowRight")
    expect(run).to_have_attribute("aria-expanded", "true")
    assert tab.locator(ROWS).count() == count + 2
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")  # unfolds the first of both
    assert tab.locator(ROWS).count() == count + 2 + 6
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")  # to the run
    tab.keyboard.press("ArrowLeft")
    expect(run).to_have_attribute("aria-expanded", "false")
    expect(run).to_be_focused()
    assert tab.locator(ROWS).count() == count
    tab.get_by_role("button", name="Expand all").click()
    assert tab.locator(ROWS).count() == 77


@pytest.mark.thorough
def test_filter_by_name_and_by_type(tab: Any, app: str) -> None:
    open_page(tab, app, "?preset=resnet18")
    filter_ = tab.get_by_label("Filter by name or type")
    filter_.fill("downsample")
    assert len(names(tab)) == 9
    filter_.fill("maxpool2d")
    assert names(tab) == ["maxpool"]
    filter_.fill("<b>")
    assert names(tab) == []
    expect(tab.locator(".st-key-layers .counted")).to_have_text("0 of 77 rows")


@pytest.mark.thorough
def test_the_chart_tells_values_and_selects(tab: Any, app: str, norms: dict[str, float]) -> None:
    open_page(tab, app, "?preset=resnet18")
    box = tab.locator(".st-key-norm-chart svg.marks").bounding_box()
    x, y = box["x"] + 0.6 * box["width"], box["y"] + 20  # above the bar: its strip answers
    tab.mouse.move(x, y)
    tooltip = tab.locator("#vg-tooltip-element")
    expect(tooltip).to_contain_text("gradient norm")
    name = next(name for name in norms if f"{name}\n" in tooltip.inner_text())
    assert f"{norms[name]:.3g}" in tooltip.inner_text()
    tab.mouse.click(x, y)
    layer = name.rpartition(".")[0]
    expect(tab.locator(f"{ROWS}.selected td.name").first).to_have_attribute("title", layer)


@pytest.mark.thorough
def test_a_narrow_window_scrolls_inside_the_table(tab: Any, app: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    open_page(tab, app, "?preset=resnet18")
    main = "document.querySelector('[data-testid=stMain]')"
    assert tab.evaluate(f"{main}.scrollWidth <= {main}.clientWidth")
    first = tab.locator(f"{ROWS} td.name").first
    before = first.bounding_box()["x"]
    tab.locator(".st-key-layers .frame").evaluate("frame => (frame.scrollLeft = 300)")
    assert first.bounding_box()["x"] == pytest.approx(before, abs=1)
