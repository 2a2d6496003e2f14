"""Other runs from the same start: what was forgotten, what another setting would have done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, TypeVar

from explorer.training.remote import RemoteSession
from explorer.training.session import TrainingSession
from explorer.training.timeline import Action

Session = TypeVar("Session", TrainingSession, RemoteSession)


class Follower:
    """A run beside another: `start` makes it, `version` says what it does instead.

    It is kept from press to press, so that only what is new is done.
    """

    def __init__(
        self,
        start: Callable[[Any], Any],
        version: Callable[[Sequence[Action]], list[Action]],
    ) -> None:
        self._start, self._version = start, version
        self._done: tuple[Action, ...] = ()
        self._other: Any = None

    def follow(self, session: Any) -> Any:
        """Do its version of all that the session has done since its reset. Raises what starting
        a session does."""
        actions = session.actions
        known = len(self._done)
        if self._other is None or actions[:known] != self._done:
            self._other, known = self._start(session), 1
        self._done = actions
        return _repeat(self._other, self._version(actions[known:]))


def forgetful() -> Follower:
    """The twin: the same actions from the same start, but gradients are never cleared."""

    def start(session: Any) -> Any:
        (_, (_, hyper)), *_ = session.actions
        return session.anew(session.optimizer, hyper)

    def version(actions: Sequence[Action]) -> list[Action]:
        return [
            (name, False if name == "iteration" else argument)
            for name, argument in actions
            if name != "zero_grad"
        ]

    return Follower(start, version)


def otherwise(optimizer: str | None = None, **hyper: Any) -> Follower:
    """The same actions from the same start with another optimizer or other hyperparameters.

    Changes of hyperparameters made on the way are left out.
    """

    def start(session: Any) -> Any:
        same = optimizer in (None, session.optimizer)
        settings = {**(session.hyper if same else {}), **hyper}
        return session.anew(optimizer or session.optimizer, settings)

    def version(actions: Sequence[Action]) -> list[Action]:
        return [action for action in actions if action[0] != "set"]

    return Follower(start, version)


def without_zero_grad(session: Session) -> Session:
    """`forgetful`, once."""
    found: Session = forgetful().follow(session)
    return found


def with_setting(session: Session, optimizer: str | None = None, **hyper: Any) -> Session:
    """`otherwise`, once. ValueError as for a new session."""
    found: Session = otherwise(optimizer, **hyper).follow(session)
    return found


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
