"""Readers who come to a server that has just started, all at once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import explorer
from benchmarks.load.serving import serving
from benchmarks.load.tab import Tab

PAGES = ("", "expression", "network", "optimizer", "feature_maps")


async def open_page(address: str, page: str) -> None:
    """Raises an error if the page ends in one."""
    tab = Tab(address)
    await tab.open(page)
    await tab.wait_until(lambda tab: None, timeout=120.0)
    await tab.close()


@pytest.mark.thorough
def test_all_pages_open_at_once_on_a_new_server(tmp_path: Path) -> None:
    async def open_all(address: str) -> None:
        await asyncio.gather(*(open_page(address, page) for page in 2 * PAGES))

    # In a thread of its own: browser tests leave an event loop behind in this one.
    with serving(tmp_path / "log") as server, ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(open_all(server.address))).result()


def test_no_module_of_the_library_imports_it() -> None:
    """A thread that imports such a module holds it and waits for all modules, another imports all
    modules and waits for that one."""
    package = Path(explorer.__file__).parent
    sources = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert len(sources) > 100
    assert [path for path, text in sources.items() if "server.early" in text] == []
