"""Observes hooks that belong to no single tensor: on what is saved, and on several gradients."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from explorer.trace.recording.events import Snapshot, make_change, take_snapshot
from explorer.trace.recording.objects import quiet
from explorer.trace.recording.run_log import RunLog
from explorer.trace.text import join_names

Inside = Callable[[], AbstractContextManager[None]]

_GRAPH = "torch.autograd.graph"
MULTI_GRAD, SAVED, INCREMENT = (
    f"{_GRAPH}.{name}"
    for name in ("register_multi_grad_hook", "saved_tensors_hooks", "increment_version")
)
#: The calls that `observe` makes.
SHARED_HOOKS = frozenset([MULTI_GRAD, SAVED, INCREMENT])


def observe(
    log: RunLog, inside: Inside, what: str, function: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """Make one of these calls for the program, with hooks that log what they did."""
    if what == INCREMENT:
        result = function(*args, **kwargs)
        _log_increment(log, args[0] if args else kwargs.get("tensor"))
        return result
    arguments = [*args]
    if what == MULTI_GRAD:
        tensors = args[0] if args else kwargs.get("tensors")
        names = _names(log, tensors)
        _replace(arguments, kwargs, 1, "fn", lambda fn: _multi_grad_hook(log, inside, names, fn))
        with quiet():
            return function(*arguments, **kwargs)
    for place, name in enumerate(("pack_hook", "unpack_hook")):
        wrap = _saved_hook(log, inside, name.removesuffix("_hook"))
        _replace(arguments, kwargs, place, name, wrap)
    return function(*arguments, **kwargs)


def _replace(
    args: list[Any], kwargs: dict[str, Any], place: int, name: str, wrap: Callable[[Any], Any]
) -> None:
    """Wrap the argument with this place and name, if it can be called."""
    holder: Any = args if len(args) > place else kwargs
    key: Any = place if len(args) > place else name
    if (holder is args or name in kwargs) and callable(holder[key]):
        holder[key] = wrap(holder[key])


def _names(log: RunLog, tensors: Any) -> list[str]:
    if not isinstance(tensors, list | tuple):
        return []
    with quiet():
        return [
            (log.name_of(t) or "a tensor") if isinstance(t, torch.Tensor) else "" for t in tensors
        ]


def _multi_grad_hook(
    log: RunLog, inside: Inside, names: list[str], hook: Callable[..., Any]
) -> Callable[[Any], Any]:
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
        with inside():
            result = hook(received)
        log.add_event(
            "hook",
            f"multi-grad hook was called with the gradient{'s' * of_all} of {join_names(arrived)}",
            changes=changes,
        )  # fmt: skip
        return result

    return logging_hook


def _saved_hook(
    log: RunLog, inside: Inside, kind: str
) -> Callable[[Callable[..., Any]], Callable[[Any], Any]]:
    def wrap(hook: Callable[..., Any]) -> Callable[[Any], Any]:
        def logging_hook(received: Any) -> Any:
            before, name = _snapshot(received), ""
            if isinstance(received, torch.Tensor) and kind == "pack":
                with quiet():
                    name = log.name_of(received)
            with inside():
                result = hook(received)
            after = _snapshot(result)
            called = f"{kind} hook was called" + (f" with {name}" if name else "")
            outcome = "a tensor" if after is not None else _kind(result)
            log.add_event(
                kind, f"{called}; it returned {outcome}", "",
                [make_change("saved" if kind == "pack" else "unpacked", before, after)],
            )  # fmt: skip
            return result

        return logging_hook

    return wrap


def _snapshot(value: Any) -> Snapshot:
    if not isinstance(value, torch.Tensor):
        return None
    with quiet():
        return take_snapshot(value)


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__[:60]}"


def _log_increment(log: RunLog, tensors: Any) -> None:
    names = _names(log, [tensors] if isinstance(tensors, torch.Tensor) else tensors)
    for name in names[:20]:
        log.add_event("write", f"increment_version: autograd treats {name} as changed", name)
