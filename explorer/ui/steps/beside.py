"""A second run beside the first: the twin that forgets zero_grad, or another setting."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.language import ProgramRefused
from explorer.training import Follower, Point, View, forgetful, otherwise
from explorer.training.optimizers import HYPER
from explorer.ui.steps.workspace import Workspace

_WAYS = {"": "Nothing", "twin": "A twin without zero_grad", "other": "Another setting"}
#: The second run's name in the pictures.
NAMES = {"": "", "twin": "without zero_grad", "other": "the other setting"}
_FOLLOWER, _VIEW = "beside.follower", "beside.view"


def choose() -> tuple[str, str, dict[str, Any]]:
    """What runs beside: "", "twin" or "other", with the other's optimizer and settings."""
    way = st.selectbox(
        "Beside it",
        list(_WAYS),
        format_func=_WAYS.__getitem__,
        key="beside",
        bind="query-params",
        help="A second run from the same start that does the same presses",
        width=205,
    )
    if way != "other":
        return way or "", "", {}
    optimizer = st.selectbox(
        "Its optimizer", list(HYPER), key="beside-optimizer", bind="query-params", width=110
    )
    optimizer = optimizer if optimizer in HYPER else "SGD"
    hyper = {"lr": _number("Its lr", "beside-lr", 0.01)}
    if "momentum" in HYPER[optimizer]:
        hyper["momentum"] = _number("Its momentum", "beside-momentum", 0.9)
    return way, optimizer, hyper


def _number(label: str, key: str, start: float) -> float:
    found = st.number_input(
        label, value=start, step=None, format="%g", key=key, bind="query-params", width=92
    )
    return start if found is None else float(found)


def follow(space: Workspace, choice: tuple[str, str, dict[str, Any]]) -> tuple[View, Any] | None:
    """Let the second run do what the first has done; its view and points, or None without one.

    ValueError and ProgramRefused, with a sentence, where it cannot be made.
    """
    way, optimizer, hyper = choice
    if not way:
        space.kept.pop(_FOLLOWER, None)
        return None
    name = repr(choice)
    kept: tuple[str, Follower] | None = space.kept.get(_FOLLOWER)
    if kept is None or kept[0] != name:
        made = forgetful() if way == "twin" else otherwise(optimizer, **hyper)
        kept = space.kept[_FOLLOWER] = (name, made)
        space.kept.pop(_VIEW, None)
    with space.lock:
        seen = space.kept.get(_VIEW)
        if seen is None or seen[0] != space.version:
            try:
                other: Any = kept[1].follow(space.session)
            except (ValueError, ProgramRefused):
                space.kept.pop(_FOLLOWER, None)
                raise
            points: tuple[Point, ...] = other.points()
            seen = space.kept[_VIEW] = (space.version, other.view(), points)
    return seen[1], seen[2]
