from collections.abc import Iterator
from typing import Any

import pytest

from explorer.sandbox import Sandbox
from explorer.sandbox.options import ServerOptions

#: The first wall alone: of what runs inside the second, no process and no file is seen from here.
OPTIONS: dict[str, Any] = {
    "jobs": "tests.sandbox.jobs",
    "warm_up": False,
    "processes": 2,
    "rest": 60.0,
    "bubblewrap": False,
}


@pytest.fixture(scope="package")
def forking() -> Iterator[Sandbox]:
    if not ServerOptions.fork:
        pytest.skip("this system's children do not fork")
    sandbox = Sandbox(**OPTIONS)
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="package")
def portable() -> Iterator[Sandbox]:
    sandbox = Sandbox(**OPTIONS, fork=False)
    yield sandbox
    sandbox.stop()


@pytest.fixture(params=["forking", "portable"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Both kinds, for what must hold of either."""
    return request.getfixturevalue(request.param)
