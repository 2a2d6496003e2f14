"""Giving memory back: what readers have left behind is dropped, and the C library returns what is
free to the system. Without this the app stays as large as it was with the largest class."""

from __future__ import annotations

import gc
import threading
from contextlib import suppress
from typing import Any

from streamlit import runtime

from explorer.ui.server import c_library, shared_cache

#: Seconds between two looks.
INTERVAL = 30.0


def watch_memory() -> None:
    """Give back memory every half minute, in a thread of its own."""
    threading.Thread(target=_watch, name="memory", daemon=True).start()


def is_page_running() -> bool:
    """Whether any reader's page is being run."""
    return any("ScriptRunner" in thread.name for thread in threading.enumerate())


def give_back() -> None:
    """Drop what is no longer needed, and return what is free to the system."""
    shared_cache.drop_unused()
    if not is_page_running():  # both take a few milliseconds, in which no page goes on
        gc.collect()
        c_library.return_free()


def drop_left_sessions(manager: Any) -> None:
    """Drop the sessions that have waited long enough for readers who left. Streamlit itself does
    that only when the next reader leaves. Call it in the thread of the server's event loop."""
    manager._session_storage._cache.expire()


def _watch() -> None:
    pause = threading.Event()
    while not pause.wait(INTERVAL):
        with suppress(AttributeError, RuntimeError):  # there is none, it stops, or it is a test's
            server = runtime.get_instance()
            loop = server._get_async_objs().eventloop
            loop.call_soon_threadsafe(drop_left_sessions, server._session_mgr)
        give_back()
