"""Second runs from the same start: without zero_grad, or with another setting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, TypeVar

from explorer.training.history import Action
from explorer.training.remote import RemoteSession
from explorer.training.session import TrainingSession

Session = TypeVar("Session", TrainingSession, RemoteSession)


class Follower:
    """A second run that follows a session: `start` makes it, `adapt` gives the actions it does
    instead.

    It is kept from press to press, so that only new actions are done.
    """

    def __init__(
        self,
        start: Callable[[Any], Any],
        adapt: Callable[[Sequence[Action]], list[Action]],
    ) -> None:
        self._start, self._adapt = start, adapt
        self._actions: tuple[Action, ...] = ()
        self._second: Any = None

    def follow(self, session: Any) -> Any:
        """Do everything the session has done since its reset, adapted; returns the second run.
        Raises what starting a session does."""
        actions = session.actions
        known = len(self._actions)
        if self._second is None or actions[:known] != self._actions:
            self._second, known = self._start(session), 1
        self._actions = actions
        return _repeat(self._second, self._adapt(actions[known:]))


def follow_without_zero_grad() -> Follower:
    """The same actions from the same start, but gradients are never cleared."""

    def start(session: Any) -> Any:
        (_, (_, hyper)), *_ = session.actions
        return session.new_session(session.optimizer, hyper)

    def adapt(actions: Sequence[Action]) -> list[Action]:
        return [
            (name, False if name == "iteration" else argument)
            for name, argument in actions
            if name != "zero_grad"
        ]

    return Follower(start, adapt)


def follow_with_setting(optimizer: str | None = None, **hyper: Any) -> Follower:
    """The same actions from the same start with another optimizer or other hyperparameters.

    Later changes of hyperparameters are left out.
    """

    def start(session: Any) -> Any:
        same = optimizer in (None, session.optimizer)
        settings = {**(session.hyper if same else {}), **hyper}
        return session.new_session(optimizer or session.optimizer, settings)

    def adapt(actions: Sequence[Action]) -> list[Action]:
        return [action for action in actions if action[0] != "set"]

    return Follower(start, adapt)


def without_zero_grad(session: Session) -> Session:
    """What the session would be now if gradients had never been cleared."""
    second: Session = follow_without_zero_grad().follow(session)
    return second


def with_setting(session: Session, optimizer: str | None = None, **hyper: Any) -> Session:
    """What the session would be now with another setting. ValueError as for a new session."""
    second: Session = follow_with_setting(optimizer, **hyper).follow(session)
    return second


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
