"""Scheduler, clipping and groups: chosen in the menu More, kept in the session and in the link.

A change begins a new run, as another optimizer does. In the link they are the name and those
arguments that are not the default: `scheduler=StepLR`, `scheduler.step_size=50`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import streamlit as st

from explorer.training import schedulers
from explorer.training.arguments import Argument
from explorer.training.clipping import CLIPPING
from explorer.training.schedulers import SCHEDULERS
from explorer.ui.common.mounts import mount_plots
from explorer.ui.common.query_params import validate
from explorer.ui.common.widgets import formula
from explorer.ui.optimizer import groups
from explorer.view.plot import Axis, Line, Plot

#: The options of a session by name, with what may be chosen.
KINDS: dict[str, Mapping[str, Any]] = {"scheduler": SCHEDULERS, "clip": CLIPPING}
LABELS = {"scheduler": "Scheduler", "clip": "Gradient clipping"}
_HELP = {
    "scheduler": "Changes lr after every step. Choosing one begins a new run.",
    "clip": "Limits the gradients before every step. Choosing it begins a new run.",
}
_NONE = "None"
_STATE, _REFUSED = "settings.options", "settings.options.refused"
#: Most characters of an argument in the link.
_LONGEST = 300
#: Most steps of the picture of a scheduler, and the fewest.
_MOST_STEPS, _FEWEST_STEPS = 1000, 100

#: The options of a session: by kind, what is chosen, its name and its arguments; and `groups`.
Options = dict[str, Any]


def read_options(arrived: bool = False) -> Options:
    """What is chosen, in this session or by the link with which the reader has `arrived`."""
    asked = any(key in st.query_params for key in (*KINDS, groups.NAMES))
    if _STATE not in st.session_state or (arrived and asked):
        found = {**{kind: _from_link(kind) for kind in KINDS}, "groups": groups.read_groups()}
        st.session_state[_STATE] = {name: option for name, option in found.items() if option}
    return dict(st.session_state[_STATE])


def keep_options(options: Options) -> None:
    """Choose these from now on."""
    st.session_state[_STATE] = options


def describe_options() -> list[str]:
    """What is chosen, as code."""
    options = read_options()
    calls = {kind: options[kind] for kind in KINDS if kind in options}
    return [
        *(
            f"{call['name']}({', '.join(f'{n}={v!r}' for n, v in _changed(kind, call).items())})"
            for kind, call in calls.items()
        ),
        *groups.describe_groups(options.get("groups", [])),
    ]


def draw_groups(names: Sequence[str], lr: float) -> None:
    """Draw the choice of parameters with a learning rate of their own, where there are several."""

    def keep(changed: groups.Groups) -> None:
        options = read_options()
        options.pop("groups", None)
        keep_options({**options, "groups": changed} if changed else options)

    if len(names) > 1:
        groups.draw_groups(read_options().get("groups", []), names, lr, keep)


def draw_options(kind: str, lr: float, losses: tuple[float, ...]) -> None:
    """Draw the list of schedulers, or of ways to clip, and the arguments of the chosen one; of a
    scheduler also its formula and how the learning rate changes."""
    call = read_options().get(kind, {"name": _NONE})
    st.session_state[kind] = call["name"]
    st.selectbox(
        LABELS[kind],
        [_NONE, *KINDS[kind]],
        format_func=lambda name: KINDS[kind][name].title if name in KINDS[kind] else _NONE,
        key=kind,
        on_change=_choose,
        args=(kind,),
        help=_HELP[kind],
    )
    spec = KINDS[kind].get(call["name"])
    if spec is None:
        return
    formula(spec.formula)
    with st.container(horizontal=True, gap="small", key=f"arguments-{kind}"):
        for name, argument in spec.arguments.items():
            _draw_argument(kind, name, argument, call[name])
    if kind == "scheduler":
        _draw_curve(call, lr, losses if spec.needs_loss else ())


# -- what is chosen -------------------------------------------------------------------------------


def _choose(kind: str) -> None:
    options = read_options()
    options.pop(kind, None)
    spec = KINDS[kind].get(st.session_state[kind])
    if spec is not None:
        options[kind] = {"name": spec.name, **_defaults(spec)}
    keep_options(options)


def _defaults(spec: Any) -> dict[str, Any]:
    return {name: argument.default for name, argument in spec.arguments.items()}


def _changed(kind: str, call: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are not the default."""
    own = _defaults(KINDS[kind][call["name"]])
    return {name: value for name, value in call.items() if name in own and value != own[name]}


