"""What was done, in order, and points to return to: undo by restoring and doing again.

A graph cannot be copied, so a state with a live or used-up graph is reached by restoring the
values from before its `forward` and repeating the few actions since. The same record lets a
sandbox continue a run of which only plain values are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from explorer.training.numbers import count
from explorer.training.values import Values

#: A call and its argument: ("forward", None), ("set", {"lr": 0.2}), ("reset", (seed, hyper)).
Action = tuple[str, Any]

#: Calls that compute the loss and so leave the old graph behind.
FORWARD = ("forward", "iteration")
STEP = ("step", "iteration")


@dataclass
class Timeline:
    """All actions since the session was made, and `Values` from before some of them.

    Actions are appended to `actions`; `bases[i]` are the values before `actions[i]`, kept before
    every forward as long as they fit in `limit` bytes (and 2,000 points), then only before every
    second, fourth … of them. `presses` holds where each press began: what `undo` takes back.
    A reset can always be repeated from its seed, so the first action, a reset, needs no base.
    """

    limit: int
    actions: list[Action] = field(default_factory=list)
    bases: dict[int, Values] = field(default_factory=dict)
    presses: list[int] = field(default_factory=list)
    held: int = 0

    MOST = 2000

    def keep(self, values: Values, position: int | None = None) -> None:
        """Make a point to return to: the present, before the next action, or an earlier one."""
        position = len(self.actions) if position is None else position
        if position in self.bases:
            self._drop(position)
        self.bases[position] = values
        self.held += values.nbytes
        while len(self.bases) > 1 and (self.held > self.limit or len(self.bases) > self.MOST):
            for old in sorted(self.bases)[-2::-2]:
                self._drop(old)

    def cut(self, position: int) -> list[Action]:
        """Forget the actions from `position` on, and return them."""
        removed = self.actions[position:]
        del self.actions[position:]
        for later in [p for p in self.bases if p > position]:
            self._drop(later)
        while self.presses and self.presses[-1] >= position:
            self.presses.pop()
        return removed

    def start_for(self, position: int) -> int:
        """Where to begin in order to stand before `actions[position]` again, graph included.

        Either a position with a base, or that of a reset, which is then itself repeated. The last
        step before `position` is repeated too, so that its arithmetic can be shown.
        """
        reset = self._last(position, ("reset",))
        wanted = max(reset, self._last(position, FORWARD))
        step = self._last(position, STEP)
        if step > reset:
            wanted = min(wanted, max(reset, self._last(step + 1, FORWARD)))
        return max([reset, *(p for p in self.bases if reset < p <= wanted)])

    def last_reset(self) -> int:
        return self._last(len(self.actions), ("reset",))

    def kept(self) -> list[Values]:
        """The points since the last reset, oldest first."""
        reset = self.last_reset()
        return [self.bases[p] for p in sorted(self.bases) if p > reset]

    def _last(self, position: int, names: tuple[str, ...]) -> int:
        """The last action before `position` with one of these names, or -1."""
        return next((i for i in range(position - 1, -1, -1) if self.actions[i][0] in names), -1)

    def _drop(self, position: int) -> None:
        self.held -= self.bases.pop(position).nbytes


def title(actions: list[Action]) -> str:
    """How a press is called: "step", "3 iterations"."""
    name = actions[0][0]
    return count(len(actions), "iteration") if name == "iteration" else name
