"""Ends a program at its limit wherever it is: in a library, or where it catches every exception."""

from __future__ import annotations

import _thread
import ctypes
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

from explorer.program.errors import ProgramStopped
from explorer.program.parsing import FILE

#: Seconds between two looks, and two exceptions. The first is raised so late that a program which
#: is between two statements has ended itself.
PAUSE, LATE = 0.03, 0.05
#: Seconds in which the program may catch them; then it is given up.
PATIENCE = 0.2
#: Where the recorder is: an exception in its midst could leave half a record.
_RECORDER = str(Path(__file__).parents[1] / "trace")

Reason = Callable[[], ProgramStopped | None]
GiveUp = Callable[[ProgramStopped], None]


class Watchdog:
    """While its `with` block runs, looks whether there is a `reason` to end it. If so, it is raised
    in the block's thread, again and again, until the block ends; if that does not help, `give_up`
    is called, in another thread. Between bytecodes Python can be interrupted; a loop in C that
    keeps Python's lock cannot be: the process has to be ended from outside."""

    def __init__(self, reason: Reason, give_up: GiveUp | None) -> None:
        self._reason, self._give_up = reason, give_up
        self._lock, self._is_done = _thread.allocate_lock(), False
        self._runs = _thread.allocate_lock()  # held while the block runs
        self._block: FrameType | None = None

    def __enter__(self) -> None:
        self._watched, self._block = _thread.get_ident(), sys._getframe(1)
        self._runs.acquire()
        with suppress(RuntimeError):  # no memory: then the program is ended from outside
            _thread.start_new_thread(self._watch, ())  # one that `threading` does not list

    def __exit__(self, *_: object) -> None:
        while not self._is_done:
            try:
                with self._lock:
                    self._is_done, self._block = True, None
                    _raise_in(self._watched, None)  # one that has not arrived yet
                    if self._runs.locked():
                        self._runs.release()  # the other thread ends
            except ProgramStopped:
                continue

    def _watch(self) -> None:
        stopped, began = None, 0.0
        while True:
            if self._runs.acquire(timeout=PAUSE):
                return
            stopped = stopped or self._reason()
            with self._lock:
                if self._is_done:
                    return
                now = time.monotonic()
                if stopped is not None and not began:
                    began = now
                elif stopped is not None and now > began + LATE:
                    frames = list(_frames(self._watched))
                    if self._block not in frames:
                        return  # an exception came before the block's end could be noted
                    if _is_away(frames):
                        _raise_in(self._watched, _as_class(stopped))
            if self._give_up and stopped is not None and now > began + PATIENCE:
                self._give_up(stopped)
                return


def _frames(thread: int) -> Iterator[FrameType]:
    """What the thread runs, the innermost first."""
    is_collecting = gc.isenabled()
    # A collection inside of it may wait for a thread that waits for what it holds, for ever:
    # https://github.com/python/cpython/issues/106883
    gc.disable()
    try:
        frame: FrameType | None = sys._current_frames().get(thread)
    finally:
        if is_collecting:
            gc.enable()
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_away(frames: list[FrameType]) -> bool:
    """Whether the thread is in the program, or in what it called, and not in the recorder."""
    for frame in frames:
        if frame.f_code.co_filename == FILE:
            return True
        if frame.f_code.co_filename.startswith(_RECORDER):
            return False
    return False


def _as_class(stopped: ProgramStopped) -> type[BaseException]:
    """An exception can be raised in another thread by its class alone."""

    class Stopped(ProgramStopped):
        def __init__(self) -> None:
            super().__init__(stopped.message, stopped.hint, stopped.by_reader)

    return Stopped


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """https://docs.python.org/3/c-api/init.html#c.PyThreadState_SetAsyncExc"""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(error) if error is not None else None
    )
