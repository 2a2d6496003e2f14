"""Looking at what a running program has done so far changes nothing of what it does afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from explorer.program import Watcher, watcher
from explorer.trace import Trace, to_plain
from explorer.trace.examples import EXAMPLES
from explorer.trace.running import run
from tests.known_programs import GROUPS
from tests.marks import sample

#: Most Traces that are made while one program runs.
MOST = 40


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement is followed by a pulse."""
    monkeypatch.setattr(watcher, "PULSE", 0.0)
    monkeypatch.setattr(watcher, "_INTERVAL", 0.0)


def with_snapshots(source: str, *, capture: str) -> tuple[Trace, list[Trace]]:
    parts: list[Trace] = []

    def look(watcher: Watcher) -> None:
        if watcher.snapshot is not None and len(parts) < MOST:
            parts.append(watcher.snapshot())

    return run(source, capture=capture, on_pulse=look), parts


def plain(trace: Trace) -> Any:
    """For a comparison; NaN equals NaN."""
    return json.loads(json.dumps(to_plain(replace(trace, seconds=0.0))), parse_constant=str)


def compare(source: str, capture: str) -> None:
    run(source, capture=capture)  # torch gives some warnings once in a process
    once, again = (plain(run(source, capture=capture)) for _ in range(2))
    trace, parts = with_snapshots(source, capture=capture)
    assert parts
    if once == again:  # not of a program that shows the time
        assert plain(trace) == once


@pytest.mark.parametrize("example", sample(EXAMPLES, every=6), ids=lambda example: example.key)
def test_an_example(example: Any, always: None) -> None:
    compare(example.source, "hook")


@pytest.mark.thorough
@pytest.mark.parametrize("capture", ["hook", "retain_grad"])
@pytest.mark.parametrize("group", [group for group in GROUPS if group != "example"])
def test_other_programs(group: str, capture: str, always: None) -> None:
    for source in GROUPS[group].values():
        compare(source, capture)
