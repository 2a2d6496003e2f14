"""The optimizer's hyperparameters as widgets have them.

The session alone holds them. A change is its press "set", which can be undone; the widgets and the
link follow the session. `betas` are two numbers here, beta1 and beta2.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.training.optimizer_spec import PARTS
from explorer.training.optimizers import OPTIMIZERS, optimizer_spec
from explorer.ui.widgets.query_params import is_finite, validate


def choose_optimizer(label: str, key: str, help: str) -> str:
    """Draw the list of optimizers; returns a name in `OPTIMIZERS`."""
    validate(key, OPTIMIZERS.__contains__)
    optimizer = st.selectbox(
        label, list(OPTIMIZERS), key=key, bind="query-params", width=112, help=help
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


# -- one number or switch for each widget ---------------------------------------------------------


def flatten(hyper: dict[str, Any]) -> dict[str, Any]:
    """One number or switch for each name."""
    flat: dict[str, Any] = {}
    for name, value in hyper.items():
        if name in PARTS:
            flat.update(zip(PARTS[name], value, strict=True))
        else:
            flat[name] = value
    return flat


def nest(flat: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The hyperparameters `names` of what `flatten` made."""
    return {
        name: tuple(flat[part] for part in PARTS[name]) if name in PARTS else flat[name]
        for name in names
    }


def meaning_of(optimizer: str, flat_name: str) -> str:
    """What this number or switch is."""
    meanings = OPTIMIZERS[optimizer].hyper
    whole = next((name for name, parts in PARTS.items() if flat_name in parts), flat_name)
    return meanings.get(flat_name) or meanings[whole]


def change(hyper: dict[str, Any], flat_name: str, value: Any) -> dict[str, Any]:
    """What the press "set" is given so that this number or switch has the value; nothing where it
    has it already, or where there is none of this name."""
    flat = flatten(hyper)
    if flat_name not in flat or flat[flat_name] == value:
        return {}
    name = next((name for name, parts in PARTS.items() if flat_name in parts), flat_name)
    return nest({**flat, flat_name: value}, [name])


def rare_settings(optimizer: str) -> list[str]:
    """The hyperparameters without a slider."""
    flat = flatten(optimizer_spec(optimizer).defaults())
    return [name for name in flat if name not in slider_names(optimizer)]


def slider_names(optimizer: str) -> list[str]:
    """The hyperparameters that have a slider: two of those that matter most."""
    return [part for name in optimizer_spec(optimizer).first for part in PARTS.get(name, (name,))][
        :2
    ]
