"""Other runs from the same start: what was forgotten, what another setting would have done."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, TypeVar

from explorer.training.remote import RemoteSession
from explorer.training.session import TrainingSession
from explorer.training.timeline import Action

Session = TypeVar("Session", TrainingSession, RemoteSession)


def without_zero_grad(session: Session) -> Session:
    """The twin: the same actions from the same start, but gradients are never cleared."""
    (_, (_, start)), *actions = session.actions
    twin = session.anew(session.optimizer, start)
    forgetful = [
        (name, False if name == "iteration" else argument)
        for name, argument in actions
        if name != "zero_grad"
    ]
    return _repeat(twin, forgetful)


def with_setting(session: Session, optimizer: str | None = None, **hyper: Any) -> Session:
    """The same actions from the same start with another optimizer or other hyperparameters.

    Changes of hyperparameters made on the way are left out. ValueError as for a new session.
    """
    same = optimizer in (None, session.optimizer)
    start = {**(session.hyper if same else {}), **hyper}
    other = session.anew(optimizer or session.optimizer, start)
    return _repeat(other, [action for action in session.actions[1:] if action[0] != "set"])


def _repeat(session: Session, actions: Iterable[Action]) -> Session:
    for (name, argument), group in groupby(actions):
        times = len(list(group))
        if name == "iteration":
            session.iterate(times, zero_grad=argument)
        elif name == "set":
            session.set(**argument)
        else:
            for _ in range(times):
                getattr(session, name)(*([argument] if name == "zero_grad" else []))
    return session
