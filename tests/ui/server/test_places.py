"""Which run of a page has a place, and how often one reader's page is run."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from explorer import limits
from explorer.limits import MUCH_USED, RERUN_WAIT, RERUNS, RERUNS_AT_ONCE
from explorer.ui.server import places
from explorer.ui.server.places import Allowance, Places, while_waiting

pytestmark = pytest.mark.fast


def _nothing() -> None:
    pass


def _superseded() -> None:
    raise InterruptedError


def _after(used: dict[str, float], count: int = limits.PAGE_PLACES) -> Places:
    """Places, and what readers have used before."""
    shared = Places(count)
    for reader, seconds in used.items():
        shared._waiting.ledger.charge(reader, seconds)
    return shared


def test_who_has_used_least_goes_next() -> None:
    shared, order = _after({"a": 3.0, "b": 2.0, "c": 1.0}, count=1), []
    first = shared.take("d", _nothing)

    def run(reader: str) -> None:
        place = shared.take(reader, _nothing)
        order.append(reader)
        shared.leave(place, 0.0)

    threads = [threading.Thread(target=run, args=(reader,)) for reader in "abc"]
    for thread in threads:
        thread.start()
    while len(shared._waiting) < len(threads):
        time.sleep(0.001)
    shared.leave(first, 0.0)
    for thread in threads:
        thread.join(10)
    assert order == ["c", "b", "a"]


def test_who_has_used_much_leaves_a_place_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has to wait here is told that it is superseded."""
    monkeypatch.setattr(limits, "PAGE_QUICK", math.inf)
    shared = _after({"much": MUCH_USED + 1, "also": MUCH_USED + 1, "some": MUCH_USED / 2})
    first = shared.take("much", _superseded)
    with pytest.raises(InterruptedError):
        shared.take("also", _superseded)
    other = shared.take("some", _superseded)
    shared.leave(first, 0.0)
    shared.take("also", _superseded)
    shared.leave(other, 0.0)
    shared.take("new", _superseded)


def _page_run(shared: Places, monkeypatch: pytest.MonkeyPatch, run: Callable[[], None]) -> None:
    """Call `run` in a thread, as a page of the reader "me"."""
    monkeypatch.setattr(places, "_places", shared)
    monkeypatch.setattr(places, "reader", lambda: "me")
    monkeypatch.setattr(places, "st", SimpleNamespace(session_state={}))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)


def test_what_was_used_before_a_pause_counts_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, used = Places(), []

    def run() -> None:
        places.wait_for_place()
        sum(range(1_000_000))
        with while_waiting():
            used.append(shared._waiting.ledger.used("me"))
            assert not shared._taken
        used.append(len(shared._taken))

    _page_run(shared, monkeypatch, run)
    assert used[0] > 0.001
    assert used[1] == 1
    assert not shared._taken


def test_a_run_that_takes_long_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PAGE_QUICK", 0.05)
    shared = Places(count=1)
    shared.take("a", _nothing)
    start = time.monotonic()
    shared.take("b", _nothing)
    assert time.monotonic() - start > 0.04


def test_a_run_that_waits_for_the_sandbox_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = Places(count=1)
    monkeypatch.setattr(limits, "PAGE_QUICK", math.inf)  # the run counts unless it waits
    running: list[int] = []

    def run() -> None:
        places.wait_for_place()
        with while_waiting():
            shared.leave(shared.take("other", _superseded), 0.0)
        running.append(len(shared._taken))

    _page_run(shared, monkeypatch, run)
    assert running == [1]
    with while_waiting():  # no run of a page: nothing happens
        assert not shared._taken


def test_a_run_that_is_no_longer_needed_leaves_the_queue() -> None:
    shared = Places(count=0)
    with pytest.raises(InterruptedError):
        shared.take("a", _superseded)
    assert not len(shared._waiting)


def test_a_run_ends_with_its_thread_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, taken = Places(), []

    def run() -> None:
        places.wait_for_place()
        places.wait_for_place()  # the next run of the same thread ends the first
        taken.append(len(shared._taken))
        sum(range(1_000_000))

    _page_run(shared, monkeypatch, run)
    assert taken == [1]
    assert not shared._taken
    assert shared._waiting.ledger.used("me") > 0.001


def test_a_run_that_is_freed_while_its_thread_has_the_lock_is_noticed_later() -> None:
    shared = Places(count=1)
    first = shared.take("a", _nothing)
    with shared._lock:
        shared.leave(first, 0.0)
    assert shared.take("b", _superseded).given.is_set()


# --- how often ---


@pytest.mark.parametrize(("per_second", "seconds"), [(30, 3), (20, 5)], ids=["held key", "drag"])
def test_people_do_not_wait(per_second: int, seconds: int) -> None:
    allowance = Allowance(now=0.0)
    waits = [allowance.take(number / per_second) for number in range(per_second * seconds)]
    assert not any(waits)


def test_a_flood_waits() -> None:
    allowance = Allowance(now=0.0)
    at_once = [allowance.take(number / 70) for number in range(10 * 70)].count(0.0)
    assert RERUNS_AT_ONCE <= at_once <= RERUNS_AT_ONCE * 70 / (70 - RERUNS) + 1


def test_no_wait_is_long_and_a_pause_ends_it() -> None:
    allowance = Allowance(now=0.0)
    assert max(allowance.take(0.0) for _ in range(1000)) == RERUN_WAIT
    assert allowance.take(RERUN_WAIT + RERUNS_AT_ONCE / RERUNS) == 0
    assert allowance.runs == RERUNS_AT_ONCE - 1


def test_every_page_waits_before_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = SimpleNamespace(
        monotonic=lambda: sum(slept), sleep=slept.append, thread_time=time.thread_time
    )
    monkeypatch.setattr(places, "time", clock)
    at = AppTest.from_string(
        "from explorer.ui.widgets.frame import draw_frame\ndraw_frame('home')", default_timeout=60
    )
    at.session_state[places._KEY] = Allowance(runs=1.0, now=0.0)
    at.run()
    assert not slept
    at.run()
    assert sum(slept) == pytest.approx(1 / RERUNS)
