"""The past of a training run: snapshots to return to, what was done, and undo.

A graph cannot be copied, so a state with a live or used-up graph is reached by restoring the
values from before its `forward` and repeating the few actions since. The same record lets a
sandbox continue a run of which only plain values are kept.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Required, TypedDict

import numpy as np
import torch
from torch import Tensor

from explorer import limits
from explorer.trace.codec import from_plain
from explorer.trace.recording import capture
from explorer.training.formatting import pluralize

#: A call and its argument: ("forward", None), ("set", {"lr": 0.2}), ("reset", (seed, settings)).
Action = tuple[str, Any]


class Settings(TypedDict, total=False):
    """What a reader has chosen for a run. `settings` makes and changes them.

    `hyper` are the hyperparameters of the optimizer, `scheduler` and `clip` the names of calls with
    their arguments, as {"name": "StepLR", "step_size": 30}. Each of `groups` has `parameters` with
    hyperparameters of their own. `start` are values of parameters in place of the problem's own.
    """

    hyper: Required[dict[str, Any]]
    scheduler: dict[str, Any]
    clip: dict[str, Any]
    groups: list[dict[str, Any]]
    start: dict[str, Tensor]


#: How far a `Track` has come: steps, passes, the number of losses, norms and lrs, trouble.
Mark = tuple[int, int, int, int, int, str]

#: Calls that begin anew.
RESET = ("reset", "move")

#: Calls that compute the loss and so leave the old graph behind.
FORWARD = ("forward", "iteration")
STEP = ("step", "iteration")

#: The types a tensor may have, by name: those that numpy has, and bfloat16.
_DTYPES = {
    str(dtype): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
        torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
    )
}  # fmt: skip

#: What Python and torch add to the elements of one kept tensor, roughly, in bytes.
OVERHEAD = 700


@dataclass(frozen=True)
class Press:
    """What one press is to do: `actions`, in this order, and all of them `times` times.

    After `seconds` at most one more action is done; with `until_trouble` none after the one in
    which the run first became infinite or NaN. If one fails, those before it stay done, or none if
    the press is `whole`. It is one press for `undo`, unless several begin at `starts`, positions in
    the actions.
    """

    name: str
    actions: tuple[Action, ...]
    times: int = 1
    seconds: float = math.inf
    until_trouble: bool = False
    whole: bool = True
    starts: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, action: Action) -> Press:
        """The press that does this action."""
        return cls("iterate" if action[0] == "iteration" else action[0], (action,))

    def __len__(self) -> int:
        """The number of all actions."""
        return len(self.actions) * self.times

    def first(self, count: int) -> tuple[Action, ...]:
        """So many of the actions, or all."""
        times = min(self.times, -(-count // max(1, len(self.actions))))
        return (self.actions * times)[:count]


@dataclass
class Curve:
    """`values[i]` was recorded after `steps[i]` steps."""

    values: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def add(self, value: float, step: int) -> None:
        self.values.append(value)
        self.steps.append(step)

    def __len__(self) -> int:
        return len(self.values)


@dataclass
class Track:
    """What a run has done since its reset: `steps` taken, and what the curves show.

    `loss` has a number for each forward, `norm` the Euclidean norm of all gradients after each
    backward, `lr` the learning rate of each step. `passes` counts the backward passes summed up in
    `.grad`. `trouble` says where the run became infinite or NaN.
    """

    steps: int = 0
    passes: int = 0
    loss: Curve = field(default_factory=Curve)
    norm: Curve = field(default_factory=Curve)
    lr: Curve = field(default_factory=Curve)
    trouble: str = ""

    def copy(self) -> Track:
        """One that does not go on growing."""
        loss, norm, lr = (Curve([*curve.values], [*curve.steps]) for curve in self.curves())
        return Track(self.steps, self.passes, loss, norm, lr, self.trouble)

    def mark(self) -> Mark:
        counts = len(self.loss), len(self.norm), len(self.lr)
        return self.steps, self.passes, *counts, self.trouble

    def return_to(self, mark: Mark) -> None:
        """Forget what came after `mark()` was taken."""
        self.steps, self.passes, *_, self.trouble = mark
        for curve, count in zip(self.curves(), mark[2:5], strict=True):
            del curve.values[count:]
            del curve.steps[count:]

    def extend(self, more: Track) -> None:
        """Go on with what another track has recorded."""
        for curve, new in zip(self.curves(), more.curves(), strict=True):
            curve.values += new.values
            curve.steps += new.steps
        self.steps, self.passes, self.trouble = more.steps, more.passes, more.trouble

    def curves(self) -> tuple[Curve, Curve, Curve]:
        return self.loss, self.norm, self.lr


@dataclass
class Evaluated:
    """What is known after a step that computed the loss itself: how often, and where it ended."""

    evaluations: int
    after: dict[str, Tensor]

    def state(self, name: str) -> dict[str, Any]:
        """What the rule of such an optimizer is given for this parameter."""
        return {"evaluations": self.evaluations, "after": self.after[name]}


@dataclass
class StepInput:
    """What a step works from: by parameter name, as independent tensors.

    `own` are the hyperparameters of those that are not in the first group.
    """

    parameters: dict[str, Tensor]
    grads: dict[str, Tensor | None]
    optimizer: dict[str, dict[str, Any]]
    hyper: dict[str, Any]
    own: dict[str, dict[str, Any]] = field(default_factory=dict)
    evaluated: Evaluated | None = None

    def hyper_of(self, name: str) -> dict[str, Any]:
        """The hyperparameters of this parameter's group."""
        return self.own.get(name, self.hyper)


