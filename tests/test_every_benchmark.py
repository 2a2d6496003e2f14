"""Every group of benchmarks, measured once: one that no longer runs to its end is noticed."""

import pytest

from benchmarks.running import GROUPS, measure_group

pytestmark = [pytest.mark.thorough, pytest.mark.browser]


@pytest.mark.parametrize("name", GROUPS)
def test_every_row_is_measured(name: str) -> None:
    rows = measure_group(name, 1).rows
    assert rows
    assert {row.what: row.note for row in rows if row.ours is None} == {}
