"""Pages in these tests wait for their jobs, and never run a reader's text in the app's process."""

import sys
import threading
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest

from explorer.program.parsing import FILE
from explorer.training import PRESETS
from explorer.ui.server import sandbox_call


def own_texts() -> Iterator[str]:
    """The app's own, which it trusts: the presets, also in batches."""
    for preset in PRESETS.values():
        yield from (preset.setup, preset.loss)
        if preset.rows is not None:
            for size in preset.rows.sizes():
                yield from preset.rows.texts(preset.setup, preset.loss, size)


OWN = set(own_texts())
#: The programs that the app's own threads have run.
_executed: list[str] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    code = arguments[0] if event == "exec" else None
    if not isinstance(code, CodeType) or code.co_filename != FILE:
        return
    if threading.current_thread() is not threading.main_thread():  # in which tests compute
        _executed.append(sys._getframe(1).f_locals["program"].source)


sys.addaudithook(_audit)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No browser would ask for them again."""
    monkeypatch.setattr(sandbox_call, "WAIT", 30.0)


@pytest.fixture(autouse=True)
def _no_program_runs_in_the_app() -> Iterator[None]:
    _executed.clear()
    yield
    assert not set(_executed) - OWN
