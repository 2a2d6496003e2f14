"""Using a model that others share, and giving it back exactly as it was."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

import torch
from torch import nn


class Removable(Protocol):
    """What registering a hook returns."""

    def remove(self) -> None: ...


_locks: weakref.WeakKeyDictionary[nn.Module, threading.RLock] = weakref.WeakKeyDictionary()
_locks_lock = threading.Lock()


@contextmanager
def borrowed(model: nn.Module, grad: bool = False) -> Iterator[Hooks]:
    """The model in evaluation mode, for this thread alone, with its parameters frozen.

    On leaving, also after an error, every module's mode and every parameter's `requires_grad`
    are as before, no `.grad` was touched, and the hooks handed to the yielded `Hooks` are gone.
    `grad` says whether gradients with respect to inputs and activations can be taken inside.
    """
    with _lock(model), ExitStack() as undo:
        for module in model.modules():
            undo.callback(setattr, module, "training", module.training)
        for parameter in model.parameters():
            undo.callback(parameter.requires_grad_, parameter.requires_grad)
            parameter.requires_grad_(False)
        model.eval()
        hooks = Hooks(undo)
        with torch.set_grad_enabled(grad):
            yield hooks


def copy_on(model: nn.Module, device: str) -> nn.Module:
    """A copy of the model, in evaluation mode and frozen, on one of `explorer.networks.devices()`.

    Raises RuntimeError where there is no room for it.
    """
    with borrowed(model):
        return copy.deepcopy(model).to(device)


class Hooks:
    """Keeps hooks until the model is given back."""

    def __init__(self, undo: ExitStack) -> None:
        self._undo = undo

    def keep(self, handles: Iterable[Removable]) -> None:
        for handle in handles:
            self._undo.callback(handle.remove)


def _lock(model: nn.Module) -> threading.RLock:
    with _locks_lock:
        return _locks.setdefault(model, threading.RLock())
