"""The menu More: settings that are rarely changed, and the code."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from explorer.training.formatting import format_number
from explorer.training.optimizers import optimizer_spec
from explorer.ui.common.widgets import refuse
from explorer.ui.optimizer import controls, options, settings
from explorer.ui.optimizer.workspace import Workspace


def draw_more(workspace: Workspace) -> None:
    """Draw the menu. Its name says how many of its settings are not the problem's own."""
    options.write_options()
    changed = _changed(workspace)
    with st.popover(
        f"More · {len(changed)} changed" if changed else "More",
        key="more",
        help=f"Changed: {', '.join(changed)}" if changed else "Settings that are rarely changed",
    ):
        _draw_hyperparameters(workspace)
        controls.choose_zeros()
        for kind in options.KINDS:
            options.draw_options(
                kind, workspace.settings["lr"], tuple(workspace.view.track.loss.values)
            )
        if not optimizer_spec(workspace.optimizer).evaluates:
            options.draw_groups(list(workspace.view.parameters), workspace.settings["lr"])
        if refused := options.take_refusal():
            refuse(refused)
        with st.container(horizontal=True, gap="small"):
            controls.draw_new_seed(workspace)
            controls.draw_code_button(workspace)


def _changed(workspace: Workspace) -> list[str]:
    """The settings of the menu that are not the problem's own, with their values."""
    now = settings.flatten(workspace.settings)
    own = settings.flatten(workspace.chosen.offer.settings(workspace.optimizer))
    texts = [
        f"{name} = {format_number(now[name]) if type(now[name]) is float else now[name]}"
        for name in settings.rare_settings(workspace.optimizer)
        if now[name] != own[name]
    ]
    texts += options.describe_options()
    return [*texts, "zero_grad sets zeros"] if st.session_state.get("zeros") else texts


def _draw_hyperparameters(workspace: Workspace) -> None:
    """Draw a widget for each hyperparameter without a slider, and where the optimizer is from."""
    name, flat = workspace.optimizer, settings.flatten(workspace.settings)
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
        change = settings.change(workspace.settings, name, new)
        if change and (new is not None or choices):
            workspace.press("set", **change)

    help = settings.meaning_of(workspace.optimizer, name).capitalize()
    if isinstance(value, bool):
        st.checkbox(name, key=key, on_change=changed, help=help)
    elif choices:
        st.selectbox(name, choices, key=key, on_change=changed, width=160, help=help)
    else:
        st.number_input(
            name, step=None, format="%g", key=key, on_change=changed, width=112, help=help
        )
