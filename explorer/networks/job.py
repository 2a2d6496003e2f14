"""What a run is told and tells while it is under way."""

from __future__ import annotations

from typing import Any, Protocol


class Abandoned(Exception):
    """Raised by a run that ends early because nobody waits for it. `so_far` is what it has done."""

    def __init__(self, so_far: Any = None) -> None:
        super().__init__()
        self.so_far = so_far


class Job(Protocol):
    """A run, as the run itself sees it.

    `report` says how far it is; `parts` are its results so far; it should raise `Abandoned` once it
    is not `wanted`.
    """

    parts: list[Any]

    @property
    def wanted(self) -> bool: ...

    def report(self, stage: str, fraction: float | None = None) -> None: ...
