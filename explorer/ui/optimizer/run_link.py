"""The run in the page's link: seed, start and presses. A link repeats them, to the last bit.

They follow every press without a message of their own: `link_of` goes with the data of a component
on the page, whose script writes them into the address (address.js). So the server reads them only
when the reader comes to the page.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from torch import Tensor

from explorer.training import PressEvent, TrainingSession
from explorer.training.history import Action
from explorer.training.presses import (
    MOST_ITERATIONS,
    read_presses,
    read_start,
    write_presses,
    write_start,
)

#: Their names in the link.
SEED, START, PRESSES = "seed", "start", "presses"
#: Actions done at once at first, and the seconds until the page shows how far it is.
_FIRST, SECONDS = 50, 0.25


@dataclass
class Repeat:
    """The presses of a link, under way: `done` of its `actions`. A press begins at each of
    `starts`."""

    actions: list[Action]
    starts: list[int]
    done: int = 0
    unit: str = "actions of the link"
    _most: int = _FIRST

    @property
    def wanted(self) -> int:
        return len(self.actions)

    def advance(self, session: TrainingSession) -> PressEvent | None:
        """Do some of them. What the last press did, or why one could not be done, ends it. The last
        press is done by itself, so that the page shows what it changed."""
        last = self.starts[-1]
        if self.done == last == self.wanted - 1:
            self.done += 1
            return _press(session, self.actions[-1])
        begin = time.perf_counter()
        stop = min(self.done + self._most, last if self.done < last else self.wanted)
        starts = [start - self.done for start in self.starts if self.done <= start < stop]
        event = session.repeat(self.actions[self.done : stop], starts)
        if not event.ok:
            return event
        self.done = stop
        if time.perf_counter() - begin < SECONDS / 4:
            self._most *= 2
        if self.done < self.wanted:
            return None
        return PressEvent("run", "The presses of the link were repeated.")


def _press(session: TrainingSession, action: Action) -> PressEvent:
    name, argument = action
    if name == "iteration":
        return session.iterate(1, zero_grad=argument)
    if name == "set":
        return session.set(**argument)
    press: Any = getattr(session, name)
    event: PressEvent = press(argument) if name == "zero_grad" else press()
    return event


@dataclass(frozen=True)
class LinkedRun:
    """What a link asks for: `hyper` are the settings that its run begins with. `trouble` says what
    of it cannot be read."""

    hyper: dict[str, Any]
    start: dict[str, Tensor] | None = None
    presses: list[list[Action]] | None = None
    trouble: list[str] = field(default_factory=list)

    def repeat(self) -> Repeat | None:
        """Its presses, to be done; None if it has none."""
        if not self.presses:
            return None
        starts: list[int] = []
        actions: list[Action] = []
        for press in self.presses:
            starts.append(len(actions))
            actions += press
        return Repeat(actions, starts)


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


def link_of(workspace: Any) -> dict[str, Any]:
    """What the link of a workspace has of its run, and in words what it lacks."""
    version, link = workspace.cache.get("link", (None, {}))
    if version != workspace.version:
        with workspace.lock:
            link = _link(workspace)
        workspace.cache["link"] = (workspace.version, link)
    return dict(link)


def _link(workspace: Any) -> dict[str, Any]:
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
        presses = f"i{min(view.track.steps, MOST_ITERATIONS)}" if view.track.steps else "r"
        lacks.append(f"{error} It repeats the number of iterations, not each press.")
    if presses == "r":
        presses = None
    seed = str(view.seed) if view.seed else None
    params = {SEED: seed, START: start, PRESSES: presses}
    return {"params": params, "lacks": " ".join(lacks)}


def _first_settings(workspace: Any) -> dict[str, Any]:
    """The settings that the run began with, where the link would have others."""
    _, (_, first, _) = workspace.session.actions[0]
    own = workspace.chosen.offer.settings(workspace.optimizer)
    now = workspace.settings
    if first == now and not workspace.session.presses:
        return {}
    return {k: v for k, v in first.items() if v != own.get(k) or v != now.get(k)}
