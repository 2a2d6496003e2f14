"""One reader: draws an action from the mix every few seconds, does it and times the answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from websockets.exceptions import WebSocketException

from benchmarks.load.files import TIMEOUT, Browser, WrongAnswer
from benchmarks.load.losses import Loss
from benchmarks.load.tab import Check, Tab

T = TypeVar("T")
#: Seconds until a lost connection is noticed, and for which a reader waits for the page to go on.
_NOTICED, _PATIENCE = 0.2, 10.0
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
class Mix:
    """What readers do: the shares of the pages, the actions, and the seconds between two of them,
    give or take `jitter`."""

    name: str
    pages: dict[str, float]
    actions: tuple[Action, ...]
    interval: float = 3.0
    jitter: float = 1.0


@dataclass(frozen=True)
class ActionResult:
    """Seconds from an action to its answer, when it began, the error if the answer was wrong, and
    whether the connection was lost meanwhile."""

    action: Action
    seconds: float
    error: str = ""
    began: float = 0.0
    interrupted: bool = False


@dataclass
class Reader:
    """A reader at a server's `address`.

    `done` collects the results of all readers' actions, `used` their inputs. `notes` are an
    action's own.
    """

    address: str
    mix: Mix
    rng: random.Random
    done: list[ActionResult] = field(default_factory=list)
    used: set[object] = field(default_factory=set)
    page: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    tab: Tab = field(init=False)
    _browser: Browser = field(init=False)
    _timing_started: float = 0.0
    _timing_stopped: float | None = None

    def __post_init__(self) -> None:
        self._browser = Browser(self.address)

    async def read(self, end_time: Callable[[], float]) -> None:
        """Open the app, use it until `time.monotonic()` reaches `end_time`, leave."""
        await asyncio.sleep(self.rng.uniform(0, self.mix.interval))
        await self.do(next(action for action in self.mix.actions if action.name == "open the app"))
        while True:
            next_start = self._timing_started + self.mix.interval
            next_start += self.rng.uniform(-self.mix.jitter, self.mix.jitter)
            if max(next_start, time.monotonic()) > end_time():
                break
            await asyncio.sleep(max(0.0, next_start - time.monotonic()))
            while not await self.do(self.draw_action(self.mix.actions)):
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
            self.tab = Tab(self.address, self._browser)
            self.tab.losses = self.losses
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

    def draw_action(self, mix: Sequence[Action]) -> Action:
        """One of those that this page can do."""
        actions = [a for a in mix if a.page in (self.page, "any")]
        return self.rng.choices(actions, [a.weight for a in actions])[0]

    async def do(self, action: Action) -> bool:
        """Do the action and append its result; False if the page cannot do it now."""
        await self._see_loss()
        self._timing_stopped = None
        self.start_timing()
        began, error, losses = self._timing_started, "", len(self.losses)
        try:
            await action.do(self)
        except NotApplicable:
            return False
        except (WrongAnswer, WebSocketException, OSError) as wrong:
            error = f"{type(wrong).__name__}: {wrong}"
        end = time.monotonic()
        if error:  # perhaps the connection has been lost, which is noticed a moment later
            await asyncio.sleep(_NOTICED)
        seconds = (self._timing_stopped or end) - self._timing_started
        interrupted = len(self.losses) > losses
        if interrupted:  # the reader sees it, waits for the page, and goes on
            error = await self._see_loss()
        self.done.append(ActionResult(action, seconds, error, began, interrupted))
        if error:  # open the page again, as a reader would
            for loss in self.losses:
                loss.given_up = loss.complete is None
            await self.tab.close()
            self.page = ""
            try:
                await self.open_page(action.page if action.page in self.mix.pages else "expression")
                await self.wait_for_answer(lambda tab: None)
            except (WrongAnswer, WebSocketException, OSError) as wrong:
                again = f"after an error: {wrong}"
                self.done.append(ActionResult(action, 0.0, again, began))
        return True

    async def _see_loss(self) -> str:
        """Wait for a page whose connection was lost. Returns the error if it does not come back."""
        if not self.losses:
            return ""
        try:
            await self.tab.wait_until_back(_PATIENCE)
        except WrongAnswer as wrong:
            return str(wrong)
        return ""
