from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.sandbox import Sandbox
from explorer.sandbox.start import Settings

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares a server runs in one process."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if item.path.parent == FOLDER and fixtures & {"sandbox", "forking", "portable"}:
            item.add_marker(pytest.mark.xdist_group("sandbox"))


@pytest.fixture(scope="package")
def forking() -> Iterator[Sandbox]:
    if not Settings("", "").fork:
        pytest.skip("this system's children do not fork")
    sandbox = Sandbox(jobs="tests.sandbox.jobs", processors=2)
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="package")
def portable() -> Iterator[Sandbox]:
    sandbox = Sandbox(jobs="tests.sandbox.jobs", processors=2, fork=False)
    yield sandbox
    sandbox.stop()


@pytest.fixture(params=["forking", "portable"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Both kinds, for what must hold of either."""
    return request.getfixturevalue(request.param)
