"""One reader: draws actions from the mix, does one every few seconds, and notes how it went."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from websockets.exceptions import WebSocketException

from benchmarks.load.files import PATIENCE, Wrong
from benchmarks.load.tab import Check, Tab

T = TypeVar("T")
#: Seconds between the beginnings of a reader's actions, and how far they stray.
EVERY, STRAY = 3.0, 1.0
#: What an action gives the server: something no one has given before, something known, nothing.
NEW, KNOWN, NOTHING = "new", "known", ""


class NotHere(Exception):
    """The action makes no sense as the page stands; another is drawn."""


@dataclass(frozen=True)
class Action:
    """An entry of the mix. `weight` is its share of its page."""

    page: str
    name: str
    input: str
    weight: float
    do: Callable[[Reader], Awaitable[None]]


@dataclass(frozen=True)
class Done:
    """What became of an action: seconds until its answer, and the error if that was wrong."""

    action: Action
    seconds: float
    error: str = ""


@dataclass
class Reader:
    """A reader at a server's `address`. `done` grows; `used` holds what some reader has given."""

    address: str
    pages: dict[str, float]
    mix: tuple[Action, ...]
    rng: random.Random
    done: list[Done]
    used: set[object]
    page: str = ""
    tab: Tab = field(init=False)
    _began: float = 0.0
    _answered: float | None = None

    async def read(self, until: float) -> None:
        """Arrive, read until the clock says `until`, leave."""
        await asyncio.sleep(self.rng.uniform(0, EVERY))
        await self._do(next(action for action in self.mix if action.name == "arrive"))
        while True:
            next_one = self._began + EVERY + self.rng.uniform(-STRAY, STRAY)
            if max(next_one, time.monotonic()) > until:
                break
            await asyncio.sleep(max(0.0, next_one - time.monotonic()))
            while not await self._do(self._drawn()):
                pass
        await self.tab.close()

    # --- for actions ---

    async def see(self, check: Check, patience: float = PATIENCE) -> None:
        """Wait for the answer that `check` accepts."""
        await self.tab.until(check, patience)

    def begin(self) -> None:
        """What came before was only the way to the action."""
        self._began = time.monotonic()

    def answered(self) -> None:
        """The reader has an answer; what comes after is not waited for."""
        self._answered = time.monotonic()

    async def go(self, page: str, **query: str) -> None:
        """To a page: by the navigation, or, with a `query`, as a new reader by a link."""
        if query or not self.page:
            if self.page:
                await self.tab.close()
            self.tab = Tab(self.address)
            await self.tab.open(page, **query)
        else:
            await self.tab.visit(page)
        self.page = page

    def fresh(self, draw: Callable[[], T]) -> T:
        """What `draw` gives, drawn again until no reader has used it."""
        for _ in range(100):
            found = draw()
            if found not in self.used:
                self.used.add(found)
                return found
        raise NotHere

    # --- the loop ---

    def _drawn(self) -> Action:
        here = [a for a in self.mix if a.page in (self.page, "any")]
        return self.rng.choices(here, [a.weight for a in here])[0]

    async def _do(self, action: Action) -> bool:
        """Do it and note it; False if it makes no sense here."""
        self._answered = None
        self.begin()
        error = ""
        try:
            await action.do(self)
        except NotHere:
            return False
        except (Wrong, WebSocketException, OSError) as wrong:
            error = f"{type(wrong).__name__}: {wrong}"
        end = self._answered or time.monotonic()
        self.done.append(Done(action, end - self._began, error))
        if error:  # as a reader would: open the page anew
            await self.tab.close()
            self.page = ""
            await self.go(action.page if action.page in self.pages else "expression")
            try:
                await self.see(lambda tab: None)
            except (Wrong, WebSocketException, OSError) as wrong:
                self.done.append(Done(action, 0.0, f"after an error: {wrong}"))
        return True
