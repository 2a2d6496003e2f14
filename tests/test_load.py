"""The load script against the real app: a few readers, no wrong answer, nothing left behind."""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.load import maps, report
from benchmarks.load.crowd import read, sweep, warm
from benchmarks.load.files import Wrong
from benchmarks.load.mix import ACTIONS, PAGES
from benchmarks.load.reader import KNOWN, NEW, Reader
from benchmarks.load.serving import Server, serving
from explorer.ui.common import pages

#: Of what a session holds, that which Streamlit counts: sessions, uploads, pictures.
HELD = {
    "sessions": ("active_sessions", ""),
    "uploads": ("cache_memory_bytes", "UploadedFileManager"),
    "pictures": ("cache_memory_bytes", "media_file"),
}


def _held(server: Server) -> dict[str, int]:
    return {what: server.metric(family, label) for what, (family, label) in HELD.items()}


async def _stays(server: Server) -> Reader:
    """A reader who has uploaded a picture, and then looked at a network."""
    reader = Reader(server.address, PAGES, ACTIONS, random.Random(1), [], set())
    await reader.go("feature_maps")
    await reader.see(lambda tab: None)
    await maps.upload(reader)
    await reader.go("network")
    await reader.see(lambda tab: None if tab.all("imgs") else "no picture")
    return reader


async def _visited(server: Server) -> None:
    await warm(server)
    reader = await _stays(server)
    while_there = await asyncio.to_thread(_held, server)
    assert all(while_there.values()), while_there
    await reader.tab.set("selectbox", "preset", "TestNet")
    with pytest.raises(Wrong, match="not this"):  # that no errors are found must mean something
        await reader.see(lambda tab: "not this")
    crowd = await read(server, 3, 8.0, 0, set())
    assert not crowd.errors, report.errors([crowd])
    assert len(crowd.done) >= 6
    await reader.tab.close()
    limit = time.monotonic() + 20
    left = while_there
    while any(left.values()) and time.monotonic() < limit:
        await asyncio.sleep(1.5)
        await sweep(server)
        left = await asyncio.to_thread(_held, server)
    assert not any(left.values()), left


def test_readers_are_answered_and_leave_nothing(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "log", STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL="1") as server,
        ThreadPoolExecutor(1) as apart,  # the browser tests leave this thread with a loop
    ):
        apart.submit(asyncio.run, _visited(server)).result()
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_the_pages_readers_visit_exist() -> None:
    assert set(PAGES) <= {page.key for page in pages.PAGES}


def test_half_of_the_inputs_are_new() -> None:
    def share(input: str) -> float:
        whole = {page: sum(a.weight for a in ACTIONS if a.page in (page, "any")) for page in PAGES}
        return sum(
            PAGES[page]
            * sum(a.weight for a in ACTIONS if a.page in (page, "any") and a.input == input)
            / whole[page]
            for page in PAGES
        )

    assert sum(PAGES.values()) == 100
    assert share(NEW) == pytest.approx(share(KNOWN))
