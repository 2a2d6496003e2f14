"""Observes three kinds of call as they run: hooks, optimizer.step and zero_grad."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import nn

from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.events import (
    FIRST_EVENTS,
    MOST_ELEMENTS,
    HookCall,
    HookUse,
    OptimizerUse,
    Snapshot,
    make_change,
    take_snapshot,
)
from explorer.trace.recording.objects import grad_fn_of, named_parameters, quiet
from explorer.trace.recording.operations import Operations
from explorer.trace.recording.run_log import RunLog
from explorer.trace.recording.training_calls import TrainingCalls


class ObservedCalls:
    """Makes these calls for the program and logs their effects."""

    def __init__(self, log: RunLog, training: TrainingCalls) -> None:
        self.log, self._training = log, training
        #: By id of a tensor: the names under which hooks were registered on it.
        self._hook_names: dict[int, tuple[weakref.ref[torch.Tensor], list[str]]] = {}
        #: The line of the last zero_grad that cleared a gradient, and the number of passes by then.
        self._last_zero_grad = (0, -1)

    # -- hooks --------------------------------------------------------------------------------

    def register(
        self, what: str, receiver: Any, method: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Register the program's hook, wrapped in a hook that logs its calls."""
        options = dict(kwargs)
        hook = args[0] if args else options.pop("hook", None)
        if not callable(hook):
            return method(*args, **kwargs)
        kind = what.split(".")[1]
        if not isinstance(receiver, torch.Tensor):
            return method(self._module_hook(kind, receiver, hook), *args[1:], **options)
        use = self._use_of_hook(receiver)
        use.handle = method(self._tensor_hook(kind, receiver, hook, use), *args[1:], **options)
        return use.handle

    def _use_of_hook(self, tensor: torch.Tensor) -> HookUse:
        log, node = self.log, grad_fn_of(tensor)
        number = -1 if node is None else node._sequence_nr()
        name, reference = log.name_of(tensor), weakref.ref(tensor)
        use = HookUse(log.line, name, reference, log.number, log.pass_count, number)
        if len(log.events.hook_uses) < FIRST_EVENTS:
            log.events.hook_uses.append(use)
        return use

    def _tensor_hook(
        self, kind: str, tensor: torch.Tensor, hook: Callable[..., Any], use: HookUse
    ) -> Callable[..., Any]:
        name = self.log.name_of(tensor)
        entry = self._hook_names.get(id(tensor))
        if entry is None or entry[0]() is not tensor:
            entry = self._hook_names[id(tensor)] = (weakref.ref(tensor), [])
        hooks = entry[1]
        hooks.append(name)
        reference = weakref.ref(tensor)
        is_leaf = grad_fn_of(tensor) is None

        def logging_hook(received: torch.Tensor) -> Any:
            use.calls += 1
            is_accumulated = kind == "register_post_accumulate_grad_hook"
            gradient = take_snapshot(received.grad if is_accumulated else received)
            target = reference()
            shown = name or (self.log.name_of(target) if target is not None else "")
            call = HookCall(self.log.line, shown, is_leaf, kind, gradient, hooks, target, received)
            with self.inside_hook(call):
                result = hook(received)
            call.tensor = call.received = None  # or the calls would keep the graphs alive
            if isinstance(result, torch.Tensor) and not is_accumulated:
                call.returned, call.is_replaced = take_snapshot(result), True
            if isinstance(gradient, CapturedValues) and not is_accumulated:
                call.is_in_place = not gradient.still_equals(received)
                if call.is_in_place and not call.is_replaced:
                    call.returned = take_snapshot(received)
            self.log.events.add_hook_call(call)
            returned = "returned None" if result is None else "returned a value"
            replaced = "returned a tensor, which replaces the gradient"
            outcome = replaced if call.is_replaced else returned
            what = f"{kind} on {shown or 'a tensor'} was called; it {outcome}"
            self.log.add_event(
                "hook", what, shown, [make_change("gradient", gradient, call.returned)]
            )
            return result

        return logging_hook

    def _module_hook(
        self, kind: str, module: nn.Module, hook: Callable[..., Any]
    ) -> Callable[..., Any]:
        def logging_hook(*args: Any, **kwargs: Any) -> Any:
            shown = self.log.module_name(args[0] if args else module)
            with self.inside_hook(None):
                result = hook(*args, **kwargs)
            replaced = "returned a value, which replaces the original"
            outcome = "returned None" if result is None else replaced
            self.log.add_event("hook", f"{kind} on {shown} was called; it {outcome}", shown)
            return result

        return logging_hook

    @contextmanager
    def inside_hook(self, call: HookCall | None = None) -> Iterator[None]:
        """While a hook of the program runs: record its operations too."""
        log = self.log
        line, is_between, outer = log.line, log.is_between, log.events.running_hook
        log.events.running_hook = call
        log.resume()
        try:
            with Operations(log):
                yield
        finally:
            log.line, log.is_between, log.events.running_hook = line, is_between, outer

    # -- optimizers ---------------------------------------------------------------------------

    def step(
        self, optimizer: torch.optim.Optimizer, run: Callable[[], Any], has_closure: bool
    ) -> Any:
        """Run `optimizer.step()`, and log which parameters it changes."""
        line = self.log.line
        with quiet():
            use = self._training.use_of(optimizer, line)
            use.stepped = use.stepped or line
            only_counts = self.log.only_counts and not self._is_unusual(use)
        if only_counts:
            with nullcontext() if has_closure else quiet():
                result = run()
            self.log.line = line
            use.steps += 1
            self.log.add_event("step", f"{use.name}.step()", thing=optimizer)
            return result
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
            if not has_closure:
                self._note_cleared_gradients(use, [p for p, _, _ in before])
                self._note_scale(use)
        # A closure is code of the program and is recorded; torch's own arithmetic is not.
        with nullcontext() if has_closure else quiet():
            result = run()
        self.log.line = line
        with quiet():
            self._log_step(use, before, remembered)
        return result

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
            if grad is None or (parameter.numel() <= MOST_ELEMENTS and not grad.any()):
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
        scale = max(map(self._training.scale_of, use.parameters()), default=0.0)
        if scale and not use.scaled[0]:
            use.scaled = self.log.line, scale

    def _note_cleared_gradients(self, use: OptimizerUse, parameters: list[torch.Tensor]) -> None:
        """Log a step between zero_grad and the next backward: all its gradients are cleared."""
        line, passes = self._last_zero_grad
        if passes == self.log.pass_count > 0 and use.empty_step is None:
            gradients = [p.grad for p in parameters if p.grad is not None]
            if not any(bool(g.any()) for g in gradients):
                use.empty_step = (self.log.line, line)

    def zero_grad(self, receiver: Any, run: Callable[[], Any]) -> Any:
        """Run `optimizer.zero_grad()` or `model.zero_grad()`, and log the gradients it clears."""
        log = self.log
        with quiet():
            if isinstance(receiver, nn.Module):
                parameters: list[torch.Tensor] = [p for _, p in named_parameters(receiver)]
            else:
                parameters = self._training.use_of(receiver, log.line).parameters()
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
                log.add_note("clear", parameter)
            for parameter in parameters:
                log.gradients.clear(parameter)
            if with_grad:
                self._last_zero_grad = (log.line, log.pass_count)
            changes = [
                make_change(f"{name}.grad", old, take_snapshot(p.grad)) for name, old, p in before
            ]
        log.add_event("zero_grad", what, "", changes, receiver)
        return result
