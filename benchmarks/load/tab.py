"""One reader's tab: a real Streamlit session over its websocket, as the browser holds one.

It speaks Streamlit's own protobuf messages: asks for a run with the widgets' states, keeps the
elements that come back, fetches the pictures they refer to, and asks again where a fragment wants
to be run by the clock. Unlike a browser it draws nothing, and it does not send back widgets that
stand as the server set them up.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.load.files import PATIENCE, Wrong, delete, get, put
from benchmarks.load.page import Page

#: Seconds without a run after which a page is at rest.
REST = 5.0
Check = Callable[["Tab"], str | None]


@dataclass
class _Kept:
    """A message the server may refer to by its hash, and the run in which it was last used."""

    message: ForwardMsg
    used: int


class Tab(Page):
    """A session; `received` and `fetched` count its bytes."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.received = 0
        self.fetched = 0
        self._uploaded: list[str] = []
        self._messages: dict[str, _Kept] = {}
        self._media: set[str] = set()
        self._runs, self._age, self._busy = 0, 2, False
        self._pages: dict[str, str] = {}
        self._page = self._name = self.session = ""
        self._clocks: dict[str, asyncio.Task[None]] = {}
        self._files: asyncio.Future[Any] | None = None
        self._news: asyncio.Queue[str] = asyncio.Queue()
        self._socket: ClientConnection | None = None
        self._listener: asyncio.Task[None] | None = None

    async def open(self, page: str = "", **query: str) -> None:
        """Connect, and ask for a page by the name in its address."""
        where = self.address.replace("http", "ws", 1) + "/_stcore/stream"
        self._socket = await connect(where, subprotocols=["streamlit"], max_size=None)  # type: ignore[list-item]
        self._listener = asyncio.create_task(self._listen(self._socket))
        self._name, self.query = page, dict(query)
        await self._ask()

    async def visit(self, page: str) -> None:
        """Go to another page, as a link in the navigation does."""
        self._stop_clocks()
        self.clear()
        self._page = self._pages[page]
        await self._ask()

    async def close(self) -> None:
        """Leave, as a reader who closes the tab."""
        self._stop_clocks()
        if self._socket is not None:
            await self._socket.close()
        if self._listener is not None:
            self._listener.cancel()

    # --- what a reader does ---

    async def press(self, key: str) -> None:
        """Press a button, by its key or its label."""
        found = self.widget("button", key)
        if found.disabled:
            raise Wrong(f"the button {key} is disabled")
        state = WidgetState(id=found.id, trigger_value=True)
        await self._ask(triggers=[state])

    async def set(self, kind: str, key: str, value: Any) -> None:
        """Give a widget another value; of one of several options, the words on it."""
        self.give(kind, key, value)
        await self._ask()

    async def click(self, key: str, value: Any, event: str = "clicked") -> None:
        """Click on a component, which reports `value`."""
        name = f"$$STREAMLIT_INTERNAL_KEY_{self.widget('bidi_component', key).id}__events"
        told = json.dumps([{"event": event, "value": value}])
        await self._ask(triggers=[WidgetState(id=name, json_trigger_value=told)])

    async def upload(self, key: str, name: str, data: bytes) -> None:
        """Give a file uploader a file."""
        assert self._socket is not None
        self._files = asyncio.get_running_loop().create_future()
        request = BackMsg()
        request.file_urls_request.request_id = str(uuid.uuid4())
        request.file_urls_request.file_names.append(name)
        request.file_urls_request.session_id = self.session
        await self._socket.send(request.SerializeToString())
        urls = (await asyncio.wait_for(self._files, PATIENCE)).file_urls[0]
        await asyncio.to_thread(put, self.address, urls.upload_url, name, data)
        state = WidgetState(id=self.widget("file_uploader", key).id)
        for old in self._uploaded:
            await asyncio.to_thread(delete, self.address, old)
        self._uploaded = [urls.delete_url]
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.file_id, info.name, info.size = urls.file_id, name, len(data)
        info.file_urls.CopyFrom(urls)
        self.states[state.id] = state
        await self._ask()

    async def until(self, check: Check, patience: float = PATIENCE) -> None:
        """Wait until a run has ended after which `check` has nothing to object, and the pictures
        are there. Raises Wrong with its objection."""
        begun = time.monotonic()
        limit = begun + patience
        objection: str | None = "no answer"
        while objection is not None:
            # Once the page is at rest, a wrong answer stays wrong.
            wait = limit - time.monotonic() if self._busy or self._clocks else REST
            try:
                end = await asyncio.wait_for(self._news.get(), wait)
            except TimeoutError:
                raise Wrong(f"{objection} (after {time.monotonic() - begun:.1f} s)") from None
            if end == "FINISHED_EARLY_FOR_RERUN":
                continue
            if end not in ("FINISHED_SUCCESSFULLY", "FINISHED_FRAGMENT_RUN_SUCCESSFULLY"):
                raise Wrong(f"the run ended with {end}")
            for found in self.all("exception"):
                raise Wrong(f"exception on the page: {found.type}: {found.message}")
            objection = check(self)
        await self._pictures()

    # --- the conversation ---

    async def _ask(
        self, triggers: list[WidgetState] | None = None, fragment: str = "", by_clock: bool = False
    ) -> None:
        assert self._socket is not None
        request = BackMsg()
        wanted = request.rerun_script
        wanted.query_string = urlencode(self.query)
        wanted.page_script_hash, wanted.page_name = self._page, self._name
        wanted.fragment_id, wanted.is_auto_rerun = fragment, by_clock
        wanted.cached_message_hashes.extend(self._messages)
        wanted.widget_states.widgets.extend([*self.states.values(), *(triggers or [])])
        wanted.context_info.timezone = "UTC"
        if not by_clock:
            self._busy = True
            while not self._news.empty():  # of runs before this one
                self._news.get_nowait()
        await self._socket.send(request.SerializeToString())

    async def _listen(self, socket: ClientConnection) -> None:
        try:
            async for frame in socket:
                self.received += len(frame)
                message = ForwardMsg()
                message.ParseFromString(frame)
                self._heard(message)
        except Exception as error:
            self._news.put_nowait(f"a lost connection: {error}")

    def _heard(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            kept = self._messages[message.ref_hash]
            kept.used, path = self._runs, message.metadata.delta_path
            self.place(tuple(path), kept.message.delta)
        elif kind == "delta":
            if message.metadata.cacheable:
                self._messages[message.hash] = _Kept(message, self._runs)
            self.place(tuple(message.metadata.delta_path), message.delta)
        elif kind == "new_session":
            self._begun(message)
        elif kind == "navigation":
            pages = message.navigation.app_pages
            self._pages = {page.url_pathname: page.page_script_hash for page in pages}
            self._page, self._name = message.navigation.page_script_hash, ""
        elif kind == "script_finished":
            self._ended(ForwardMsg.ScriptFinishedStatus.Name(message.script_finished))
        elif kind == "page_info_changed":
            self.query = dict(parse_qsl(message.page_info_changed.query_string))
        elif kind == "auto_rerun":
            self._wind(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            for name in message.stop_auto_rerun.fragment_ids:
                self._stop_clock(name)
        elif kind == "file_urls_response" and self._files is not None:
            self._files.set_result(message.file_urls_response)
        elif kind in ("session_event", "page_not_found"):
            self._news.put_nowait(str(message))

    def _begun(self, message: ForwardMsg) -> None:
        new, run = message.new_session, message.metadata.run
        self.run = run.script_run_id
        if run.fragment_ids:
            return
        self._stop_clocks()
        self._busy = True
        self.session = new.initialize.session_id or self.session
        self._age = new.config.max_cached_message_age

    def _ended(self, end: str) -> None:
        if end == "FINISHED_SUCCESSFULLY":
            self._busy = False
            self.tidy()
            self._runs += 1
            for name in [n for n, k in self._messages.items() if self._runs - k.used > self._age]:
                del self._messages[name]
        self._news.put_nowait(end)

    async def _pictures(self) -> None:
        """Fetch the pictures that were not fetched before, as a browser's cache does."""
        names = {p.url for images in self.all("imgs") for p in images.imgs}
        for name in sorted(n for n in names - self._media if n.startswith("/media")):
            self._media.add(name)
            self.fetched += len(await asyncio.to_thread(get, self.address + name))

    # --- fragments that run by the clock ---

    def _wind(self, name: str, interval: float) -> None:
        if name not in self._clocks:
            self._clocks[name] = asyncio.create_task(self._tick(name, interval))

    async def _tick(self, name: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            await self._ask(fragment=name, by_clock=True)

    def _stop_clock(self, name: str) -> None:
        if name in self._clocks:
            self._clocks.pop(name).cancel()

    def _stop_clocks(self) -> None:
        for name in list(self._clocks):
            self._stop_clock(name)
