"""One reader's tab: a real Streamlit session over a WebSocket, like a browser's.

It uses Streamlit's own protobuf messages: it requests a run with the widgets' states, keeps the
elements that come back, fetches the pictures they refer to, and requests further runs of a fragment
that reruns at an interval. When the connection is lost it connects again, and requests a run where
the front end would. Unlike a browser it draws nothing, and it does not send the states of widgets
that still have their defaults.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.load.connection import Connection
from benchmarks.load.files import TIMEOUT, Browser, WrongAnswer
from benchmarks.load.losses import COMPONENT, PATIENCE, ConnectionLost, Loss, page_as_it_is
from benchmarks.load.page import Page

#: Seconds without a run after which a page is considered idle.
IDLE_TIME = 5.0
#: The status that a lost connection gives to whoever waits for an answer.
_LOST = "a lost connection"
Check = Callable[["Tab"], str | None]


@dataclass
class _CachedMessage:
    """A message the server may refer to by its hash, and the run in which it was last used."""

    message: ForwardMsg
    used: int


class Tab(Page):
    """A session. Tabs of one reader share a `browser`."""

    def __init__(self, address: str, browser: Browser | None = None) -> None:
        super().__init__()
        self.address = address
        self.losses: list[Loss] = []
        browser = browser or Browser(address)
        callbacks = self._receive, self._failed, self._lost, self._back
        self._connection = Connection(browser, *callbacks)
        self._browser = browser
        self._session_lost = ""
        self._again: asyncio.Task[None] | None = None
        self._uploaded: list[tuple[str, str]] = []  # session and address
        self._messages: dict[str, _CachedMessage] = {}
        self._media: set[str] = set()
        self._runs, self._age, self._busy = 0, 2, False
        self._pages: dict[str, str] = {}
        self._page = self._name = ""
        self._clocks: dict[str, asyncio.Task[None]] = {}
        self._files: asyncio.Future[Any] | None = None
        self._statuses: asyncio.Queue[str] = asyncio.Queue()

    async def open(self, page: str = "", **query: str) -> None:
        """Connect and request a page by the name in its URL."""
        self._name, self.query = page, dict(query)
        await self._connection.open()
        await self._request_run()

    async def visit(self, page: str) -> None:
        """Go to another page, as a link in the navigation does."""
        self._stop_clocks()
        self.clear()
        self._page = self._pages[page]
        await self._request_run()

    async def close(self) -> None:
        """Disconnect, as when a reader closes the tab."""
        self._stop_clocks()
        if self._again is not None:
            self._again.cancel()
        await self._connection.close()

    # --- actions ---

    async def press(self, key: str) -> None:
        """Press a button, given its key or its label."""
        button = self.widget("button", key)
        if button.disabled:
            raise WrongAnswer(f"the button {key} is disabled")
        state = WidgetState(id=button.id, trigger_value=True)
        await self._request_run(triggers=[state], fragment=self.fragment(button))

    async def set(self, kind: str, key: str, value: Any) -> None:
        """Set a widget's value; for an option, its label."""
        self.set_value(kind, key, value)
        await self._request_run(fragment=self.fragment(self.widget(kind, key)))

    async def click(self, key: str, value: Any, event: str = "clicked") -> None:
        """Click on a component, which reports `value`."""
        component = self.widget("bidi_component", key)
        name = f"$$STREAMLIT_INTERNAL_KEY_{component.id}__events"
        payload = json.dumps([{"event": event, "value": value}])
        state = WidgetState(id=name, json_trigger_value=payload)
        await self._request_run(triggers=[state], fragment=self.fragment(component))

    async def upload(self, key: str, name: str, data: bytes) -> None:
        """Upload a file with a file uploader."""
        session = self._connection.session
        urls = await self._place_of(name)
        await asyncio.to_thread(self._browser.put, urls.upload_url, name, data)
        state = WidgetState(id=self.widget("file_uploader", key).id)
        for of, old in self._uploaded:
            with suppress(*(() if of == session else (WrongAnswer,))):  # it went with its replica
                await asyncio.to_thread(self._browser.delete, old)
        self._uploaded = [(session, urls.delete_url)]
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.file_id, info.name, info.size = urls.file_id, name, len(data)
        info.file_urls.CopyFrom(urls)
        self.states[state.id] = state
        await self._request_run()

    async def _place_of(self, name: str) -> Any:
        """Where to upload a file. It is asked for again after a second: Streamlit drops the answer
        if a run begins before it is sent. Raises TimeoutError."""
        for _ in range(int(TIMEOUT)):
            self._files = asyncio.get_running_loop().create_future()
            request = BackMsg()
            request.file_urls_request.request_id = str(uuid.uuid4())
            request.file_urls_request.file_names.append(name)
            request.file_urls_request.session_id = self._connection.session
            await self._connection.send(request)
            with suppress(TimeoutError):
                return (await asyncio.wait_for(self._files, 1.0)).file_urls[0]
        raise TimeoutError

    async def wait_until(self, check: Check, timeout: float = TIMEOUT) -> None:
        """Wait until a run has ended after which `check` gives no objection, and load the pictures.

        Raises WrongAnswer with the last objection.
        """
        start = time.monotonic()
        limit = start + timeout
        objection: str | None = "no answer"
        while objection is not None:
            # Once the page is idle, a wrong answer stays wrong.
            wait = limit - time.monotonic() if self._busy or self._clocks else IDLE_TIME
            try:
                status = await asyncio.wait_for(self._statuses.get(), wait)
            except TimeoutError:
                if self._busy and time.monotonic() < limit:  # a run has begun meanwhile
                    continue
                raise WrongAnswer(f"{objection} (after {time.monotonic() - start:.1f} s)") from None
            if status == "FINISHED_EARLY_FOR_RERUN":
                continue
            if status == _LOST:
                raise ConnectionLost(status)
            if status not in ("FINISHED_SUCCESSFULLY", "FINISHED_FRAGMENT_RUN_SUCCESSFULLY"):
                raise WrongAnswer(f"the run ended with {status}")
            for error in self.all("exception"):
                raise WrongAnswer(f"exception on the page: {error.type}: {error.message}")
            objection = check(self)
        await self._fetch_pictures()

    async def wait_until_back(self, timeout: float = TIMEOUT) -> None:
        """Wait until there is a connection again, and for the run that the page asks for then.
        Raises WrongAnswer."""
        limit = time.monotonic() + timeout
        while self.losses and not self.losses[-1].is_over():
            if time.monotonic() > limit:
                what = "page" if self._connection.connected else "connection"
                raise WrongAnswer(f"the {what} did not come back in {timeout:g} s")
            await asyncio.sleep(0.05)

    # --- messages ---

    async def _request_run(
        self,
        triggers: list[WidgetState] | None = None,
        fragment: str = "",
        at_interval: bool = False,
    ) -> None:
        request = BackMsg()
        rerun = request.rerun_script
        rerun.query_string = urlencode(self.query)
        rerun.page_script_hash, rerun.page_name = self._page, self._name
        rerun.fragment_id, rerun.is_auto_rerun = fragment, at_interval
        rerun.cached_message_hashes.extend(self._messages)
        rerun.widget_states.widgets.extend([*self.states.values(), *(triggers or [])])
        rerun.context_info.timezone = "UTC"
        if not at_interval:
            self._busy = True
            while not self._statuses.empty():  # statuses of earlier runs
                self._statuses.get_nowait()
        if not await self._connection.send(request) and not at_interval:
            self._statuses.put_nowait(_LOST)

    def _receive(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            cached = self._messages[message.ref_hash]
            cached.used, path = self._runs, message.metadata.delta_path
            self.apply_delta(tuple(path), cached.message.delta)
        elif kind == "delta":
            if message.metadata.cacheable:
                self._messages[message.hash] = _CachedMessage(message, self._runs)
            self.apply_delta(tuple(message.metadata.delta_path), message.delta)
        elif kind == "new_session":
            self._run_started(message)
        elif kind == "navigation":
            pages = message.navigation.app_pages
            self._pages = {page.url_pathname: page.page_script_hash for page in pages}
            self._page, self._name = message.navigation.page_script_hash, ""
        elif kind == "script_finished":
            self._run_ended(ForwardMsg.ScriptFinishedStatus.Name(message.script_finished))
        elif kind == "page_info_changed":
            self.query = dict(parse_qsl(message.page_info_changed.query_string))
        elif kind == "auto_rerun":
            self._start_clock(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            for name in message.stop_auto_rerun.fragment_ids:
                self._stop_clock(name)
        elif kind == "file_urls_response" and self._files is not None and not self._files.done():
            self._files.set_result(message.file_urls_response)
        elif kind in ("session_event", "page_not_found"):
            self._statuses.put_nowait(str(message))

    def _run_started(self, message: ForwardMsg) -> None:
        new, run = message.new_session, message.metadata.run
        self.run, self.fragments = run.script_run_id, list(run.fragment_ids)
        if self.fragments:
            return
        self._stop_clocks()
        self._busy = True
        self._connection.session = new.initialize.session_id or self._connection.session
        self._age = new.config.max_cached_message_age

    def _run_ended(self, status: str) -> None:
        if status in ("FINISHED_SUCCESSFULLY", "FINISHED_FRAGMENT_RUN_SUCCESSFULLY"):
            self._busy = False
            self.drop_stale()
            self._complete_loss()
        if status == "FINISHED_SUCCESSFULLY":
            self._runs += 1
            for name in [n for n, k in self._messages.items() if self._runs - k.used > self._age]:
                del self._messages[name]
        self._statuses.put_nowait(status)

    async def _fetch_pictures(self) -> None:
        """Fetch the pictures that have not been fetched before; a browser caches the others."""
        names = {p.url for images in self.all("imgs") for p in images.imgs}
        for name in sorted(n for n in names - self._media if n.startswith("/media")):
            self._media.add(name)
            await asyncio.to_thread(self._browser.get, name)

    # --- a lost connection ---

    def _failed(self, reason: str) -> None:
        """The front end would say that it cannot go on."""
        self._statuses.put_nowait(f"a message that the tab does not understand: {reason}")

    def _lost(self) -> None:
        self._session_lost = self._connection.session
        loss = Loss(time.monotonic(), self.contents(given=self._busy or bool(self._clocks)))
        if self.losses and self.losses[-1].complete is None:  # lost again: still the same loss
            loss.lost, loss.before = self.losses[-1].lost, self.losses.pop().before
        self.losses.append(loss)
        if self.has("bidi_component", COMPONENT):
            path = next((p for p, name in self._pages.items() if name == self._page), self._name)
            state = WidgetState(id=self.widget("bidi_component", COMPONENT).id)
            state.json_value = json.dumps({"lost": page_as_it_is(self, path)})
            self.states[state.id] = state
        self._statuses.put_nowait(_LOST)

    def _back(self) -> None:
        """Request a run: at once where the front end does, otherwise as the app's script does."""
        loss = self.losses[-1]
        loss.back = time.monotonic()
        at_once = bool(self._busy or self.fragments or self._clocks)
        loss.asks = at_once or self.has("bidi_component", COMPONENT)
        if loss.asks:
            self._again = asyncio.ensure_future(self._ask_again(0.0 if at_once else PATIENCE))

    async def _ask_again(self, patience: float) -> None:
        await asyncio.sleep(patience)
        if not self._busy or not patience:
            await self._request_run()

    def _complete_loss(self) -> None:
        """A run has ended: the page is complete, if a connection had been lost and it waits for no
        job."""
        if not self.losses or self._clocks:
            return
        loss = self.losses[-1]
        if loss.back and loss.complete is None and not loss.given_up:
            loss.complete, loss.after = time.monotonic(), self.contents()
            loss.same_session = self._session_lost == self._connection.session

    # --- fragments that rerun at an interval ---

    def _start_clock(self, name: str, interval: float) -> None:
        if name not in self._clocks:
            self._clocks[name] = asyncio.create_task(self._tick(name, interval))

    async def _tick(self, name: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            await self._request_run(fragment=name, at_interval=True)

    def _stop_clock(self, name: str) -> None:
        if name in self._clocks:
            self._clocks.pop(name).cancel()

    def _stop_clocks(self) -> None:
        for name in list(self._clocks):
            self._stop_clock(name)
