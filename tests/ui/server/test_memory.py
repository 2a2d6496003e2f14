"""Memory returns: sessions of readers who left are dropped, and free memory goes to the system."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from types import SimpleNamespace
from typing import Any, cast

import pytest
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.session_manager import SessionInfo

from explorer.limits import UNUSED_SECONDS
from explorer.ui.server import c_library, memory, shared_cache
from explorer.ui.server.shared_cache import SharedCache


def test_sessions_of_readers_who_left_are_dropped() -> None:
    storage = MemorySessionStorage(ttl_seconds=0)
    session = cast(Any, SimpleNamespace(id="reader"))
    storage.save(SessionInfo(client=None, session=session))
    entries = cast(Any, storage)._cache._data
    assert len(entries) == 1
    memory.drop_left_sessions(SimpleNamespace(_session_storage=storage))
    assert not entries


def test_giving_back_drops_what_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: SharedCache[bytes] = SharedCache(2**20)
    cache.put("a", bytes(1000))
    memory.give_back()
    assert "a" in cache
    now = shared_cache.time.monotonic() + UNUSED_SECONDS + 1.0
    monkeypatch.setattr(shared_cache.time, "monotonic", lambda: now)
    memory.give_back()
    assert cache.bytes == 0


@pytest.mark.thorough
@pytest.mark.skipif(not c_library.is_glibc(), reason="the C library is not glibc")
def test_free_memory_is_returned_whichever_thread_used_it() -> None:
    """Small blocks are freed between some that stay, in eight threads at once."""
    code = """
    import ctypes, threading
    from explorer.ui.server import c_library, memory

    assert c_library.limit_arenas()
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]

    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

    together = threading.Barrier(8)

    def use():
        together.wait()
        blocks = [libc.malloc(100_000) for _ in range(200)]
        for block in blocks:
            ctypes.memset(block, 1, 100_000)
        together.wait()
        for block in blocks[:-1]:
            libc.free(block)

    before = resident()
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory.give_back()
    after = resident()
    assert after - before < 40, (before, after)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)
