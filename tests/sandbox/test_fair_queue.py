"""Readers take turns in the queue."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.sandbox import fair_queue
from explorer.sandbox.fair_queue import FORGOTTEN, HALF_LIFE, FairQueue, Ledger

pytestmark = pytest.mark.fast


@dataclass(eq=False)
class Request:
    reader: str
    number: int = 0
    background: bool = False


def _filled(readers: str) -> FairQueue[Request]:
    queue: FairQueue[Request] = FairQueue()
    for number, reader in enumerate(readers):
        queue.add(Request(reader, number))
    return queue


def _emptied(queue: FairQueue[Request]) -> list[Request]:
    return [request for _ in range(len(queue)) if (request := queue.take(lambda request: True))]


def test_one_reader_cannot_starve_another() -> None:
    assert "".join(request.reader for request in _emptied(_filled("aaaabbc"))) == "abcabaa"


def test_the_reader_just_served_comes_last() -> None:
    queue = _filled("aab")
    queue.take(lambda request: True)
    queue.add(Request("c"))
    assert "".join(request.reader for request in _emptied(queue)) == "bac"


def test_who_has_used_less_goes_first() -> None:
    queue = _filled("aabbc")
    queue.ledger.charge("a", 3.0)
    queue.ledger.charge("c", 0.1)
    assert "".join(request.reader for request in queue) == "bbcaa"
    assert queue.evict().reader == "a"
    for _ in range(40):
        queue.ledger.charge("b", 1.0)
    assert "".join(request.reader for request in _emptied(queue)) == "cabb"


def test_what_was_used_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(fair_queue.time, "monotonic", lambda: now[0])
    ledger = Ledger()
    ledger.charge("a", 8.0)
    now[0] = HALF_LIFE
    assert ledger.used("a") == 4.0
    now[0] = 2 * HALF_LIFE
    ledger.charge("a", 1.0)
    now[0] = 3 * HALF_LIFE
    assert ledger.used("a") == 1.5
    now[0] += FORGOTTEN
    ledger.charge("b", 1.0)
    assert ledger.used("a") == 0.0


def test_a_request_that_may_not_start_is_skipped_and_keeps_its_place() -> None:
    queue = _filled("ab")
    taken = queue.take(lambda request: request.reader != "a")
    assert taken is not None
    assert taken.reader == "b"
    assert queue.take(lambda request: False) is None
    assert [request.reader for request in queue] == ["a"]


def test_what_is_in_the_background_comes_last_and_is_lost_first() -> None:
    queue: FairQueue[Request] = FairQueue()
    for number, reader in enumerate("aabbc"):
        queue.add(Request(reader, number, background=number in (0, 2)))
    assert [request.number for request in queue] == [1, 3, 4, 0, 2]
    assert queue.evict().number == 2
    assert [request.number for request in _emptied(queue)] == [1, 3, 4, 0]


def test_the_reader_with_most_requests_loses_one() -> None:
    queue = _filled("abbbcc")
    assert queue.count("b") == 3
    assert [(request.reader, request.number) for request in (queue.evict(), queue.evict())] == [
        ("b", 3),
        ("c", 5),
    ]
    assert "".join(request.reader for request in _emptied(queue)) == "abcb"


def test_if_all_have_one_request_the_newcomers_is_evicted() -> None:
    assert _filled("abc").evict().reader == "c"


@given(st.text("abcd"), st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3)))
def test_requests_start_in_the_order_of_iteration(readers: str, used: dict[str, int]) -> None:
    queue = _filled(readers)
    for reader, seconds in used.items():
        queue.ledger.charge(reader, seconds)
    shown = list(queue)
    assert len(shown) == len(queue) == len(readers)
    taken = _emptied(queue)
    assert taken == shown
    for reader in "abcd":
        mine = [request.number for request in taken if request.reader == reader]
        assert mine == sorted(mine)


@given(st.text("ab", min_size=1), st.data())
def test_removing_one_request_keeps_the_others(readers: str, data: st.DataObject) -> None:
    queue = _filled(readers)
    before = list(queue)
    gone = data.draw(st.sampled_from(before))
    queue.remove(gone)
    assert set(queue) == set(before) - {gone}
