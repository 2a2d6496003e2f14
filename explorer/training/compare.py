"""Other runs from the same start: what was forgotten, what another setting would have done."""

from __future__ import annotations

from typing import Any

from explorer.training.session import TrainingSession


def without_zero_grad(session: TrainingSession) -> TrainingSession:
    """The twin: the same actions from the same start, but gradients are never cleared."""
    _, (_, start) = session.actions[0]
    return _repeat(session, session.optimizer, start, forget=True)


def with_setting(
    session: TrainingSession, optimizer: str | None = None, **hyper: Any
) -> TrainingSession:
    """The same actions from the same start with another optimizer or other hyperparameters.

    Changes of hyperparameters made on the way are left out. ValueError as for a new session.
    """
    same = optimizer in (None, session.optimizer)
    start = {**(session.hyper if same else {}), **hyper}
    return _repeat(session, optimizer or session.optimizer, start, settings=False)


def _repeat(
    session: TrainingSession,
    optimizer: str,
    hyper: dict[str, Any],
    *,
    forget: bool = False,
    settings: bool = True,
) -> TrainingSession:
    twin = TrainingSession(session.problem, optimizer, seed=session.seed, **hyper)
    for name, argument in session.actions[1:]:
        if name == "iteration":
            twin.iterate(1, zero_grad=argument and not forget)
        elif name == "set":
            if settings:
                twin.set(**argument)
        elif name == "zero_grad":
            if not forget:
                twin.zero_grad(argument)
        else:
            getattr(twin, name)()
    return twin
