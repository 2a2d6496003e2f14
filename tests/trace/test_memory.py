"""Programs that use all memory: what was recorded is kept, and memory is named."""

from __future__ import annotations

import json
import os
import sys

import pytest

from explorer.trace import Trace, assemble, run, running
from explorer.trace.codec import from_plain, to_plain
from tests.marks import sample

RECORDED = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
print("first")
kept = []
"""
#: Programs that end with all memory in use: numbers of Python, small tensors, a tensor.
GREEDY = {
    "lists": "while True:\n    kept.append([0.5] * 1000)\n",
    "small tensors": "while True:\n    kept.append(torch.zeros(20000))\n",
    "one tensor": "while True:\n    kept.append(torch.zeros(2**24))\n",
    "caught": "try:\n    while True:\n        kept.append([0.5] * 1000)\n"
    "except MemoryError:\n    kept.clear()\n",
}
ALLOCATOR = RuntimeError(
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
)


def run_within(source: str, megabytes: int) -> Trace:
    """The program's Trace from a process that may use so much more memory than it has."""
    import resource

    run(RECORDED)  # what is imported at the first run takes memory, too
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + megabytes * 2**20,) * 2)
        with open(write, "w") as pipe:
            json.dump(to_plain(run(source)), pipe)
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return from_plain(Trace, json.loads(answer))


def check(trace: Trace) -> None:
    (x,) = [record for record in trace.tensors if record.name == "x"]
    assert x.grad.tolist() == [2, 4]
    assert len(trace.passes) == 1
    assert trace.output == "first\n"


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS and /proc")
@pytest.mark.parametrize("name", sample(GREEDY, every=3))
def test_what_was_recorded_is_kept(name: str) -> None:
    trace = run_within(RECORDED + GREEDY[name], 160)
    check(trace)
    if name == "caught":
        assert trace.error is None
    else:
        assert trace.error is not None
        assert "more memory than" in trace.error.message
        assert trace.error.line == 7


@pytest.mark.parametrize("failure", [MemoryError(), ALLOCATOR], ids=["Python", "torch"])
def test_a_trace_is_put_together_again_without_the_programs_objects(
    failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded, given = assemble.recorded, []

    def first_fails(recorder, source, variables, error, warned):
        given.append(dict(variables))
        if len(given) == 1:
            raise failure
        return recorded(recorder, source, variables, error, warned)

    monkeypatch.setattr(assemble, "recorded", first_fails)
    trace = run(RECORDED)
    assert [set(variables) for variables in given] == [{"torch", "x", "kept"}, set()]
    check(trace)
    assert trace.error is not None
    assert "memory" in trace.error.message


def test_memory_is_named_where_nothing_else_is_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_, **__):
        raise MemoryError

    monkeypatch.setattr(running, "assemble", fails)
    trace = run(RECORDED)
    assert trace.error is not None
    assert "memory" in trace.error.message
    assert trace.output == "first\n"
    caplog.clear()
