"""The walls hold: attacks.py, run by a child as plain Python."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer import limits
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, bubblewrap, exit_reasons, walls
from tests.marks import sample
from tests.sandbox.attacks import ATTACKS, ENDLESS, Attack
from tests.sandbox.conftest import OPTIONS
from tests.sandbox.test_server_life import _pid, _zygote

pytestmark = pytest.mark.skipif(
    bool(walls.missing()), reason="this system lacks a part of the walls"
)

ROOT = str(Path(__file__).parents[2])


class Scene:
    """What an attack must leave as it is: a file in a folder, processes, and the next answer."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox, self._canary = sandbox, folder / "canary"
        #: How an attack may also end inside the second wall, where what it is on does not exist.
        self.absent = {"ENOENT", "ESRCH", "EXDEV"} if sandbox._options["bubblewrap"] else set()
        self._canary.write_text("alive")
        os.utime(self._canary, (1, 1))
        self._other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self._server = _pid(sandbox)
        self._zygote = self._find_zygote()
        self._code = Path(os.__file__)
        self.before = self._state()

    def close(self) -> None:
        self._other.communicate(b"\n")

    def attack(self, code: str, timeout: float = 20) -> str:
        """How the attack ended: what it returned, or the message for the reader."""
        ids = {"app": os.getpid(), "server": self._server, "zygote": self._zygote}
        request = {"code": code, "canary": str(self._canary), "project": ROOT, **ids}
        try:
            return str(
                self._sandbox.call("raw", request | {"other": self._other.pid}, timeout=timeout)
            )
        except ProgramRefused as refused:
            return refused.error.message

    def is_untouched(self) -> bool:
        return self._state() == self.before

    def next_reader_is_answered(self) -> bool:
        return bool(self._sandbox.call("double", [1, 2], reader="next") == [2, 4])

    def _find_zygote(self) -> int:
        """Each has one child: inside the second wall, bubblewrap, its first process, the server."""
        pid = self._server
        for _ in range(3 if self._sandbox._options["bubblewrap"] else 1):
            pid = _zygote(pid)
        return pid

    def _state(self) -> tuple[Any, ...]:
        def of_file(path: Path) -> tuple[Any, ...]:
            s = path.stat()
            return s.st_mode, s.st_uid, s.st_gid, s.st_nlink, s.st_mtime, s.st_size

        pid = self._other.pid
        return (
            self._canary.read_text(),
            *(of_file(path) for path in (self._canary, self._code)),
            os.listdir(self._canary.parent),
            os.listxattr(self._canary),
            self._sandbox.pid,
            self._find_zygote(),
            self._other.poll(),
            Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] in "SR",
            os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getaffinity(pid),
            [resource.prlimit(pid, limit) for limit in range(16)],
        )


@pytest.fixture(scope="module")
def behind_both() -> Iterator[Sandbox]:
    if bubblewrap.failure():
        pytest.skip(bubblewrap.failure())
    sandbox = Sandbox(**OPTIONS | {"bubblewrap": True})
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="module", params=["forking", "behind_both"])
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """With the first wall alone, and with both."""
    sandbox = request.getfixturevalue(request.param)
    sandbox.call("double", 1, timeout=60)
    scene = Scene(sandbox, tmp_path_factory.mktemp("attacks"))
    yield scene
    scene.close()


@pytest.mark.parametrize("attack", sample(ATTACKS, every=4), ids=lambda attack: attack.name)
def test_attack(scene: Scene, attack: Attack) -> None:
    ended = scene.attack(attack.code)
    if ended == exit_reasons.SENTENCES["forbidden"][0]:
        ended = "killed"
    assert ended in attack.ends | scene.absent
    assert scene.is_untouched()
    if ended == "killed":  # else the next attack is the next reader
        assert scene.next_reader_is_answered()


@pytest.mark.parametrize("name", sample(ENDLESS, every=5))
def test_none_outlives_its_time(scene: Scene, name: str) -> None:
    start = time.monotonic()
    ended = scene.attack(ENDLESS[name], timeout=0.5)
    assert time.monotonic() - start < 5  # half a second, and what a busy machine needs
    assert ("A signal ended" if name == "stopped" else "more than 0.5 s") in ended
    assert scene.is_untouched()
    assert scene.next_reader_is_answered()


#: name -> code, a part of what it returns or of the message
BOUNDED = {
    "memory": ("while True: memory = [bytearray(2**24), memory] if 'memory' in dir() else []", ""),
    "reserved memory": ("import mmap\nmmap.mmap(-1, 2**40)", "ENOMEM"),
    "shared memory": ("import mmap\nmmap.mmap(-1, 2**30, flags=1)", "ENOMEM"),
    "descriptors": ("while True: os.open(os.__file__, 0)", "EMFILE"),
    "copied descriptors": ("import fcntl\nwhile True: fcntl.fcntl(0, 1030, 0)", "EMFILE"),
    "nested calls in C": (
        "sys.setrecursionlimit(10**9)\nf = lambda _: [0].sort(key=f)\nf(0)",
        "crashed",
    ),
    "the channel filled": (
        "while True: os.write(channel, b'\\x00\\x00\\x00\\x04P1234' * 1000)",
        "could not be read",
    ),
    "a crash": ("ctypes.string_at(1)", "crashed"),
    "an exit": ("os._exit(7)", "without a result"),
    "no channel": ("os.close(channel)", ""),
}


@pytest.mark.parametrize("name", sample(BOUNDED, every=3))
def test_what_a_child_uses_is_bounded(scene: Scene, name: str) -> None:
    code, part = BOUNDED[name]
    assert part in scene.attack(code)
    assert scene.is_untouched()
    assert scene.next_reader_is_answered()
    assert not list(Path(ROOT).glob("core*"))


#: Start threads until one is refused, with the smallest stack; how many there were.
THREAD_BOMB = """
import threading, _thread
threading.stack_size(2**15)
started = 0
try:
    while started < 10_000:
        _thread.start_new_thread(time.sleep, (100,))
        started += 1
except RuntimeError:
    pass
result = started
"""


#: Memory within the limit, and as much again where the files of torch were.
LIBRARIES = """\
import glob, torch
file, = glob.glob(os.path.dirname(torch.__file__) + "/lib/libtorch_cpu.*")
start = ctypes.cast(ctypes.CDLL(file)._handle, ctypes.POINTER(ctypes.c_size_t))[0]
size = 2**23
more = []
try:
    while True: more.append(bytearray(size))
except MemoryError:
    pass
place = start
while call("mprotect", place, size, 7) == 0 and place < start + 30 * size:
    for page in range(place, place + size, 4096): ctypes.memset(page, 0, 1)
    place += size
time.sleep(100)
"""


def test_memory_made_of_libraries_is_bounded(scene: Scene) -> None:
    assert "more memory than one run may use" in scene.attack(LIBRARIES)
    assert scene.next_reader_is_answered()


def test_threads_are_bounded(scene: Scene) -> None:
    most = limits.PROGRAM_THREADS + 8  # other threads of the user may end
    assert 1 <= int(scene.attack(THREAD_BOMB)) <= most
    assert scene.is_untouched()
    assert scene.next_reader_is_answered()
