"""The folder that a program may write in, as plain Python (`raw`): in memory, and watched."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from explorer.limits import SCRATCH_BYTES, SCRATCH_FILES
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, scratch, walls
from explorer.sandbox.scratch import Scratch
from tests.marks import sample
from tests.sandbox.conftest import OPTIONS
from tests.sandbox.test_calls import eventually

pytestmark = pytest.mark.skipif(
    not walls.may_write(), reason="this system's Landlock does not know truncating"
)

#: name -> code, what it returns
FINE: dict[str, tuple[str, Any]] = {
    "a file": ("open('a', 'w').write('hi'); result = open('a').read()", "hi"),
    "an empty folder at first": ("result = os.listdir()", []),
    "a folder": ("os.mkdir('a'); open('a/b', 'w').close(); result = os.listdir('a')", ["b"]),
    "moved": ("open('b', 'w').close(); os.mkdir('a'); os.rename('b', 'a/c'); "
              "result = os.listdir('a')", ["c"]),
    "removed": ("open('b', 'w').close(); os.unlink('b'); result = os.listdir()", []),
    "truncated": ("f = open('b', 'w+'); f.write('abc'); f.truncate(1); f.seek(0); "
                  "result = f.read()", "a"),
    "appended": ("open('b', 'a').write('x'); open('b', 'a').write('y'); "
                 "result = open('b').read()", "xy"),
    "torch.save": ("import torch; torch.save(torch.ones(2), 'a.pt'); "
                   "result = torch.load('a.pt').tolist()", [1.0, 1.0]),
    "a temporary file": ("import tempfile\nwith tempfile.NamedTemporaryFile() as f: f.write(b'x')\n"
                         "with tempfile.TemporaryFile() as f: result = f.write(b'x')", 1),
    "a folder that cannot be read": ("os.mkdir('a', 0); time.sleep(0.4); result = 1", 1),
    "a copy": ("import shutil; open('a', 'w').write('hi'); shutil.copyfile('a', 'b'); "
               "result = open('b').read()", "hi"),
    "asyncio": ("import asyncio\nasync def f():\n    await asyncio.sleep(.01)\n    return 5\n"
                "result = asyncio.run(f())", 5),
    "a file of the largest size": ("f = open('a', 'wb'); f.write(bytes(2**26)); f.close(); "
                                   "result = os.path.getsize('a')", 2**26),
}  # fmt: skip
#: name -> code, how it ends
REFUSED = {
    "above": ("open('../a', 'w')", "EACCES"),
    "a temporary folder": ("open('/tmp/explorer-test', 'w')", "EACCES"),
    "a link": ("open('a', 'w').close(); os.link('a', 'b')", "EPERM"),
    "a symbolic link": ("os.symlink('/', 'a')", "EPERM"),
    "a device": ("os.mknod('a', 0o020666, os.makedev(1, 3))", "EPERM"),
    "a file without a name": ("os.open('.', os.O_TMPFILE | os.O_RDWR)", "EPERM"),
    "rights": ("open('a', 'w').close(); os.chmod('a', 0o777)", "EPERM"),
    "a lock": ("import fcntl; fcntl.flock(open('a', 'w'), fcntl.LOCK_EX)", "EPERM"),
    "a file that is too large": ("f = open('a', 'wb', 0)\n"
                                 "while True: f.write(bytes(2**20))", "EFBIG"),
    "another child's": ("os.listdir(os.path.dirname(os.getcwd()))", "EACCES"),
    "code": ("os.rename(os.__file__, 'a')", "EACCES"),
}  # fmt: skip


@pytest.fixture(scope="module")
def watched() -> Iterator[Sandbox]:
    box = Sandbox(**OPTIONS | {"jobs": "tests.sandbox.watched_jobs"})
    yield box
    box.stop()


@pytest.fixture
def in_memory(forking: Sandbox) -> Sandbox:
    if forking.call("raw", {"code": "result = os.path.basename(os.getcwd())"}) != "scratch":
        pytest.skip("a child may mount nothing here")
    return forking


@pytest.fixture(params=["in_memory", "watched"])
def box(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("name", sample(FINE, every=4))
def test_a_program_writes_in_its_folder(box: Sandbox, name: str) -> None:
    code, result = FINE[name]
    assert box.call("raw", {"code": code}) == result


@pytest.mark.parametrize("name", REFUSED)
def test_and_nowhere_else(box: Sandbox, name: str) -> None:
    code, ends = REFUSED[name]
    assert box.call("raw", {"code": code}) in {ends, "EXDEV", "EBUSY"}


def is_empty(box: Sandbox) -> bool:
    assert box._server is not None
    return not os.listdir(box._server.options.scratch)


def test_the_folder_is_gone_with_its_child(box: Sandbox) -> None:
    code = "result = os.listdir(); [open(str(n), 'w').write('x' * 9) for n in range(99)]"
    for _ in range(2):
        assert box.call("raw", {"code": code}) == []
    assert eventually(lambda: is_empty(box))


#: Whatever the size of the folder, each goes on until it is stopped or refused.
TOO_MUCH = {
    "files": "for n in range(10**7): open(str(n), 'w').close()",
    "folders in folders": "for n in range(10**7):\n    os.mkdir('a')\n    os.chdir('a')",
    "bytes": "for n in range(10**7): open(str(n), 'wb').write(bytes(2**25))",
    "folders that cannot be read": "for n in range(10**7): os.mkdir(str(n), 0)",
    "files in folders that cannot be read": """\
