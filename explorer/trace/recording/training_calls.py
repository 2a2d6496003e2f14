"""Observes what a training loop calls besides backward, step and zero_grad: clips, schedulers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler

from explorer.trace.recording.events import OptimizerUse, ScheduleUse
from explorer.trace.recording.objects import is_a, quiet
from explorer.trace.recording.run_log import RunLog

#: Most optimizers and schedulers that are known.
MOST_KNOWN = 100
#: A limit above this clips nothing.
MOST_CLIPPED_TO = 1e6
#: The functions that clip.
CLIPPING = ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_")


class TrainingCalls:
    """Makes these calls for the program and logs them. `handlers` has them by name."""

    def __init__(self, log: RunLog, scale_of: Callable[[torch.Tensor], float]) -> None:
        """`scale_of` says by which factor the gradient of a leaf is still scaled, or 0."""
        self.log, self.scale_of = log, scale_of
        self.handlers: dict[str, Callable[..., Any]] = {
            "LRScheduler.step": self.schedule,
            **{name: self._clipper(name.rpartition(".")[2]) for name in CLIPPING},
        }

    def know(self, value: Any, line: int) -> None:
        """An optimizer or a scheduler is a value on this line, which may have made it."""
        if is_a(value, torch.optim.Optimizer):
            self.use_of(value, line)
        else:
            self.schedule_of(value, line)

    def use_of(self, optimizer: torch.optim.Optimizer, line: int) -> OptimizerUse:
        """The record of an optimizer: a new one, if this line has made it."""
        uses = self.log.events.optimizers
        use = uses.get(id(optimizer))
        if use is None:
            self.log.resume()  # what it was given gets its names first
            use = OptimizerUse(optimizer, line)
            use.made, use.passes = self.log.bindings.number, self.log.pass_count
            use.given = [(p, p.requires_grad) for p in use.parameters()]
            use.frozen = [
                live.tensor
                for live in self.log.leaves.values()
                if live.named and not live.tensor.requires_grad
            ]
            if len(uses) < MOST_KNOWN:
                uses[id(optimizer)] = use
        return use

    def schedule_of(self, scheduler: LRScheduler, line: int) -> ScheduleUse:
        """The record of a scheduler, as of an optimizer."""
        uses = self.log.events.schedules
        use = uses.get(id(scheduler))
        if use is None:
            use = ScheduleUse(scheduler, line)
            if len(uses) < MOST_KNOWN:
                uses[id(scheduler)] = use
        return use

    def schedule(
        self, scheduler: LRScheduler, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """`scheduler.step()`"""
        line = self.log.line
        use = self.schedule_of(scheduler, line)
        use.calls += 1
        if use.calls == 1:
            optimizer = scheduler.__dict__.get("optimizer")
            known = self.log.events.optimizers.get(id(optimizer))
            use.first = line
            use.is_early = known is not None and not known.steps and not known.skips
        result = function(*args, **kwargs)
        self.log.line = line
        return result

    def _clipper(self, name: str) -> Callable[..., Any]:
        def clip(_: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            options = dict(kwargs)
            limit = args[1] if len(args) > 1 else options.get("max_norm", options.get("clip_value"))
            is_limit = isinstance(limit, int | float) and limit < MOST_CLIPPED_TO
            if not (self.log.recording and is_limit):  # or it is called for the norm alone
                return function(*args, **kwargs)
            given = args[0] if args else options.pop("parameters", None)
            items = [given] if isinstance(given, torch.Tensor) else list(given)
            with quiet():
                tensors = [t for t in items if isinstance(t, torch.Tensor)]
                scales = [self.scale_of(t) for t in tensors]
                line, ran = self.log.line, self.log.pass_count > 0
                self.log.gradients.clip(line, name, tensors, scales, ran=ran)
            # An iterator without items is passed on: torch warns of it.
            return function(items if items else given, *args[1:], **options)

        return clip
