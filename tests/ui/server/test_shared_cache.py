"""The caches for all readers: limited in bytes and in time, and each result is made once."""

from __future__ import annotations

import gc
import json
import sys
import threading
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
import torch

import explorer
from explorer.limits import UNUSED_SECONDS
from explorer.trace import Trace, from_plain, to_plain
from explorer.ui.server import shared_cache
from explorer.ui.server.shared_cache import SharedCache, derived, shared, size

pytestmark = pytest.mark.fast


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time in seconds, as its one element."""
    now = [0.0]
    monkeypatch.setattr(shared_cache.time, "monotonic", lambda: now[0])
    return now


def test_what_was_used_last_stays_within_the_limit() -> None:
    cache: SharedCache[bytes] = SharedCache(10_000, measure=len)
    for key in "abc":
        cache.put(key, bytes(3000))
    assert cache.get("a") == bytes(3000)
    cache.put("d", bytes(3000))
    assert [key in cache for key in "abcd"] == [True, False, True, True]
    assert cache.bytes == 9000
    cache.put("huge", bytes(20_000))
    assert len(cache) == 1
    assert cache.get("huge") is not None
    cache.put("huge", bytes(5000))
    assert cache.bytes == 5000
    cache.drop("huge")
    assert cache.bytes == 0
    assert cache.get("huge") is None


def test_small_results_are_not_free() -> None:
    cache: SharedCache[bool] = SharedCache(10_000)
    for key in range(100):
        cache.put(key, True)
    assert len(cache) == 10


def test_what_nobody_uses_is_dropped_in_all_caches(clock: list[float]) -> None:
    first: SharedCache[bytes] = SharedCache(2**20)
    second: SharedCache[bytes] = SharedCache(2**20)
    for cache in (first, second):
        cache.put("used", bytes(5000))
        cache.put("left", bytes(5000))
    clock[0] = UNUSED_SECONDS
    shared_cache.drop_unused()
    assert len(first) == len(second) == 2
    first.get("used")
    clock[0] += 1.0
    shared_cache.drop_unused()
    assert first.get("used") is not None
    assert "left" not in first
    assert len(second) == second.bytes == 0
    clock[0] += UNUSED_SECONDS + 1.0
    shared_cache.drop_unused()
    assert first.bytes == 0


def test_a_result_is_made_once_for_all_who_wait() -> None:
    started, answer = threading.Event(), threading.Event()
    made: list[str] = []
    seen: list[str] = []

    @shared(2**20)
    def make(name: str) -> str:
        made.append(name)
        started.set()
        assert answer.wait(10.0)
        return name.upper()

    threads = [threading.Thread(target=lambda: seen.append(make("a"))) for _ in range(5)]
    threads[0].start()
    assert started.wait(10.0)
    for thread in threads[1:]:
        thread.start()
    answer.set()
    for thread in threads:
        thread.join(10.0)
    assert made == ["a"]
    assert seen == ["A"] * 5
    assert make(name="b") == make(name="b") == "B"
    assert made == ["a", "b"]


def test_an_error_is_not_kept() -> None:
    tries: list[int] = []

    @shared(2**20, key=lambda number, unkeyed: number)
    def divide(number: int, unkeyed: int) -> float:
        tries.append(unkeyed)
        return number / unkeyed

    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert divide(1, 2) == divide(1, 4) == 0.5
    assert tries == [0, 2]


def test_none_is_a_result() -> None:
    calls: list[int] = []

    @shared(2**20)
    def nothing() -> None:
        calls.append(1)

    assert nothing() is nothing() is None
    assert calls == [1]


def test_models_and_tensors_are_measured() -> None:
    layer = torch.nn.Linear(100, 100)
    assert 40_000 < size(layer) < 42_000
    assert 40_000 < size({"x": [torch.ones(100, 100)]}) < 42_000
    assert 80_000 < size((np.ones((100, 100)),)) < 82_000


@pytest.mark.parametrize("rows", [1, 16, 17, 31, 33, 1000])
def test_a_long_table_takes_as_much_as_all_of_its_rows(rows: int) -> None:
    table = tuple((float(row), str(row)) for row in range(rows))
    taken = sum(sys.getsizeof(part) for row in table for part in (row, *row))
    assert 0.8 < size(table) / (taken + sys.getsizeof(table)) < 1.2


def test_the_size_of_a_trace_is_about_what_it_takes() -> None:
    source = "import torch\nx = torch.ones(64, 64, requires_grad=True)\ny = x\n"
    source += "for i in range(100):\n    y = y * 1.0\ny.sum().backward()"
    plain = json.dumps(to_plain(explorer.run(source)))
    tracemalloc.start()
    trace = from_plain(Trace, json.loads(plain))
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.7 < size(trace) / taken < 1.4


# --- what is worked out of a trace ---


def test_it_is_made_once_for_each_trace_and_key() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    first, second = Trace("a"), Trace("a")
    asked = [(first, "k"), (first, "k"), (first, "l"), (second, "k")]
    names = [derived(trace, key, lambda n=f"{i}": make(n)) for i, (trace, key) in enumerate(asked)]
    assert names == ["0", "0", "2", "3"]
    assert made == ["0", "2", "3"]


def test_it_goes_with_the_trace() -> None:
    before = len(shared_cache._derived)
    trace = Trace("a")
    derived(trace, "k", list)
    assert len(shared_cache._derived) == before + 1
    del trace
    gc.collect()
    assert len(shared_cache._derived) == before


def test_what_fails_is_tried_again() -> None:
    trace = Trace("a")

    def fail() -> None:
        raise KeyError("no")

    for _ in range(2):
        with pytest.raises(KeyError, match="no"):
            derived(trace, "k", fail)
    assert derived(trace, "k", lambda: 1) == 1
