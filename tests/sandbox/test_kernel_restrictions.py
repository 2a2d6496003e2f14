"""What the kernel leaves a child, and what each level of the walls means.

test_attacks.py attacks the walls; these tests read the filter and use what programs need.
"""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path
from typing import Any

import pytest

from explorer.sandbox import Sandbox, system_calls
from explorer.sandbox import walls as module
from explorer.sandbox.options import ServerOptions
from explorer.sandbox.system_calls import (
    CHECKED,
    GROUPS,
    HOSTILE,
    PRETENDED,
    REFUSED,
    UNKNOWN,
    numbers,
)
from explorer.sandbox.walls import Walls, missing
from tests.marks import sample
from tests.sandbox.attacks import ATTACKS, KILLED

needs_walls = pytest.mark.skipif(bool(missing()), reason="this system lacks a part of the walls")

MACHINES = ("x86_64", "aarch64")
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
ALLOWED, KILL = 0x7FFF0000, 0x80000000
NO, UNKNOWN_CALL, DONE = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x50000


def decide(steps: list[system_calls.Step], architecture: int, number: int, *arguments: int) -> int:
    """What a filter returns for a system call."""
    words = [number, architecture, 0, 0]
    for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]:
        words += [argument & 0xFFFFFFFF, argument >> 32 & 0xFFFFFFFF]
    accumulator = place = 0
    while True:
        operation, if_true, if_false, value = steps[place]
        place += 1
        if operation == 0x20:
            accumulator = words[value // 4]
        elif operation == 0x06:
            return value
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[operation]
            place += if_true if holds else if_false


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_narrow_filter(machine: str, writes: bool) -> None:
    steps = system_calls.make_filter(machine, False, writes)
    here = ARCHITECTURE[machine]
    groups = [group for group in GROUPS if writes or not group.writes]
    allowed = {n for group in groups for n in numbers(group.calls, machine).values()}
    checked = {n for group in GROUPS for name, n in numbers(group.calls, machine).items()
               if name in CHECKED}  # fmt: skip
    hostile = set(numbers(HOSTILE, machine).values())
    pretended = set(numbers(PRETENDED, machine).values())
    for number in range(600):
        expected = (
            KILL if number in hostile
            else DONE if number in pretended
            else ALLOWED if number in allowed
            else UNKNOWN_CALL if number >= 424 else NO
        )  # fmt: skip
        if number not in checked:
            assert decide(steps, here, number) == expected, number
    for other in {I386, *ARCHITECTURE.values()} - {here}:
        assert all(decide(steps, other, number) == KILL for number in range(600))
    assert all(decide(steps, here, 0x40000000 + number) == KILL for number in range(600))
    assert decide(steps, here, 2**32 - 1) == KILL


#: Arguments with which a call is allowed, and with which it is not.
ARGUMENTS: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "openat": ([(0, 0, 0), (0, 0, 0x80241)], [(0, 0, 0x410002), (0, 0, 0x400000)]),
    "socketpair": ([(1, 1)], [(2, 1), (10, 1), (16, 3)]),
    "fcntl": ([(0, 1), (0, 3)], [(0, 4), (0, 8), (0, 1024), (0, 1026)]),
    "ioctl": ([(0, 0x5401), (0, 0x5421)], [(0, 0x5412), (0, 0x541C), (0, 0)]),
    "madvise": ([(0, 0, 4), (0, 0, 14), (0, 0, 102)], [(0, 0, 100), (0, 0, 101)]),
    "sendto": (
        [(3, 1, 1, 0, 0, 0), (3, 1, 1, 0x4000, 0, 0)],
        [(3, 1, 1, 0, 8, 8), (3, 1, 1, 0, 7 << 32, 8), (3, 1, 1, 1, 0, 0)],
    ),
    "recvfrom": ([(3, 1, 1, 0), (3, 1, 1, 2)], [(3, 1, 1, 1), (3, 1, 1, 3)]),
    "renameat2": ([(0, 0, 0, 0, 0), (0, 0, 0, 0, 1)], [(0, 0, 0, 0, 4)]),
    "clone": ([(0x3D0F00,)], [(17,), (0,), (0x3D0F00 | 0x20000000,), (0x10000,)]),
    "prctl": ([(15,), (16,)], [(1,), (4,), (22,), (36,), (38,)]),
    "rt_sigaction": ([(2,), (11,), (33,)], [(14,), (24,)]),
    "kill": ([], [(0,), (1,), (-1,)]),
    "prlimit64": ([(0, 9, 0, 5)], [(0, 9, 5), (0, 9, 7 << 32)]),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_decide(machine: str, wide: bool) -> None:
    steps = system_calls.make_filter(machine, wide, writes=True)
    by_name = {k: v for group in GROUPS for k, v in numbers(group.calls, machine).items()}
    for name, (fine, refused) in ARGUMENTS.items():
        for arguments in fine:
            assert decide(steps, ARCHITECTURE[machine], by_name[name], *arguments) == ALLOWED, name
        for arguments in refused:
            assert decide(steps, ARCHITECTURE[machine], by_name[name], *arguments) == NO, name


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_without_a_folder_nothing_is_written(machine: str, wide: bool) -> None:
    steps = system_calls.make_filter(machine, wide, writes=False)
    by_name = {k: v for group in GROUPS for k, v in numbers(group.calls, machine).items()}
    for flags in (1, 2, 0x40, 0x200, 0x410002):
        assert decide(steps, ARCHITECTURE[machine], by_name["openat"], 0, 0, flags) == NO
    assert decide(steps, ARCHITECTURE[machine], by_name["openat"], 0, 0, 0x80000) == ALLOWED
    for group in GROUPS:
        for number in numbers(group.calls, machine).values() if group.writes else ():
            assert decide(steps, ARCHITECTURE[machine], number) == NO


@pytest.mark.parametrize("machine", MACHINES)
def test_the_wide_filter(machine: str) -> None:
    steps = system_calls.make_filter(machine, wide=True, writes=True)
    lists = ((HOSTILE, KILL), (REFUSED, NO), (UNKNOWN, UNKNOWN_CALL), (PRETENDED, DONE))
    for table, expected in lists:
        for name, number in numbers(table, machine).items():
            assert decide(steps, ARCHITECTURE[machine], number) == expected, name
    assert decide(steps, ARCHITECTURE[machine], 599) == ALLOWED  # a call of a future kernel
    assert decide(steps, I386, 0) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_each_call_is_in_one_table(machine: str) -> None:
    tables = [*(group.calls for group in GROUPS), HOSTILE, REFUSED, UNKNOWN, PRETENDED]
    listed = [entry for table in tables for entry in numbers(table, machine).items()]
    assert len(listed) == len(dict(listed)) == len({number for _, number in listed})
    in_groups = {n for group in GROUPS for m in MACHINES for n in numbers(group.calls, m)}
    assert set(CHECKED) <= in_groups


#: What programs and libraries do, by the group of calls it needs; all that `raw` returns.
FINE = {
    "memory": "import mmap\nmmap.mmap(-1, 2**20, prot=7)\nresult = len(bytearray(2**26)) == 2**26",
    "files": "import wave\nresult = os.stat('/').st_nlink > 0 and bool(os.listdir(os.__path__[0]))"
    " if hasattr(os, '__path__') else bool(open(os.__file__).read())",
    "scratch": "open('a', 'w').write('b')\nos.rename('a', 'c')\nresult = os.listdir() == ['c']",
    "event loops": "import asyncio\nasync def f():\n    await asyncio.sleep(.001)\n"
    "    return True\nresult = asyncio.run(f())",
    "answer": "result = os.write(1, b'x') == 1 and not os.isatty(1)",
    "threads": "import threading\nt = threading.Thread(target=time.sleep, args=(.001,))\n"
    "t.start(); t.join()\nresult = len(os.sched_getaffinity(0)) > 0",
    "clocks": "time.sleep(.001)\nresult = time.time() > 0 and time.process_time() > 0",
    "signals": "os.kill(os.getpid(), 0)\nsignal.raise_signal(signal.SIGURG)\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\nresult = True",
    "questions": "import resource\nresult = os.getppid() > 0 and len(os.urandom(4)) == 4"
    " and resource.getrlimit(9)[0] > 0 and os.uname().sysname == 'Linux'",
}


@needs_walls
@pytest.mark.parametrize("group", [group.name for group in GROUPS])
def test_what_stays_possible(forking: Sandbox, group: str) -> None:
    assert forking.call("raw", {"code": FINE[group]}) is True


def test_only_its_own_channel_is_open(forking: Sandbox) -> None:
    text = "sum(open_descriptor(number) for number in range(64))"
    assert forking.call("attempt", text) == "4"


#: What the wide walls let through, which changes nothing outside the child.
HARMLESS = {
    "ask_for_anothers_priority", "another_filter", "compare_with_another", "copy_between_files",
    "epoll", "event", "flush_disks", "handle_of_a_file", "hang_up", "listen_on_the_channel",
    "local_descriptors", "lock_memory", "locks_of_another", "migrate_anothers_pages",
    "move_anothers_pages", "option_of_the_channel", "pipe", "place_memory",
    "receive_descriptors", "release_anothers_memory", "signals_from_a_descriptor", "splice",
    "who_is_there",
}  # fmt: skip
#: Code for `raw`: how each of `codes` ends, in one child.
ALL = """
import errno
result = {}
for name, code in codes.items():
    try:
        exec(code, globals())
    except OSError as error:
        result[name] = errno.errorcode[error.errno]
    else:
        result[name] = "nothing refused it"
    for number in {*range(3, 16)} - {channel}:
        try:
            os.close(number)
        except OSError:
            pass
"""


@needs_walls
def test_the_wide_walls_refuse_every_attack_but_some(tmp_path: Path) -> None:
    """The other level an operator may choose."""
    canary = tmp_path / "canary"
    canary.write_text("alive")
    codes = {
        attack.name: attack.code
        for attack in ATTACKS
        if KILLED not in attack.ends and attack.name not in HARMLESS
    }
    options: dict[str, Any] = {"warm_up": False, "processes": 1, "bubblewrap": False}
    options["walls"] = Walls.WIDE
    wide = Sandbox(jobs="tests.sandbox.jobs", **options)
    with subprocess.Popen(["sleep", "600"]) as other:
        names = dict.fromkeys(("app", "server", "zygote", "other"), other.pid)
        paths = {"canary": str(canary), "project": str(Path(__file__).parents[2])}
        try:
            ends = wide.call("raw", {"code": ALL, "codes": codes} | names | paths, timeout=60)
        finally:
            wide.stop()
            other.kill()
    assert {
        name: end
        for name, end in ends.items()
        if end not in ("EPERM", "ENOSYS", "EACCES", "ENOENT", "EINVAL")
    } == {}
    assert len(ends) > 150


def _torch_works(**options: Any) -> None:
    sandbox = Sandbox(jobs="tests.sandbox.jobs", processes=1, **options)
    try:
        assert sandbox.call("zoo", None, timeout=60) == ["tensor", "32"]
        if options.get("fork", True):
            assert sandbox.call("threads_and_profiler", None, timeout=60) == [2, True, [1.0, 1.0]]
    finally:
        sandbox.stop()


@pytest.mark.parametrize("walls", sample([Walls.NARROW, Walls.WIDE], every=2))
def test_torch_works_under_the_restrictions(walls: Walls) -> None:
    """Warmed up, as the app's own: what is imported before the restrictions counts here."""
    if not ServerOptions.fork:
        pytest.skip("this system's children do not fork")
    _torch_works(walls=walls)


@pytest.mark.thorough
def test_torch_works_in_a_worker() -> None:
    _torch_works(fork=False)


def test_a_mechanism_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that cannot be confined must not run a program."""

    def fail(walls: Walls, folder: str | None) -> None:
        raise OSError(errno.EINVAL, "not today")

    def absent(walls: Walls, folder: str | None) -> None:
        raise AssertionError("must not be applied")

    monkeypatch.setattr(module.kernel, "prctl", lambda *arguments: 0)
    for walls in Walls:
        mechanisms = (("a", lambda: False, absent), ("b", lambda: True, fail))
        monkeypatch.setattr(module, "_MECHANISMS", mechanisms)
        with pytest.raises(OSError, match="not today"):
            module.apply_restrictions(walls)
