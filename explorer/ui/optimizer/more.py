"""The menu More: settings that are rarely changed, scheduler, clipping, groups, and the code.

Another scheduler, clipping or group begins a new run, as another optimizer does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import streamlit as st

from explorer.training import TrainingSession, schedulers
from explorer.training.arguments import Argument
from explorer.training.formatting import format_number
from explorer.training.optimizers import optimizer_spec
from explorer.ui.optimizer import controls, settings
from explorer.ui.optimizer.link import (
    GROUP,
    GROUP_LR,
    KINDS,
    keep_settings,
    read_settings,
    to_text,
)
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.widgets.basics import formula, refuse
from explorer.ui.widgets.mounts import mount_plots
from explorer.view.plot import Axis, Line, Plot

_LABELS = {"scheduler": "Scheduler", "clip": "Gradient clipping"}
_HELP = {
    "scheduler": "Changes lr after every step. Choosing one begins a new run.",
    "clip": "Limits the gradients before every step. Choosing it begins a new run.",
}
_NONE = "None"
_REFUSED = "settings.refused"
#: Most steps of the picture of a scheduler, and the fewest.
_MOST_STEPS, _FEWEST_STEPS = 1000, 100


def draw_more(workspace: Workspace) -> None:
    """Draw the menu. Its name says how many of its settings are not the problem's own."""
    changed = _changed(workspace)
    with st.popover(
        f"More · {len(changed)} changed" if changed else "More",
        key="more",
        help=f"Changed: {', '.join(changed)}" if changed else "Settings that are rarely changed",
    ):
        _draw_hyperparameters(workspace)
        controls.choose_zeros()
        for kind in KINDS:
            _draw_call(kind, workspace.chosen_hyper["lr"], tuple(workspace.view.track.loss.values))
        if not optimizer_spec(workspace.optimizer).evaluates:
            _draw_groups(list(workspace.view.parameters), workspace.chosen_hyper["lr"])
        if refused := st.session_state.pop(_REFUSED, ""):
            refuse(str(refused))
        with st.container(horizontal=True, gap="small"):
            controls.draw_new_seed(workspace)
            controls.draw_code_button(workspace)


def _changed(workspace: Workspace) -> list[str]:
    """The settings of the menu that are not the problem's own, with their values."""
    now = settings.flatten(workspace.chosen_hyper)
    own = settings.flatten(workspace.chosen.offer.settings(workspace.optimizer))
    texts = [
        f"{name} = {format_number(now[name]) if type(now[name]) is float else now[name]}"
        for name in settings.rare_settings(workspace.optimizer)
        if now[name] != own[name]
    ]
    texts += _describe_calls_and_groups()
    return [*texts, "zero_grad sets zeros"] if st.session_state.get("zeros") else texts


def _draw_hyperparameters(workspace: Workspace) -> None:
    """Draw a widget for each hyperparameter without a slider, and where the optimizer is from."""
    name, flat = workspace.optimizer, settings.flatten(workspace.chosen_hyper)
    spec = optimizer_spec(name)
    paper = re.search(r"https://\S+[^\s.,]", spec.rule.__doc__ or "")
    st.markdown(f"**{name}** {spec.note}" + (f" [Paper]({paper[0]})" if paper else ""))
    with st.container(horizontal=True, gap="small", key="rare"):
        for rare in settings.rare_settings(name):
            _widget(workspace, rare, flat[rare])


def _widget(workspace: Workspace, name: str, value: Any) -> None:
    """Draw the widget of one hyperparameter: it shows what is in force, and presses "set"."""
    key, choices = f"rare-{name}", optimizer_spec(workspace.optimizer).choices.get(name)
    st.session_state[key] = value

    def changed() -> None:
        new = st.session_state[key]
        change = settings.change(workspace.chosen_hyper, name, new)
        if change and (new is not None or choices):
            workspace.press(TrainingSession.set, **change)

    help = settings.meaning_of(workspace.optimizer, name).capitalize()
    if isinstance(value, bool):
        st.checkbox(name, key=key, on_change=changed, help=help)
    elif choices:
        st.selectbox(name, choices, key=key, on_change=changed, width=160, help=help)
    else:
        st.number_input(
            name, step=None, format="%g", key=key, on_change=changed, width=112, help=help
        )


