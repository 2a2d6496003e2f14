from collections.abc import Iterator

import pytest

from explorer.sandbox import Sandbox
from explorer.sandbox.settings import Settings


@pytest.fixture(scope="package")
def forking() -> Iterator[Sandbox]:
    if not Settings("", "").fork:
        pytest.skip("this system's children do not fork")
    sandbox = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, processors=2, rest=60.0)
    yield sandbox
    sandbox.stop()


@pytest.fixture(scope="package")
def portable() -> Iterator[Sandbox]:
    sandbox = Sandbox(jobs="tests.sandbox.jobs", warm_up=False, processors=2, fork=False, rest=60.0)
    yield sandbox
    sandbox.stop()


@pytest.fixture(params=["forking", "portable"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Both kinds, for what must hold of either."""
    return request.getfixturevalue(request.param)
