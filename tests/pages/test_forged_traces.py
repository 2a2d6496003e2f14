"""The Expression page with what a child could answer."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from explorer.sandbox import client, wire
from explorer.trace.examples import EXAMPLES
from explorer.trace.running import run
from explorer.trace.text import digest
from explorer.trace.validation import validate
from explorer.ui.server import sandbox_call
from explorer.ui.server.shared_cache import SharedCache
from tests.marks import sample
from tests.pages.forged_traces import FORGED, SOURCE, honest
from tests.pages.test_pages import html_of, opened

#: Seconds a run of the page may take, and how many bytes the app may grow by.
SECONDS, GROWTH = 10, 200 * 2**20
#: What is opened, and what is picked: the panels that show most of one tensor and one node, and
#: that of the curves.
VIEWS = {"tensor": "tensor-1", "step": "node-n1", "curves": ""}
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


@pytest.fixture(scope="module")
def page() -> Any:
    return opened("pages/expression.py")


@pytest.mark.parametrize("name", sample(FORGED, every=7))
def test_the_page_shows_what_it_can(name: str, page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = honest()
    FORGED[name](plain)
    body = wire.dump(plain)
    del plain
    monkeypatch.setattr(client.Call, "_plain_answer", lambda call: json.loads(body))
    monkeypatch.setattr(sandbox_call, "_traces", SharedCache(2**20))
    source = f"{SOURCE}# {name}"
    CLEAR.write_text("5")
    before = memory("VmRSS")
    for panel, pick in VIEWS.items():
        start = time.process_time()
        page.session_state["panel"] = panel
        page.session_state["expression.pick"] = (digest(source), pick)
        page.text_area(key="program").set_value(source).run(timeout=60)
        assert not page.exception
        assert "x" in html_of(page)
        assert time.process_time() - start < SECONDS
    assert memory("VmHWM") - before < GROWTH


def test_what_really_runs_is_within_the_bounds() -> None:
    for source in (SOURCE, *(example.source for example in EXAMPLES[::6])):
        validate(run(source))
