"""One reader: draws an action from the mix every few seconds, does it and times the answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from websockets.exceptions import WebSocketException

from benchmarks.load.files import TIMEOUT, WrongAnswer
from benchmarks.load.tab import Check, Tab

T = TypeVar("T")
#: Seconds between the starts of a reader's actions, and by how much this varies.
INTERVAL, JITTER = 3.0, 1.0
#: The input that an action gives the server: new to the server, known, or none.
NEW, KNOWN, NOTHING = "new", "known", ""


class NotApplicable(Exception):
    """The page cannot do this action now; another one is drawn."""


@dataclass(frozen=True)
class Action:
    """An entry of the mix. `weight` is its share of its page."""

    page: str
    name: str
    input: str
    weight: float
    do: Callable[[Reader], Awaitable[None]]


@dataclass(frozen=True)
class ActionResult:
    """Seconds from an action to its answer, and the error if the answer was wrong."""

    action: Action
    seconds: float
    error: str = ""


@dataclass
class Reader:
    """A reader at a server's `address`.

    `done` collects the results of all readers' actions, `used` their inputs.
    """

    address: str
    pages: dict[str, float]
    mix: tuple[Action, ...]
    rng: random.Random
    done: list[ActionResult]
    used: set[object]
    page: str = ""
    tab: Tab = field(init=False)
    _timing_started: float = 0.0
    _timing_stopped: float | None = None

    async def read(self, end_time: float) -> None:
        """Open the app, use it until `time.monotonic()` reaches `end_time`, leave."""
        await asyncio.sleep(self.rng.uniform(0, INTERVAL))
        await self._do(next(action for action in self.mix if action.name == "open the app"))
        while True:
            next_start = self._timing_started + INTERVAL + self.rng.uniform(-JITTER, JITTER)
            if max(next_start, time.monotonic()) > end_time:
                break
            await asyncio.sleep(max(0.0, next_start - time.monotonic()))
            while not await self._do(self._draw_action()):
                pass
        await self.tab.close()

    # --- for actions ---

    async def wait_for_answer(self, check: Check, timeout: float = TIMEOUT) -> None:
        """Wait for the answer that `check` accepts."""
        await self.tab.wait_until(check, timeout)

    def start_timing(self) -> None:
        """Start timing here: what came before only prepared the action."""
        self._timing_started = time.monotonic()

    def stop_timing(self) -> None:
        """Stop timing here: the reader has an answer."""
        self._timing_stopped = time.monotonic()

    async def open_page(self, page: str, **query: str) -> None:
        """Open a page: with the navigation, or, with a `query`, by a link in a new tab."""
        if query or not self.page:
            if self.page:
                await self.tab.close()
            self.tab = Tab(self.address)
            await self.tab.open(page, **query)
        else:
            await self.tab.visit(page)
        self.page = page

    def draw_unused(self, draw: Callable[[], T]) -> T:
        """The first result of `draw` that no reader has used."""
        for _ in range(100):
            value = draw()
            if value not in self.used:
                self.used.add(value)
                return value
        raise NotApplicable

    # --- the loop ---

    def _draw_action(self) -> Action:
        actions = [a for a in self.mix if a.page in (self.page, "any")]
        return self.rng.choices(actions, [a.weight for a in actions])[0]

    async def _do(self, action: Action) -> bool:
        """Do the action and append its result; False if the page cannot do it now."""
        self._timing_stopped = None
        self.start_timing()
        error = ""
        try:
            await action.do(self)
        except NotApplicable:
            return False
        except (WrongAnswer, WebSocketException, OSError) as wrong:
            error = f"{type(wrong).__name__}: {wrong}"
        end = self._timing_stopped or time.monotonic()
        self.done.append(ActionResult(action, end - self._timing_started, error))
        if error:  # open the page again, as a reader would
            await self.tab.close()
            self.page = ""
            await self.open_page(action.page if action.page in self.pages else "expression")
            try:
                await self.wait_for_answer(lambda tab: None)
            except (WrongAnswer, WebSocketException, OSError) as wrong:
                self.done.append(ActionResult(action, 0.0, f"after an error: {wrong}"))
        return True