os.mkdir("a", 0o300)
for n in range(10**7): open(f"a/{n}", "w").close()""",
    "files without names": """\
libc.mmap.restype = ctypes.c_void_p
for n in range(10**7):
    file = os.open("a", os.O_CREAT | os.O_RDWR)
    os.write(file, bytes(2**25))
    os.unlink("a")
    assert libc.mmap(None, 4096, 1, 1, file, 0) != 2**64 - 1
    os.close(file)""",
    "mapped files with odd names": """\
libc.mmap.restype = ctypes.c_void_p
place = "\\x0c\\u2028" + os.getcwd()
os.makedirs(place)
for n in range(10**7):
    name = place + "/a\\x0cb\\x85"
    file = os.open(name, os.O_CREAT | os.O_RDWR)
    os.write(file, bytes(2**25))
    assert libc.mmap(None, 4096, 1, 1, file, 0) != 2**64 - 1
    os.unlink(name)
    os.close(file)""",
    "open files without names": """\
for n in range(10**7):
    file = os.open("a", os.O_CREAT | os.O_RDWR)
    os.write(file, bytes(2**25))
    os.unlink("a")""",
}


def test_nobody_writes_where_nobody_sees_it() -> None:
    """As where root's server may not look at its children, which are other users."""
    box = Sandbox(**OPTIONS | {"jobs": "tests.sandbox.unseen_jobs"})
    assert box.call("raw", {"code": "open('a', 'w')"}) in {"EACCES", "EPERM"}
    box.stop()


@pytest.mark.parametrize("name", TOO_MUCH)
def test_the_kernel_refuses_what_is_too_much(in_memory: Sandbox, name: str) -> None:
    assert in_memory.call("raw", {"code": TOO_MUCH[name]}, timeout=20) in {"ENOSPC", "EMFILE"}


@pytest.mark.parametrize("name", sample(TOO_MUCH, every=4))
def test_who_writes_too_much_is_stopped(watched: Sandbox, name: str) -> None:
    code = TOO_MUCH[name].replace("\n", "\n    ")
    waits = f"try:\n    {code}\nexcept OSError:\n    time.sleep(100)"
    with pytest.raises(ProgramRefused, match=r"128 MB, or more than 1,000 files"):
        watched.call("raw", {"code": waits}, timeout=60)
    assert eventually(lambda: is_empty(watched), seconds=60)


def test_a_live_child_that_has_written_does_not_stay(box: Sandbox) -> None:
    code = "open(str(time.time()), 'wb').write(b'x'); result = len(os.listdir())"
    call = box.submit("raw", {"code": code}, live=True, timeout=20)
    assert call.result() == 1
    call.again({"code": code})
    assert call.result() == 1


def test_one_that_hides_what_it_has_written_is_looked_at(watched: Sandbox) -> None:
    code = (
        "os.listdir = lambda *_: []\n"
        "open(str(time.time()), 'wb').write(bytes(2**25)); result = len(list(os.scandir()))"
    )
    call = watched.submit("raw", {"code": code}, live=True, timeout=20)
    counts = [call.result()]
    with suppress(ProgramRefused):  # where it is seen before the task is over
        for _ in range(8):
            call.again({"code": code})
            counts.append(call.result())
    assert counts[:3] == [1, 2, 3]
    assert max(counts) <= SCRATCH_BYTES // 2**25 + 1


