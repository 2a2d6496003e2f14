"""Every package has tests that `-m fast` runs; see docs/quality.md."""

from pathlib import Path

import pytest

from tests.conftest import LONGEST

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parent
PACKAGES = sorted({path.parent for path in ROOT.rglob("test_*.py")})


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_package_has_a_fast_part(package: Path) -> None:
    assert any("pytest.mark.fast" in path.read_text() for path in package.glob("test_*.py"))


def test_the_files_that_start_first_exist() -> None:
    assert [file for file in LONGEST if not (ROOT.parent / file).exists()] == []
