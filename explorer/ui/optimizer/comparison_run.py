"""A second run for comparison: without zero_grad, or with another setting."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.language import ProgramRefused
from explorer.training import (
    Follower,
    Point,
    View,
    follow_with_setting,
    follow_without_zero_grad,
)
from explorer.training.optimizers import OPTIMIZERS
from explorer.ui.common.query_params import accept_renamed, validate
from explorer.ui.optimizer.session import Workspace
from explorer.ui.optimizer.settings import choose_number, choose_optimizer

NONE, NO_ZERO_GRAD, OTHER = "No comparison", "Compare without zero_grad", "Compare another setting"
#: The second run's name in the pictures.
NAMES = {NONE: "", NO_ZERO_GRAD: "without zero_grad", OTHER: "the other setting"}
#: By the labels in links of earlier versions.
_RENAMED = {"A twin without zero_grad": NO_ZERO_GRAD, "Another setting": OTHER}
_FOLLOWER, _VIEW = "comparison.follower", "comparison.view"


def choose_comparison() -> str:
    """Draw the list of comparisons; returns a key of `NAMES`."""
    accept_renamed("beside", _RENAMED)
    validate("beside", {*NAMES, *_RENAMED}.__contains__)
    comparison = st.selectbox(
        "Comparison",
        list(NAMES),
        key="beside",
        bind="query-params",
        label_visibility="collapsed",
        help="A second run from the same start; every button applies to both",
    )
    return comparison if comparison in NAMES else NONE


def choose_setting(comparison: str) -> tuple[str, str, dict[str, Any]]:
    """`comparison`, and for another setting its optimizer and hyperparameters."""
    if comparison != OTHER:
        return comparison, "", {}
    with st.container(horizontal=True, gap="small", key="besides"):
        optimizer = choose_optimizer(
            "its optimizer", "beside-optimizer", "How the second run turns gradients into steps"
        )
        meanings = OPTIMIZERS[optimizer].hyper
        hyper = {"lr": choose_number("its lr", "beside-lr", 0.01, meanings["lr"], 108)}
        if "momentum" in meanings:
            hyper["momentum"] = choose_number(
                "its momentum", "beside-momentum", 0.9, meanings["momentum"], 108
            )
    return comparison, optimizer, hyper


def follow(
    workspace: Workspace, choice: tuple[str, str, dict[str, Any]]
) -> tuple[View, tuple[Point, ...]] | None:
    """Let the second run do what the first has done; its view and points, or None without one.

    ValueError and ProgramRefused, with a sentence, where it cannot be made.
    """
    comparison, optimizer, hyper = choice
    if comparison == NONE:
        workspace.cache.pop(_FOLLOWER, None)
        return None
    name = repr(choice)
    named: tuple[str, Follower] | None = workspace.cache.get(_FOLLOWER)
    if named is None or named[0] != name:
        follower = (
            follow_without_zero_grad()
            if comparison == NO_ZERO_GRAD
            else follow_with_setting(optimizer, **hyper)
        )
        named = workspace.cache[_FOLLOWER] = (name, follower)
        workspace.cache.pop(_VIEW, None)
    with workspace.lock:
        current = workspace.cache.get(_VIEW)
        if current is None or current[0] != workspace.version:
            try:
                second: Any = named[1].follow(workspace.session)
            except (ValueError, ProgramRefused):
                workspace.cache.pop(_FOLLOWER, None)
                raise
            current = workspace.cache[_VIEW] = (workspace.version, second.view(), second.points())
    return current[1], current[2]
