"""GPUs, compilers and workers, as a computer with one CPU has them.

What PyTorch does without a GPU it does here too. Where a program names one all the same, as in
`.cuda()`, it runs on the CPU, and a notice says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext
from torch.utils.data import DataLoader

from explorer.program.notices import Running, notice
from explorer.program.watched_calls import Make, Patch, is_inside, while_running

NO_GPU = "There is no GPU here: tensors and modules stay on the CPU."
_NOT_COMPILED = "torch.compile does nothing here: the functions run as written."
_NO_WORKERS = "Programs run in one process here: num_workers is 0."
_ACCELERATOR = re.compile(r"(cuda|mps|xpu|mtia|hpu|xla|npu|privateuseone)(:\d+)?")
#: What a text contains that may name a device which is not here.
_NAMED = re.compile(r"cuda|\b(mps|xpu|mtia|hpu|xla|npu)\b|\.to\(\s*\d|privateuse|accelerator")


def names_accelerator(source: str) -> bool:
    """Whether the text of a program may ask for a device that is not here."""
    return not torch.accelerator.is_available() and _NAMED.search(source) is not None


class OnCPU(TorchFunctionMode):
    """While it is active, a function of torch that is given another device is given the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if "device" in kwargs:
            kwargs = kwargs | {"device": _on_cpu(kwargs["device"])}
        name = getattr(func, "__name__", "")
        if name == "to":
            args = (args[0], *map(_on_cpu, args[1:]))
        elif name in ("cuda", "xpu"):
            notice(NO_GPU)
            return args[0]
        return func(*args, **kwargs)


def _on_cpu(device: Any) -> Any:
    """The CPU in place of a GPU, by its name or number; any other value as it is."""
    is_named = isinstance(device, str) and _ACCELERATOR.fullmatch(device) is not None
    is_device = isinstance(device, torch.device) and _ACCELERATOR.fullmatch(device.type) is not None
    if is_named or is_device or type(device) is int:
        notice(NO_GPU)
        return torch.device("cpu")
    return device


def _here(answer: Any) -> Make:
    """Makes a function that gives this answer to a program, where there is no such device."""

    def call(program: Running, function: Callable[..., Any], /, *_: Any, **__: Any) -> Any:
        notice(NO_GPU)
        return answer

    return while_running(call)


@while_running
def _uncompiled(
    program: Running, compile_: Callable[..., Any], /, model: Any = None, *_: Any, **__: Any
) -> Any:
    """`torch.compile(f)` is f, and `@torch.compile(mode=…)` leaves f as it is: compiling starts
    other programs."""
    if not is_inside():  # as torch.cond, which compiles its branches
        notice(_NOT_COMPILED)
    return (lambda function: function) if model is None else model


@while_running
def _module_compile(program: Running, compile_: Callable[..., Any], /, *_: Any, **__: Any) -> None:
    notice(_NOT_COMPILED)


@while_running
def _without_workers(
    program: Running, initialise: Callable[..., Any], /, self: Any, *args: Any, **kwargs: Any
) -> None:
    """`DataLoader.__init__`, in the process of the program."""
    if kwargs.get("num_workers"):
        notice(_NO_WORKERS)
        workers = ("num_workers", "persistent_workers", "prefetch_factor", "timeout")
        kwargs = {k: v for k, v in kwargs.items() if k not in workers}
    kwargs.pop("pin_memory", None)  # it speeds up copies to a GPU
    initialise(self, *args, **kwargs)


def names_compiler_or_workers(source: str) -> bool:
    """Whether the text of a program may compile something, or start workers."""
    return "compile" in source or "Loader" in source or "import *" in source


def device_patches() -> list[Patch]:
    """The patches of what compiles, and of what starts workers."""
    return [
        Patch(torch, "compile", _uncompiled),
        Patch(nn.Module, "compile", _module_compile),
        Patch(DataLoader, "__init__", _without_workers),
    ]


#: What functions of `torch.cuda` answer where PyTorch's own would raise.
_ANSWERS = {
    "current_device": 0,
    "get_device_name": "CPU",
    "get_device_capability": (0, 0),
    "memory_summary": "",
    "mem_get_info": (0, 0),
    "utilization": 0,
    "synchronize": None,
    "set_device": None,
    "reset_peak_memory_stats": None,
}


@while_running
def _moved(
    program: Running, move: Callable[..., Any], /, self: Any, *args: Any, **kwargs: Any
) -> Any:
    """A function or method that is given a device, on the CPU."""
    kwargs = {k: _on_cpu(v) if k == "device" else v for k, v in kwargs.items()}
    return move(self, *map(_on_cpu, args), **kwargs)


@while_running
def _typed(program: Running, set_type: Callable[..., Any], /, kind: Any) -> Any:
    """`set_default_tensor_type`"""
    if str(kind).startswith("torch.cuda."):
        notice(NO_GPU)
        kind = kind.replace("cuda.", "", 1)
    return set_type(kind)


def accelerator_patches() -> list[Patch]:
    """Those that are needed where a program names a GPU."""
    answers = [Patch(torch.cuda, name, _here(answer)) for name, answer in _ANSWERS.items()]
    return [
        *answers,
        Patch(torch.mps, "synchronize", _here(None)),
        Patch(nn.Module, "to", _moved),
        # Of `torch.set_default_device`, and of `with torch.device(…)`.
        Patch(DeviceContext, "__init__", _moved),
        Patch(torch, "set_default_tensor_type", _typed),
    ]
