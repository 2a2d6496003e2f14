"""The path to come: what the next few hundred iterations would do, without doing them.

A copy of the run goes on with the real loss and the real optimizer. It keeps no snapshots and no
curves, so an iteration costs little more than PyTorch's own calls, and the numbers are the same to
the last bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer import limits
from explorer.program import ProgramError, ProgramRefused, ProgramStopped
from explorer.training.batches import whole_problem
from explorer.training.curvature import Curvature, measure_curvature
from explorer.training.formatting import format_number, pluralize
from explorer.training.history import Action, Settings, Snapshot, StepInput, Track, to_numpy
from explorer.training.loop import ActionFailed, TrainingLoop
from explorer.training.planes import Plane
from explorer.training.problem import Live, Problem, random_stream
from explorer.training.views import Point

#: Iterations, unless another number is given.
STEPS = 400


@dataclass(frozen=True)
class Ahead:
    """What comes next. All numbers are finite; a run that diverges ends before.

    `path` has a row for the start and one for each step: coordinates in the plane, (n + 1, 2), or
    all parameters, flattened and joined in order. `losses[i]` is the loss at `path[i]`, n in all.
    `gradient` is that of the first step, by parameter, and `update` what this step adds; without
    parameters of more than `records.WHOLE` numbers. `arrows` are both in the plane, (2,) each, as
    far as there are any. `largest_change` is that of any parameter in any step: 0 if all of them
    stay the same to the last bit. `is_finished` says that all steps asked for were made, and
    `trouble` why not, if it is not for the time. `curvature` is that at the start, if it was asked
    for. `is_plain` says that only one learning rate and the gradients of one backward take part.
    """

    path: np.ndarray
    losses: np.ndarray
    gradient: dict[str, np.ndarray]
    update: dict[str, np.ndarray]
    arrows: dict[str, np.ndarray]
    largest_change: float
    is_finished: bool
    trouble: str = ""
    optimizer: str = ""
    hyper: dict[str, Any] = field(default_factory=dict)
    is_plain: bool = True
    curvature: Curvature | None = None


def look_ahead(
    problem: Problem,
    optimizer: str,
    snapshot: Snapshot | None,
    actions: Sequence[Action],
    *,
    plane: Plane | None = None,
    steps: int = STEPS,
    seconds: float = limits.AHEAD_SECONDS,
    start: Mapping[str, Tensor] | None = None,
    zero_grad: bool = True,
    curvature: float = 0.0,
    hyper: Mapping[str, Any],
) -> Ahead:
    """Where a run goes from where these actions after a snapshot end; see
    `TrainingSession.look_ahead`. `curvature` are seconds for measuring it."""
    given = problem, optimizer, snapshot, actions, start, hyper
    live = begin_ahead(*given)
    whole = whole_problem(problem)
    plain = is_plain(zero_grad, live.settings) and whole is problem
    ahead = run_ahead(live, plane, steps=steps, seconds=seconds, zero_grad=zero_grad)
    bent = None
    if curvature > 0:
        there = begin_ahead(*given)
        bent = measure_curvature(_with_all_samples(whole, there), curvature)
    return replace(
        ahead, optimizer=optimizer, hyper=dict(live.hyper), is_plain=plain, curvature=bent
    )


def is_plain(zero_grad: bool, settings: Settings) -> bool:
    """Whether only one learning rate and the gradients of one backward take part."""
    return zero_grad and settings.keys() <= {"hyper", "start"}


def _with_all_samples(whole: Problem, live: TrainingLoop) -> Live:
    """The instance, or one of the whole problem with the same parameters."""
    if whole is live.problem:
        return live.instance
    instance = whole.build(live.seed)
    for name, parameter in instance.parameters.items():
        parameter.data.copy_(live.instance.parameters[name].detach())
    return instance


def begin_ahead(
    problem: Problem,
    optimizer: str,
    snapshot: Snapshot | None,
    actions: Sequence[Action],
    start: Mapping[str, Tensor] | None,
    hyper: Mapping[str, Any],
) -> TrainingLoop:
    """A run that goes on from where these actions after a snapshot end, with other settings; or
    begins anew from other values of parameters. ValueError for settings that make no sense, and
    ProgramRefused where the run cannot begin."""
    live = TrainingLoop(problem, optimizer)
    try:
        if snapshot is not None:
            live.restore(replace(snapshot, track=Track()))
        for action in actions:
            live.do(action, remember=False)
        before = live.hyper if start is None else live.settings["hyper"]
        after = live.spec.validate({**before, **hyper})
        if start is None:
            live.do(("set", {name: after[name] for name in hyper}))
        else:
            now = {name: p.detach() for name, p in live.instance.parameters.items()}
            settings = {**live.settings, "hyper": after, "start": {**now, **start}}
            live.do(("move", (live.seed, settings)))
    except ActionFailed as failed:
        raise ProgramRefused(failed.error) from None
    return live


def run_ahead(
    live: TrainingLoop,
    plane: Plane | None = None,
    *,
    steps: int,
    seconds: float,
    zero_grad: bool = True,
) -> Ahead:
    """Go on for so many steps, or `seconds` of this thread's time; at least one is tried.

    The session is used up: it has no curves of what was done. Without `zero_grad` gradients
    accumulate, as in a loop that forgets it.
    """
    loop = _Loop(live, zero_grad)
    trail = _Trail(loop.leaves, plane)
    if not bool(torch.isfinite(trail.rows[0]).all()):
        raise ProgramRefused(ProgramError("A parameter is infinite or NaN, so there is no path."))
    steps = min(steps, trail.room)
    losses: list[float] = []
    parameters = live.instance.parameters
    start = Point(0, {name: to_numpy(p) for name, p in parameters.items()})
    first: dict[str, dict[str, np.ndarray]] = {"gradient": {}, "update": {}}
    trouble = ""
    end = time.thread_time() + seconds
    try:
        with random_stream(live.random), torch.enable_grad():
            while len(losses) < steps:
                value = loop.forward()
                if not math.isfinite(value):
                    trouble = _trouble_of_loss(value, len(losses))
                    break
                loop.backward()
                before = None if losses else live.step_input()
                loop.step()
                if before is not None:
                    first = _first_step(before, parameters)
                losses.append(value)
                trail.add()
                if time.thread_time() > end:
                    break
    except ProgramStopped as stopped:
        trouble = stopped.message
    except (ProgramRefused, ActionFailed) as failed:
        trouble = failed.error.message
    except Exception:  # a reader's loss, or torch with numbers beyond a dtype
        trouble = f"Iteration {len(losses) + 1} from here fails."
    path, largest = trail.path()
    if len(path) <= len(losses):
        after = pluralize(len(path), "step")
        trouble = trouble or f"A parameter becomes infinite or NaN after {after}."
    done = len(path) - 1
    gradient, update = (
        {name: array for name, array in change.items() if array.size <= limits.WHOLE}
        for change in first.values()
    )
    return Ahead(
        path,
        np.array(losses[:done], dtype=np.float64),
        gradient,
        update,
        arrows={name: plane.arrow(c, start) for name, c in first.items() if c} if plane else {},
        largest_change=largest,
        is_finished=done == steps and not trouble,
        trouble=trouble,
    )


class _Loop:
    """The calls of an iteration, without what a session keeps of them."""

    def __init__(self, live: TrainingLoop, zero_grad: bool) -> None:
        self.live, self.clears = live, zero_grad
        live.remember = False
        self.leaves = list(live.instance.parameters.values())
        self.clips = "clip" in live.settings
        step = live.optimizer.step
        self._step = partial(step, self._closure) if live.spec.evaluates else step
        for group in live.optimizer.param_groups:
            if "foreach" in group:
                group["foreach"] = False  # what torch chooses for a CPU, without looking each time

    def forward(self) -> float:
        if self.clears:
            for leaf in self.leaves:  # as zero_grad does, which takes longer
                leaf.grad = None
        self.loss = self.live.instance.loss()
        return self.loss.item()

    def backward(self) -> None:
        self.loss.backward()
        if self.clips:
            self.live.clip()

    def step(self) -> None:
        self._step()
        if self.live.scheduler:
            self.live.loss = self.loss
            self.live.schedule()

    def _closure(self) -> Tensor:
        """For an optimizer that computes the loss itself."""
        self.live.optimizer.zero_grad()
        self.loss = self.live.instance.loss()
        self.backward()
        return self.loss


class _Trail:
    """Where the parameters were, step by step."""

    def __init__(self, leaves: list[Tensor], plane: Plane | None) -> None:
        self.leaves, self.plane = leaves, plane
        self.size = max(1, sum(leaf.numel() for leaf in leaves))
        self.rows: list[Tensor] = []
        self.parts: list[np.ndarray] = []
        self.changes: list[np.ndarray] = []
        self.last: np.ndarray | None = None
        self.add()

    @property
    def room(self) -> int:
        """The steps that can be kept."""
        return max(1, limits.MOST_AHEAD_NUMBERS // self.size) if self.plane is None else 2**31

    def add(self) -> None:
        parts = [leaf.detach().reshape(-1) for leaf in self.leaves]
        self.rows.append(torch.cat(parts))  # a copy
        if len(self.rows) * self.size > limits.MOST_AHEAD_NUMBERS:
            self._project()

    def path(self) -> tuple[np.ndarray, float]:
        """All of it, up to the first number that is not finite, and the largest change on it."""
        self._project()
        path, changes = np.concatenate(self.parts), np.concatenate(self.changes)
        finite = np.isfinite(path).all(1)
        path = path if finite.all() else path[: int(finite.argmin())]
        return path, float(np.nan_to_num(changes[: len(path)], nan=np.inf, posinf=np.inf).max())

    def _project(self) -> None:
        if not self.rows:
            return
        rows = torch.stack(self.rows)
        whole = rows.to(torch.complex128 if rows.is_complex() else torch.float64).numpy()
        joined = whole.real
        before = whole[:1] if self.last is None else self.last
        with np.errstate(all="ignore"):
            changes = np.abs(np.diff(whole, axis=0, prepend=before))
        self.changes.append(changes.max(1, initial=0.0))
        self.rows, self.last = [], whole[-1:]
        self.parts.append(joined if self.plane is None else self.plane.coordinates(joined))


def _first_step(
    before: StepInput, parameters: Mapping[str, Tensor]
) -> dict[str, dict[str, np.ndarray]]:
    """What a step worked from and added."""
    old = before.parameters
    moved = {name: p.detach() - old[name] for name, p in parameters.items()}
    return {"gradient": _to_arrays(before.grads), "update": _to_arrays(moved)}


def _to_arrays(tensors: Mapping[str, Tensor | None]) -> dict[str, np.ndarray]:
    arrays = {name: to_numpy(t) for name, t in tensors.items() if t is not None}
    return {name: array for name, array in arrays.items() if np.isfinite(array).all()}


def _trouble_of_loss(value: float, steps: int) -> str:
    if not steps:
        return f"The loss is {format_number(value)} here."
    return f"The loss becomes {format_number(value)} after {pluralize(steps, 'step')}."
