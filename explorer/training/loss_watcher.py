"""What watches a loss text: its limits, and which of its values is the loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from explorer.language import ProgramError, ProgramRefused, ProgramStopped, Watcher


@dataclass
class Limits:
    """What a sandbox asks of a program: `deadline`, a `time.monotonic()` value at which the text
    is stopped (once: what was before is then restored without a limit), and whom to tell each
    line before it runs."""

    deadline: float | None = None
    on_line: Callable[[int], None] | None = None


class LossWatcher(Watcher):
    """Remembers the last scalar that requires grad."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits.deadline, limits.on_line)
        self.limits = limits
        self.scalar: Tensor | None = None
        self.other: Tensor | None = None

    def begin(self) -> None:
        """A new run of the loss text: counts start again, and the clock is looked at first."""
        self.count, self._written, self.scalar, self.other = 15, 0, None, None
        self._output.clear()

    def check_time(self) -> None:
        try:
            super().check_time()
        except ProgramStopped:
            self.limits.deadline = None
            raise

    def note(self, place: int, value: Any) -> Any:
        if isinstance(value, Tensor) and value.requires_grad and not value.is_leaf:
            if value.dim() == 0:
                self.scalar = value
            else:
                self.other = value
        return value

    def bind(self, place: int, name: str, value: Any) -> None:
        self.note(place, value)

    def result(self) -> Tensor:
        """The loss. Raises ProgramRefused if there is none."""
        if self.scalar is not None:
            return self.scalar
        if self.other is not None:
            shape = tuple(self.other.shape)
            if self.other.numel() == 1:
                return self.other
            raise ProgramRefused(
                ProgramError(
                    f"The loss is not a scalar: it has the shape {shape}.",
                    hint="Reduce it with .sum() or .mean().",
                )
            )
        raise ProgramRefused(
            ProgramError(
                "The loss text makes no scalar that depends on a parameter.",
                hint="Compute the loss from a tensor that the setup made with requires_grad=True.",
            )
        )
