"""A check of the guarded language that is left out is noticed by a program of tests/hostile."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.sandbox.settings import Settings
from tests.faults.guard_faults import FAULTS

pytestmark = pytest.mark.skipif(not Settings("", "").fork, reason="needs Linux")


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What `python -m tests.faults` says of each fault. This process has the product already."""
    command = [sys.executable, "-m", "tests.faults"]
    root, environment = Path(__file__).parents[2], os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


def test_without_a_fault_nothing_is_noticed(said: dict[str, str]) -> None:
    assert said["sound"] == "noticed by none"


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_noticed(said: dict[str, str], name: str) -> None:
    assert said[name] == "noticed"
