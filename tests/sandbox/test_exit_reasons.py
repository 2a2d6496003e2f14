"""Every way a child can end gives one error message, and the next job works."""

import pytest

from explorer import limits
from explorer.program import ProgramError, ProgramRefused
from explorer.sandbox import Sandbox
from tests.marks import sample, thorough

#: Job -> part of its error message, the line it must name.
ENDS = {
    "segfault": ("crashed", 7),
    "division": ("integer division", None),
    "endless_operator": ("more than 1 s", 3),
    "endless_loop": ("more than 1 s", None),
    "silent": ("without a result", None),
    "garbage": ("", None),
    "raises": ("could not be run", None),
    "refuses": ("Not this.", 4),
}


def _error(sandbox: Sandbox, job: str, request: object = None, timeout: float = 1) -> ProgramError:
    with pytest.raises(ProgramRefused) as caught:
        sandbox.call(job, request, timeout=timeout)
    return caught.value.error


@pytest.mark.parametrize("job", ENDS)
def test_a_child_that_ends_badly(forking: Sandbox, job: str) -> None:
    words, line = ENDS[job]
    error = _error(forking, job)
    assert words in error.message
    assert error.line == line
    assert error.hint
    assert forking.call("double", [1, 2]) == [2, 4]


@pytest.mark.parametrize("job", sample(["segfault", "endless_operator", "refuses"], every=3))
def test_a_worker_that_ends_badly(portable: Sandbox, job: str) -> None:
    words, line = ENDS[job]
    error = _error(portable, job)
    assert words in error.message
    assert error.line == line
    assert portable.call("double", [1, 2]) == [2, 4]


def test_memory(forking: Sandbox) -> None:
    error = _error(forking, "memory", timeout=30)
    assert "memory" in error.message
    assert error.line == 2
    assert "allocate" in error.detail
    assert forking.call("double", [1, 2]) == [2, 4]


@pytest.mark.parametrize("sandbox", ["forking", thorough("portable")], indirect=True)
def test_an_answer_too_large(sandbox: Sandbox) -> None:
    assert "too large" in _error(sandbox, "large", limits.MESSAGE, timeout=30).message
    assert len(sandbox.call("large", 2**22, timeout=30)) == 2**22


def test_a_request_too_large(forking: Sandbox) -> None:
    image = bytes(25 * 2**20)
    assert forking.call("length", {"image": image}, timeout=30) == len(image)
    assert "too large" in _error(forking, "length", {"image": image * 2}).message


def test_an_unknown_job_is_an_error(forking: Sandbox) -> None:
    assert "could not be run" in _error(forking, "no such job").message
