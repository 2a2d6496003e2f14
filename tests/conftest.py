"""Shared by the tests: the real app in a process of its own, and a browser to drive it."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from benchmarks.load.serving import serving

# One thread, as in the sandbox's children: the order of a float sum depends on their number, and
# some tests compare to the last bit. Read when torch is first imported, here and in children.
os.environ["OMP_NUM_THREADS"] = "1"

# Processes would write it at the same time, and nothing reads it later.
hypothesis.settings.register_profile("tests", database=None)
hypothesis.settings.load_profile("tests")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]


#: More processes than processors, since some tests wait for a child's clock or for a browser.
PROCESSES_MORE = 1
#: Up to so many files run in the process that collects them: others take seconds to start.
FEW_FILES = 2


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """How many processes `-n auto` runs the tests in."""
    few = len(config.args) <= FEW_FILES and all(".py" in asked for asked in config.args)
    if few or "PYTEST_XDIST_WORKER" in os.environ:
        return 0
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    return processors + PROCESSES_MORE


@contextmanager
def running_app(log: Path, **environment: str) -> Iterator[str]:
    """The app as a reader starts it, on a free port of this machine; gives its address."""
    with serving(log, **environment) as server:
        yield server.address


@pytest.fixture(autouse=True)
def no_bug_is_only_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What the library turns into a sentence and a log, as a last resort, fails the test; one
    that provokes it clears the log."""
    yield
    bugs = [r for r in caplog.get_records("call") if r.name.startswith("explorer.trace")]
    assert not [record for record in bugs if record.levelno >= logging.ERROR]


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app's address."""
    with running_app(tmp_path_factory.mktemp("app") / "log") as url:
        yield url


@pytest.fixture(scope="session")
def app_without_dot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app's address, on a machine where no program is on the PATH."""
    folder = tmp_path_factory.mktemp("app-without-dot")
    with running_app(folder / "log", PATH=str(folder)) as url:
        yield url


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium. Without one the test is skipped, or fails if REQUIRE_BROWSER=1."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        reason = f"no Chromium found (looked for {', '.join(BROWSERS)})"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """A browser tab of 1280 × 800. A script error, or a request to another machine, fails."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(40_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("http://127.0.0.1", "data:", "blob:", "ws://127.0.0.1"))
            else faults.append(request.url)
        ),
    )
    yield page
    context.close()
    assert faults == []
