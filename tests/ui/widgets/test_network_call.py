"""Runs are shared, given up when nobody waits for them, and tried again after an error."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.ui.server.shared_cache import SharedCache
from explorer.ui.server.shared_call import join
from explorer.ui.widgets import network_call
from explorer.ui.widgets.network_call import Abandoned, NetworkCall, NetworkJob
from tests.sandbox.test_calls import eventually

pytestmark = pytest.mark.fast


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Nothing is kept from other tests. What is set frees the only thread."""
    monkeypatch.setattr(network_call, "_finished", SharedCache(2**20))
    free = threading.Event()
    slow = NetworkCall("slow", lambda job: free.wait(20))
    yield free
    free.set()
    assert slow.wait(20)


def _ask(key: str, make: Callable[[NetworkJob], Any]) -> NetworkCall:
    return join(key, lambda: NetworkCall(key, make))


def test_two_readers_share_one_run_and_an_unwanted_one_is_given_up(busy: threading.Event) -> None:
    begun: list[str] = []
    ann, ben = (_ask("long", lambda job: begun.append("long") or "made") for _ in range(2))
    assert ann is ben
    cat = _ask("next", lambda job: begun.append("next"))
    assert (ann.count_ahead(), cat.count_ahead(), network_call.count_waiting()) == (1, 2, 2)
    cat = _ask("other", lambda job: begun.append("other"))  # she has changed her mind
    assert cat.count_ahead() == 2
    del ann
    gc.collect()
    busy.set()
    assert ben.wait(10)
    assert cat.wait(10)
    assert ben.result() == ["made"]
    assert begun == ["long", "other"]
    assert network_call._finished.get("long") == ["made"]  # for the next reader


def test_a_run_under_way_is_told_that_it_is_unwanted(busy: threading.Event) -> None:
    begun, ended = threading.Event(), threading.Event()

    def make(job: NetworkJob) -> None:
        begun.set()
        while job.wanted:
            ended.wait(0.01)
        ended.set()
        raise Abandoned

    call = _ask("given up", make)
    busy.set()
    assert begun.wait(10)
    del call
    gc.collect()
    assert ended.wait(10)
    assert _ask("given up", lambda job: "made").result() == ["made"]


def test_what_fails_is_told_and_tried_again(busy: threading.Event) -> None:
    busy.set()
    for text in ("no", "never"):

        def fail(job: NetworkJob, text: str = text) -> None:
            raise ValueError(text)

        with pytest.raises(ValueError, match=text):
            _ask("it", fail).result()


def test_a_finished_run_holds_nothing_but_what_the_cache_counts(busy: threading.Event) -> None:
    class Result:
        pass

    def make(job: NetworkJob) -> Result:
        job.parts = [Result()]
        made.extend(map(weakref.ref, (result := Result(), job.parts[0])))
        return result

    made: list[weakref.ref[Result]] = []
    call = _ask("left", make)  # a session holds it
    busy.set()
    assert call.wait(10)
    assert call.result() is not None
    network_call._finished.clear()
    assert eventually(lambda: gc.collect() >= 0 and made[0]() is made[1]() is None)
    assert call.result() is None


def test_what_is_no_longer_kept_is_run_again(busy: threading.Event) -> None:
    busy.set()
    at = AppTest.from_function(_runs_and_loses).run()
    assert not at.exception
    assert [text.value for text in at.text] == ["2 runs"]


def _runs_and_loses() -> None:
    """A page whose first result has been dropped when it asks for it."""
    import streamlit as st

    from explorer.ui.widgets import network_call

    runs = st.session_state.setdefault("runs", [])
    if not runs:
        call = network_call.NetworkCall("tab it", lambda job: runs.append(1))
        network_call._calls()["tab"] = "tab it", call
        call.result()
        network_call._finished.clear()

    def make(job: network_call.NetworkJob) -> str:
        runs.append(2)
        return f"{len(runs)} runs"

    st.text(network_call.await_result("tab", "it", make, patience=10.0))


def test_a_page_shows_how_far_it_is_and_gives_up_with_its_session(busy: threading.Event) -> None:
    at = AppTest.from_function(_asks).run()
    assert not at.exception
    assert network_call.count_waiting() == 1
    at.session_state[network_call._CALLS].clear()
    assert eventually(lambda: gc.collect() >= 0 and network_call.count_waiting() == 0)


def _asks() -> None:
    """A page that waits for a run."""
    from explorer.ui.widgets.network_call import await_result

    await_result("tab", "wanted", lambda job: None, patience=0.0)
