"""`torch.amp` on the CPU: autocast, GradScaler and the decorators for custom Functions."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import report
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.data_checks import is_plain

#: The devices a program may name; torch itself disables autocast for those that are not there.
_DEVICES = ("cpu", "cuda")


def _check_device(device: Any) -> str:
    name = device.type if isinstance(device, torch.device) else device
    if name not in _DEVICES:
        raise OutsideLanguage(
            "Mixed precision runs on the CPU here.", 'Write torch.autocast("cpu", …).'
        )
    return str(name)


def _make_autocast(
    device_type: Any,
    dtype: Any = None,
    enabled: bool = True,
    cache_enabled: bool | None = None,
) -> torch.amp.autocast:
    return torch.amp.autocast(_check_device(device_type), dtype, bool(enabled), cache_enabled)


def _for_device(device: str) -> Callable[..., torch.amp.autocast]:
    """`torch.cuda.amp.autocast` and the like, which are deprecated."""

    def autocast(
        enabled: bool = True, dtype: Any = None, cache_enabled: bool = True
    ) -> torch.amp.autocast:
        _warn(f"torch.{device}.amp.autocast(args...)", f"torch.amp.autocast('{device}', args...)")
        return _make_autocast(device, dtype, enabled, cache_enabled)

    return autocast


def _warn(old: str, new: str) -> None:
    warnings.warn(f"`{old}` is deprecated. Please use `{new}` instead.", FutureWarning, 3)


class GradScaler(torch.amp.GradScaler):
    # Reports what it does; takes optimizers, tensors and numbers only.
    __doc__, __module__ = torch.amp.GradScaler.__doc__, torch.amp.GradScaler.__module__

    def __init__(
        self,
        device: Any = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        scale, growth, backoff = map(float, (init_scale, growth_factor, backoff_factor))
        interval, is_enabled = int(growth_interval), bool(enabled)
        super().__init__(_check_device(device), scale, growth, backoff, interval, is_enabled)

    def scale(self, outputs: Any) -> Any:
        if isinstance(outputs, list | tuple):
            return type(outputs)(map(self.scale, outputs))
        if not isinstance(outputs, torch.Tensor):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        return report("GradScaler.scale", self, super().scale, outputs)

    def unscale_(self, optimizer: Any) -> None:
        report("GradScaler.unscale_", self, super().unscale_, _checked(optimizer))

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.is_enabled():
            return report("Optimizer.step", optimizer, _checked(optimizer).step, *args, **kwargs)
        return super().step(_checked(optimizer), *args, **kwargs)

    def _maybe_opt_step(
        self, optimizer: Any, optimizer_state: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if any(value.item() for value in optimizer_state["found_inf_per_device"].values()):
            return report("GradScaler.skip", self, lambda skipped: None, optimizer)
        return report("Optimizer.step", optimizer, optimizer.step, *args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        if not isinstance(new_scale, float | torch.Tensor | None):
            raise TypeError("new_scale must be a float or a tensor with one element")
        report("GradScaler.update", self, super().update, new_scale)

    def set_growth_factor(self, new_factor: float) -> None:
        super().set_growth_factor(float(new_factor))

    def set_backoff_factor(self, new_factor: float) -> None:
        super().set_backoff_factor(float(new_factor))

    def set_growth_interval(self, new_interval: int) -> None:
        super().set_growth_interval(int(new_interval))

    def load_state_dict(self, state_dict: Any) -> None:
        if type(state_dict) is not dict or not all(map(is_plain, state_dict.values())):
            raise TypeError("The state of a GradScaler consists of numbers")
        super().load_state_dict(state_dict)


def _checked(optimizer: Any) -> Any:
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError("GradScaler needs an optimizer of torch.optim")
    return optimizer


def _cuda_scaler(
    init_scale: float = 2.0**16,
    growth_factor: float = 2.0,
    backoff_factor: float = 0.5,
    growth_interval: int = 2000,
    enabled: bool = True,
) -> GradScaler:
    _warn("torch.cuda.amp.GradScaler(args...)", "torch.amp.GradScaler('cuda', args...)")
    return GradScaler("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def _custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    if fwd is None:
        return lambda function: _custom_fwd(
            function, device_type=device_type, cast_inputs=cast_inputs
        )
    device, function = _check_device(device_type), _of_context(fwd)
    return torch.amp.custom_fwd(function, device_type=device, cast_inputs=cast_inputs)


def _custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    if bwd is None:
        return lambda function: _custom_bwd(function, device_type=device_type)
    return torch.amp.custom_bwd(_of_context(bwd), device_type=_check_device(device_type))


def _of_context(function: Any) -> Any:
    """A function, called with the context of a Function: torch sets attributes on it."""
    function = as_function(function)

    @functools.wraps(function)
    def call(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(ctx, torch.autograd.function.FunctionCtx):
            raise TypeError("custom_fwd and custom_bwd are for methods of autograd.Function")
        return function(ctx, *args, **kwargs)

    return call


def _for_cuda(decorate: Callable[..., Any]) -> Callable[..., Any]:
    """The deprecated `torch.cuda.amp.custom_fwd` and `custom_bwd`."""

    def decorator(function: Any = None, **options: Any) -> Any:
        return decorate(function, device_type="cuda", **options)

    return decorator


AUTOCAST = ClassProxy(torch.amp.autocast, _make_autocast)
_SCALER = ClassProxy(GradScaler, GradScaler)

_TITLE = "Mixed precision"
ADDED: dict[str, tuple[str, Any]] = {
    "torch.autocast": (_TITLE, AUTOCAST),
    "torch.amp.autocast": (_TITLE, AUTOCAST),
    "torch.amp.autocast_mode.autocast": (_TITLE, AUTOCAST),
    "torch.cuda.amp.autocast": (_TITLE, _for_device("cuda")),
    "torch.cpu.amp.autocast": (_TITLE, _for_device("cpu")),
    "torch.amp.GradScaler": (_TITLE, _SCALER),
    "torch.GradScaler": (_TITLE, _SCALER),
    "torch.amp.grad_scaler.GradScaler": (_TITLE, _SCALER),
    "torch.cuda.amp.GradScaler": (_TITLE, _cuda_scaler),
    "torch.amp.custom_fwd": (_TITLE, _custom_fwd),
    "torch.amp.custom_bwd": (_TITLE, _custom_bwd),
    "torch.cuda.amp.custom_fwd": (_TITLE, _for_cuda(_custom_fwd)),
    "torch.cuda.amp.custom_bwd": (_TITLE, _for_cuda(_custom_bwd)),
    "torch.is_autocast_enabled": (_TITLE, torch.is_autocast_enabled),
    "torch.is_autocast_cpu_enabled": (_TITLE, lambda: torch.is_autocast_enabled("cpu")),
    "torch.get_autocast_dtype": (_TITLE, torch.get_autocast_dtype),
    "torch.get_autocast_cpu_dtype": (_TITLE, lambda: torch.get_autocast_dtype("cpu")),
    "torch.clear_autocast_cache": (_TITLE, torch.clear_autocast_cache),
    "torch.amp.is_autocast_available": (_TITLE, torch.amp.is_autocast_available),
}

#: What may be read on a GradScaler.
MEMBERS: dict[type, str] = {
    GradScaler: """scale unscale_ step update get_scale is_enabled get_growth_factor
        set_growth_factor get_backoff_factor set_backoff_factor get_growth_interval
        set_growth_interval state_dict load_state_dict"""
}
