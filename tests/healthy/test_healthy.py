"""No alarm for programs that are right.

`python -m tests.healthy` prints what the explorer says of each of them.
"""

import pytest

from tests.healthy.corpus import PROGRAMS, alarms, run_plainly
from tests.marks import sample


@pytest.mark.parametrize("name", sample(PROGRAMS, every=3))
def test_nothing_is_said_of_a_healthy_program(name: str) -> None:
    run_plainly(PROGRAMS[name])
    assert alarms(PROGRAMS[name]) == {}


@pytest.mark.fast
def test_there_are_many_programs() -> None:
    assert len(PROGRAMS) >= 200
