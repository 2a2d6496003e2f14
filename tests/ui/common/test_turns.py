"""Turns between the runs of all readers' pages."""

from __future__ import annotations

import math
import threading
import time

import pytest

from explorer.sandbox.fair_queue import Use
from explorer.ui.common import turns
from explorer.ui.common.turns import MUCH, Turns, take_turn, while_waiting

pytestmark = pytest.mark.fast


def _nothing() -> None:
    pass


def _superseded() -> None:
    raise InterruptedError


def test_who_has_used_least_goes_next() -> None:
    shared, order = Turns(slots=1), []
    first = shared.begin(Use(0.0), _nothing)

    def run(used: float) -> None:
        number = shared.begin(Use(used), _nothing)
        order.append(used)
        shared.end(number)

    threads = [threading.Thread(target=run, args=(used,)) for used in (3.0, 2.0, 1.0)]
    for thread in threads:
        thread.start()
    while len(shared._waiting) < len(threads):
        time.sleep(0.001)
    shared.end(first)
    for thread in threads:
        thread.join(10)
    assert order == [1.0, 2.0, 3.0]


def test_who_has_used_much_leaves_a_place_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has to wait here is told that it is superseded."""
    monkeypatch.setattr(turns, "QUICK", math.inf)
    shared = Turns(slots=2)
    first = shared.begin(Use(MUCH + 1), _superseded)
    with pytest.raises(InterruptedError):
        shared.begin(Use(MUCH + 1), _superseded)
    other = shared.begin(Use(MUCH / 2), _superseded)
    shared.end(first)
    shared.begin(Use(MUCH + 1), _superseded)
    shared.end(other)
    shared.begin(Use(), _superseded)


def test_what_was_used_before_a_pause_counts_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, use = Turns(), Use()
    monkeypatch.setattr(turns, "_turns", shared)

    def run() -> None:
        take_turn(use, _superseded)
        sum(range(1_000_000))
        with while_waiting():
            assert use.seconds > 0.001
            assert not shared._running
        assert len(shared._running) == 1

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert not shared._running
    assert use.seconds > 0.001


def test_a_run_that_takes_long_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "QUICK", 0.05)
    shared = Turns(slots=1)
    shared.begin(Use(0.0), _nothing)
    start = time.monotonic()
    shared.begin(Use(0.0), _nothing)
    assert time.monotonic() - start > 0.04


def test_a_run_that_waits_for_the_sandbox_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = Turns(slots=1)
    monkeypatch.setattr(turns, "_turns", shared)
    monkeypatch.setattr(turns, "QUICK", math.inf)  # the run counts unless it waits
    running: list[int] = []

    def run() -> None:
        take_turn(Use(), _nothing)
        with while_waiting():
            shared.end(shared.begin(Use(0.0), _superseded))
        running.append(len(shared._running))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert running == [1]
    with while_waiting():  # no run of a page: nothing happens
        assert not shared._running


def test_a_run_that_is_no_longer_needed_leaves_the_queue() -> None:
    shared = Turns(slots=0)
    with pytest.raises(InterruptedError):
        shared.begin(Use(0.0), _superseded)
    assert not shared._waiting


def test_a_turn_ends_with_its_thread_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, use = Turns(), Use()
    monkeypatch.setattr(turns, "_turns", shared)

    def run() -> None:
        take_turn(use, _nothing)
        take_turn(use, _nothing)  # the next run of the same thread ends the first
        assert len(shared._running) == 1
        sum(range(1_000_000))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert not shared._running
    assert use.seconds > 0.001
