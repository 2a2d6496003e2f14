"""What the kernel refuses a child, even one whose program has got hold of Python itself."""

import os
from pathlib import Path

import pytest

from explorer.sandbox import Sandbox

#: Refused by seccomp.
CALLS = [
    "os.fork()",
    "os.posix_spawn('/bin/true', ['true'], {{}})",
    "__import__('subprocess').run(['/bin/true'])",
    "os.execv('/bin/true', ['true'])",
    "os.kill(os.getppid(), 0)",
    "__import__('socket').socket()",
    "__import__('socket').socketpair()",
    "open({canary!r}, 'w')",
    "open({canary!r}, 'r+')",
    "open({canary!r} + '2', 'x')",
    "os.truncate({canary!r}, 0)",
    "os.unlink({canary!r})",
    "os.rename({canary!r}, {canary!r} + '2')",
    "os.mkdir({canary!r} + '2')",
    "os.symlink('/', {canary!r} + '2')",
    "os.chmod({canary!r}, 0)",
    "os.utime({canary!r})",
    "os.memfd_create('x')",
    "os.setpriority(os.PRIO_PROCESS, 0, 0)",
    "signal.setitimer(signal.ITIMER_REAL, 0)",
]
#: Refused by Landlock.
READS = [
    "open({canary!r}).read()",
    "open('/etc/passwd').read()",
    "open('/proc/%d/environ' % os.getppid()).read()",
    "open({project!r} + '/pyproject.toml').read()",
    "os.listdir('/')",
    "os.listdir('.')",
]
#: Let through.
FINE = ["os.kill(os.getpid(), 0)", "__import__('wave').__name__", "os.getpriority(0, 0) < 1"]


def _attempt(sandbox: Sandbox, wall: str, text: str, canary: Path) -> str:
    if wall not in sandbox.call("standing", None):
        pytest.skip(f"this kernel has no {wall}")
    canary.write_text("alive")
    project = str(Path(__file__).parents[2])
    found = sandbox.call("attempt", text.format(canary=str(canary), project=project))
    assert canary.read_text() == "alive"
    assert os.listdir(canary.parent) == [canary.name]
    return str(found)


@pytest.mark.parametrize("text", CALLS)
def test_calls(forking: Sandbox, tmp_path: Path, text: str) -> None:
    assert _attempt(forking, "seccomp", text, tmp_path / "canary") == "EPERM"


@pytest.mark.parametrize("text", READS)
def test_reads(forking: Sandbox, tmp_path: Path, text: str) -> None:
    assert _attempt(forking, "landlock", text, tmp_path / "canary") == "EACCES"


@pytest.mark.parametrize("text", FINE)
def test_what_stays_possible(forking: Sandbox, text: str) -> None:
    assert forking.call("attempt", text) in ("None", "'wave'", "True")


def test_only_its_own_channel_is_open(forking: Sandbox) -> None:
    text = "sum(open_descriptor(number) for number in range(64))"
    assert forking.call("attempt", text) == "4"


def test_limits_cannot_be_lifted(forking: Sandbox) -> None:
    text = "__import__('resource').setrlimit(__import__('resource').RLIMIT_AS, (-1, -1))"
    assert forking.call("attempt", text) in ("EPERM", "ValueError")


def test_torch_works_behind_the_walls(sandbox: Sandbox) -> None:
    assert sandbox.call("zoo", None, timeout=60) == ["tensor", "32"]
