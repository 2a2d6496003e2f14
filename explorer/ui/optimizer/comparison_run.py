"""A second run beside the first: the twin that forgets zero_grad, or another setting."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.language import ProgramRefused
from explorer.training import Follower, Point, View, forgetful, otherwise
from explorer.training.optimizers import HYPER, MEANING
from explorer.ui.common.query_params import is_finite, validate
from explorer.ui.optimizer.workspace import Workspace

NOTHING, TWIN, OTHER = "Nothing beside it", "A twin without zero_grad", "Another setting"
#: The second run's name in the pictures.
NAMES = {NOTHING: "", TWIN: "without zero_grad", OTHER: "the other setting"}
_FOLLOWER, _VIEW = "beside.follower", "beside.view"


def way() -> str:
    """Choose what runs beside: a key of `NAMES`."""
    validate("beside", NAMES.__contains__)
    found = st.selectbox(
        "Beside it",
        list(NAMES),
        key="beside",
        bind="query-params",
        label_visibility="collapsed",
        help="A second run from the same start, which gets the same presses",
    )
    return found if found in NAMES else NOTHING


def setting(way: str) -> tuple[str, str, dict[str, Any]]:
    """`way`, and for the other setting its optimizer and numbers."""
    if way != OTHER:
        return way, "", {}
    with st.container(horizontal=True, gap="small", key="besides"):
        validate("beside-optimizer", HYPER.__contains__)
        optimizer = st.selectbox(
            "its optimizer",
            list(HYPER),
            key="beside-optimizer",
            bind="query-params",
            width=110,
            help="How the second run turns gradients into steps",
        )
        optimizer = optimizer if optimizer in HYPER else "SGD"
        hyper = {"lr": _number("its lr", "beside-lr", 0.01, MEANING["lr"])}
        if "momentum" in HYPER[optimizer]:
            hyper["momentum"] = _number("its momentum", "beside-momentum", 0.9, MEANING["momentum"])
    return way, optimizer, hyper


def _number(label: str, key: str, start: float, meaning: str) -> float:
    validate(key, is_finite)
    found = st.number_input(
        label,
        value=start,
        step=None,
        format="%g",
        key=key,
        bind="query-params",
        width=108,
        help=meaning.capitalize(),
    )
    return start if found is None else float(found)


def follow(space: Workspace, choice: tuple[str, str, dict[str, Any]]) -> tuple[View, Any] | None:
    """Let the second run do what the first has done; its view and points, or None without one.

    ValueError and ProgramRefused, with a sentence, where it cannot be made.
    """
    way, optimizer, hyper = choice
    if way == NOTHING:
        space.kept.pop(_FOLLOWER, None)
        return None
    name = repr(choice)
    kept: tuple[str, Follower] | None = space.kept.get(_FOLLOWER)
    if kept is None or kept[0] != name:
        made = forgetful() if way == TWIN else otherwise(optimizer, **hyper)
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
