"""Lost connections: what a reader had before one, and has after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.load.files import WrongAnswer

#: The choice in the list of images that stands for the reader's own.
UPLOADED = "Your image"


@dataclass
class Loss:
    """A lost connection: when it was lost, when there was another, whether the page asks for a run
    then by itself, and when the next run had ended, unless the reader has given up before; the
    values and contents of the page before and after, by name."""

    lost: float
    before: dict[str, Any]
    back: float | None = None
    asks: bool = False
    complete: float | None = None
    after: dict[str, Any] | None = None
    same_session: bool = False
    given_up: bool = False

    def is_over(self) -> bool:
        """Whether the reader can go on."""
        waits = self.back is None or self.asks
        return self.complete is not None or self.given_up or not waits

    @property
    def upload(self) -> bool:
        """Whether there was an uploaded image, which no server stores."""
        return UPLOADED in self.before.values()

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """What was before and is after where it is not the same; an upload is asked for again."""
        after = self.after or {}
        return {
            name: (value, after.get(name))
            for name, value in self.before.items()
            if value != after.get(name) and not (self.upload and name == "selectbox picture")
        }


class ConnectionLost(WrongAnswer):
    """The connection was lost before the answer came."""
