"""Hooks for all modules, and other names of training loops that were added to torch later.

A hook for all modules is one of the process: it runs only for the program that registered it, in
its thread, and is removed when the program ends (`language.process_state`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as modules
from torch.optim import swa_utils

from explorer.language import notices
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.class_proxy import ClassProxy

_GLOBAL = """
    register_module_forward_hook register_module_forward_pre_hook
    register_module_full_backward_hook register_module_full_backward_pre_hook
    register_module_backward_hook
"""


def _registering(name: str) -> Callable[..., Any]:
    register = getattr(modules, name)

    def call(hook: Any, **options: Any) -> Any:
        function, program = as_function(hook), notices.running()

        def guarded(*args: Any, **kwargs: Any) -> Any:
            # Another thread may be using modules of its own.
            return function(*args, **kwargs) if notices.running() is program else None

        return notices.report(f"Module.{name}", None, register, guarded, **options)

    call.__name__, call.__doc__ = name, f"`torch.nn.modules.module.{name}`, for this run."
    return call


# -- averages of weights --------------------------------------------------------------------------


class AveragedModel(swa_utils.AveragedModel):
    # What it averages is a module, and what averages is a function.
    __doc__, __module__ = swa_utils.AveragedModel.__doc__, swa_utils.AveragedModel.__module__

    def __init__(
        self,
        model: Any,
        device: Any = None,
        avg_fn: Any = None,
        multi_avg_fn: Any = None,
        use_buffers: bool = False,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError("AveragedModel needs a module")
        average, average_all = as_function(avg_fn), as_function(multi_avg_fn)
        super().__init__(model, None, average, average_all, bool(use_buffers))

    def update_parameters(self, model: Any) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError("update_parameters needs a module")
        notices.report("AveragedModel.update", self, super().update_parameters, model)


def _update_bn(loader: Any, model: Any, device: Any = None) -> None:
    """`torch.optim.swa_utils.update_bn`"""
    if not isinstance(model, nn.Module):
        raise TypeError("update_bn needs a module")
    swa_utils.update_bn(loader, model)


def _averaging(name: str) -> Callable[..., Any]:
    """A function that makes a function of averages; what it makes is the program's."""
    make = getattr(swa_utils, name)

    def call(*args: float) -> Callable[..., Any]:
        average = make(*map(float, args))

        def averaged(*values: Any) -> Any:
            return average(*values)

        return averaged

    return call


# -- norms of gradients ---------------------------------------------------------------------------


def _tensors(values: Any) -> list[torch.Tensor]:
    tensors = [values] if isinstance(values, torch.Tensor) else list(values)
    if not all(isinstance(t, torch.Tensor) for t in tensors):
        raise TypeError("This needs tensors")
    return tensors


def _get_total_norm(
    tensors: Any,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> torch.Tensor:
    """`torch.nn.utils.get_total_norm`"""
    values = _tensors(tensors)
    return nn.utils.get_total_norm(values, float(norm_type), bool(error_if_nonfinite), foreach)


def _clip_with_norm(
    parameters: Any, max_norm: float, total_norm: torch.Tensor, foreach: bool | None = None
) -> None:
    """`torch.nn.utils.clip_grads_with_norm_`"""
    (norm,) = _tensors(total_norm)
    nn.utils.clip_grads_with_norm_(_tensors(parameters), float(max_norm), norm, foreach)


_TITLE = "Averages of weights"
_AVERAGES = "get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn get_swa_multi_avg_fn"
ADDED: dict[str, tuple[str, Any]] = {
    **{
        f"torch.nn.modules.module.{name}": ("Hooks for all modules", _registering(name))
        for name in _GLOBAL.split()
    },
    "torch.optim.swa_utils.AveragedModel": (_TITLE, ClassProxy(AveragedModel, AveragedModel)),
    "torch.optim.swa_utils.SWALR": (_TITLE, swa_utils.SWALR),
    "torch.optim.swa_utils.update_bn": (_TITLE, _update_bn),
    **{f"torch.optim.swa_utils.{name}": (_TITLE, _averaging(name)) for name in _AVERAGES.split()},
    "torch.nn.utils.get_total_norm": ("Gradients of a whole model", _get_total_norm),
    "torch.nn.utils.clip_grads_with_norm_": ("Gradients of a whole model", _clip_with_norm),
}

#: What may be read on objects of these classes, besides what is in `torch_names`.
MEMBERS: dict[type, str] = {AveragedModel: "update_parameters"}
