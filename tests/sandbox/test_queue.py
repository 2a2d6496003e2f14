"""Readers take turns."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.sandbox.queue import FairQueue

pytestmark = pytest.mark.fast


@dataclass(eq=False)
class Job:
    reader: str
    number: int = 0


def _filled(readers: str) -> FairQueue[Job]:
    queue: FairQueue[Job] = FairQueue()
    for number, reader in enumerate(readers):
        queue.add(Job(reader, number))
    return queue


def _emptied(queue: FairQueue[Job]) -> list[Job]:
    return [job for _ in range(len(queue)) if (job := queue.take(lambda job: True))]


def test_one_reader_cannot_starve_another() -> None:
    assert "".join(job.reader for job in _emptied(_filled("aaaabbc"))) == "abcabaa"


def test_who_was_just_served_comes_last() -> None:
    queue = _filled("aab")
    queue.take(lambda job: True)
    queue.add(Job("c"))
    assert "".join(job.reader for job in _emptied(queue)) == "bac"


def test_who_may_not_start_is_passed_over_and_keeps_the_place() -> None:
    queue = _filled("ab")
    taken = queue.take(lambda job: job.reader != "a")
    assert taken is not None
    assert taken.reader == "b"
    assert queue.take(lambda job: False) is None
    assert [job.reader for job in queue] == ["a"]


def test_who_has_most_waiting_makes_room() -> None:
    queue = _filled("abbbcc")
    assert queue.waiting("b") == 3
    assert [(job.reader, job.number) for job in (queue.crowd_out(), queue.crowd_out())] == [
        ("b", 3),
        ("c", 5),
    ]
    assert "".join(job.reader for job in _emptied(queue)) == "abcb"


def test_where_all_have_one_the_newcomer_is_turned_away() -> None:
    assert _filled("abc").crowd_out().reader == "c"


@given(st.text("abcd"))
def test_the_order_shown_is_the_order_kept(readers: str) -> None:
    queue = _filled(readers)
    shown = list(queue)
    assert len(shown) == len(queue) == len(readers)
    taken = _emptied(queue)
    assert taken == shown
    for reader in "abcd":
        mine = [job.number for job in taken if job.reader == reader]
        assert mine == sorted(mine)


@given(st.text("ab", min_size=1), st.data())
def test_removing_one_leaves_the_others(readers: str, data: st.DataObject) -> None:
    queue = _filled(readers)
    before = list(queue)
    gone = data.draw(st.sampled_from(before))
    queue.remove(gone)
    assert set(queue) == set(before) - {gone}
