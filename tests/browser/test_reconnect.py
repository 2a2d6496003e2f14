"""Pages that lose their server: another one, which knows nothing of their readers, goes on with
them; and pages that lose the connection for a while."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.load.serving import serving
from explorer.networks.synthetic_images import draw_one

pytestmark = pytest.mark.browser

#: Seconds. A page is to be as it was after 5; the tests share the machine with others.
LIMIT = 40.0
PROGRAM = """x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
z = y * y
z.backward()
"""


class Proxy:
    """Passes every connection on to the first of these servers that accepts it."""

    def __init__(self, *addresses: str) -> None:
        self._ports = [int(address.rpartition(":")[2]) for address in addresses]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.is_down = False
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = None if self.is_down else self._connect()
                if server is None:
                    client.close()
                    continue
                self._open += client, server
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=_pass_on, args=pair, daemon=True).start()

    def _connect(self) -> socket.socket | None:
        for port in self._ports:
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", port))
        return None

    def cut(self) -> None:
        """End all connections."""
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(2**16):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Tabs:
    """Tabs of one browser; script errors in them fail the test."""

    def __init__(self, context: Any, address: str) -> None:
        self._context, self._address, self.errors = context, address, []
        self._answered: set[Any] = set()  # those in which a run has ended since `forget_runs`

    def open(self, path: str) -> Any:
        tab = self._context.new_page()
        tab.set_default_timeout(60_000)
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.on("websocket", lambda socket: socket.on("framereceived", partial(self._note, tab)))
        tab.goto(self._address + path)
        return tab

    def _note(self, tab: Any, frame: str | bytes) -> None:
        # The page cannot tell: where all messages of a run come at once, it never says "running".
        kind = isinstance(frame, bytes) and ForwardMsg.FromString(frame).WhichOneof("type")
        if kind == "script_finished":
            self._answered.add(tab)

    def forget_runs(self) -> None:
        self._answered.clear()

    def wait_for_runs(self, *tabs: Any) -> float:
        """Wait until a run has ended in each of these. Returns how long that took, in seconds."""
        start = time.monotonic()
        while waiting := [tab for tab in tabs if tab not in self._answered]:
            seconds = time.monotonic() - start
            assert seconds < LIMIT, [tab.url for tab in waiting]
            waiting[0].wait_for_timeout(50)
        return time.monotonic() - start


@pytest.fixture
def tabs(chromium: Any) -> Iterator[Any]:
    contexts: list[Any] = []

    def of(address: str) -> Tabs:
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 800}))
        return Tabs(contexts[-1], address)

    yield of
    for context in contexts:
        context.close()


def shown(tab: Any) -> str:
    """The page's texts and the values of its fields."""
    script = """() => {
      const texts = []
      const add = (node) => {
        if (node.nodeType === 3) texts.push(node.textContent.trim())
        if (node.nodeType === 3 || ["STYLE", "SCRIPT"].includes(node.tagName)) return
        if (node.value) texts.push(`[${node.value}]`)
        if (node.matches?.("[aria-checked=true], [aria-selected=true], .selected")) texts.push("*")
        for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) add(child)
      }
      add(document.querySelector("[data-testid=stMain]"))
      return texts.filter(Boolean).join("\\n")
    }"""
    return str(tab.evaluate(script))


def settled(tab: Any) -> str:
    """What is shown once nothing runs and it no longer changes."""
    before, until = "", time.monotonic() + LIMIT
    while time.monotonic() < until:
        tab.wait_for_selector("[data-test-script-state=notRunning]")
        now = shown(tab)
        if now == before:
            break
        before = now
        tab.wait_for_timeout(1000)
    return before


def wait_until_shown(tab: Any, wanted: str) -> None:
    until = time.monotonic() + LIMIT
    while (now := shown(tab)) != wanted and time.monotonic() < until:
        tab.wait_for_timeout(100)
    assert now == wanted


def work_on_expression(tabs: Tabs) -> Any:
    tab = tabs.open(f"/expression?program={quote(PROGRAM)}&panel=Gradient+check")
    tab.locator(".st-key-check button").first.click()
    tab.locator(".ax-check").wait_for()
    for number in (1, 2):
        tab.locator(".st-key-walk-next button").first.click()
        tab.wait_for_selector(f".ax-step:has-text('Step {number} of')")
    return tab


def work_on_optimizer(tabs: Tabs) -> Any:
    tab = tabs.open("/optimizer?problem=Ill-conditioned+quadratic")
    for name, presses in (
        ("forward", "f"),
        ("backward", "fb"),
        ("step", "fbs"),
        ("iterate", "fbsi"),
    ):
        tab.locator(f".st-key-press-{name} button").first.click()
        tab.wait_for_url(f"**/optimizer?*presses={presses}")
    tab.locator(".st-key-numbers td.pick").last.click()
    return tab


