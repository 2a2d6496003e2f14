"""What is kept with a run."""

from __future__ import annotations

import gc

import pytest

from explorer.trace import Trace
from explorer.ui.common import derived as module
from explorer.ui.common.derived import derived

pytestmark = pytest.mark.fast


def test_it_is_made_once_for_each_trace_and_key() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    first, second = Trace("a"), Trace("a")
    asked = [(first, "k"), (first, "k"), (first, "l"), (second, "k")]
    names = [derived(trace, key, lambda n=f"{i}": make(n)) for i, (trace, key) in enumerate(asked)]
    assert names == ["0", "0", "2", "3"]
    assert made == ["0", "2", "3"]


def test_it_goes_with_the_trace() -> None:
    before = len(module._derived)
    trace = Trace("a")
    derived(trace, "k", list)
    assert len(module._derived) == before + 1
    del trace
    gc.collect()
    assert len(module._derived) == before


def test_what_fails_is_tried_again() -> None:
    trace = Trace("a")

    def fail() -> None:
        raise KeyError("no")

    for _ in range(2):
        with pytest.raises(KeyError, match="no"):
            derived(trace, "k", fail)
    assert derived(trace, "k", lambda: 1) == 1