# -- scheduler and clipping -----------------------------------------------------------------------


def _describe_calls_and_groups() -> list[str]:
    """What is chosen, as code; groups in words, without names, which may be a stranger's."""
    chosen = read_settings()
    calls = {kind: chosen[kind] for kind in KINDS if kind in chosen}
    described = []
    for kind, call in calls.items():
        changed = KINDS[kind][call["name"]].changed(call)
        arguments = (f"{name}={value!r}" for name, value in changed.items())
        described.append(f"{call['name']}({', '.join(arguments)})")
    return described + [
        f"lr = {group['lr']:g} for {len(group['parameters'])} of them"
        for group in chosen.get("groups", ())
    ]


def _draw_call(kind: str, lr: float, losses: tuple[float, ...]) -> None:
    """Draw the list of schedulers, or of ways to clip, and the arguments of the chosen one; of a
    scheduler also its formula and how the learning rate changes."""
    call = read_settings().get(kind, {"name": _NONE})
    st.session_state[kind] = call["name"]
    st.selectbox(
        _LABELS[kind],
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


def _choose(kind: str) -> None:
    chosen = read_settings()
    chosen.pop(kind, None)
    spec = KINDS[kind].get(st.session_state[kind])
    if spec is not None:
        chosen[kind] = {"name": spec.name, **spec.defaults()}
    keep_settings(chosen)


def _draw_argument(kind: str, name: str, argument: Argument, value: Any) -> None:
    key = f"{kind}.{name}"
    widget: dict[str, Any] = {
        "key": key,
        "on_change": _change,
        "args": (kind, name, argument),
        "help": argument.meaning[0].upper() + argument.meaning[1:],
    }
    st.session_state[key] = to_text(value) if isinstance(value, tuple) else value
    if isinstance(value, bool):
        st.checkbox(name, **widget)
    elif isinstance(value, tuple):
        st.text_input(name, width=160, **widget)
    elif argument.choices:
        st.selectbox(name, argument.choices, width=112, **widget)
    else:
        kind_of_number = {"step": 1} if isinstance(value, int) else {"step": None, "format": "%g"}
        st.number_input(name, width=112, **kind_of_number, **widget)


def _change(kind: str, name: str, argument: Argument) -> None:
    """An argument was changed; what cannot be used is said, and the one before stays."""
    chosen = read_settings()
    try:
        given = st.session_state[f"{kind}.{name}"]
        value = (
            argument.parse(given, name)
            if isinstance(given, str)
            else argument.validate(name, given)
        )
        chosen[kind] = {**chosen[kind], name: value}
        keep_settings(chosen)
    except ValueError as error:
        st.session_state[_REFUSED] = str(error)


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


# -- groups ---------------------------------------------------------------------------------------


def _draw_groups(names: Sequence[str], lr: float) -> None:
    """Draw the list of the parameters, and the learning rate of those picked, where there are
    several."""
    if len(names) < 2:
        return
    groups = read_settings().get("groups", [])
    group: dict[str, Any] = groups[0] if groups else {"parameters": [], "lr": lr / 10}
    st.session_state[GROUP.key] = [name for name in group["parameters"] if name in names]
    st.session_state[GROUP_LR.key] = group["lr"]

    def changed() -> None:
        picked, rate = st.session_state[GROUP.key], st.session_state[GROUP_LR.key]
        rate = group["lr"] if rate is None else float(rate)
        chosen = read_settings()
        chosen.pop("groups", None)
        if picked:
            chosen["groups"] = [{"parameters": list(picked), "lr": rate}]
        keep_settings(chosen)

    with st.container(horizontal=True, gap="small", key="groups"):
        st.multiselect(
            "Parameters with their own lr",
            names,
            key=GROUP.key,
            on_change=changed,
            max_selections=len(names) - 1,
            placeholder="none",
            help="They form a second param_group. Choosing them begins a new run.",
        )
        if groups:
            st.number_input(
                "their lr",
                0.0,
                step=None,
                format="%g",
                key=GROUP_LR.key,
                on_change=changed,
                width=112,
                help="The learning rate of this group",
            )
