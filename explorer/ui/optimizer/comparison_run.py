"""A second run for comparison: without zero_grad, or with another setting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from explorer.language import ProgramError, ProgramRefused
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
#: State and path of the second run.
SecondRun = tuple[View, tuple[Point, ...]]


@dataclass(frozen=True)
class Comparison:
    """What the reader compares with: a key of `NAMES`, and another setting's hyperparameters."""

    kind: str
    optimizer: str = ""
    hyper: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The second run's name in the pictures."""
        return NAMES[self.kind]


def choose_comparison() -> Comparison:
    """Draw the list of comparisons, and for another setting its widgets."""
    accept_renamed("beside", _RENAMED)
    validate("beside", {*NAMES, *_RENAMED}.__contains__)
    kind = st.selectbox(
        "Comparison",
        list(NAMES),
        key="beside",
        bind="query-params",
        label_visibility="collapsed",
        width=250,
        help="A second run from the same start; every button applies to both",
    )
    if kind != OTHER:
        return Comparison(kind if kind in NAMES else NONE)
    optimizer = choose_optimizer(
        "its optimizer", "beside-optimizer", "How the second run turns gradients into steps"
    )
    meanings = OPTIMIZERS[optimizer].hyper
    hyper = {"lr": choose_number("its lr", "beside-lr", 0.01, meanings["lr"], 108)}
    if "momentum" in meanings:
        hyper["momentum"] = choose_number(
            "its momentum", "beside-momentum", 0.9, meanings["momentum"], 108
        )
    return Comparison(OTHER, optimizer, hyper)


def follow(workspace: Workspace, comparison: Comparison) -> SecondRun | None:
    """Let the second run do what the first has done; None without one.

    Raises ProgramRefused where it cannot be made.
    """
    cache = workspace.cache
    if comparison.kind == NONE:
        cache.pop(_FOLLOWER, None)
        return None
    with workspace.lock:
        try:
            if cache.get(_FOLLOWER, (None,))[0] != comparison:
                cache[_FOLLOWER] = (comparison, _make_follower(comparison))
                cache.pop(_VIEW, None)
            if cache.get(_VIEW, (None,))[0] != workspace.version:
                second: Any = cache[_FOLLOWER][1].follow(workspace.session)
                cache[_VIEW] = (workspace.version, (second.view(), second.points()))
        except (ValueError, ProgramRefused) as error:
            cache.pop(_FOLLOWER, None)
            if isinstance(error, ProgramRefused):
                raise
            raise ProgramRefused(ProgramError(str(error))) from None
        followed: SecondRun = cache[_VIEW][1]
        return followed


def _make_follower(comparison: Comparison) -> Follower:
    if comparison.kind == NO_ZERO_GRAD:
        return follow_without_zero_grad()
    return follow_with_setting(comparison.optimizer, **comparison.hyper)
