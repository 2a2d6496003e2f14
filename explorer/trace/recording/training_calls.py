"""Observes what a training loop calls besides backward: zero_grad, step, clips and schedulers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from explorer import limits
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.events import (
    OptimizerUse,
    ScheduleUse,
    Snapshot,
    make_change,
    take_snapshot,
)
from explorer.trace.recording.objects import is_a, named_parameters, quiet
from explorer.trace.recording.run_log import RunLog

#: A limit above this clips nothing.
MOST_CLIPPED_TO = 1e6
_BY_NORM = "clip_grad_norm_"
#: The functions that clip.
CLIPPING = ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_")


class TrainingCalls:
    """Makes these calls for the program and logs them. `handlers` has them by name."""

    def __init__(self, log: RunLog, scale_of: Callable[[torch.Tensor], float]) -> None:
        """`scale_of` says by which factor the gradient of a leaf is still scaled, or 0."""
        self.log, self.scale_of = log, scale_of
        self.handlers: dict[str, Callable[..., Any]] = {
            "Optimizer.step": self.step,
            "Optimizer.zero_grad": self.zero_grad,
            "Module.zero_grad": self.zero_grad,
            "LRScheduler.step": self.schedule,
            **{name: self._clipper(name.rpartition(".")[2]) for name in CLIPPING},
        }
        #: The line of the last zero_grad that cleared a gradient, and the number of passes by then.
        self._last_zero_grad = (0, -1)

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
            if len(uses) < limits.MOST_KNOWN:
                uses[id(optimizer)] = use
        return use

    def schedule_of(self, scheduler: LRScheduler, line: int) -> ScheduleUse:
        """The record of a scheduler, as of an optimizer."""
        uses = self.log.events.schedules
        use = uses.get(id(scheduler))
        if use is None:
            use = ScheduleUse(scheduler, line)
            if len(uses) < limits.MOST_KNOWN:
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
            named = dict(kwargs)
            limit = args[1] if len(args) > 1 else named.get("max_norm", named.get("clip_value"))
            is_limit = isinstance(limit, int | float) and limit < MOST_CLIPPED_TO
            if not (self.log.recording and is_limit):  # or it is called for the norm alone
                return function(*args, **kwargs)
            given = args[0] if args else named.pop("parameters", None)
            items = [given] if isinstance(given, torch.Tensor) else list(given)
            with quiet():
                tensors = [t for t in items if isinstance(t, torch.Tensor)]
                scales = [self.scale_of(t) for t in tensors]
                line, ran = self.log.line, self.log.pass_count > 0
                self.log.gradients.clip(line, name, tensors, scales, ran=ran)
            # An iterator without items is passed on: torch warns of it.
            result = function(items if items else given, *args[1:], **named)
            if self.log.is_part:
                found = f": the norm was {float(result):.4g}" if name == _BY_NORM else ""
                self.log.add_event("clip", f"{name} to at most {limit}{found}")
            return result

        return clip

    # -- optimizers ---------------------------------------------------------------------------

    def step(
        self,
        optimizer: torch.optim.Optimizer,
        function: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """`optimizer.step()`: log which parameters it changes."""
        line, run, has_closure = self.log.line, partial(function, *args, **kwargs), args or kwargs
        with quiet():
            use = self.use_of(optimizer, line)
            use.stepped = use.stepped or line
            only_counts = self.log.only_counts and not self._is_unusual(use)
        if only_counts:
            with nullcontext() if has_closure else quiet():
                result = run()
            self.log.line = line
            use.steps += 1
            self.log.add_event("step", f"{use.name}.step()", thing=optimizer)
            return result
        after = self.watch_step(use, plain=not has_closure)
        # A closure is code of the program and is recorded; torch's own arithmetic is not.
        with nullcontext() if has_closure else quiet():
            result = run()
        self.log.line = line
        after()
        return result

    def watch_step(self, use: OptimizerUse, *, plain: bool) -> Callable[[], None]:
        """An optimizer is about to step, without a closure if `plain`. What is returned logs what
        the step has changed."""
        self._know_names(use.parameters())
        with quiet():
            before = [(p, take_snapshot(p), p.grad) for p in use.parameters()]
            remembered = {
                id(p)
                for p, old, grad in before
                if isinstance(old, CapturedValues)
                and grad is not None
                and not grad.any()
                and use.remembers(p)
            }
            if plain:
                self._note_cleared_gradients(use, [p for p, _, _ in before])
                self._note_scale(use)

        def after() -> None:
            with quiet():
                self._log_step(use, before, remembered)

        return after

    def _know_names(self, tensors: list[torch.Tensor]) -> None:
        """Have a name for each of them, even of those that were made while nothing was recorded."""
        with quiet():
            if not all(map(self.log.name_of, tensors)):
                self.log.resume()

    def _is_unusual(self, use: OptimizerUse) -> bool:
        """Whether a step skips parameters, may move some that have no gradient, or follows
        zero_grad: an answer may be needed."""
        if self._last_zero_grad[1] == self.log.pass_count and use.empty_step is None:
            return True
        for parameter in use.parameters():
            grad = parameter.grad
            if grad is None or (parameter.numel() <= limits.MOST_EVENT_ELEMENTS and not grad.any()):
                name = self.log.name_of(parameter) or "a parameter"
                if name not in (use.skipped if grad is None else use.moved):
                    return True
        return False

    def _log_step(
        self,
        use: OptimizerUse,
        before: list[tuple[torch.Tensor, Snapshot, torch.Tensor | None]],
        remembered: set[int],
    ) -> None:
        use.steps += 1
        changes = []
        for parameter, old, grad in before:
            name = self.log.name_of(parameter) or "a parameter"
            if grad is None and parameter.grad is None:
                use.skipped.setdefault(name, self.log.line)
                continue
            self.log.add_write("step", parameter)
            new = take_snapshot(parameter)
            changes.append(make_change(name, old, new))
            self.log.gradients.update(parameter, self.log.line)
            if isinstance(old, CapturedValues) and isinstance(new, CapturedValues):
                self._note_change(use, parameter, old)
                is_zero = grad is not None and not grad.any()
                if grad is not None and not is_zero:
                    use.driven.add(id(parameter))
                    self._note_revived(use, parameter, old, grad)
                if is_zero and not old.still_equals(parameter) and name not in use.moved:
                    use.moved[name] = (self.log.line, old, new)
                    use.driven_on |= {id(parameter)} & remembered
        self.log.add_event("step", f"{use.name}.step()", "", changes, use.optimizer)

    def _note_change(self, use: OptimizerUse, parameter: torch.Tensor, old: CapturedValues) -> None:
        """Log whether a step changed a parameter that has a gradient."""
        line, key = self.log.line, id(parameter)
        if not old.still_equals(parameter):
            use.changed.add(key)
            if not parameter.requires_grad:
                use.stale.setdefault(key, (parameter, line))
        elif parameter.grad is not None and parameter.grad.any():
            rate = use.group_of(parameter).get("lr")
            if isinstance(rate, float | int):
                slope = float(parameter.grad.abs().max())
                use.unmoved.setdefault(key, (parameter, line, float(rate), slope))

    def _note_revived(
        self,
        use: OptimizerUse,
        parameter: torch.Tensor,
        old: CapturedValues,
        grad: torch.Tensor,
    ) -> None:
        """Log a step that moved an element which the program had set to 0, without a gradient."""
        before = old.array()
        if id(parameter) in use.revived or not isinstance(before, np.ndarray):
            return
        if (before == 0).any() and not (grad.is_sparse or parameter.is_complex()):
            after = parameter.detach().numpy()
            places = np.flatnonzero((before == 0) & (grad.numpy() == 0) & (after != 0))
            if places.size:
                use.revived[id(parameter)] = (parameter, self.log.line, int(places[0]))

    def _note_scale(self, use: OptimizerUse) -> None:
        """Log a step whose gradients a GradScaler has scaled."""
        scale = max(map(self.scale_of, use.parameters()), default=0.0)
        if scale and not use.scaled[0]:
            use.scaled = self.log.line, scale

    def _note_cleared_gradients(self, use: OptimizerUse, parameters: list[torch.Tensor]) -> None:
        """Log a step between zero_grad and the next backward: all its gradients are cleared."""
        line, passes = self._last_zero_grad
        if passes == self.log.pass_count > 0 and use.empty_step is None:
            gradients = [p.grad for p in parameters if p.grad is not None]
            if not any(bool(g.any()) for g in gradients):
                use.empty_step = (self.log.line, line)

    def zero_grad(
        self, receiver: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """`optimizer.zero_grad()` or `model.zero_grad()`: log the gradients it clears."""
        log, run = self.log, partial(function, *args, **kwargs)
        with quiet():
            if isinstance(receiver, nn.Module):
                parameters: list[torch.Tensor] = [p for _, p in named_parameters(receiver)]
            else:
                parameters = self.use_of(receiver, log.line).parameters()
            with_grad = [p for p in parameters if p.grad is not None]
            what = f"{type(receiver).__name__}.zero_grad()"
            if log.only_counts:
                result = run()
                if with_grad:
                    self._last_zero_grad = (log.line, log.pass_count)
                log.add_event("zero_grad", what, thing=receiver)
                return result
            self._know_names(with_grad)
            before = [
                (log.name_of(p) or "a parameter", take_snapshot(p.grad), p) for p in with_grad
            ]
            result = run()
            for parameter in with_grad:
                log.add_observation("clear", parameter)
            for parameter in parameters:
                log.gradients.clear(parameter)
            if with_grad:
                self._last_zero_grad = (log.line, log.pass_count)
            changes = [
                make_change(f"{name}.grad", old, take_snapshot(p.grad)) for name, old, p in before
            ]
        log.add_event("zero_grad", what, "", changes, receiver)
        return result
