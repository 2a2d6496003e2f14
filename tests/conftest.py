"""Fixtures shared by the tests: the real app in its own process, and a browser to drive it."""

from __future__ import annotations

import functools
import gc
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

from benchmarks.load.serving import serving

# One thread, as in the sandbox's children: the order of a float sum depends on the number of
# threads, and some tests compare to the last bit. torch reads this when it is first imported, here
# and in child processes.
os.environ["OMP_NUM_THREADS"] = "1"

# Keep what is compiled, even if nothing else may be kept: pytest rewrites 5,700 asserts, which
# takes each process five seconds.
sys.dont_write_bytecode = False

# As a server has it: programs that take all they may would fill a small machine.
os.environ.setdefault("EXPLORER_MEMORY_MB", "512")

# No database: several processes would write it at the same time, and nothing reads it later.
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

#: Folders and files that take longest. They start first, so that no process ends long after the
#: others.
LONGEST = (
    "tests/browser/",
    "tests/docs/test_extending.py",
    "tests/pages/",
    "tests/hostile/",
    "tests/training/test_undo.py",
    "tests/trace/test_script.py",
    "tests/training/test_against_torch.py",
    "tests/training/test_compare.py",
    "tests/sandbox/test_server_life.py",
    "tests/questions/test_questions.py",
    "tests/training/test_script.py",
    "tests/faults/test_rules.py",
    "tests/faults/test_walls.py",
    "tests/test_every_benchmark.py",
    "tests/test_replicas.py",
)
#: More processes than processors: some tests wait for a child's time limit or for a browser. Few
#: fast ones do.
EXTRA_PROCESSES = 1
#: Folders whose tests run in one process each. They share an app, its sandbox and a browser, the
#: imports and sandbox of pages, or a server of hostile programs: as long as ten tests each.
TOGETHER = ("tests/browser/", "tests/pages/", "tests/hostile/")
_START = datetime.now()
#: Up to this many files run in the process that collects them: others take seconds to start.
FEW_FILES = 2


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """How many processes `-n auto` runs the tests in."""
    few = len(config.args) <= FEW_FILES and all(".py" in path for path in config.args)
    if few or "PYTEST_XDIST_WORKER" in os.environ:
        return 0
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    waits = not config.option.markexpr.startswith("fast")
    return processors + EXTRA_PROCESSES * waits


class _Together(LoadFileScheduling):
    """Files are given to processes whole, and these folders too."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Together:
    return _Together(config, log)


def pytest_configure(config: pytest.Config) -> None:
    # Nothing that is thorough is fast, whatever the file says.
    if config.option.markexpr == "fast":
        config.option.markexpr = "fast and not thorough"
    # Nothing becomes garbage while tests are collected; looking for it takes a sixth of the time.
    gc.disable()


def pytest_collection_finish() -> None:
    # From now on there may be garbage, but not among modules and tests.
    gc.freeze()
    gc.enable()
    if "streamlit.testing.v1" in sys.modules:  # pages run in this process
        from streamlit.components.v2 import manifest_scanner

        from tests.plain_app import leave_out_the_self_test

        leave_out_the_self_test()
        # Streamlit's test runner looks for components among the installed packages only once: for
        # each new page it would read the metadata of all, which takes longer than most pages.
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        manifest_scanner.scan_component_manifests = scan


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, in that order, and give property tests the number of
    examples that is asked for."""
    if examples := os.environ.get("EXAMPLES"):
        for test in {item.obj for item in items if isinstance(item, pytest.Function)}:
            if hypothesis.is_hypothesis_test(test):
                own = test._hypothesis_internal_use_settings
                changed = hypothesis.settings(own, max_examples=int(examples))
                test._hypothesis_internal_use_settings = changed
    items.sort(key=lambda item: [not item.nodeid.startswith(path) for path in LONGEST])
    thorough = [item for item in items if item.get_closest_marker("thorough")]
    if len(thorough) == len(items) > 0:  # `-m thorough`
        first = _START.toordinal() * 37 % len(items)
        items[:] = items[first:] + items[:first]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no thorough test after `THOROUGH_SECONDS`; each day others come first."""
    seconds = float(os.environ.get("THOROUGH_SECONDS", "inf"))
    taken = (datetime.now() - _START).total_seconds()
    if item.get_closest_marker("thorough") and taken > seconds:
        pytest.skip("no time left for this test")


@contextmanager
def running_app(log: Path, module: str = "tests.plain_app", **environment: str) -> Iterator[str]:
    """Run the app as a user starts it, on a free port of this machine; gives its URL."""
    with serving(log, module, **environment) as server:
        yield server.address


@pytest.fixture(autouse=True)
def fail_on_logged_errors(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail the test if the library logged an error of its own and went on.

    A test that provokes such an error clears the log.
    """
    yield
    errors = [r for r in caplog.get_records("call") if r.name.startswith("explorer.trace")]
    assert not [record for record in errors if record.levelno >= logging.ERROR]


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the running app."""
    with running_app(tmp_path_factory.mktemp("app") / "log") as url:
        yield url


@pytest.fixture(scope="session")
def app_without_dot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an app that finds no program on the PATH, so no Graphviz."""
    folder = tmp_path_factory.mktemp("app-without-dot")
    with running_app(folder / "log", PATH=str(folder)) as url:
        yield url


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium. Without it the test is skipped, or fails if REQUIRE_BROWSER=1."""
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


@pytest.fixture(scope="session")
def only_tab(chromium: Any) -> Iterator[Any]:
    """The browser's one tab. A page opened in it finds Streamlit's scripts compiled and in its
    cache, which halves the time; use it through `clean_tab`."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(40_000)
    yield page
    context.close()


@contextmanager
def clean_tab(page: Any) -> Iterator[Any]:
    """The tab as a new one: empty, 1280 × 800, light, nothing stored. Nothing moves, for what moves
    is drawn over and over."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    try:
        yield page
    finally:
        if page.url.startswith("http"):
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.goto("about:blank")
        page.context.clear_cookies()


@pytest.fixture
def tab(only_tab: Any) -> Iterator[Any]:
    """An empty browser tab. Script errors and requests to other machines fail the test."""
    page_errors: list[str] = []

    def on_error(error: Any) -> None:
        page_errors.append(str(error))

    def on_request(request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1", "data:", "blob:", "ws://127.0.0.1")):
            page_errors.append(request.url)

    only_tab.on("pageerror", on_error)
    only_tab.on("request", on_request)
    with clean_tab(only_tab):
        yield only_tab
    only_tab.remove_listener("pageerror", on_error)
    only_tab.remove_listener("request", on_request)
    assert page_errors == []
