"""The load test against the real app: a few readers, no wrong answer, nothing kept."""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.load import feature_maps, network, report
from benchmarks.load.crowd import run_crowd, trigger_cleanup, visit_every_page
from benchmarks.load.files import WrongAnswer
from benchmarks.load.mix import ACTIONS, PAGES
from benchmarks.load.reader import KNOWN, NEW, Reader
from benchmarks.load.serving import Server, serving
from explorer.ui.common import pages

#: What Streamlit counts of its sessions -> the metric's family and label.
METRICS = {
    "sessions": ("active_sessions", ""),
    "uploads": ("cache_memory_bytes", "UploadedFileManager"),
    "pictures": ("cache_memory_bytes", "media_file"),
}


def _counts(server: Server) -> dict[str, int]:
    return {what: server.metric(family, label) for what, (family, label) in METRICS.items()}


async def _reader_with_upload(server: Server) -> Reader:
    """A reader who has uploaded a picture and then opened the Network page."""
    reader = Reader(server.address, PAGES, ACTIONS, random.Random(1), [], set())
    await reader.open_page("feature_maps")
    await reader.wait_for_answer(lambda tab: None)
    await feature_maps.upload_image(reader)
    await reader.open_page("network")
    await reader.wait_for_answer(lambda tab: None if tab.all("imgs") else "no picture")
    return reader


async def _do_every_action(server: Server) -> None:
    """Each raises WrongAnswer if the page does not show what the action expects."""
    reader = Reader(server.address, PAGES, ACTIONS, random.Random(2), [], set())
    for action in ACTIONS:
        if action.page not in ("any", reader.page):
            await reader.open_page(action.page)
            await reader.wait_for_answer(lambda tab: None)
        if action.do is not network.choose_large:
            await action.do(reader)
    await reader.tab.close()


async def _visit(server: Server) -> None:
    await visit_every_page(server)
    await _do_every_action(server)
    reader = await _reader_with_upload(server)
    while_there = await asyncio.to_thread(_counts, server)
    assert all(while_there.values()), while_there
    await reader.tab.set("selectbox", "preset", "TestNet")
    with pytest.raises(WrongAnswer, match="not this"):  # so wrong answers are noticed
        await reader.wait_for_answer(lambda tab: "not this")
    crowd = await run_crowd(server, 3, 8.0, 0, set())
    assert not crowd.errors, report.errors_list([crowd])
    assert len(crowd.done) >= 6
    await reader.tab.close()
    limit = time.monotonic() + 20
    remaining = while_there
    while any(remaining.values()) and time.monotonic() < limit:
        await asyncio.sleep(1.5)
        await trigger_cleanup(server)
        remaining = await asyncio.to_thread(_counts, server)
    assert not any(remaining.values()), remaining


def test_readers_get_answers_and_nothing_is_kept(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "log", STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL="1") as server,
        ThreadPoolExecutor(1) as apart,  # browser tests leave an event loop in this thread
    ):
        apart.submit(asyncio.run, _visit(server)).result()
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_the_visited_pages_exist() -> None:
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
