"""Calls of the program that are observed as they run: hooks, optimizer.step and zero_grad."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from explorer.trace.capture import Kept
from explorer.trace.events import HookCall, OptimizerUse, Snapshot, change, snapshot
from explorer.trace.operations import Operations
from explorer.trace.run_log import RunLog
from explorer.trace.tensor_registry import named_parameters

_quiet = torch._C.DisableTorchFunction


class ObservedCalls:
    """Makes these calls for the program and writes what they did to the log."""

    def __init__(self, log: RunLog) -> None:
        self.log = log
        #: By id of a tensor: the names under which hooks were registered on it.
        self._hook_names: dict[int, tuple[weakref.ref[torch.Tensor], list[str]]] = {}
        #: The line of the last zero_grad that cleared something, and the passes run by then.
        self._last_zero = (0, -1)

    # -- hooks --------------------------------------------------------------------------------

    def register(
        self, what: str, receiver: Any, method: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Register the program's hook inside one that logs its calls."""
        others = dict(kwargs)
        hook = args[0] if args else others.pop("hook", None)
        if not callable(hook):
            return method(*args, **kwargs)
        wrap = self._tensor_hook if isinstance(receiver, torch.Tensor) else self._module_hook
        return method(wrap(what.split(".")[1], receiver, hook), *args[1:], **others)

    def _tensor_hook(
        self, kind: str, tensor: torch.Tensor, hook: Callable[..., Any]
    ) -> Callable[..., Any]:
        name = self.log.name_of(tensor)
        known = self._hook_names.get(id(tensor))
        if known is None or known[0]() is not tensor:
            known = self._hook_names[id(tensor)] = (weakref.ref(tensor), [])
        hooks = known[1]
        hooks.append(name)
        reference = weakref.ref(tensor)
        is_leaf = tensor.is_leaf

        def logged(given: torch.Tensor) -> Any:
            accumulated = kind == "register_post_accumulate_grad_hook"
            gradient = snapshot(given.grad if accumulated else given)
            target = reference()
            shown = name or (self.log.name_of(target) if target is not None else "")
            call = HookCall(self.log.line, shown, is_leaf, kind, gradient, hooks, target, given)
            with self._inside_hook(call):
                result = hook(given)
            call.tensor = call.given = None  # or the calls would keep the graphs
            if isinstance(result, torch.Tensor):
                call.returned, call.is_replaced = snapshot(result), True
            self.log.events.add_hook_call(call)
            did = "returned a tensor, which replaces the gradient" if call.is_replaced else ""
            what = f"{kind} on {shown or 'a tensor'} was called; it {did or 'returned None'}"
            self.log.add_event("hook", what, shown, [change("gradient", gradient, call.returned)])
            return result

        return logged

    def _module_hook(
        self, kind: str, module: nn.Module, hook: Callable[..., Any]
    ) -> Callable[..., Any]:
        def logged(*args: Any, **kwargs: Any) -> Any:
            shown = self.log.module_name(args[0] if args else module)
            with self._inside_hook(None):
                result = hook(*args, **kwargs)
            did = "returned None" if result is None else "returned a value, which takes its place"
            self.log.add_event("hook", f"{kind} on {shown} was called; it {did}", shown)
            return result

        return logged

    @contextmanager
    def _inside_hook(self, call: HookCall | None) -> Iterator[None]:
        """A hook of the program is running: its operations are recorded too."""
        log = self.log
        line, outer = log.line, log.events.running
        log.events.running = call
        try:
            with Operations(log):
                yield
        finally:
            log.line, log.events.running = line, outer

    # -- optimizers ---------------------------------------------------------------------------

    def step(
        self, optimizer: torch.optim.Optimizer, run: Callable[[], Any], has_closure: bool
    ) -> Any:
        """`optimizer.step()`: log which parameters it changes, and with which gradient."""
        line = self.log.line
        with _quiet():
            use = self._use_of(optimizer)
            before = [(p, snapshot(p), p.grad) for p in use.parameters()]
            self._note_cleared_gradients(use, [p for p, _, _ in before])
        # A closure is the program's code and is recorded; torch's own arithmetic is not.
        with nullcontext() if has_closure else _quiet():
            result = run()
        self.log.line = line
        with _quiet():
            self._log_step(use, before)
        return result

    def _log_step(
        self, use: OptimizerUse, before: list[tuple[torch.Tensor, Snapshot, torch.Tensor | None]]
    ) -> None:
        use.steps += 1
        changes = []
        for parameter, old, grad in before:
            name = self.log.name_of(parameter) or "a parameter"
            if grad is None and parameter.grad is None:
                use.skipped.setdefault(name, self.log.line)
                continue
            self.log.add_write("step", parameter)
            new = snapshot(parameter)
            changes.append(change(name, old, new))
            if isinstance(old, Kept) and isinstance(new, Kept):
                is_zero = grad is not None and not grad.any()
                if is_zero and not old.same_as(parameter) and name not in use.moved:
                    use.moved[name] = (self.log.line, old, new)
        self.log.add_event("step", f"{type(use.optimizer).__name__}.step()", "", changes)

    def _note_cleared_gradients(self, use: OptimizerUse, parameters: list[torch.Tensor]) -> None:
        """A step after zero_grad, before another backward, finds nothing to do."""
        line, passes = self._last_zero
        if passes == self.log.pass_count > 0 and use.empty is None:
            gradients = [p.grad for p in parameters if p.grad is not None]
            if not any(bool(g.any()) for g in gradients):
                use.empty = (self.log.line, line)

    def zero_grad(self, receiver: Any, run: Callable[[], Any]) -> Any:
        """`optimizer.zero_grad()` or `model.zero_grad()`: log the gradients it clears."""
        log = self.log
        with _quiet():
            if isinstance(receiver, nn.Module):
                parameters: list[torch.Tensor] = [p for _, p in named_parameters(receiver)]
            else:
                parameters = self._use_of(receiver).parameters()
            with_grad = [p for p in parameters if p.grad is not None]
            before = [(log.name_of(p) or "a parameter", snapshot(p.grad), p) for p in with_grad]
            result = run()
            for parameter in with_grad:
                log.cleared[id(parameter)] = log.line
            if with_grad:
                self._last_zero = (log.line, log.pass_count)
            changes = [change(f"{name}.grad", old, snapshot(p.grad)) for name, old, p in before]
        log.add_event("zero_grad", f"{type(receiver).__name__}.zero_grad()", "", changes)
        return result

    def _use_of(self, optimizer: torch.optim.Optimizer) -> OptimizerUse:
        uses = self.log.events.optimizers
        return uses.setdefault(id(optimizer), OptimizerUse(optimizer, self.log.line))