# -- widgets --------------------------------------------------------------------------------------


def _draw_argument(kind: str, name: str, argument: Argument, value: Any) -> None:
    key = f"{kind}.{name}"
    settings: dict[str, Any] = {
        "key": key,
        "on_change": _change,
        "args": (kind, name, argument),
        "help": argument.meaning[0].upper() + argument.meaning[1:],
    }
    st.session_state[key] = _text(value) if isinstance(value, tuple) else value
    if isinstance(value, bool):
        st.checkbox(name, **settings)
    elif isinstance(value, tuple):
        st.text_input(name, width=160, **settings)
    elif argument.options:
        st.selectbox(name, argument.options, width=112, **settings)
    else:
        kind_of_number = {"step": 1} if isinstance(value, int) else {"step": None, "format": "%g"}
        st.number_input(name, width=112, **kind_of_number, **settings)


def _change(kind: str, name: str, argument: Argument) -> None:
    """An argument was changed; what cannot be used is said, and the one before stays."""
    options = read_options()
    try:
        given = st.session_state[f"{kind}.{name}"]
        value = argument.validate(
            name, _parse(argument, given) if isinstance(given, str) else given
        )
        options[kind] = {**options[kind], name: value}
        keep_options(options)
    except ValueError as error:
        st.session_state[_REFUSED] = str(error)


def take_refusal() -> str:
    """Why the last change could not be made, once."""
    return str(st.session_state.pop(_REFUSED, ""))


def _draw_curve(call: dict[str, Any], lr: float, losses: tuple[float, ...]) -> None:
    rates = _rates(tuple(call.items()), lr, losses)
    steps = np.arange(len(rates))
    plot = Plot(
        Axis("step", 0.0, float(max(len(rates) - 1, 1))),
        Axis("lr", 0.0, min(float(rates.max(initial=0.0)) * 1.05, sys.float_info.max) or 1.0),
        (Line(steps, rates),),
        "The learning rate at each step",
        pointer=True,
    )
    mount_plots({"lr": (plot, 120)}, "", key="lr-curve")


@lru_cache(maxsize=64)
def _rates(call: tuple[tuple[str, Any], ...], lr: float, losses: tuple[float, ...]) -> np.ndarray:
    whole = [v for _, v in call if isinstance(v, int)]
    whole += [n for _, v in call if isinstance(v, tuple) for n in v]
    steps = min(_MOST_STEPS, max(_FEWEST_STEPS, 3 * max(whole, default=0)))
    try:
        return schedulers.curve(dict(call), lr, steps, losses)
    except ValueError:
        return np.empty(0)


# -- the link -------------------------------------------------------------------------------------


def _from_link(kind: str) -> dict[str, Any]:
    """What the link asks for; nothing where it asks for what there is not."""
    name = st.query_params.get(kind, "")
    validate(kind, KINDS[kind].__contains__)
    spec = KINDS[kind].get(name)
    if spec is None:
        return {}
    call = {"name": spec.name, **_defaults(spec)}
    for argument_name, argument in spec.arguments.items():
        key = f"{kind}.{argument_name}"
        text = st.query_params.get(key, "")
        if text:
            validate(key, partial(_is_good, argument))
            if _is_good(argument, text):
                call[argument_name] = argument.validate(argument_name, _parse(argument, text))
    return call


def write_options() -> None:
    """Let the link have what is chosen."""
    options = read_options()
    wanted = groups.to_link(options.get("groups", []))
    for kind in KINDS.keys() & options:
        call = options[kind]
        wanted[kind] = str(call["name"])
        wanted |= {f"{kind}.{name}": _text(v) for name, v in _changed(kind, call).items()}
    for key in list(st.query_params):
        if key.split(".")[0] in (*KINDS, groups.NAMES) and key not in wanted:
            del st.query_params[key]
    for key, text in wanted.items():
        if st.query_params.get(key) != text:
            st.query_params[key] = text


def _is_good(argument: Argument, text: str) -> bool:
    try:
        argument.validate("", _parse(argument, text))
    except ValueError:
        return False
    return True


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse(argument: Argument, text: str) -> Any:
    """A value of this argument as `_text` writes it; None for another text."""
    text = text.strip()[:_LONGEST]
    try:
        if isinstance(argument.default, bool):
            return {"true": True, "false": False}.get(text)
        if isinstance(argument.default, tuple):
            return tuple(float(part) for part in text.split(",") if part.strip())
        return text if isinstance(argument.default, str) else float(text)
    except ValueError:
        return None
