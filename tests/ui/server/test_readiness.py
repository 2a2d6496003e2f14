"""A server becomes ready once its pages were opened, and pauses between its tries."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.requests import Request

from explorer import limits
from explorer.ui.server import readiness

pytestmark = pytest.mark.fast


def statuses(monkeypatch: pytest.MonkeyPatch, failures: int, questions: int) -> tuple[Any, int]:
    """The answers to so many questions, one after the other, and how often pages were opened."""
    opened = []

    async def open_pages(host: str, port: int, base: str) -> None:
        opened.append(base)
        if len(opened) <= failures:
            raise ConnectionError

    async def ask() -> list[int]:
        asked, answers = readiness._Readiness(), []
        request = Request(
            {"type": "http", "path": "/ready", "server": ("127.0.0.1", 1), "headers": []}
        )
        for _ in range(questions):
            answers.append((await asked.answer(request)).status_code)
            for _ in range(3):
                await asyncio.sleep(0)  # the opening ends meanwhile
        return answers

    monkeypatch.setattr(readiness, "_open_pages", open_pages)
    with ThreadPoolExecutor(1) as thread:  # in this one a browser's loop may run
        return thread.submit(asyncio.run, ask()).result(), len(opened)


def test_after_a_failure_the_next_try_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REOPEN_SECONDS", 1000.0)
    assert statuses(monkeypatch, failures=1, questions=4) == ([503] * 4, 1)


def test_it_is_ready_after_another_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REOPEN_SECONDS", 0.0)
    assert statuses(monkeypatch, failures=2, questions=5) == ([503, 503, 503, 200, 200], 3)
