"""Calls the watcher is told of: backward passes, hooks, optimizer steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from explorer.language.watcher import Watcher

#: Methods whose calls go through `Watcher.call`, by the class they belong to.
METHODS: tuple[tuple[type, str], ...] = (
    (torch.Tensor, "backward"),
    (torch.Tensor, "register_hook"),
    (torch.Tensor, "register_post_accumulate_grad_hook"),
    (torch.Tensor, "retain_grad"),
    (torch.optim.Optimizer, "step"),
    (torch.optim.Optimizer, "zero_grad"),
    (nn.Module, "zero_grad"),
    (nn.Module, "register_forward_hook"),
    (nn.Module, "register_forward_pre_hook"),
    (nn.Module, "register_full_backward_hook"),
    (nn.Module, "register_full_backward_pre_hook"),
    (nn.Module, "register_backward_hook"),
)
#: The same for functions.
FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch.autograd", "grad"): torch.autograd.grad,
    ("torch.autograd", "backward"): torch.autograd.backward,
}


class Watched:
    """Gives watched methods and functions in a form that tells the watcher."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self._functions = {
            (path, name): self._through(f"{path}.{name}", None, function)
            for (path, name), function in FUNCTIONS.items()
        }

    def function(self, path: str, name: str) -> Callable[..., Any] | None:
        """The watched form of the function `path.name`, if it is one."""
        return self._functions.get((path, name))

    def method(self, receiver: Any, name: str) -> Callable[..., Any]:
        """The watched form of a method, or of `super().method`, named by the class METHODS has it
        under."""
        owner = getattr(receiver, "__self__", receiver)  # of super()
        holder = next(h for h, n in METHODS if n == name and isinstance(owner, h))
        return self._through(f"{holder.__name__}.{name}", owner, getattr(receiver, name))

    def _through(
        self, call: str, receiver: Any, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        def through(*args: Any, **kwargs: Any) -> Any:
            return self.watcher.call(call, receiver, function, *args, **kwargs)

        through.__name__ = call.rpartition(".")[2]
        return through