@dataclass(frozen=True)
class Snapshot:
    """Everything a run holds besides its graph. No tensor is shared with the live objects.

    `track` is the run's own, which goes on growing; `mark` is how far it had come. `hyper` are the
    hyperparameters of the next step, which a scheduler may have changed. `optimizer` is torch's
    state per parameter ("momentum_buffer", "exp_avg", "step"), `schedule` that of the
    scheduler (empty without one), `state` what else the loss may change, `random` the state of the
    random stream.
    """

    seed: int
    parameters: dict[str, Tensor]
    grads: dict[str, Tensor | None]
    optimizer: dict[str, dict[str, Any]]
    schedule: dict[str, Any]
    state: dict[str, Any]
    random: Tensor
    hyper: dict[str, Any]
    settings: Settings
    track: Track
    mark: Mark

    @cached_property
    def nbytes(self) -> int:
        """Roughly the memory held, without the random state (which is shared)."""
        parts = (self.parameters, self.grads, self.optimizer, self.state)
        return sum(map(_nbytes, parts))


@dataclass
class Timeline:
    """All actions since the session was made, and snapshots from before some of them.

    Actions are appended to `actions`; `bases[i]` is the snapshot before `actions[i]`, kept before
    every forward as long as they fit in `limit` bytes and are not too many, then only before every
    second, fourth … of them. `presses` holds where each press began, which is what `undo` undoes.
    A reset can always be repeated, so the first action, a reset, needs no base.
    """

    limit: int
    actions: list[Action] = field(default_factory=list)
    bases: dict[int, Snapshot] = field(default_factory=dict)
    presses: list[int] = field(default_factory=list)
    nbytes: int = 0

    def keep(self, snapshot: Snapshot, position: int | None = None) -> None:
        """Keep a snapshot: of the present, before the next action, or of an earlier position."""
        position = len(self.actions) if position is None else position
        if position in self.bases:
            self._drop(position)
        self.bases[position] = snapshot
        self.nbytes += snapshot.nbytes
        while len(self.bases) > 1 and (
            self.nbytes > self.limit or len(self.bases) > limits.MOST_SNAPSHOTS
        ):
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
        """Where to begin in order to be before `actions[position]` again, graph included.

        Either a position with a base, or that of a reset, which is then itself repeated. The last
        step before `position` is repeated too, so that its arithmetic can be shown.
        """
        reset = self._last(position, RESET)
        wanted = max(reset, self._last(position, FORWARD))
        step = self._last(position, STEP)
        if step > reset:
            wanted = min(wanted, max(reset, self._last(step + 1, FORWARD)))
        return max([reset, *(p for p in self.bases if reset < p <= wanted)])

    def last_reset(self) -> int:
        return self._last(len(self.actions), RESET)

    def presses_since_reset(self) -> list[list[Action]]:
        """What each press has done since the last reset, which is not among them."""
        first = self.last_reset() + 1
        starts = [position for position in self.presses if position >= first]
        return [self.actions[i:j] for i, j in pairwise([*starts, len(self.actions)])]

    def snapshots(self) -> list[Snapshot]:
        """Those since the last reset, oldest first."""
        reset = self.last_reset()
        return [self.bases[p] for p in sorted(self.bases) if p > reset]

    def _last(self, position: int, names: tuple[str, ...]) -> int:
        """The last action before `position` with one of these names, or -1."""
        return next((i for i in range(position - 1, -1, -1) if self.actions[i][0] in names), -1)

    def _drop(self, position: int) -> None:
        self.nbytes -= self.bases.pop(position).nbytes


