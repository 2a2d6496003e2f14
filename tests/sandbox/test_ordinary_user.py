"""The walls as an ordinary user meets them. Root's processes may do more and fail less."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

CAP_DAC_READ_SEARCH = 1 << 2


def may_become_nobody() -> bool:
    """Whether this is root, with the capability that nobody is left."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None:
        return False
    capabilities = Path("/proc/self/status").read_text().split("CapEff:")[1].split()[0]
    return bool(int(capabilities, 16) & CAP_DAC_READ_SEARCH)


pytestmark = pytest.mark.skipif(
    not may_become_nobody(), reason="only root, with all capabilities, can become another user"
)

ROOT = Path(__file__).parents[2]
NOBODY = "65534"
#: Nobody may do anything that its user may not, but read: the interpreter may be in root's home.
AS_NOBODY = [
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    *(f"--{kind}=-all,+dac_read_search" for kind in ("bounding-set", "inh-caps")),
    "--ambient-caps=+dac_read_search",
]  # fmt: skip
TESTS = [
    "tests/sandbox/test_attacks.py::test_threads_are_bounded[forking]",
    "tests/sandbox/test_attacks.py::test_attack[forking-chmod_code]",
    "tests/sandbox/test_attacks.py::test_attack[forking-memory_file_of_the_server]",
    "tests/sandbox/test_kernel_restrictions.py::test_what_stays_possible",
    "tests/sandbox/test_kernel_restrictions.py::test_torch_works_under_the_restrictions[narrow]",
]

THOROUGH = ["tests/sandbox/test_attacks.py", "tests/sandbox/test_scratch.py"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that nobody may write to; pytest's own are root's."""
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, int(NOBODY), int(NOBODY))
        yield Path(name)


def run_tests(folder: Path, *tests: str) -> str:
    """What pytest says of the tests, which pass."""
    options = ["-n0", "-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'pytest'}"]
    done = subprocess.run(
        [*AS_NOBODY, sys.executable, "-B", "-m", "pytest", *options, *tests],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.thorough
def test_the_tests_of_the_walls_pass_as_an_ordinary_user(folder: Path) -> None:
    assert "skipped" not in run_tests(folder, "-m", "thorough or not thorough", *TESTS)


@pytest.mark.thorough
def test_all_attacks_fail_as_an_ordinary_user(folder: Path) -> None:
    """Behind the first wall: bubblewrap starts for nobody who has one of root's capabilities."""
    run_tests(folder, "-m", "thorough or not thorough", *THOROUGH)
