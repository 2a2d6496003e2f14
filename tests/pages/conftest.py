"""Pages in these tests wait for their jobs: no browser would ask for them again."""

import pytest

from explorer.ui.common import sandbox_call


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_call, "WAIT", 30.0)
