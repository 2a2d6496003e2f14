"""Observes hooks: on one tensor or module, on what is saved, and on several gradients."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.events import HookCall, HookUse, Snapshot, make_change, take_snapshot
from explorer.trace.recording.objects import grad_fn_of, quiet
from explorer.trace.recording.operations import Operations
from explorer.trace.recording.run_log import RunLog
from explorer.trace.text import join_names

_GRAPH = "torch.autograd.graph"
MULTI_GRAD, SAVED, INCREMENT = (
    f"{_GRAPH}.{name}"
    for name in ("register_multi_grad_hook", "saved_tensors_hooks", "increment_version")
)


class Hooks:
    """Registers hooks for the program, and logs what they do. `handlers` has the calls that
    register one on no single tensor or module, by name."""

    def __init__(self, log: RunLog) -> None:
        self.log = log
        self.handlers: dict[str, Callable[..., Any]] = {
            MULTI_GRAD: self.register_on_several,
            SAVED: self.register_on_saved,
            INCREMENT: self.increment_version,
        }
        #: By id of a tensor: the names under which hooks were registered on it.
        self._names: dict[int, tuple[weakref.ref[torch.Tensor], list[str]]] = {}

    def register(
        self, what: str, receiver: Any, method: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Register a hook on one tensor, or for one module or all, wrapped in one that logs its
        calls."""
        named = dict(kwargs)
        hook = args[0] if args else named.pop("hook", None)
        if not callable(hook):
            return method(*args, **kwargs)
        kind = what.split(".")[1]
        if not isinstance(receiver, torch.Tensor):
            return method(self._module_hook(kind, receiver, hook), *args[1:], **named)
        use = self._use_of_hook(receiver)
        use.handle = method(self._tensor_hook(kind, receiver, hook, use), *args[1:], **named)
        return use.handle

    def _use_of_hook(self, tensor: torch.Tensor) -> HookUse:
        log, node = self.log, grad_fn_of(tensor)
        number = -1 if node is None else node._sequence_nr()
        name, reference = log.name_of(tensor), weakref.ref(tensor)
        use = HookUse(log.line, name, reference, log.number, log.pass_count, number)
        if len(log.events.hook_uses) < limits.FIRST_EVENTS:
            log.events.hook_uses.append(use)
        return use

    def _tensor_hook(
        self, kind: str, tensor: torch.Tensor, hook: Callable[..., Any], use: HookUse
    ) -> Callable[..., Any]:
        name = self.log.name_of(tensor)
        entry = self._names.get(id(tensor))
        if entry is None or entry[0]() is not tensor:
            entry = self._names[id(tensor)] = (weakref.ref(tensor), [])
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
            with self.inside(call):
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
            with self.inside(None):
                result = hook(*args, **kwargs)
            replaced = "returned a value, which replaces the original"
            outcome = "returned None" if result is None else replaced
            self.log.add_event("hook", f"{kind} on {shown} was called; it {outcome}", shown)
            return result

        return logging_hook

    @contextmanager
    def inside(self, call: HookCall | None = None) -> Iterator[None]:
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

    # -- hooks that belong to no single tensor ------------------------------------------------

    def register_on_several(
        self, _: None, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """`register_multi_grad_hook(tensors, fn)`"""
        self.log.resume()
        names, arguments = self._names_of(args[0] if args else kwargs.get("tensors")), [*args]
        _replace(arguments, kwargs, 1, "fn", partial(self._multi_grad_hook, names))
        with quiet():
            return function(*arguments, **kwargs)

    def register_on_saved(
        self, _: None, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """`saved_tensors_hooks(pack_hook, unpack_hook)`"""
        self.log.resume()
        arguments = [*args]
        for place, kind in enumerate(("pack", "unpack")):
            _replace(arguments, kwargs, place, f"{kind}_hook", partial(self._saved_hook, kind))
        return function(*arguments, **kwargs)

    def increment_version(
        self, _: None, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """`increment_version(tensor)`, or of several."""
        self.log.resume()
        result = function(*args, **kwargs)
        given = args[0] if args else kwargs.get("tensor")
        names = self._names_of([given] if isinstance(given, torch.Tensor) else given)
        for name in names[:20]:
            what = f"increment_version: autograd treats {name} as changed"
            self.log.add_event("write", what, name)
        return result

    def _names_of(self, tensors: Any) -> list[str]:
        if not isinstance(tensors, list | tuple):
            return []
        with quiet():
            return [
                (self.log.name_of(t) or "a tensor") if isinstance(t, torch.Tensor) else ""
                for t in tensors
            ]

    def _multi_grad_hook(self, names: list[str], hook: Callable[..., Any]) -> Callable[[Any], Any]:
        def logging_hook(received: Any) -> Any:
            with quiet():
                gradients = received if isinstance(received, list) else [received]
                of_all = len(names) == len(gradients)
                shown = names if of_all else [f"one of {join_names(names)}"] * len(gradients)
                changes = [
                    make_change(f"gradient of {name}", take_snapshot(gradient), None)
                    for name, gradient in zip(shown, gradients, strict=True)
                    if gradient is not None
                ]
                arrived = [n for n, g in zip(shown, gradients, strict=True) if g is not None]
            with self.inside():
                result = hook(received)
            of = f"gradient{'s' * of_all} of {join_names(arrived)}"
            what = f"multi-grad hook was called with the {of}"
            self.log.add_event("hook", what, changes=changes)
            return result

        return logging_hook

    def _saved_hook(self, kind: str, hook: Callable[..., Any]) -> Callable[[Any], Any]:
        def logging_hook(received: Any) -> Any:
            before, name = _snapshot(received), ""
            if isinstance(received, torch.Tensor) and kind == "pack":
                with quiet():
                    name = self.log.name_of(received)
            with self.inside():
                result = hook(received)
            after = _snapshot(result)
            called = f"{kind} hook was called" + (f" with {name}" if name else "")
            outcome = "a tensor" if after is not None else _kind(result)
            self.log.add_event(
                kind, f"{called}; it returned {outcome}", "",
                [make_change("saved" if kind == "pack" else "unpacked", before, after)],
            )  # fmt: skip
            return result

        return logging_hook


def _replace(
    args: list[Any], kwargs: dict[str, Any], place: int, name: str, wrap: Callable[[Any], Any]
) -> None:
    """Wrap the argument with this place and name, if it can be called."""
    holder: Any = args if len(args) > place else kwargs
    key: Any = place if len(args) > place else name
    if (holder is args or name in kwargs) and callable(holder[key]):
        holder[key] = wrap(holder[key])


def _snapshot(value: Any) -> Snapshot:
    if not isinstance(value, torch.Tensor):
        return None
    with quiet():
        return take_snapshot(value)


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__[:60]}"
