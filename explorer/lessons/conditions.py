"""What counts as done in a step of a lesson: a closed table of conditions on what a page shows.

A step is done when the page's state says so, never because somebody says it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.program.completion import complete
from explorer.trace import TensorRecord, Trace

#: A gradient that is this small counts as flat.
_FLAT = 0.01
#: A loss has diverged when it is this many times the first one.
_DIVERGED = 1000


@dataclass(frozen=True)
class Seen:
    """The state of a page, as far as a lesson may ask for it.

    `trace` is the finished run of the program in the editor, `answered` are the exercises that were
    solved ("x.grad", "b -> a"), `walk` the step of the walk and how many there are. `losses` are
    those of the run on Optimizer; `layer` and `channel` are chosen on Network or Feature maps.
    """

    trace: Trace | None = None
    answered: frozenset[str] = frozenset()
    walk: tuple[int, int] = (0, 0)
    losses: tuple[float, ...] = ()
    layer: str = ""
    channel: int | None = None


@dataclass(frozen=True)
class Start:
    """The program and the link a step began with."""

    program: str
    link: Mapping[str, str]

    def input(self, name: str) -> Any:
        """The value with which an input begins; None where the program has no such input, or the
        link no value of it that can be read."""
        text = self.link.get(f"in.{name}")
        if not text:
            return complete(self.program).inputs.get(name)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True)
class Condition:
    """`pages` are those it may be asked on, `kind` is the type of its argument, `holds` says
    whether it does. A condition on a name of the program has `kind` str."""

    pages: tuple[str, ...]
    kind: type
    holds: Callable[[Seen, Start, Any], bool]


def is_done(done: Mapping[str, Any], start: Start, seen: Seen) -> bool:
    """Whether all these conditions hold of what is seen."""
    return all(CONDITIONS[name].holds(seen, start, wanted) for name, wanted in done.items())


def _moved(seen: Seen, start: Start, name: str) -> bool:
    now = seen.trace.inputs.get(name) if seen.trace else None
    return now is not None and now != start.input(name)


def _has_grad(seen: Seen, start: Start, name: str) -> bool:
    record = _record(seen, name)
    return record is not None and record.grad is not None and record.grad_from != "hook"


def _is_flat(seen: Seen, start: Start, name: str) -> bool:
    numbers = _gradient(seen, name)
    return numbers is not None and bool(np.all(np.abs(numbers) <= _FLAT))


def _is_alive(seen: Seen, start: Start, name: str) -> bool:
    numbers = _gradient(seen, name)
    return numbers is not None and bool(np.all(numbers != 0))


def _has_run(seen: Seen, start: Start, wanted: bool) -> bool:
    trace = seen.trace
    return trace is not None and _is_changed(trace, start) and trace.error is None


def _is_gone(seen: Seen, start: Start, key: str) -> bool:
    """The changed program runs, and does not call for this answer any more."""
    trace = seen.trace
    return (
        trace is not None
        and _has_run(seen, start, True)
        and all(answer.key != key for answer in trace.answers)
    )


def _has_diverged(seen: Seen, start: Start, wanted: bool) -> bool:
    first, last = (seen.losses[0], seen.losses[-1]) if seen.losses else (0.0, 0.0)
    return not math.isfinite(last) or last > _DIVERGED * abs(first) > 0


def _is_below(seen: Seen, start: Start, most: float) -> bool:
    return bool(seen.losses) and seen.losses[-1] < most


def _has_walked(seen: Seen, start: Start, wanted: bool) -> bool:
    now, last = seen.walk
    return now == last > 0


def _is_changed(trace: Trace, start: Start) -> bool:
    return trace.source.split() != start.program.split()


def _record(seen: Seen, name: str) -> TensorRecord | None:
    """The last tensor of this name."""
    records = seen.trace.tensors if seen.trace else ()
    return next((record for record in reversed(records) if record.name == name), None)


def _gradient(seen: Seen, name: str) -> np.ndarray | None:
    record = _record(seen, name)
    return record.grad if record and isinstance(record.grad, np.ndarray) else None


_EXPRESSION = ("expression",)

#: By the name in a lesson's file. docs/extending.md says the same in words.
CONDITIONS: dict[str, Condition] = {
    "moved": Condition(_EXPRESSION, str, _moved),
    "predict": Condition(_EXPRESSION, str, lambda seen, start, name: name in seen.answered),
    "factor": Condition(_EXPRESSION, str, lambda seen, start, edge: edge in seen.answered),
    "walked": Condition(_EXPRESSION, bool, _has_walked),
    "has_grad": Condition(_EXPRESSION, str, _has_grad),
    "flat": Condition(_EXPRESSION, str, _is_flat),
    "alive": Condition(_EXPRESSION, str, _is_alive),
    "runs": Condition(_EXPRESSION, bool, _has_run),
    "gone": Condition(_EXPRESSION, str, _is_gone),
    "diverged": Condition(("optimizer",), bool, _has_diverged),
    "loss_below": Condition(("optimizer",), float, _is_below),
    "layer": Condition(
        ("network", "feature_maps"), str, lambda seen, start, name: seen.layer == name
    ),
    "channel": Condition(
        ("feature_maps",), int, lambda seen, start, number: seen.channel == number
    ),
}
