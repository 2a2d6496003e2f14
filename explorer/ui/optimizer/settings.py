"""The optimizer's hyperparameters: in force in the session, in the link, and in the widgets.

The session alone holds them. A change is its press "set", which can be undone; the widgets and the
link follow the session. `betas` are two numbers here, beta1 and beta2.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.training.optimizer_spec import PARTS
from explorer.training.optimizers import OPTIMIZERS, optimizer_spec
from explorer.ui.common.query_params import is_finite, validate
from explorer.ui.optimizer.problems import Offer

_WORDS = {"true": True, "false": False}


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


# -- the link -------------------------------------------------------------------------------------


def read_link(offer: Offer, optimizer: str) -> dict[str, Any]:
    """The hyperparameters a new session begins with: those in the link, and the problem's own."""
    own = offer.settings(optimizer)
    flat = flatten(own)
    for name, value in flat.items():
        words = _words(optimizer, name, value)
        good = words.__contains__ if words else is_finite
        validate(name, good)
        text = st.query_params.get(name, "")
        if good(text):
            flat[name] = words[text] if words else float(text)
    return nest(flat, list(own))


def write_link(offer: Offer, optimizer: str, hyper: dict[str, Any]) -> None:
    """Let the link have those hyperparameters that are not the problem's own."""
    own, now = flatten(offer.settings(optimizer)), flatten(hyper)
    wanted = {name: _text(value) for name, value in now.items() if value != own[name]}
    for name in _every_name():
        if name in wanted and st.query_params.get(name) != wanted[name]:
            st.query_params[name] = wanted[name]
        elif name not in wanted and name in st.query_params:
            del st.query_params[name]


def _words(optimizer: str, name: str, value: Any) -> dict[str, Any]:
    """What a hyperparameter that is no number can be, as the link has it; empty for a number."""
    if isinstance(value, bool):
        return _WORDS
    return {str(choice): choice for choice in optimizer_spec(optimizer).choices.get(name, ())}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return str(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _every_name() -> list[str]:
    return list({name: 0 for spec in OPTIMIZERS.values() for name in flatten(spec.defaults())})


def rare_settings(optimizer: str) -> list[str]:
    """The hyperparameters without a slider."""
    flat = flatten(optimizer_spec(optimizer).defaults())
    return [name for name in flat if name not in slider_names(optimizer)]


def slider_names(optimizer: str) -> list[str]:
    """The hyperparameters that have a slider: two of those that matter most."""
    return [part for name in optimizer_spec(optimizer).first for part in PARTS.get(name, (name,))][
        :2
    ]
