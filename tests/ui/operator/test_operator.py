"""The operator's page: who may see it, and whether its numbers are true."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from explorer.ui.common import activity, startup
from explorer.ui.operator import access, panel, processes, report
from tests.pages.test_pages import html_of, opened

pytestmark = pytest.mark.fast
KEY = "a key of the operator"


def opened_by_stranger(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(access, "reader_is_local", lambda: False)
    return opened("pages/operator.py")


def is_shown(at: Any) -> bool:
    assert not at.exception
    return bool(at.metric)


def test_the_page_shows_this_process() -> None:
    at = opened("pages/operator.py")
    assert is_shown(at)
    labels = [metric.label for metric in at.metric]
    assert labels == ["Readers", "Programs running", "Waiting", "Processors", "Memory"]
    assert "All pages" in html_of(at)


def test_strangers_see_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(access.VARIABLE, raising=False)
    at = opened_by_stranger(monkeypatch)
    assert not is_shown(at)
    assert "ax-operator" not in html_of(at)
    assert not at.text_input


@pytest.mark.parametrize(
    ("typed", "shown"), [("", False), ("wrong key of nobody", False), (KEY, True)]
)
def test_the_key_opens_the_page(typed: str, shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.VARIABLE, KEY)
    at = opened_by_stranger(monkeypatch)
    assert not is_shown(at)
    at.text_input(key="operator-key").set_value(typed).run()
    assert is_shown(at) == shown
    assert bool(at.error) == bool(typed and not shown)


def test_a_short_key_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.VARIABLE, "short")
    assert not opened_by_stranger(monkeypatch).text_input


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-Ip", "Forwarded"])
def test_who_comes_through_a_proxy_is_not_local(
    header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Context:
        ip_address = "127.0.0.1"
        headers = {"Host": "localhost:8501"}  # noqa: RUF012

    monkeypatch.setattr(startup.st, "context", Context)
    assert startup.reader_is_local()
    Context.headers = Context.headers | {header: "192.0.2.1"}
    assert not startup.reader_is_local()


def test_a_run_of_a_page_is_counted_when_its_thread_ends() -> None:
    activity.page_runs.clear()
    may_end, second = threading.Event(), threading.Event()

    def run() -> None:
        activity.time_page("expression")
        time.sleep(0.05)
        activity.time_page("network")  # the same thread runs another page
        second.set()
        may_end.wait(5)

    thread = threading.Thread(target=run)
    thread.start()
    second.wait(5)
    assert [one.page for one in activity.page_runs] == ["expression"]
    may_end.set()
    thread.join()
    assert [one.page for one in activity.page_runs] == ["expression", "network"]
    assert activity.page_runs[0].seconds >= 0.05


def test_errors_of_pages_are_kept_without_a_traceback() -> None:
    activity.errors.clear()
    for _ in range(2):
        activity.keep_errors()
    try:
        raise ValueError("<b>typed</b>")
    except ValueError as error:
        logging.getLogger("streamlit.error_util").error("Uncaught app execution", exc_info=error)
    logging.getLogger("explorer.anything").error("a sentence")
    logging.getLogger("explorer.anything").warning("not an error")
    texts = [one.text for one in activity.errors]
    assert texts == ["Uncaught app execution: ValueError: <b>typed</b>", "a sentence"]
    shown = html_of(opened("pages/operator.py"))
    assert "&lt;b&gt;typed" in shown
    assert "<b>typed" not in shown


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="no /proc")
def test_memory_and_processors_are_those_of_all_children() -> None:
    before = processes.usage()
    code = "import sys, time\nx = bytearray(80 << 20)\nfor i in range(10**7): pass\n"
    code += "print('ready', flush=True)\nsys.stdin.read()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdin is not None
    child.stdout.readline()
    now = processes.usage()
    assert before is not None
    assert now is not None
    assert child.pid in processes.descendants(os.getpid())
    assert now.count > before.count - 3
    assert processes.memory(child.pid) > 80 << 20
    assert processes.processor_time(child.pid) > 0.05
    child.stdin.close()
    child.wait()
    assert processes.memory(child.pid) == 0


def test_times_are_medians_and_percentiles() -> None:
    assert report.times([]) == report.Times(0, None, None)
    assert report.times([2.0]) == report.Times(1, 2.0, 2.0)
    times = report.times([float(number) for number in range(101)])
    assert (times.count, times.median, times.p95) == (101, 50.0, 95.0)


def test_only_what_was_lately_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    runs = [activity.PageRun("expression", now - seconds, 1.0) for seconds in (1, 200, 4000)]
    monkeypatch.setattr(activity, "page_runs", runs)
    assert report.make_report(None).pages["Expression"].count == 2


def test_the_page_is_drawn_again_and_again() -> None:
    assert 1 <= panel.INTERVAL <= 5
    at = opened("pages/operator.py")
    first = next(metric for metric in at.metric if metric.label == "Processors").value
    at.run()
    second = next(metric for metric in at.metric if metric.label == "Processors").value
    assert first.startswith("…")
    assert float(second.split()[0]) >= 0
