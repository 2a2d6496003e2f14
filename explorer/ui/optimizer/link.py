"""What the link has of the page, besides what bound widgets keep there themselves.

| in the link | what it is |
|---|---|
| `lr=0.1`, `beta1=0.9`, … | hyperparameters that are not the problem's own |
| `scheduler=StepLR`, `scheduler.step_size=50`, `clip=…` | calls; arguments if not the default |
| `group=b,net.0.bias`, `group.lr=0.01` | parameters with a learning rate of their own |
| `problem` | its title; a bound widget would leave out the first |
| `seed`, `start`, `presses` | the run: the link repeats it, to the last bit |
| `compare`, `across`, `up` | other runs (`runs`) and the plane of the surface (`planes`) |

Each is a `Param`: its key, its default, how its text is read and written. The settings, in the
first three lines, are written here (`write_link`); those besides the hyperparameters also stand in
the session. The run follows every press without a message of its own: `run_in_link` goes with the
data of a component on the page, whose script writes it into the address (address.js). So the server
reads it only when the reader comes to the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import streamlit as st
from torch import Tensor

from explorer import limits
from explorer.training.arguments import CallSpec
from explorer.training.clipping import CLIPPING
from explorer.training.history import Action
from explorer.training.optimizers import OPTIMIZERS, optimizer_spec
from explorer.training.presses import (
    read_presses,
    read_start,
    write_presses,
    write_start,
)
from explorer.training.problem import validate_seed
from explorer.training.schedulers import SCHEDULERS
from explorer.ui.optimizer.problems import Offer
from explorer.ui.optimizer.settings import flatten, nest
from explorer.ui.optimizer.workspace import RunSettings, Workspace
from explorer.ui.widgets.query_params import Param, is_finite

T = TypeVar("T")

#: The settings that are calls, by name, with what may be chosen.
KINDS: dict[str, Mapping[str, Any]] = {"scheduler": SCHEDULERS, "clip": CLIPPING}
_STATE = "run.settings"
_SWITCH = {"true": True, "false": False}


# -- the table ------------------------------------------------------------------------------------


def to_text(value: Any) -> str:
    """A value of a setting as a text: a number to its last digit."""
    if isinstance(value, tuple):
        return ", ".join(map(to_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return str(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _to_one_of(words: Mapping[str, T], text: str) -> T:
    if text not in words:
        raise ValueError(text)
    return words[text]


def _to_number(text: str, low: float = -math.inf, high: float = math.inf) -> float:
    if not (is_finite(text) and low <= float(text) <= high):
        raise ValueError(text)
    return float(text)


def _to_names(text: str) -> list[str]:
    names = text[: limits.LONGEST_LINK_NAMES].split(",")
    return [name for name in names if name][: limits.MOST_LINK_NAMES]


def hyper_params(offer: Offer, optimizer: str) -> dict[str, Param]:
    """The hyperparameters, by their flat names."""
    choices, params = optimizer_spec(optimizer).choices, {}
    for name, own in flatten(offer.settings(optimizer)).items():
        words = _SWITCH if isinstance(own, bool) else {str(c): c for c in choices.get(name, ())}
        parse = partial(_to_one_of, words) if words else _to_number
        params[name] = Param(name, own, parse, to_text)
    return params


def argument_params(kind: str, spec: CallSpec) -> dict[str, Param]:
    return {
        name: Param(f"{kind}.{name}", argument.default, argument.parse, to_text)
        for name, argument in spec.arguments.items()
    }


_CALLS = {
    kind: Param(kind, None, partial(_to_one_of, specs), lambda spec: spec.name)
    for kind, specs in KINDS.items()
}
GROUP = Param("group", [], _to_names, ",".join)
GROUP_LR = Param("group.lr", None, partial(_to_number, low=0, high=1e30), to_text)
SEED = Param("seed", 0, lambda text: validate_seed(int(text)))
START = Param("start", None, read_start, write_start)
PRESSES = "presses"  # what they mean depends on the optimizer


# -- settings -------------------------------------------------------------------------------------


def read_hyper(offer: Offer, optimizer: str) -> dict[str, Any]:
    """The hyperparameters a new session begins with: those in the link, and the problem's own."""
    flat = {name: param.read() for name, param in hyper_params(offer, optimizer).items()}
    return nest(flat, list(offer.settings(optimizer)))


def read_settings(arrived: bool = False) -> RunSettings:
    """What is chosen, in this session or by the link with which the reader has `arrived`."""
    asked = any(key in st.query_params for key in (*KINDS, GROUP.key))
    if _STATE not in st.session_state or (arrived and asked):
        keep_settings({**_read_calls(), **_read_groups()})
    return dict(st.session_state[_STATE])


