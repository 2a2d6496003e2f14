"""How often one reader's page is run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from explorer.ui.common import rerun_rate
from explorer.ui.common.rerun_rate import BURST, LONGEST, RATE, Allowance

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(("per_second", "seconds"), [(30, 3), (20, 5)], ids=["held key", "drag"])
def test_people_do_not_wait(per_second: int, seconds: int) -> None:
    allowance = Allowance(now=0.0)
    waits = [allowance.take(number / per_second) for number in range(per_second * seconds)]
    assert not any(waits)


def test_a_flood_waits() -> None:
    allowance = Allowance(now=0.0)
    at_once = [allowance.take(number / 70) for number in range(10 * 70)].count(0.0)
    assert BURST <= at_once <= BURST * 70 / (70 - RATE) + 1


def test_no_wait_is_long_and_a_pause_ends_it() -> None:
    allowance = Allowance(now=0.0)
    assert max(allowance.take(0.0) for _ in range(1000)) == LONGEST
    assert allowance.take(LONGEST + BURST / RATE) == 0
    assert allowance.runs == BURST - 1


def test_every_page_waits_before_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr(rerun_rate, "time", clock)
    at = AppTest.from_string(
        "from explorer.ui.common.frame import draw_frame\ndraw_frame('home')", default_timeout=60
    )
    at.session_state[rerun_rate._KEY] = Allowance(runs=1.0, now=0.0)
    at.run()
    assert not slept
    at.run()
    assert sum(slept) == pytest.approx(1 / RATE)
