"""What the kernel forbids a child, even one whose program has escaped from the language."""

import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.sandbox import Sandbox
from explorer.sandbox.settings import Settings

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
#: Allowed.
FINE = ["os.kill(os.getpid(), 0)", "__import__('wave').__name__", "os.getpriority(0, 0) < 1"]


def _attempt(sandbox: Sandbox, mechanism: str, text: str, canary: Path) -> str:
    if mechanism not in sandbox.call("restrictions", None):
        pytest.skip(f"this kernel has no {mechanism}")
    canary.write_text("alive")
    project = str(Path(__file__).parents[2])
    result = sandbox.call("attempt", text.format(canary=str(canary), project=project))
    assert canary.read_text() == "alive"
    assert os.listdir(canary.parent) == [canary.name]
    return str(result)


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


@pytest.mark.parametrize("low_word", [0, 0x10000])
def test_limits_of_another_process_cannot_be_set(forking: Sandbox, low_word: int) -> None:
    if "seccomp" not in forking.call("restrictions", None):
        pytest.skip("this kernel has no seccomp")
    victim = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        before = resource.prlimit(victim.pid, resource.RLIMIT_CPU)
        text = f"limit_of_another({victim.pid}, {low_word})"
        assert forking.call("attempt", text) == "EPERM"
        assert resource.prlimit(victim.pid, resource.RLIMIT_CPU) == before
    finally:
        victim.communicate(b"\n")


#: Numbers on x86_64 and aarch64 of calls that Python has no function for.
NUMBERED = {
    "settimeofday": (164, 170),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "ioprio_set": (251, 30),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_calls_by_number(forking: Sandbox, tmp_path: Path, name: str) -> None:
    """Zeros are invalid arguments for most of them: if allowed, they fail with another error."""
    number = NUMBERED[name][platform.machine() == "aarch64"]
    text = f"raw({number}, 0, 0, 0, 0, 0)"
    assert _attempt(forking, "seccomp", text, tmp_path / "canary") == "EPERM"


@pytest.mark.parametrize("fork", [True, False])
def test_torch_works_under_the_restrictions(fork: bool) -> None:
    """Warmed up, as the app's own: what is imported before the restrictions counts here."""
    if fork and not Settings("", "").fork:
        pytest.skip("this system's children do not fork")
    sandbox = Sandbox(jobs="tests.sandbox.jobs", processors=1, fork=fork)
    try:
        assert sandbox.call("zoo", None, timeout=60) == ["tensor", "32"]
    finally:
        sandbox.stop()