def keep_settings(settings: RunSettings) -> None:
    """Choose these from now on."""
    st.session_state[_STATE] = settings


def _read_calls() -> RunSettings:
    specs = {kind: param.read() for kind, param in _CALLS.items()}
    return {
        kind: {"name": spec.name}
        | {name: param.read() for name, param in argument_params(kind, spec).items()}
        for kind, spec in specs.items()
        if spec is not None
    }


def _read_groups() -> RunSettings:
    names, lr = GROUP.read(), GROUP_LR.read()
    return {"groups": [{"parameters": names, "lr": lr}]} if names and lr is not None else {}


def write_link(workspace: Workspace) -> None:
    """Let the link have the settings that are not the problem's own."""
    values = list(_values(workspace))
    wanted = {param.key for param, _ in values}
    ours = {name for spec in OPTIMIZERS.values() for name in flatten(spec.defaults())}
    for key in list(st.query_params):
        if (key in ours or key.split(".")[0] in (*KINDS, GROUP.key)) and key not in wanted:
            del st.query_params[key]
    for param, value in values:
        param.put(value)


def _values(workspace: Workspace) -> Iterator[tuple[Param, Any]]:
    """The parameters of the link that a workspace has values for."""
    now, settings = flatten(workspace.chosen_hyper), read_settings()
    for name, param in hyper_params(workspace.chosen.offer, workspace.optimizer).items():
        yield param, now[name]
    for kind, call in settings.items():
        if kind not in KINDS:
            continue
        spec = KINDS[kind][call["name"]]
        yield _CALLS[kind], spec
        for name, param in argument_params(kind, spec).items():
            yield param, call[name]
    for group in settings.get("groups", ())[:1]:
        yield from ((GROUP, group["parameters"]), (GROUP_LR, group["lr"]))


# -- the run --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinkedRun:
    """What a link asks for: `hyper` are the settings that its run begins with. `trouble` says what
    of it cannot be read."""

    hyper: dict[str, Any]
    start: dict[str, Tensor] | None = None
    presses: list[list[Action]] | None = None
    trouble: list[str] = field(default_factory=list)


def texts_in_link() -> dict[str, str]:
    """The start and the presses that the link asks for."""
    keys = (START.key, PRESSES)
    return {key: text for key in keys if (text := st.query_params.get(key, ""))}


def read_run(optimizer: str, hyper: Mapping[str, Any]) -> LinkedRun:
    """The run that the link asks for, with the settings `hyper` where it does not say otherwise."""
    texts, trouble = texts_in_link(), []
    first, start, presses = dict(hyper), None, None
    try:
        start = START.parse(texts[START.key]) if START.key in texts else None
    except ValueError as error:
        trouble.append(f"The start in the link cannot be used. {error}")
    try:
        if PRESSES in texts:
            first, presses = read_presses(texts[PRESSES], optimizer, hyper)
    except ValueError as error:
        trouble.append(f"The presses in the link cannot be repeated. {error}")
    return LinkedRun(first, start, presses, trouble)


def run_in_link(workspace: Workspace) -> dict[str, Any]:
    """What the link of a workspace has of its run, and in words what it lacks."""
    version, link = workspace.cache.get("link", (None, {}))
    if version != workspace.version:
        with workspace.lock:
            link = _run_in_link(workspace)
        workspace.cache["link"] = (workspace.version, link)
    return dict(link)


def _run_in_link(workspace: Workspace) -> dict[str, Any]:
    session, view, lacks = workspace.session, workspace.view, []
    start = None
    try:
        start = START.write(view.settings.start)
    except ValueError as error:
        lacks.append(f"It begins with the problem's own values. {error}")
    presses: str | None
    try:
        presses = write_presses(session.presses, _first_settings(workspace))
    except ValueError as error:
        presses = (
            f"i{min(view.track.steps, limits.MOST_LINK_ITERATIONS)}" if view.track.steps else "r"
        )
        lacks.append(f"{error} It repeats the number of iterations, not each press.")
    if presses == "r":
        presses = None
    params = {
        "problem": workspace.chosen.offer.title,
        SEED.key: SEED.write(view.seed),
        START.key: start,
        PRESSES: presses,
    }
    return {"params": params, "lacks": " ".join(lacks)}


def _first_settings(workspace: Workspace) -> dict[str, Any]:
    """The settings that the run began with, where the link would have others."""
    _, (_, settings) = workspace.session.actions[0]
    own = workspace.chosen.offer.settings(workspace.optimizer)
    first, now = settings["hyper"], workspace.chosen_hyper
    if first == now and not workspace.session.presses:
        return {}
    return {k: v for k, v in first.items() if v != own.get(k) or v != now.get(k)}