def test_what_is_moved_while_one_looks_is_counted(watched: Sandbox) -> None:
    """Between two folders that are looked through, as the time of the last look tells."""
    code = """\
import threading
for n in range(400):
    os.makedirs(f"x/{n}")
    os.makedirs(f"y/{n}")
os.mkdir("x/data")
for n in range(12): open(f"x/data/{n}", "wb").write(bytes(2**24))
def move():
    place, seen = "x", {}
    while True:
        if (now := os.stat(place).st_atime_ns) != seen.get(place):
            seen[place], other = now, "yx"["xy".index(place)]
            os.rename(f"{place}/data", f"{other}/data")
            place = other
threading.Thread(target=move, daemon=True).start()
time.sleep(100)"""
    with pytest.raises(ProgramRefused, match=r"128 MB, or more than 1,000 files"):
        watched.call("raw", {"code": code}, timeout=60)


def test_a_process_whose_first_thread_has_ended_is_ended(box: Sandbox) -> None:
    """Of it the kernel does not tell what files it holds."""
    code = """\
import threading
threading.Thread(target=time.sleep, args=(100,)).start()
libc.syscall(60, 0)"""
    with pytest.raises(ProgramRefused, match="could not be read"):
        box.call("raw", {"code": code}, timeout=60)


def test_many_mapped_files_keep_nobody_waiting(watched: Sandbox) -> None:
    code = """\
for i in range(15): os.mkdir("x" * 250); os.chdir("x" * 250)
file = os.open("f", os.O_CREAT | os.O_RDWR)
os.write(file, bytes(8192))
for i in range(30000): libc.mmap(None, 4096, 1, 1, file, 0)
time.sleep(100)"""
    with pytest.raises(ProgramRefused, match=r"128 MB, or more than 1,000 files"):
        watched.call("raw", {"code": code}, timeout=60)


@pytest.mark.thorough
def test_who_has_written_too_much_ends_alone(watched: Sandbox) -> None:
    """Also in the moment of its answer, as a child that would stay."""
    assert watched.call("double", 1) == 2
    pid = watched.pid
    code = "make = os.mkdir\nfor n in range(1001): make(str(n))\nresult = 5"
    for _ in range(3):
        with suppress(ProgramRefused):  # where it is seen before the task is over
            call = watched.submit("raw", {"code": code}, live=True, timeout=20)
            assert call.result() == 5
        assert watched.call("double", 2, reader="next") == 4
    assert watched.pid == pid


def test_what_is_moved_about_is_counted(tmp_path: Path) -> None:
    """Between two looks at its name a file has another."""
    top, stop = tmp_path / "1", threading.Event()
    top.mkdir()
    for number in range(SCRATCH_FILES + 100):
        (top / f"a{number}").touch()

    def move() -> None:
        while not stop.is_set():
            for start, end in ("ab", "ba"):
                for number in range(0, SCRATCH_FILES, 10):
                    (top / f"{start}{number}").rename(top / f"{end}{number}")

    mover = threading.Thread(target=move)
    mover.start()
    try:
        assert all(Scratch(tmp_path).is_too_full(1) for _ in range(50))
    finally:
        stop.set()
        mover.join()


@pytest.mark.thorough
def test_a_deep_folder_is_removed(tmp_path: Path) -> None:
    """Deeper than a path can say, and with folders that may not be read."""
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_DIRECTORY)
    for _ in range(3000):
        os.mkdir("a", dir_fd=here)
        below = os.open("a", os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.mkdir("shut", 0, dir_fd=here)
    os.close(here)
    scratch.remove(str(top))
    assert not list(tmp_path.iterdir())


def test_what_is_still_written_is_removed_at_last(tmp_path: Path) -> None:
    top, ends = tmp_path / "top", threading.Event()
    top.mkdir()

    def write() -> None:
        for number in range(10**6):
            if ends.is_set():
                return
            with suppress(OSError):
                (top / "a" / "b").mkdir(parents=True, exist_ok=True)
                (top / "a" / "b" / str(number)).touch()

    writer = threading.Thread(target=write)
    writer.start()
    threading.Timer(0.3, ends.set).start()
    scratch.remove_at_last(str(top))
    writer.join()
    scratch.remove_at_last(str(top))
    assert not list(tmp_path.iterdir())
