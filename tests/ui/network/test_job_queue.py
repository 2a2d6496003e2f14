"""A reader who leaves takes along what was kept for them."""

from __future__ import annotations

import gc
import io
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from PIL import Image
from streamlit.runtime.caching import clear_session_resource_cache
from streamlit.testing.v1 import AppTest

from explorer.ui.feature_maps import picture
from explorer.ui.network import job_progress
from explorer.ui.network.job_queue import Job, JobQueue, Unwanted
from tests.pages.test_pages import component, html_of, opened

pytestmark = pytest.mark.fast


def _png(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (20, 30, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def _uploaded(data: bytes) -> Any:
    at = opened("pages/feature_maps.py")
    return at.file_uploader(key="picture-file").upload("mine.png", data, "image/png").run()


def _collect() -> None:
    """Also what the app has spared the collector: Streamlit's test runner is in a cycle."""
    gc.unfreeze()
    gc.collect()


def test_a_session_holds_its_workspace_and_nothing_else_does() -> None:
    at = opened("pages/optimizer.py")
    at.button(key="press-iterate").click().run()
    held = weakref.ref(at.session_state["steps"])
    session = weakref.ref(held().session)
    del at
    _collect()
    assert held() is None
    assert session() is None


def test_a_session_holds_its_picture_and_nothing_else_does() -> None:
    at = _uploaded(_png(1))
    held = weakref.ref(at.session_state[picture._KEPT][1])
    shown = component(at, "pictures")["pictures"][0]
    assert shown["label"] == "Image, 30 × 20"
    del at
    _collect()
    assert held() is None


def test_a_picture_that_waited_in_line_is_read_again_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    really = picture.sandbox.call

    def crowded(*args: Any, on_wait: Any, **options: Any) -> Any:
        on_wait(1)
        return really(*args, on_wait=on_wait, **options)

    monkeypatch.setattr(picture.sandbox, "call", crowded)
    for _ in range(2):
        at = _uploaded(_png(2))
        assert not at.exception
        assert "ax-error" not in html_of(at)
        at.run()
        assert not at.exception


def _slow(job_queue: JobQueue, free: threading.Event) -> Job:
    """A job that keeps the only thread busy until `free`."""
    return job_queue.ask("someone:numbers", "slow", lambda job: free.wait(20))


def test_the_jobs_of_a_reader_who_left_are_given_up() -> None:
    job_queue, free, begun = JobQueue(), threading.Event(), []
    slow = _slow(job_queue, free)
    left = job_queue.ask("reader:tab", "unwanted", begun.append)
    shared = job_queue.ask("reader:numbers", "shared", begun.append)
    job_queue.ask("reader2:numbers", "shared", begun.append)
    job_queue.gone("reader")
    assert not left.wanted
    assert shared.wanted
    free.set()
    assert shared.done.wait(20)
    assert slow.done.is_set()
    assert begun == [shared]


def test_who_asks_for_what_is_just_given_up_gets_it() -> None:
    job_queue, asked, free = JobQueue(), threading.Event(), threading.Event()

    def make(job: Job) -> str:
        wanted = job.wanted
        asked.set()
        assert free.wait(20)
        if not wanted:
            raise Unwanted
        return "made"

    slow_free = threading.Event()
    _slow(job_queue, slow_free)
    first = job_queue.ask("one:tab", "key", make)
    job_queue._waiting["key"].owners.clear()  # the last one leaves as the work begins
    slow_free.set()
    assert asked.wait(20)
    second = job_queue.ask("two:tab", "key", make)
    free.set()
    assert second.done.wait(20)
    assert second.result == "made"
    assert isinstance(first.error, Unwanted)


def test_streamlit_says_when_a_reader_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    job_queue = JobQueue()
    monkeypatch.setattr(job_progress, "job_queue", lambda: job_queue)
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
    from explorer.ui.network import job_progress

    job_progress.result("tab", "wanted", lambda job: None, patience=0.0)
