"""If a wall or a limit of a child is left out, plain Python in it notices.

Each row leaves out one: how, a program, and what that returns behind all of them. It has to return
something else without the one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, bubblewrap, walls
from explorer.sandbox.exit_reasons import SENTENCES

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(bool(walls.missing()), reason="a part of the walls is missing"),
]

SECRET = "EXPLORER_TEST_SECRET"
_KERNEL = "from explorer.sandbox import walls as k\n"
_CALLS = "from explorer.sandbox import system_calls\n"
_LIMITS = "from explorer.sandbox import walls\nset_limit = walls._set_limit\n"


def without_limit(name: str) -> str:
    return (
        f"{_LIMITS}walls._set_limit = lambda name, *values: "
        f"None if name == {name!r} else set_limit(name, *values)"
    )


def without_check(name: str) -> str:
    return f"{_CALLS}del system_calls.CHECKED[{name!r}]"


#: name -> how it is left out, the program, and what it returns behind everything
LEFT_OUT: dict[str, tuple[str, str, Any]] = {
    "Landlock": (
        f"{_KERNEL}k._MECHANISMS = k._MECHANISMS[1:]",
        "result = open('/etc/hostname').read()", "EACCES",
    ),
    "seccomp": (
        f"{_KERNEL}k._MECHANISMS = k._MECHANISMS[:1]",
        "import socket; socket.socket(); result = 'a socket'", "EPERM",
    ),
    "the folder alone can be written in": (
        "from explorer.sandbox import walls\nwalls._READ_FILE |= walls._WRITE",
        "import explorer; open(explorer.__file__, 'a').close(); result = 'opened'", "EACCES",
    ),
    "what is read may not be run": (
        f"{_CALLS}system_calls.HOSTILE = 'acct 163 89'",
        "call('unshare', 0); result = 'unshared'", SENTENCES["forbidden"][0],
    ),
    "files without names": (
        without_check("openat"),
        "os.close(os.open('.', os.O_TMPFILE | os.O_RDWR)); result = 'a file'", "EPERM",
    ),
    "files without names, by the older call": (
        without_check("open"),
        "call('open', '.', os.O_TMPFILE | os.O_RDWR, 0o600); result = 'a file'", "EPERM",
    ),
    "commands to descriptors": (
        without_check("fcntl"), "call('fcntl', channel, 1024, 0); result = 'done'", "EPERM",
    ),
    "commands to devices": (
        without_check("ioctl"),
        "call('ioctl', channel, 0x541B, b' ' * 8); result = 'done'", "EPERM",
    ),
    "messages out of band": (
        without_check("recvfrom"),
        "call('recvfrom', channel, b' ' * 8, 8, 0x41, 0, 0); result = 'received'", "EPERM",
    ),
    "messages to others": (
        without_check("sendto"),
        "call('sendto', channel, b'', 0, 0, b' ' * 8, 8); result = 'sent'", "EPERM",
    ),
    "signals to threads of others": (
        without_check("tkill") + "\nfrom explorer.sandbox import walls\n"
        "walls.landlock_version = lambda: 5",
        "call('tkill', os.getppid(), 0); result = 'sent'", "EPERM",
    ),
    "signals to threads of other processes": (
        without_check("tgkill") + "\nfrom explorer.sandbox import walls\n"
        "walls.landlock_version = lambda: 5",
        "call('tgkill', os.getppid(), os.getppid(), 0); result = 'sent'", "EPERM",
    ),
    "the time limit's signal": (
        without_check("rt_sigaction"),
        "signal.signal(signal.SIGALRM, signal.SIG_IGN); result = 'ignored'", "EPERM",
    ),
    "limits of its own": (
        without_check("prlimit64"),
        "call('prlimit64', 0, 7, struct.pack('QQ', 9, 9), 0); result = 'set'",
        "EPERM",
    ),
    "registers": (
        without_check("arch_prctl"),
        "call('arch_prctl', 0x1003, b' ' * 8); result = 'done'", "EPERM",
    ),
    "sockets of other families": (
        without_check("socketpair"),
        "call('socketpair', 16, 3, 0, b' ' * 8)", "EPERM",
    ),
    "signals to others": (
        without_check("kill") + "\nfrom explorer.sandbox import walls\n"
        "walls.landlock_version = lambda: 5",  # from 6 on Landlock refuses them, too
        "os.kill(os.getppid(), 0); result = 'sent'", "EPERM",
    ),
    "processes": (
        without_check("clone"),
        "number = call('clone', 17, 0, 0, 0, 0)\nif number == 0: os._exit(0)\nresult = 'a process'",
        "EPERM",
    ),
    "operations on the process": (
        without_check("prctl"), "call('prctl', 36, 1, 0, 0, 0); result = 'a reaper'", "EPERM",
    ),
    "the size of a file": (
        without_limit("RLIMIT_FSIZE"),
        "f = open('a', 'wb', 0)\nfor _ in range(65): f.write(bytes(2**20))\nresult = 'written'",
        "EFBIG",
    ),
    "open files": (
        without_limit("RLIMIT_NOFILE"),
        "files = [open('a', 'w') for _ in range(20)]; result = 'open'", "EMFILE",
    ),
    "memory": (
        without_limit("RLIMIT_AS"),
        "try: bytearray(2**30); result = 'memory'\nexcept MemoryError: result = 'none'", "none",
    ),
    "devices": (
        without_check("renameat2"),
        "open('a', 'w').close()\n"
        "call('renameat2', -100, b'a', -100, b'b', 4); result = os.listdir()", "EPERM",
    ),
    "threads": (
        without_limit("RLIMIT_NPROC"),
        "import threading\ntry:\n    for _ in range(40):\n"
        "        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "    result = 'threads'\nexcept RuntimeError: result = 'none'", "none",
    ),
    "the environment": (
        "from explorer.sandbox import walls\nwalls.os = type('', (), vars(walls.os) | "
        "{'environ': {}})\nwalls.os.environ = {}\n"
        f"import os\nos.environ[{SECRET!r}] = 'told'",
        f"result = os.environ.get({SECRET!r}, 'not told')", "not told",
    ),
    "how much is written": (
        "from explorer import limits\nlimits.SCRATCH_BYTES *= 100",
        "for n in range(20): open(str(n), 'wb').write(bytes(2**24))\nresult = 'written'", "ENOSPC",
    ),
    "the standard input": (
        "from explorer.sandbox import walls\n"
        "walls.isolate_fork = lambda keep: walls.die_with_parent()",
        "result = sorted(n for n in range(3, 30) if n != channel and is_open(n))", [],
    ),
}  # fmt: skip
_IS_OPEN = """
def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
"""


@contextmanager
def opened(folder: Path, patch: str, **options: Any) -> Iterator[Callable[[str], Any]]:
    """What plain Python returns in children of a server whose code is changed like this."""
    package = folder / f"jobs_{abs(hash(patch))}"
    package.mkdir()
    (package / "__init__.py").write_text(f"{patch}\nfrom tests.sandbox.jobs import JOBS\n")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder)
    sys.path.insert(0, str(folder))
    box = Sandbox(jobs=package.name, warm_up=False, processes=1, **options)

    def run(code: str) -> Any:
        try:
            return box.call("raw", {"code": _IS_OPEN + code}, timeout=20)
        except ProgramRefused as refused:
            return refused.error.message

    try:
        yield run
    finally:
        box.stop()
        sys.path.remove(str(folder))
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="module")
def behind_everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    with opened(tmp_path_factory.mktemp("whole"), "", bubblewrap=False) as run:
        yield run


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_is_noticed(
    name: str, tmp_path: Path, behind_everything: Callable[[str], Any]
) -> None:
    patch, code, refused = LEFT_OUT[name]
    where = behind_everything("result = os.path.basename(os.getcwd())")
    if refused == "ENOSPC" and where != "scratch":
        pytest.skip("a child may mount nothing here")
    assert behind_everything(code) == refused
    with opened(tmp_path, patch, bubblewrap=False) as run:
        assert run(code) != refused


@pytest.mark.skipif(bool(bubblewrap.failure()), reason=bubblewrap.failure())
def test_without_the_second_wall_the_list_of_users_is_there(tmp_path: Path) -> None:
    code = "result = os.path.exists('/etc/passwd')"
    for stands in (True, False):
        folder = tmp_path / str(stands)
        folder.mkdir()
        with opened(folder, "", bubblewrap=stands) as run:
            assert run(code) is not stands
