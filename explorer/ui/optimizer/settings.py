"""The optimizer and its hyperparameters. They may change at any time; the run goes on."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.training.optimizers import HYPER, MEANING, defaults
from explorer.ui.common.query_params import is_finite, validate
from explorer.ui.optimizer.problems import FIRST, OFFERS, Offer

#: What the widgets are to show from the next run on, where it is not what they show now.
_NEXT = "settings.next"


def begin() -> None:
    """Another problem or optimizer was chosen: show the settings it begins with."""
    state = st.session_state
    offer = OFFERS.get(str(state.get("problem")), OFFERS[FIRST])
    optimizer = state.get("optimizer")
    show(offer.settings(optimizer if optimizer in HYPER else "SGD"))


def show(hyper: dict[str, Any]) -> None:
    """Let the widgets show these from the next run of the page on."""
    st.session_state[_NEXT] = _flat(hyper)


def draw(offer: Offer) -> tuple[str, dict[str, Any]]:
    """The widgets; returns the optimizer and all its hyperparameters as they stand there."""
    for name, value in st.session_state.pop(_NEXT, {}).items():
        st.session_state[name] = value
    validate("optimizer", HYPER.__contains__)
    optimizer = st.selectbox(
        "Optimizer",
        list(HYPER),
        key="optimizer",
        bind="query-params",
        on_change=begin,
        width=112,
        help="How step() turns gradients into changes. The run goes on.",
    )
    optimizer = optimizer if optimizer in HYPER else "SGD"
    values = {
        name: _widget(name, value) for name, value in _flat(offer.settings(optimizer)).items()
    }
    return optimizer, _nested(values, defaults(optimizer))


def _widget(name: str, value: Any) -> Any:
    meaning = (MEANING.get(name) or MEANING["betas"]).capitalize()
    if isinstance(value, bool):
        return st.checkbox(name, value, key=name, bind="query-params", help=meaning)
    validate(name, is_finite)
    found = st.number_input(
        name,
        value=float(value),
        step=None,
        format="%g",
        key=name,
        bind="query-params",
        width=112,
        help=meaning,
    )
    return float(value) if found is None else found


def _flat(hyper: dict[str, Any]) -> dict[str, Any]:
    """betas as beta1 and beta2: one number for each widget."""
    flat: dict[str, Any] = {}
    for name, value in hyper.items():
        if name == "betas":
            flat["beta1"], flat["beta2"] = value
        else:
            flat[name] = value
    return flat


def _nested(values: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (values["beta1"], values["beta2"]) if name == "betas" else values[name]
        for name in like
    }
