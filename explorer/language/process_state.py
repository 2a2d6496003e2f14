"""What programs may change for the whole process, put back when a run ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.modules import module as modules
from torch.nn.utils import parametrize
from torch.utils import checkpoint

from explorer.language.vocabulary import profiling
from explorer.language.vocabulary.anomaly import short_tracebacks

_DEVICES = ("cpu", "cuda")
#: Hooks for all modules of the process.
GLOBAL_HOOKS: tuple[dict[Any, Any], ...] = tuple(
    value
    for name, value in vars(modules).items()
    if name.startswith("_global_") and isinstance(value, dict)
)


def _autocast() -> Callable[[], None]:
    old = [(d, torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in _DEVICES]
    is_cached = torch.is_autocast_cache_enabled()

    def restore() -> None:
        for device, is_enabled, dtype in old:
            torch.set_autocast_enabled(device, is_enabled)
            torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_cache_enabled(is_cached)
        torch.clear_autocast_cache()

    return restore


def _hooks() -> Callable[[], None]:
    old = [(hooks, dict(hooks)) for hooks in GLOBAL_HOOKS]
    is_full = modules._global_is_full_backward_hook

    def restore() -> None:
        for hooks, before in old:
            hooks.clear()
            hooks.update(before)
        modules._global_is_full_backward_hook = is_full

    return restore


def _switches() -> Callable[[], None]:
    early_stop = checkpoint._enable_checkpoint_early_stop
    modes = torch._C._len_torch_function_stack()
    count, cache = parametrize._cache_enabled, dict(parametrize._cache)

    def restore() -> None:
        checkpoint._enable_checkpoint_early_stop = early_stop
        parametrize._cache_enabled = count
        parametrize._cache = cache
        profiling.stop_all()
        while torch._C._len_torch_function_stack() > modes:
            torch._C._pop_torch_function_stack()

    return restore


@contextmanager
def restored() -> Iterator[None]:
    """Put back autocast, anomaly mode, hooks for all modules and the like, however a run ends."""
    restores = [_autocast(), _hooks(), _switches()]
    with short_tracebacks():
        try:
            yield
        finally:
            for restore in restores:
                restore()
