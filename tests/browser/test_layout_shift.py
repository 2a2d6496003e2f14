"""How much of a page moves while it is opened."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.actions import SHOWN
from benchmarks.layout_shift import BUDGET, SIZES, new_profile, open_and_watch, total, visits

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

#: The most that may move here, where other tests keep the machine busy, and how often a page is
#: opened again for it: then the browser
#: paints states in between that it paints nowhere else. The benchmark has the budget of 0.1.
BUSY, TIMES = 0.25, 3

#: Moves the page once it is there.
PUSH = """
const timer = setInterval(() => {
  const main = document.querySelector('[data-testid=stMain]')
  if (!main?.querySelector('svg g.node, h1')?.checkVisibility({ visibilityProperty: true })) return
  clearInterval(timer)
  setTimeout(() => { main.style.paddingTop = '300px' }, 300)
}, 50)
"""


def test_pages_stay_where_they_appear(chromium: Any, app: str) -> None:
    moved = {}
    for size, kind in zip(SIZES, (1, 0), strict=True):  # by links on wide screens, bare on narrow
        with new_profile(chromium, size) as profile:
            for name, path, shown in list(visits())[kind::2]:
                for _ in range(TIMES):
                    shifts = open_and_watch(profile, f"{app}/{path}", shown)
                    if total(shifts) <= BUSY:
                        break
                else:
                    moved[name, size[0]] = shifts
    assert not moved


def test_a_page_takes_its_width_unseen(chromium: Any, app: str) -> None:
    """Streamlit's skeleton of a page is 736 pixels wide: all of it moved when the page came."""
    with new_profile(chromium, SIZES[0]) as profile:
        path, shown = SHOWN["Home"]
        for _ in range(TIMES):
            shifts = open_and_watch(profile, f"{app}/{path}", shown)
            assert not [s for s in shifts if any("stMainBlockContainer" in w for w in s.moved)]


def test_what_moves_is_counted(chromium: Any, app: str) -> None:
    with new_profile(chromium, SIZES[0]) as profile:
        profile.add_init_script(PUSH)
        assert total(open_and_watch(profile, app, SHOWN["Home"][1])) > BUDGET
