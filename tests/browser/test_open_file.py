"""Files of the reader's in a real browser: opened, dropped, and refused with a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from explorer import limits

pytestmark = pytest.mark.browser

CELLS = [
    {"cell_type": "markdown", "source": ["# A notebook\n", "## 1. *Data* `x`"]},
    {"cell_type": "code", "source": ["import torch\n", "x = torch.ones(2, requires_grad=True)"]},
    {"cell_type": "code", "source": "  \n"},
    {"cell_type": "code", "source": "y = (x * 3).sum()\ny", "outputs": [{"text": "p" * 100}]},
    {"cell_type": "markdown", "source": "No heading"},
    {"cell_type": "code", "source": "y.backward()\nx.grad"},
]
TEXT = """\
# %% 1. Data x
import torch
x = torch.ones(2, requires_grad=True)

# %%
y = (x * 3).sum()
y

# %%
y.backward()
x.grad
"""


def notebook(cells: Any = CELLS, **metadata: Any) -> bytes:
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4}).encode()


def opened(tab: Any, name: str, data: bytes) -> Any:
    """Choose the file; returns the place where the page says what came of it."""
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    tab.locator("input[type=file]").set_input_files(file)
    return tab.locator(".st-key-open-file .said")


@pytest.fixture
def page(tab: Any, app: str) -> Any:
    tab.goto(f"{app}/expression")
    tab.wait_for_selector("tr[data-id]", timeout=90_000)
    return tab


def test_a_notebook_is_opened_run_up_to_a_cell_and_undone(page: Any) -> None:
    before = page.locator("textarea").input_value()
    expect(opened(page, "lesson.ipynb", notebook())).to_have_text("lesson.ipynb: 3 cells")
    expect(page.locator("textarea")).to_have_value(TEXT)
    page.wait_for_selector("td.name:text-is('y')")
    expect(page.locator(".ax-code .cell")).to_have_count(3)
    page.get_by_role("combobox", name="Run up to").click()
    page.get_by_role("option", name="Up to cell 1: 1. Data x").click()
    expect(page.locator("td.name:text-is('y')")).to_have_count(0)
    expect(page.locator("td.name:text-is('x')")).to_have_count(1)
    assert "cell=Up+to+cell+1" in page.evaluate("location.href")
    page.locator("textarea").focus()
    page.keyboard.press("Control+z")
    expect(page.locator("textarea")).to_have_value(before)


def test_a_program_is_dropped_on_the_editor(page: Any) -> None:
    text = "import torch\nz = torch.tensor(2.0, requires_grad=True)\n(z**3).backward()\n"
    drop = """([text]) => {
      const data = new DataTransfer()
      data.items.add(new File([text], "cube.py"))
      const area = document.querySelector(".st-key-editor textarea")
      for (const name of ["dragover", "drop"]) {
        const event = new DragEvent(name, {dataTransfer: data, bubbles: true, cancelable: true})
        if (area.dispatchEvent(event)) throw new Error(`${name} was left to the browser`)
      }
    }"""
    page.evaluate(drop, [text.replace("\n", "\r\n")])
    expect(page.locator("textarea")).to_have_value(text)
    page.wait_for_selector("td.name:text-is('z')")


#: What is in a file, and what is said of it.
REFUSED = [
    ("a.ipynb", b"{", "This file is not a notebook: it is not JSON."),
    ("a.ipynb", b"[" * 200_000, "This file is not a notebook: it is not JSON."),
    ("a.ipynb", b"[]", "This file is not a notebook: it has no cells."),
    ("a.ipynb", b'{"cells": [null, 3, {}]}', "This notebook has no code."),
    (
        "a.ipynb",
        notebook(kernelspec={"language": "R"}),
        "This notebook is written in R, not in Python.",
    ),
    ("a.py", b"  \n", "a.py is empty."),
    ("a.py", b"\x00\x01", "a.py is not a text file."),
    (
        "a.py",
        b"x" * (limits.MAX_SOURCE + 1),
        f"a.py has {limits.MAX_SOURCE + 1:,} characters; at most {limits.MAX_SOURCE:,} can be run.",
    ),
]


@pytest.mark.thorough
def test_what_cannot_be_opened_is_said(page: Any) -> None:
    before = page.locator("textarea").input_value()
    for name, data, said in REFUSED:
        expect(opened(page, name, data)).to_have_text(said)
        expect(page.locator("textarea")).to_have_value(before)


@pytest.mark.thorough
def test_a_large_notebook_is_opened_in_part(page: Any, tmp_path: Path) -> None:
    """20 MB of outputs do not matter, and of too many cells the first ones are kept."""
    long = {"cell_type": "code", "source": "# " + "words " * (limits.MAX_SOURCE // 12)}
    heavy = {**CELLS[1], "outputs": [{"data": {"image/png": "A" * 20_000_000}}]}
    file = tmp_path / "large.ipynb"
    file.write_bytes(notebook([heavy, long, long, long]))
    page.locator("input[type=file]").set_input_files(file)
    expect(page.locator(".st-key-open-file .said")).to_have_text(
        "large.ipynb: the first 2 of 4 cells; more would be too long to run"
    )
    page.wait_for_selector("td.name:text-is('x')")


def test_a_file_that_is_too_large_is_not_read(page: Any, tmp_path: Path) -> None:
    file = tmp_path / "huge.py"
    with file.open("wb") as empty:
        empty.truncate(limits.OPENED_FILE + 1_000_000)
    page.locator("input[type=file]").set_input_files(file)
    expect(page.locator(".st-key-open-file .said")).to_have_text(
        "huge.py has 51 MB; files of at most 50 MB can be opened."
    )


@pytest.mark.thorough
def test_a_program_that_is_too_long_for_a_link_is_left_out_of_it(page: Any) -> None:
    """A server answers an address that is too long with an error: a reload would lose the page."""
    text = (
        "x = torch.tensor(2.0, requires_grad=True)\n(x**2).backward()\n# "
        + "=" * 2 * limits.LINK_PROGRAM
    )
    opened(page, "long.py", text.encode())
    page.wait_for_selector("text=This program is too long for a link")
    page.wait_for_selector("td.name:text-is('x')")
    assert "program=" not in page.evaluate("location.href")
    page.locator("textarea").fill("torch.tensor(3.0)")
    page.keyboard.press("Control+Enter")
    expect(page.locator("text=This program is too long for a link")).to_have_count(0)
    page.wait_for_function("location.href.includes('program=torch.tensor')")
