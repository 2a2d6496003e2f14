"""The load test against the real app: a few readers, no wrong answer, nothing kept."""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.load import feature_maps, live_mixes, network, report
from benchmarks.load.crowd import Crowd, run_crowd, trigger_cleanup, visit_every_page
from benchmarks.load.files import WrongAnswer
from benchmarks.load.losses import Loss
from benchmarks.load.mix import ACTIONS, MIX, PAGES
from benchmarks.load.reader import KNOWN, NEW, ActionResult, Reader
from benchmarks.load.relay import slow_network
from benchmarks.load.scenarios import losses
from benchmarks.load.serving import Server, Usage, serving
from explorer.ui import pages

#: What Streamlit counts of its sessions -> the metric's family and label.
METRICS = {
    "sessions": ("active_sessions", ""),
    "uploads": ("cache_memory_bytes", "UploadedFileManager"),
}


def _counts(server: Server) -> dict[str, int]:
    return {what: server.metric(family, label) for what, (family, label) in METRICS.items()}


async def _reader_with_upload(server: Server) -> Reader:
    """A reader who has uploaded a picture, and is on the Network page now."""
    reader = Reader(server.address, MIX, random.Random(1))
    await reader.open_page("feature_maps")
    await reader.wait_for_answer(lambda tab: None)
    await feature_maps.upload_image(reader)
    await reader.open_page("network")
    await reader.wait_for_answer(
        lambda tab: None if tab.has("selectbox", "preset") else "no networks"
    )
    return reader


async def _do_every_action(server: Server) -> None:
    """Each raises WrongAnswer if the page does not show what the action expects."""
    reader = Reader(server.address, MIX, random.Random(2))
    for action in ACTIONS:
        if action.page not in ("any", reader.page):
            await reader.open_page(action.page)
            await reader.wait_for_answer(lambda tab: None)
        if action.do is not network.choose_large:
            await action.do(reader)
    await feature_maps.upload_photograph(reader)
    await reader.open_page("expression")
    await reader.wait_for_answer(
        lambda tab: None if tab.has("text_area", "program") else "no editor"
    )
    for _ in range(3):
        await live_mixes.type_on(reader)
    reader.done.clear()
    await live_mixes.drag_number(reader)
    assert len(reader.done) == live_mixes.FRAMES
    await reader.tab.close()


async def _lose_connection(server: Server) -> None:
    """Far away, a reader loses the connection: the next one has the session, and what was typed."""
    delay = 0.05
    async with slow_network(server.address, delay, 1e7) as address:
        reader = Reader(address, MIX, random.Random(3))
        start, program = (
            time.monotonic(),
            "x = torch.ones(2, requires_grad=True); x.sum().backward()",
        )
        await reader.open_page("expression", program=program)
        await reader.wait_for_answer(
            lambda tab: None if tab.has("button_group", "panel") else "no panels"
        )
        assert time.monotonic() - start > 6 * delay  # two requests, the handshake and the page
        tab, session = reader.tab, reader.tab._connection.session
        tab._connection._socket.transport.abort()
        while not tab.losses or tab.losses[-1].back is None:
            await asyncio.sleep(0.02)
        panel = next(action for action in ACTIONS if action.name == "switch to another panel")
        assert await reader.do(panel)
        assert not reader.done[-1].error
        assert tab.losses[-1].complete
        assert tab._connection.session == session
        assert tab.value("text_area", "program") == program
        await tab.close()


async def _visit(server: Server) -> None:
    await visit_every_page(server)
    await _do_every_action(server)
    await _lose_connection(server)
    reader = await _reader_with_upload(server)
    while_there = await asyncio.to_thread(_counts, server)
    assert all(while_there.values()), while_there
    await reader.tab.set("selectbox", "preset", "linear layer, divided by 4")
    with pytest.raises(WrongAnswer, match="not this"):  # so wrong answers are noticed
        await reader.wait_for_answer(lambda tab: "not this")
    crowd = await run_crowd(server, 3, 6.0, 0, warm_up=3.0)
    assert not crowd.errors, report.errors_list([crowd])
    assert 3 <= len(crowd.done) < 15
    assert all(result.action.name != "open the app" for result in crowd.done)  # in the warm-up
    assert crowd.milliseconds > 0
    await reader.tab.close()
    limit = time.monotonic() + 20
    remaining = while_there
    while any(remaining.values()) and time.monotonic() < limit:
        await asyncio.sleep(1.5)
        await trigger_cleanup(server)
        remaining = await asyncio.to_thread(_counts, server)
    assert not any(remaining.values()), remaining


@pytest.mark.thorough
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


def _crowd(done: list[ActionResult], losses: tuple[tuple[Loss, ...], ...] = ()) -> Crowd:
    peak = Usage(2**20, 2**20, 1, 1, 1, 1.0)
    failed = tuple(one for one in done if one.error)
    return Crowd(10, 20.0, tuple(done), failed, peak, 0.5, 0.1, losses, MIX)


@pytest.mark.fast
def test_what_many_readers_need_follows_from_the_cost() -> None:
    crowd = _crowd([ActionResult(ACTIONS[3], 0.1)] * 100)  # 20 s × 0.5 processors / 100
    assert crowd.milliseconds == pytest.approx(100)
    text = report.many_readers(300, crowd, crowd)
    assert "100 /s × 100 ms = 10.0 processors" in text
    assert "16.7 processors" in text


@pytest.mark.fast
def test_interrupted_actions_have_no_time() -> None:
    quick, lost = ActionResult(ACTIONS[3], 0.1), ActionResult(ACTIONS[3], 9.0, interrupted=True)
    assert "| 100 | 5.0 | 0.10 | 0.10 | 0 |" in report.crowds_table([_crowd([quick] * 99 + [lost])])


@pytest.mark.fast
def test_lost_readers_are_counted() -> None:
    same = Loss(10.0, {"text_area program": "x"}, 11.0, True, 12.0, {"text_area program": "x"})
    late = Loss(10.0, {"text_area program": "x"}, 11.0, True, 17.0, {"text_area program": "y"})
    never = Loss(10.0, {}, 11.0)
    text = losses(_crowd([], ((same,), (late,), (never,), ())))
    for row in (
        "| readers who lost their connection | 3 |",
        "| page complete again within 5 s | 1 |",
        "| later | 1 |",
        "| never | 1 |",
        "| with text and settings as they were | 1 |",
        "- 1× text_area program was another",
    ):
        assert row in text


@pytest.mark.fast
def test_sections_that_were_not_measured_again_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "FILE", tmp_path / "LOAD.md")
    order = ["One", "Two"]
    report.write({"Two": "old", "Gone": "old"}, order, 2, "first")
    report.write({"One": "new"}, order, 2, "second")
    text = (tmp_path / "LOAD.md").read_text()
    assert text.index("`second`") < text.index("new") < text.index("`first`") < text.index("old")
    assert text.count("## ") == 3  # and the mix
    assert "Gone" not in text
