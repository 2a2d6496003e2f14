"""A program is ended wherever it is, and nothing is raised once it has ended."""

from __future__ import annotations

import _thread
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.program import ProgramStopped
from explorer.program.parsing import FILE
from explorer.program.watchdog import Watchdog
from tests.sandbox.test_calls import eventually

RECORDER = str(Path(explorer.__file__).with_name("trace") / "recorder.py")


def run_watched(source: str, give_up: Any = None, seconds: float = 0.1, **names: Any) -> None:
    end = time.monotonic() + seconds
    late = ProgramStopped("late", "hint", by_reader=True)
    with Watchdog(lambda: late if time.monotonic() > end else None, give_up):
        exec(compile(source, FILE, "exec"), names)


ENDED = {
    "a loop": "while True: pass",
    "a library": "import json\nwhile True: json.dumps([1] * 1000)",
    "sleep": "import time\nwhile True: time.sleep(0.01)",
    "caught once": "try:\n    while True: pass\nexcept BaseException: pass\nwhile True: pass",
    "a generator": "def f():\n    while True: yield 1\nfor _ in f(): pass",
    "torch": "import torch\nwhile True: torch.ones(9) @ torch.ones(9)",
}


@pytest.mark.parametrize("name", ENDED)
def test_a_program_is_ended(name: str) -> None:
    with pytest.raises(ProgramStopped) as stopped:
        run_watched(ENDED[name])
    error = stopped.value
    assert (error.message, error.hint, error.by_reader) == ("late", "hint", True)


#: Programs that end only when they hear that they were given up.
STUBBORN = {
    "catches everything": (
        "while not ended:\n    try:\n        while not ended: pass\n    except BaseException: pass"
    ),
    "finally": """\
def f():
    try:
        while not ended: pass
    finally:
        if not ended: f()
f()
""",
}


@pytest.mark.parametrize("name", STUBBORN)
def test_one_that_goes_on_is_given_up(name: str) -> None:
    ended: list[ProgramStopped] = []
    threads: list[threading.Thread] = []

    def give_up(stopped: ProgramStopped) -> None:
        threads.append(threading.current_thread())
        ended.append(stopped)

    with suppress(ProgramStopped, RecursionError):
        run_watched(STUBBORN[name], give_up, ended=ended)
    assert [stopped.message for stopped in ended] == ["late"]
    assert threads[0] is not threading.main_thread()


def test_the_recorder_is_not_interrupted() -> None:
    names: dict[str, Any] = {"time": time, "done": []}
    source = """\
def record():
    until = time.monotonic() + 0.5
    while time.monotonic() < until: pass
    done.append(1)
"""
    exec(compile(source, RECORDER, "exec"), names)
    with pytest.raises(ProgramStopped):
        run_watched("record()\nwhile True: pass", record=names["record"])
    assert names["done"] == [1]


@pytest.mark.thorough
def test_nothing_is_raised_after_the_end() -> None:
    """Programs that end at the moment in which they are ended."""
    ended, threads = 0, _thread._count()
    for turn in range(60):
        seconds = 0.08 + turn % 6 * 0.01
        source = f"import time\nuntil = time.monotonic() + {seconds}\n"
        try:
            run_watched(source + "while time.monotonic() < until: pass", seconds=0.0)
        except ProgramStopped:
            ended += 1
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            pass
    assert ended > 0
    assert eventually(lambda: _thread._count() <= threads)


def test_an_exception_between_the_block_and_its_end_ends_the_watch() -> None:
    class Interrupted(Watchdog):
        def __exit__(self, *_: object) -> None:
            raise ProgramStopped("late", "hint")

    def run() -> None:
        with Interrupted(lambda: ProgramStopped("late", "hint"), None):
            pass

    threads = _thread._count()
    with pytest.raises(ProgramStopped):
        run()
    assert eventually(lambda: _thread._count() <= threads)
    exec(compile("import time; time.sleep(0.2)", FILE, "exec"))
