"""What the link has of the page, besides what bound widgets keep there themselves.

| in the link | what it is |
|---|---|
| `lr=0.1`, `beta1=0.9`, … | hyperparameters that are not the problem's own |
| `scheduler=StepLR`, `scheduler.step_size=50`, `clip=…` | options; arguments if not the default |
| `group=b,net.0.bias`, `group.lr=0.01` | parameters with a learning rate of their own |
| `seed`, `start`, `presses` | the run: the link repeats it, to the last bit |
| `compare`, `across`, `up` | other runs (`runs`) and the plane of the surface (`planes`) |

The first three are written here (`write_link`), and options also stand in the session. The run
follows every press without a message of its own: `run_in_link` goes with the data of a component on
the page, whose script writes it into the address (address.js). So the server reads it only when
the reader comes to the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st
from torch import Tensor

from explorer import limits
from explorer.training.arguments import Argument
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
from explorer.ui.optimizer.workspace import Options, Workspace
from explorer.ui.widgets.query_params import is_finite, validate

SEED, START, PRESSES = "seed", "start", "presses"
GROUP, GROUP_LR = "group", "group.lr"
#: The options of a session that are calls, by name, with what may be chosen.
KINDS: dict[str, Mapping[str, Any]] = {"scheduler": SCHEDULERS, "clip": CLIPPING}
_STATE = "settings.options"
_WORDS = {"true": True, "false": False}


def write_link(workspace: Workspace) -> None:
    """Let the link have the hyperparameters and options that are not the problem's own."""
    offer, options = workspace.chosen.offer, read_options()
    own = flatten(offer.settings(workspace.optimizer))
    now = flatten(workspace.settings)
    wanted = {name: _number_text(value) for name, value in now.items() if value != own[name]}
    for kind in KINDS.keys() & options:
        wanted[kind] = str(options[kind]["name"])
        changed = changed_arguments(kind, options[kind])
        wanted |= {f"{kind}.{name}": argument_text(value) for name, value in changed.items()}
    for group in options.get("groups", ())[:1]:
        wanted |= {GROUP: ",".join(group["parameters"]), GROUP_LR: f"{group['lr']:.15g}"}
    ours = {name for spec in OPTIMIZERS.values() for name in flatten(spec.defaults())}
    ours |= {*KINDS, GROUP}
    for key in list(st.query_params):
        if (key in ours or key.split(".")[0] in (*KINDS, GROUP)) and key not in wanted:
            del st.query_params[key]
    for key, text in wanted.items():
        if st.query_params.get(key) != text:
            st.query_params[key] = text


# -- hyperparameters ------------------------------------------------------------------------------


def read_hyper(offer: Offer, optimizer: str) -> dict[str, Any]:
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


def _words(optimizer: str, name: str, value: Any) -> dict[str, Any]:
    """What a hyperparameter that is no number can be, as the link has it; empty for a number."""
    if isinstance(value, bool):
        return _WORDS
    return {str(choice): choice for choice in optimizer_spec(optimizer).choices.get(name, ())}


def _number_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return str(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


# -- scheduler, clipping and groups ---------------------------------------------------------------


def read_options(arrived: bool = False) -> Options:
    """What is chosen, in this session or by the link with which the reader has `arrived`."""
    asked = any(key in st.query_params for key in (*KINDS, GROUP))
    if _STATE not in st.session_state or (arrived and asked):
        found = {**{kind: _read_call(kind) for kind in KINDS}, "groups": _read_groups()}
        st.session_state[_STATE] = {name: option for name, option in found.items() if option}
    return dict(st.session_state[_STATE])


def keep_options(options: Options) -> None:
    """Choose these from now on."""
    st.session_state[_STATE] = options


def changed_arguments(kind: str, call: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are not the default."""
    own = KINDS[kind][call["name"]].defaults()
    return {name: value for name, value in call.items() if name in own and value != own[name]}


def _read_call(kind: str) -> dict[str, Any]:
    """What the link asks for; nothing where it asks for what there is not."""
    validate(kind, KINDS[kind].__contains__)
    spec = KINDS[kind].get(st.query_params.get(kind, ""))
    if spec is None:
        return {}
    call = {"name": spec.name, **spec.defaults()}
    for name, argument in spec.arguments.items():
        key = f"{kind}.{name}"
        text = st.query_params.get(key, "")
        if text:
            validate(key, partial(_is_good, argument))
            if _is_good(argument, text):
                call[name] = argument.validate(name, parse_argument(argument, text))
    return call


def _read_groups() -> list[dict[str, Any]]:
    """The groups that the link asks for."""
    text, lr = (st.query_params.get(key, "") for key in (GROUP, GROUP_LR))
    names = [name for name in text[: limits.LONGEST_LINK_NAMES].split(",") if name][
        : limits.MOST_LINK_NAMES
    ]
    validate(GROUP_LR, _is_rate)
    return [{"parameters": names, "lr": float(lr)}] if names and _is_rate(lr) else []


def _is_rate(text: str) -> bool:
    return is_finite(text) and 0 <= float(text) <= 1e30


def _is_good(argument: Argument, text: str) -> bool:
    try:
        argument.validate("", parse_argument(argument, text))
    except ValueError:
        return False
    return True


def argument_text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_argument(argument: Argument, text: str) -> Any:
    """A value of this argument as `argument_text` writes it; None for another text."""
    text = text.strip()[: limits.LONGEST_LINK_ARGUMENT]
    try:
        if isinstance(argument.default, bool):
            return {"true": True, "false": False}.get(text)
        if isinstance(argument.default, tuple):
            return tuple(float(part) for part in text.split(",") if part.strip())
        return text if isinstance(argument.default, str) else float(text)
    except ValueError:
        return None


# -- the run --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinkedRun:
    """What a link asks for: `hyper` are the settings that its run begins with. `trouble` says what
    of it cannot be read."""

    hyper: dict[str, Any]
    start: dict[str, Tensor] | None = None
    presses: list[list[Action]] | None = None
    trouble: list[str] = field(default_factory=list)


def read_seed() -> int:
    """The seed in the page's link, or 0."""
    validate("seed", _is_seed)
    text = st.query_params.get("seed", "0")
    return int(text) if _is_seed(text) else 0


def _is_seed(text: str) -> bool:
    try:
        return validate_seed(int(text)) >= 0
    except ValueError:
        return False


def texts_in_link() -> dict[str, str]:
    """The start and the presses that the link asks for."""
    return {name: text for name in (START, PRESSES) if (text := st.query_params.get(name, ""))}


def read_run(optimizer: str, hyper: Mapping[str, Any]) -> LinkedRun:
    """The run that the link asks for, with the settings `hyper` where it does not say otherwise."""
    texts, trouble = texts_in_link(), []
    first, start, presses = dict(hyper), None, None
    try:
        start = read_start(texts[START]) if START in texts else None
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
    if view.settings.start is not None:
        try:
            start = write_start(view.settings.start)
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
    seed = str(view.seed) if view.seed else None
    params = {SEED: seed, START: start, PRESSES: presses}
    return {"params": params, "lacks": " ".join(lacks)}


def _first_settings(workspace: Workspace) -> dict[str, Any]:
    """The settings that the run began with, where the link would have others."""
    _, (_, first, _) = workspace.session.actions[0]
    own = workspace.chosen.offer.settings(workspace.optimizer)
    now = workspace.settings
    if first == now and not workspace.session.presses:
        return {}
    return {k: v for k, v in first.items() if v != own.get(k) or v != now.get(k)}
