"""The walls alone: every hostile program as plain Python, with no language around it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.language import ProgramRefused
from explorer.sandbox import Sandbox, bubblewrap, kernel_restrictions
from tests.hostile.corpus import GROUPS
from tests.hostile.test_corpus import Canary, memory
from tests.sandbox.test_calls import eventually

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        bool(kernel_restrictions.missing()), reason="a part of the walls is missing"
    ),
]

SECRET = "EXPLORER_TEST_SECRET"
#: Seconds for one program.
LIMIT = 0.5


@pytest.fixture(scope="module", params=["both walls", "the first alone"])
def server(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    both = request.param == "both walls"
    if both and bubblewrap.failure():
        pytest.skip(bubblewrap.failure())
    os.environ[SECRET] = "do not tell"
    box = Sandbox(jobs="tests.sandbox.jobs", bubblewrap=both)
    box.call("double", [1], timeout=60)
    yield box
    box.stop()
    del os.environ[SECRET]


def attack(box: Sandbox, code: str) -> str:
    """How it ended."""
    try:
        return str(box.call("raw", {"code": code}, timeout=LIMIT))
    except ProgramRefused as refused:
        return refused.error.message


@pytest.mark.parametrize("group", GROUPS)
def test_a_group(server: Sandbox, group: str, tmp_path: Path) -> None:
    canary = Canary(tmp_path)
    pid = server.pid
    assert pid is not None
    before = memory(pid)
    names: dict[str, Any] = {"file": str(canary.file), "name": SECRET, "port": canary.port}
    for number, program in enumerate(GROUPS[group]):
        text = program.format(**names)
        ended = attack(server, text)
        assert "do not tell" not in ended, text
        assert canary.is_untouched(), text
        if number % 8 == 0:
            assert server.call("double", [1, 2], reader="next", timeout=20) == [2, 4], text
    assert server.pid == pid
    assert memory(pid) < before + 50 * 2**20
    assert server._server is not None
    scratch = server._server.settings.scratch
    assert eventually(lambda: not os.listdir(scratch))
    canary.listener.close()
