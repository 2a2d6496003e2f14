"""The menu Download of two pages: the file that it gives opens from the disk without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from explorer.ui.widgets.download_menu import LABEL

pytestmark = pytest.mark.browser


def saved(tab: Any, folder: Path) -> Path:
    """The page as its menu gives it."""
    tab.locator(".st-key-download button").first.click()
    with tab.expect_download() as caught:
        tab.get_by_role("button", name=LABEL).click()
    path = folder / caught.value.suggested_filename
    caught.value.save_as(path)
    return path


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_the_files_of_two_pages(
    tab: Any, app: str, chromium: Any, tmp_path: Path, width: int, theme: str
) -> None:
    tab.goto(f"{app}/optimizer")
    tab.wait_for_selector(".st-key-surface canvas")
    tab.get_by_role("button", name="1 iteration").click()
    expect(tab.locator(".ax-said")).to_contain_text("1 step")
    run = saved(tab, tmp_path)
    tab.goto(f"{app}/feature_maps?picture=Drawn%3A+star&layer=block2.conv1")
    tab.wait_for_selector(".st-key-tiles img")
    maps = saved(tab, tmp_path)

    context = chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme, offline=True
    )
    reader, errors = context.new_page(), []
    reader.on("pageerror", lambda error: errors.append(str(error)))
    reader.on("console", lambda said: said.type == "error" and errors.append(said.text))
    reader.goto(run.as_uri())
    expect(reader.get_by_role("img", name="Loss over a and b")).to_be_visible()
    expect(reader.locator("math").first).to_be_visible()
    steps = reader.get_by_role("region", name="Steps")
    expect(steps.locator("tbody tr")).to_have_count(2)
    steps.focus()
    expect(steps).to_be_focused()
    assert reader.evaluate("document.documentElement.scrollWidth") <= width
    reader.goto(maps.as_uri())
    expect(reader.get_by_alt_text("Channel 0 of the output of block2.conv1")).to_be_visible()
    pictures = reader.locator("img")
    assert all(picture.evaluate("img => img.naturalWidth") for picture in pictures.all())
    assert reader.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    context.close()
