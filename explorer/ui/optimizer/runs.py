"""The menu Compare: up to three runs with settings of their own, which do what the reader's does.

The link holds them (`compare=SGD lr=0.4 momentum=0.9; Adam lr=0.05`), and nothing else does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from explorer import limits
from explorer.program import ProgramRefused
from explorer.trace.colours import SURFACE
from explorer.training import Follower, RunSetting
from explorer.training.compare import format_runs, parse_runs
from explorer.training.optimizers import optimizer_spec
from explorer.ui.optimizer.settings import choose_number, choose_optimizer
from explorer.ui.optimizer.surface import Run
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.widgets.query_params import Param

_FOLLOWERS, _DONE = "runs.followers", "runs.done"
#: Most proposals of the menu.
_PROPOSALS = 5


def choose_runs(workspace: Workspace) -> tuple[RunSetting, ...]:
    """Draw the menu; returns the settings of the other runs."""
    _translate_old_link(workspace)
    chosen: tuple[RunSetting, ...] = _RUNS.read()
    with st.popover(
        f"Compare · {len(chosen)}" if chosen else "Compare",
        key="compare-menu",
        help="Other settings from the same start; every button applies to all runs",
    ):
        for place, setting in enumerate(chosen, 1):
            _draw_row(place, setting, chosen)
        if len(chosen) == limits.MOST_RUNS:
            st.html(f'<div class="ax-note">At most {limits.MOST_RUNS} runs beside yours.</div>')
        else:
            _draw_proposals(workspace, chosen)
            _draw_own(workspace, chosen)
    return chosen


def describe(settings: Sequence[RunSetting]) -> str:
    """The runs that are compared, in words."""
    return format_runs(settings) or "no comparison"


def follow(
    workspace: Workspace, settings: tuple[RunSetting, ...]
) -> tuple[list[Run], list[str], bool]:
    """The reader's run and the others after the same presses, sentences about those that could
    not follow, and whether one has more to do."""
    ours = Run("your run", workspace.view, workspace.points(), workspace.session)
    cache = workspace.cache
    before: dict[str, Follower] = cache.get(_FOLLOWERS, {})
    followers = {str(s): before.get(str(s)) or Follower(s) for s in settings}
    cache[_FOLLOWERS] = followers
    with workspace.lock:
        for name, follower in followers.items():
            done = cache.get(_DONE, {}).get(name)
            if done is None or done[0] != workspace.version or follower.behind:
                seconds = limits.FOLLOW_SECONDS / len(followers)
                done = (workspace.version, *_follow(workspace, follower, seconds))
            cache[_DONE] = {**cache.get(_DONE, {}), name: done}
    cache[_DONE] = {name: cache[_DONE][name] for name in followers}
    runs = [run for _, run, _ in cache[_DONE].values() if run is not None]
    sentences = [f"{name}: {why}" for name, (_, _, why) in cache[_DONE].items() if why]
    behind = any(follower.behind and not follower.error for follower in followers.values())
    return [ours, *runs], sentences, behind


def _follow(workspace: Workspace, follower: Follower, seconds: float) -> tuple[Run | None, str]:
    """A run after the presses so far, and why it is not."""
    setting = follower.setting
    try:
        second = follower.follow(workspace.session, seconds)
    except ValueError as error:
        return None, str(error)
    except ProgramRefused as refused:
        return None, refused.error.message
    why = f"{follower.error.message} Its run stopped there." if follower.error else ""
    return Run(str(setting), second.view(), second.points(), second, setting.zero_grad), why


# -- the menu ------------------------------------------------------------------------------------


def propose(workspace: Workspace) -> list[RunSetting]:
    """Settings worth comparing with the reader's: those of the problem's note, the same with and
    without momentum, Adam, and the same without zero_grad."""
    offer, view = workspace.chosen.offer, workspace.view
    ours = RunSetting(view.optimizer, view.settings.hyper)
    settings = list(parse_runs(offer.compare))
    if "momentum" in optimizer_spec(view.optimizer).hyper:
        momentum = 0.0 if ours.hyper.get("momentum") else 0.9
        settings.append(RunSetting(view.optimizer, {**_plain(ours), "momentum": momentum}))
    settings.append(RunSetting("Adam", {"lr": offer.settings("Adam")["lr"]}))
    settings.append(replace(ours, zero_grad=False))
    proposals: list[RunSetting] = []
    for setting in settings:
        if setting not in (ours, *proposals):
            proposals.append(setting)
    return proposals


def _plain(setting: RunSetting) -> dict[str, Any]:
    """Its hyperparameters without what needs momentum."""
    return {k: v for k, v in setting.hyper.items() if k not in ("nesterov", "dampening")}


def _draw_row(place: int, setting: RunSetting, chosen: tuple[RunSetting, ...]) -> None:
    light, dark = (SURFACE[theme]["runs"][place] for theme in ("light", "dark"))
    others = (*chosen[: place - 1], *chosen[place:])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        dot = f'<i class="ax-dot" style="background: light-dark({light}, {dark})"></i>'
        st.html(f'<div class="ax-run">{dot} {escape(str(setting))}</div>', width="stretch")
        st.button(
            "Remove",
            key=f"compare-remove-{place}",
            icon=":material/close:",
            type="tertiary",
            help=f"Removes the run {setting}",
            on_click=_RUNS.put,
            args=(others,),
        )


def _draw_proposals(workspace: Workspace, chosen: tuple[RunSetting, ...]) -> None:
    proposals = [setting for setting in propose(workspace) if setting not in chosen][:_PROPOSALS]
    with st.container(horizontal=True, gap="small"):
        for place, setting in enumerate(proposals):
            st.button(
                str(setting),
                key=f"compare-add-{place}",
                icon=":material/add:",
                help="Adds a run with this setting, from the same start",
                on_click=_RUNS.put,
                args=((*chosen, setting),),
            )


def _draw_own(workspace: Workspace, chosen: tuple[RunSetting, ...]) -> None:
    """Draw the widgets of another setting."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        optimizer = choose_optimizer(
            "Its optimizer", "beside-optimizer", "How the other run turns gradients into steps"
        )
        spec, offer = optimizer_spec(optimizer), workspace.chosen.offer
        start = offer.settings(optimizer)["lr"]
        hyper = {"lr": choose_number("Its lr", "beside-lr", start, spec.hyper["lr"], 96)}
        if "momentum" in spec.hyper:
            meaning = spec.hyper["momentum"]
            hyper["momentum"] = choose_number("Its momentum", "beside-momentum", 0.0, meaning, 112)
        forgets = st.checkbox("without zero_grad", key="beside-forgets", help="Never clears .grad")
        try:
            setting, trouble = RunSetting(optimizer, hyper, not forgets), ""
        except ValueError as error:
            setting, trouble = RunSetting(optimizer), str(error)
        st.button(
            "Add run",
            key="compare-add",
            icon=":material/add:",
            disabled=bool(trouble) or setting in chosen,
            on_click=_RUNS.put,
            args=((*chosen, setting),),
            help="Adds a run with this setting, from the same start",
        )
    if trouble:
        st.html(f'<div class="ax-note">{escape(trouble)}</div>')


# -- the link ------------------------------------------------------------------------------------


def _parse_each_once(text: str) -> tuple[RunSetting, ...]:
    return tuple({str(run): run for run in parse_runs(text)}.values())


_RUNS = Param("compare", (), _parse_each_once, format_runs)


#: What links of earlier versions asked for.
_FORGETFUL = ("Compare without zero_grad", "A twin without zero_grad")
_OTHER = ("Compare another setting", "Another setting")


def _translate_old_link(workspace: Workspace) -> None:
    """Let a link of an earlier version choose the same run."""
    params = st.query_params
    kind = params.pop("beside", "")
    if kind in _FORGETFUL:
        view = workspace.view
        _RUNS.put((RunSetting(view.optimizer, view.settings.hyper, zero_grad=False),))
    elif kind in _OTHER:
        optimizer = params.get("beside-optimizer", "SGD")
        words = [f"lr={params.get('beside-lr', '0.01')}"]
        if optimizer == "SGD" or "beside-momentum" in params:
            words.append(f"momentum={params.get('beside-momentum', '0.9')}")
        params[_RUNS.key] = " ".join([optimizer, *words])
