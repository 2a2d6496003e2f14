"""Every group of benchmarks, measured once: one that no longer runs to its end is noticed.

All of them take longer than a check of everything may. `THOROUGH_SECONDS` is after how many seconds
no further group begins; each day another one comes first.
"""

import math
import os
import time
from datetime import date

import pytest

from benchmarks.running import GROUPS, measure_group

pytestmark = [pytest.mark.thorough, pytest.mark.browser]

SECONDS = float(os.environ.get("THOROUGH_SECONDS", math.inf))
START = time.monotonic()
NAMES = list(GROUPS)
FIRST = date.today().toordinal() % len(NAMES)


@pytest.mark.parametrize("name", NAMES[FIRST:] + NAMES[:FIRST])
def test_every_row_is_measured(name: str) -> None:
    if time.monotonic() - START > SECONDS:
        pytest.skip("no time left for this group")
    rows = measure_group(name, 1).rows
    assert rows
    assert {row.what: row.note for row in rows if row.ours is None} == {}
