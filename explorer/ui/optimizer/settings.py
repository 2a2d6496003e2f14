"""The optimizer and its hyperparameters. They may change at any time; the run continues."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.training.optimizers import OPTIMIZERS
from explorer.ui.common.query_params import is_finite, validate
from explorer.ui.optimizer.problems import FIRST, OFFERS, Offer

#: The values the widgets show from the next run of the page on.
_NEXT = "settings.next"


def reset_settings() -> None:
    """Another problem or optimizer was chosen: show the settings it begins with."""
    state = st.session_state
    offer = OFFERS.get(str(state.get("problem")), OFFERS[FIRST])
    optimizer = state.get("optimizer")
    show_settings(offer.settings(optimizer if optimizer in OPTIMIZERS else "SGD"))


def show_settings(hyper: dict[str, Any]) -> None:
    """Let the widgets show these from the next run of the page on."""
    st.session_state[_NEXT] = _flatten(hyper)


def choose_settings(offer: Offer) -> tuple[str, dict[str, Any]]:
    """Draw the widgets; returns the optimizer and all its hyperparameters."""
    for name, value in st.session_state.pop(_NEXT, {}).items():
        st.session_state[name] = value
    optimizer = choose_optimizer(
        "Optimizer",
        "optimizer",
        "How step() turns gradients into changes. The run continues.",
        on_change=reset_settings,
    )
    meanings = OPTIMIZERS[optimizer].hyper
    values = {
        name: _widget(name, value, meanings.get(name) or meanings["betas"])
        for name, value in _flatten(offer.settings(optimizer)).items()
    }
    return optimizer, _nest(values, list(meanings))


def choose_optimizer(label: str, key: str, help: str, on_change: Any = None) -> str:
    """Draw the list of optimizers; returns a name in `OPTIMIZERS`."""
    validate(key, OPTIMIZERS.__contains__)
    optimizer = st.selectbox(
        label,
        list(OPTIMIZERS),
        key=key,
        bind="query-params",
        on_change=on_change,
        width=112,
        help=help,
    )
    return optimizer if optimizer in OPTIMIZERS else "SGD"


def choose_number(label: str, key: str, start: float, meaning: str, width: int = 112) -> float:
    """Draw a box for a finite number that is saved in the page's link."""
    validate(key, is_finite)
    value = st.number_input(
        label,
        value=start,
        step=None,
        format="%g",
        key=key,
        bind="query-params",
        width=width,
        help=meaning.capitalize(),
    )
    return start if value is None else float(value)


def _widget(name: str, value: Any, meaning: str) -> Any:
    if isinstance(value, bool):
        return st.checkbox(name, value, key=name, bind="query-params", help=meaning.capitalize())
    return choose_number(name, name, float(value), meaning)


def _flatten(hyper: dict[str, Any]) -> dict[str, Any]:
    """betas as beta1 and beta2: one number for each widget."""
    flat: dict[str, Any] = {}
    for name, value in hyper.items():
        if name == "betas":
            flat["beta1"], flat["beta2"] = value
        else:
            flat[name] = value
    return flat


def _nest(values: dict[str, Any], names: list[str]) -> dict[str, Any]:
    return {
        name: (values["beta1"], values["beta2"]) if name == "betas" else values[name]
        for name in names
    }
