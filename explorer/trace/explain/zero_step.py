"""A step at which a gradient becomes 0, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.trace.explain.nonfinite_values import spoken, values_in, values_of
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.passes import RawStep
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.text import shortened


@dataclass(frozen=True)
class ZeroStep:
    """A step at which a gradient becomes 0. `live` is the result of the operation it belongs to,
    `slot` the input of the node towards which 0 is passed on."""

    kind: str
    step: RawStep
    live: LiveTensor | None
    slot: int
    line: int | None
    loss: float | None
    #: Whether the node is the operation itself, and not a part of it.
    is_own: bool
    #: Whether what backward started from is called a loss, or is the result of a loss of torch.
    is_loss: bool = False
    #: By id: the leaves of the pass, as they were when it began.
    leaves: Mapping[int, LiveTensor | None] = field(default_factory=dict)

    def saved(self, name: str) -> np.ndarray | None:
        """What the node saved, as an array."""
        value = self.step.saved.get(name)
        array = value.array() if isinstance(value, CapturedValues) else None
        is_known = isinstance(array, np.ndarray) and array.dtype.kind in "fiub" and array.size > 0
        return array if is_known else None  # type: ignore[return-value]

    @property
    def received(self) -> np.ndarray | None:
        """The gradient that arrived."""
        first = next((kept for kept in self.step.grads_in if kept is not None), None)
        array = first.array() if first is not None else None
        return array if isinstance(array, np.ndarray) else None

    @property
    def is_at_minimum(self) -> bool:
        """Whether the result that backward started from is 0, and grows with this one's result."""
        received = self.received
        return self.loss == 0 and received is not None and bool((received >= 0).all())

    @property
    def place(self) -> str:
        return f"on line {self.line}" if self.line else "here"

    def function(self, name: str) -> str:
        """The name of the operation; of a part of one, that of the whole."""
        return name if self.is_own or self.live is None else self.live.operation

    def operand(self, number: int = 0) -> tuple[str, np.ndarray | None]:
        """An input of the operation: its name and values."""
        inputs = self.live.inputs if self.live is not None and self.is_own else ()
        if not -len(inputs) <= number < len(inputs):
            return "its input", None
        return spoken_name(inputs[number]), self.values(inputs[number])

    def values(self, source: LiveTensor) -> np.ndarray | None:
        """The values that an input of the operation had; those of a leaf, as the pass began."""
        now = self.leaves.get(id(source.tensor))
        array = values_in(self.live, source) if self.live is not None else None
        return array if array is not None or now is None else values_of(now)


def spoken_name(live: LiveTensor) -> str:
    """How a sentence names a tensor: what a layer computes inside has no name of its own."""
    is_inside = not live.named and live.name == live.operation
    if is_inside:
        return f"the result of {live.operation}"
    return spoken(live) if live.scope else shortened(live.first_name or live.name)


#: Why, as a sentence without its full stop, the key of a cure (see `zero_cures`).
Cause = tuple[str, str]


#: What a loss of 0 means.
SATISFIED = "The loss is 0, and nothing is left to improve: this is no error"


def at_minimum(stop: ZeroStep, text: str) -> Cause:
    """The cause; if it means that a minimum has been reached, it says so."""
    if stop.is_at_minimum:
        return f"{text}. The result is 0 and at a minimum: this is no error", "minimum"
    return text, ""
