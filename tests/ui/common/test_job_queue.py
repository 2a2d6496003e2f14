"""Jobs are shared, given up when nobody waits for them, and tried again after an error."""

from __future__ import annotations

import threading

import pytest
from streamlit.runtime.caching import clear_session_resource_cache
from streamlit.testing.v1 import AppTest

from explorer.ui.common import job_queue as queue_module
from explorer.ui.common.job_queue import Abandoned, JobQueue, NetworkJob

pytestmark = pytest.mark.fast


def test_two_readers_share_one_run_and_an_unwanted_one_is_given_up() -> None:
    job_queue, begun, go = JobQueue(), [], threading.Event()

    def first(job: NetworkJob) -> str:
        begun.append(job.key)
        go.wait(10)
        if not job.wanted:
            raise Abandoned
        return job.key

    a, b = job_queue.request("ann", "long", first), job_queue.request("ben", "long", first)
    assert a is b
    queued = job_queue.request("cat", "next", first)
    assert job_queue.count_ahead(queued) == 1
    job_queue.request("cat", "other", first)  # she has changed her mind
    job_queue.leave("ann")
    assert a.wanted
    go.set()
    assert a.done.wait(10)
    assert a.result == "long"
    other = job_queue.request("cat", "other", first)
    assert other.done.wait(10)
    assert begun == ["long", "other"]
    assert job_queue.request("dan", "long", first) is a  # kept for the next reader


def test_a_run_is_wanted_when_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it gives itself up, and the page shows nothing."""
    job_queue, wanted = JobQueue(), []

    def submit(do: object, job: NetworkJob, make: object) -> None:
        wanted.append(job.wanted)  # the thread may begin at once

    monkeypatch.setattr(job_queue._thread, "submit", submit)
    job_queue.request("ann", "long", lambda job: None)
    assert wanted == [True]


def test_what_fails_is_told_and_tried_again() -> None:
    job_queue, tries = JobQueue(), []

    def fail(job: NetworkJob) -> None:
        tries.append(1)
        raise ValueError("no")

    for count in (1, 2):
        job = job_queue.request("ann", "it", fail)
        assert job.done.wait(10)
        assert str(job.error) == "no"
        assert len(tries) == count


def _slow(job_queue: JobQueue, free: threading.Event) -> NetworkJob:
    """A job that keeps the only thread busy until `free`."""
    return job_queue.request("someone:numbers", "slow", lambda job: free.wait(20))


def test_the_jobs_of_a_reader_who_left_are_given_up() -> None:
    job_queue, free, begun = JobQueue(), threading.Event(), []
    slow = _slow(job_queue, free)
    left = job_queue.request("reader:tab", "unwanted", begun.append)
    shared = job_queue.request("reader:numbers", "shared", begun.append)
    job_queue.request("reader2:numbers", "shared", begun.append)
    job_queue.leave_all("reader")
    assert not left.wanted
    assert shared.wanted
    free.set()
    assert shared.done.wait(20)
    assert slow.done.is_set()
    assert begun == [shared]


def test_who_asks_for_what_is_just_given_up_gets_it() -> None:
    job_queue, asked, free = JobQueue(), threading.Event(), threading.Event()

    def make(job: NetworkJob) -> str:
        wanted = job.wanted
        asked.set()
        assert free.wait(20)
        if not wanted:
            raise Abandoned
        return "made"

    slow_free = threading.Event()
    _slow(job_queue, slow_free)
    first = job_queue.request("one:tab", "key", make)
    job_queue._waiting["key"].owners.clear()  # the last one leaves as the work begins
    slow_free.set()
    assert asked.wait(20)
    second = job_queue.request("two:tab", "key", make)
    free.set()
    assert second.done.wait(20)
    assert second.result == "made"
    assert isinstance(first.error, Abandoned)


def test_streamlit_says_when_a_reader_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    job_queue = JobQueue()
    monkeypatch.setattr(queue_module, "job_queue", lambda: job_queue)
    free = threading.Event()
    _slow(job_queue, free)
    AppTest.from_function(_asks).run()
    (waits,) = (job for job in job_queue._waiting.values() if job.key == "tab wanted")
    (owner,) = waits.owners
    clear_session_resource_cache(owner.partition(":")[0])
    assert not waits.wanted
    free.set()


def _asks() -> None:
    """A page that waits for a run."""
    from explorer.ui.common.job_queue import await_result

    await_result("tab", "wanted", lambda job: None, patience=0.0)
