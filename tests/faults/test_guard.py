"""If a check of the language is left out, a program of tests/hostile notices."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.sandbox.settings import Settings
from tests.faults.guard_faults import FAULTS

pytestmark = pytest.mark.skipif(not Settings("", "").fork, reason="needs Linux")


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    """The output of `python -m tests.faults` by fault, run in a process without the project."""
    command = [sys.executable, "-m", "tests.faults"]
    root, environment = Path(__file__).parents[2], os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


def test_without_a_fault_nothing_is_noticed(results: dict[str, str]) -> None:
    assert results["sound"] == "noticed by none"


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_noticed(results: dict[str, str], name: str) -> None:
    assert results[name].startswith("noticed")