def work_on_network(tabs: Tabs) -> Any:
    """The Optimizer page first: there is a run to come back to."""
    tab = work_on_optimizer(tabs)
    tab.locator(".st-key-pages a", has_text="Network").click()
    tab.locator("tr[data-id]").nth(2).click()
    tab.wait_for_url("**/network?*at=*")
    tab.locator(".st-key-norms").wait_for()
    return tab


def work_on_maps(tabs: Tabs, file: Path) -> Any:
    tab = tabs.open("/feature_maps")
    tab.locator(".st-key-picture-file input[type=file]").set_input_files(file)
    tab.locator(".ax-not-in-link").wait_for(state="attached")
    field = tab.locator(".st-key-channel input")
    field.fill("3")
    field.press("Enter")
    tab.wait_for_url("**/feature_maps?*channel=3*")
    return tab


def chosen_network(tab: Any) -> str:
    return str(tab.locator(".st-key-network").first.inner_text())


def test_nothing_changes_when_the_connection_is_lost_for_a_while(tabs: Any, app: str) -> None:
    proxy = Proxy(app)
    open_tabs = tabs(proxy.address)
    tab = work_on_optimizer(open_tabs)
    undone = tab.locator(".st-key-press-redo button").first
    tab.locator(".st-key-press-undo button").first.click()
    expect(undone).to_be_enabled()  # the session alone knows of it
    before, entries = settled(tab), tab.evaluate("history.length")
    open_tabs.forget_runs()
    proxy.is_down = True
    proxy.cut()
    tab.wait_for_timeout(2000)
    proxy.is_down = False
    open_tabs.wait_for_runs(tab)
    wait_until_shown(tab, before)
    expect(undone).to_be_enabled()
    assert tab.evaluate("history.length") == entries
    assert open_tabs.errors == []
    proxy.close()


@pytest.mark.thorough
def test_readers_go_on_when_their_server_is_killed(tabs: Any, app: str, tmp_path: Path) -> None:
    file = tmp_path / "star.png"  # a drawing, for which the page chooses the network of drawings
    drawing = np.rint(255 * draw_one("star", 256, seed=10)).astype(np.uint8)
    Image.fromarray(drawing.transpose(1, 2, 0)).save(file)
    with serving(tmp_path / "log") as server:
        proxy = Proxy(server.address, app)
        open_tabs = tabs(proxy.address)
        network, optimizer = work_on_network(open_tabs), work_on_optimizer(open_tabs)
        maps, expression = work_on_maps(open_tabs, file), work_on_expression(open_tabs)
        pages = {tab: settled(tab) for tab in (network, optimizer, expression)}
        addresses = {tab: tab.url for tab in (*pages, maps)}
        settled(maps)
        network_of_drawing = chosen_network(maps)
        home = open_tabs.open("/")
        box = home.locator(".st-key-box textarea")
        settled(home)
        addresses[home] = home.url
        open_tabs.forget_runs()
        box.press("Control+End")
        home.keyboard.type(" + 7", delay=0)  # and it is not run before the server is gone
        os.kill(server.pid, signal.SIGKILL)
        print(f"A run ended in all after {open_tabs.wait_for_runs(*addresses):.1f} s")
        expect(maps.get_by_text("Upload your image again, or choose a sample.")).to_be_visible()
        expect(maps.locator(".st-key-channel input")).to_have_value("3")
        assert chosen_network(maps) == network_of_drawing
        for tab in (optimizer, network, expression):
            settled(tab)
            wait_until_shown(tab, pages[tab])
        expect(box).to_have_value("x**2 + 3*x + 7")
        home.wait_for_url("**/?box=*7")
        assert {tab: tab.url for tab in (network, optimizer)} == {
            tab: addresses[tab] for tab in (network, optimizer)
        }
        # Other pages are as they were left, and all of them answer.
        network.locator(".st-key-pages a", has_text="Optimizer").click()
        network.wait_for_url("**/optimizer?*presses=fbsi")
        numbers = optimizer.locator(".st-key-numbers .blocks").inner_text()
        shown_there = network.locator(".st-key-numbers .blocks")
        expect(shown_there).to_have_text(numbers, use_inner_text=True, timeout=1000 * LIMIT)
        maps.locator(".st-key-picture-file input[type=file]").set_input_files(file)
        maps.locator(".ax-not-in-link").wait_for(state="attached")
        expect(maps.get_by_text("Upload your image again, or choose a sample.")).to_be_hidden()
        settled(maps)
        assert chosen_network(maps) == network_of_drawing
        assert open_tabs.errors == []
        proxy.close()