def count_steps(actions: Sequence[Action]) -> tuple[int, bool]:
    """How many steps these actions take, and whether each uses the gradients of one backward."""
    steps, passes, is_plain = 0, 0, True
    for name, argument in actions:
        if name == "zero_grad" or (name == "iteration" and argument):
            passes = 0
        passes += name in ("backward", "iteration")
        if name in ("step", "iteration"):
            steps, is_plain = steps + 1, is_plain and passes == 1
    return steps, is_plain


def press_title(actions: Sequence[Action]) -> str:
    """How a press is called: "step", "3 iterations"."""
    name = actions[0][0]
    return pluralize(len(actions), "iteration") if name == "iteration" else name


def _nbytes(value: Any) -> int:
    if isinstance(value, Tensor):
        return value.nbytes + OVERHEAD
    if isinstance(value, dict):
        return sum(map(_nbytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_nbytes, value))
    return sys.getsizeof(value)


def copy_tensors(value: Any) -> Any:
    """An independent copy of tensors in dicts, lists and tuples; the rest is immutable."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: copy_tensors(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(copy_tensors(item) for item in value)
    return value


def to_data(value: Any) -> Any:
    """Tensors in dicts, tuples and lists as what JSON can carry (with `codec.to_plain`)."""
    if isinstance(value, Tensor):
        return {"tensor": str(value.dtype), "array": _bits(value)}
    if isinstance(value, dict):
        return {"dict": [[to_data(k), to_data(v)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [to_data(item) for item in value]}
    if isinstance(value, list):
        return [to_data(item) for item in value]
    return value


def from_data(data: Any) -> Any:
    """Rebuild what `to_data` made. Raises KeyError, TypeError or ValueError on other data."""
    if isinstance(data, list):
        return [from_data(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "tensor" in data:
        array = from_plain(np.ndarray, data["array"])
        return torch.from_numpy(array.copy()).view(_DTYPES[data["tensor"]])
    if "tuple" in data:
        return tuple(from_data(item) for item in data["tuple"])
    return {from_data(k): from_data(v) for k, v in data["dict"]}


def _bits(tensor: Tensor) -> np.ndarray:
    """The elements as numpy holds them; bfloat16, which it lacks, as int16 of the same bits."""
    plain = tensor.detach().contiguous()
    if plain.dtype == torch.bfloat16:
        plain = plain.view(torch.int16)
    bits: np.ndarray = plain.numpy().copy()
    return bits


def to_numpy(tensor: Tensor) -> np.ndarray:
    """An independent copy; bfloat16, which numpy lacks, becomes float32 (exactly)."""
    array = capture.to_numpy(tensor)
    assert array is not None, "parameters and their gradients are dense"
    return array
