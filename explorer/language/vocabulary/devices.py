"""GPUs, compilers and switches of the process, as a computer with one CPU core has them.

Where PyTorch itself would do nothing without a GPU, such as `torch.cuda.manual_seed`, nothing is
said; where it would raise, or compute elsewhere, a notice says what happened instead.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.class_proxy import ClassProxy, unwrap
from explorer.language.vocabulary.stand_in import StandIn

NO_GPU = "There is no GPU here: tensors and modules stay on the CPU."
#: A tensor without values would mix with others to uninitialised ones; see `memory_safety`.
NO_META = "The meta device is not used here: its tensors have values too, on the CPU."
_ONE_PROCESS = "Programs run in one process here: torch.distributed has a single one, number 0."
_NOT_COMPILED = "Functions run as they are here: nothing was compiled."
_ACCELERATOR = re.compile(r"(cuda|mps|xpu|mtia|hpu|xla|npu|vulkan|privateuseone)(:\d+)?")
_CPU = torch.device("cpu")


# -- devices ---------------------------------------------------------------------------------------


def on_cpu(device: Any) -> Any:
    """The CPU in place of the name of a GPU or of "meta"; any other value as it is."""
    if type(device) is str and (device == "meta" or _ACCELERATOR.fullmatch(device)):
        notice(NO_META if device == "meta" else NO_GPU)
        return "cpu"
    return device


def named_on_cpu(named: dict[Any, Any]) -> dict[Any, Any]:
    """The arguments of a call by name, with the CPU as their device."""
    if "device" in named and on_cpu(named["device"]) is not named["device"]:
        return named | {"device": "cpu"}
    return named


def convert_on_cpu(convert: Callable[..., Any]) -> Callable[..., Any]:
    """A method such as `to` of a tensor or module, which may be given the number of a GPU."""

    @functools.wraps(convert)
    def to(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is int:
            notice(NO_GPU)
            args = ("cpu", *args[1:])
        return convert(*map(on_cpu, args), **kwargs)

    return to


def convert_to_type(convert: Callable[..., Any]) -> Callable[..., Any]:
    """The method `type`, which may be given a class of tensors, `torch.LongTensor`, or its name."""

    def to_kind(kind: Any) -> Any:
        kind = unwrap(kind)
        name = f"{kind.__module__}.{kind.__name__}" if isinstance(kind, type) else kind
        if isinstance(name, str) and name.startswith("torch.cuda."):
            notice(NO_GPU)
            return name.replace("cuda.", "", 1)
        return kind

    @functools.wraps(convert)
    def convert_type(*args: Any, **kwargs: Any) -> Any:
        return convert(*map(to_kind, args), **{name: to_kind(kwargs[name]) for name in kwargs})

    return convert_type


def staying(receiver: Any) -> Callable[..., Any]:
    """`.cuda()` of a tensor or module."""

    def cuda(*args: Any, **kwargs: Any) -> Any:
        notice(NO_GPU)
        return receiver

    return cuda


def _make_device(*args: Any, **kwargs: Any) -> torch.device:
    kind = kwargs.get("type", kwargs.get("device", args[0] if args else None))
    if type(kind) is int:
        notice(NO_GPU)
        return _CPU
    if on_cpu(kind) is not kind:
        return _CPU
    return torch.device(*args, **kwargs)


def _set_default_device(device: Any) -> None:
    if device is not None and torch.device(on_cpu(device)) != _CPU:
        raise OutsideLanguage("Tensors are created on the CPU here.", "Leave this line out.")


class Event(StandIn):
    """A moment, by the clock of the CPU; `torch.cuda.Event`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._time = 0.0

    def record(self, stream: Any = None) -> None:
        notice("Times are those of the CPU: there is no GPU here.")
        self._time = time.perf_counter()

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds to the event `end`."""
        return 1000 * (end._time - self._time) if isinstance(end, Event) else 0.0

    def synchronize(self) -> None:
        """Nothing is pending."""

    def query(self) -> bool:
        """Whether it has been recorded: always."""
        return True

    def wait(self, stream: Any = None) -> None:
        """Nothing is pending."""


class Stream(StandIn):
    """The one order in which everything runs on the CPU; `torch.cuda.Stream`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        notice(NO_GPU)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None:
        """Nothing is pending."""

    def synchronize(self) -> None:
        """Nothing is pending."""

    def query(self) -> bool:
        """Whether all work has been done: always."""
        return True

    def wait_stream(self, stream: Any) -> None:
        """Nothing is pending."""

    def wait_event(self, event: Any) -> None:
        """Nothing is pending."""

    def record_event(self, event: Any = None) -> Event:
        """An event of now."""
        event = event if isinstance(event, Event) else Event()
        event.record()
        return event


# -- compilers and processes -----------------------------------------------------------------------


def _return_function(model: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`torch.compile(f)` is f, and `@torch.compile(mode=…)` leaves f as it is."""
    notice(_NOT_COMPILED)
    return (lambda function: function) if model is None else model


def _return_unmarked(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    return function if callable(function) else lambda function: function


class DataParallel(nn.Module):
    """A module on the devices there are: one CPU."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        if not isinstance(module, nn.Module):
            raise TypeError("DataParallel needs a module")
        notice("There is no GPU here: the module runs on the CPU, on whole batches.")
        self.module = module

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self.module(*inputs, **named)


def _set_thread_count(number: Any) -> None:
    notice("The number of threads stays as it is here.")


def _constant(value: Any, sentence: str = "") -> Callable[..., Any]:
    """A function that returns this value, whatever it is given."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        if sentence:
            notice(sentence)
        return value

    return answer


def _same(value: Any, *args: Any, **kwargs: Any) -> Any:
    """What a collective operation of a single process gives: its own value."""
    notice(_ONE_PROCESS)
    return value


# -- the default type of numbers -------------------------------------------------------------------

_TENSOR_TYPES = {
    "DoubleTensor": torch.float64,
    "FloatTensor": torch.float32,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
}


def _set_default_tensor_type(kind: Any) -> None:
    name = str(kind if isinstance(kind, str) else getattr(kind, "__name__", ""))[:60]
    if name.startswith("torch.cuda."):
        notice(NO_GPU)
    dtype = _TENSOR_TYPES.get(name.rpartition(".")[2])
    if dtype is None:
        raise OutsideLanguage(
            "The default tensor type must be one of floating-point numbers.",
            "Write torch.set_default_dtype(torch.float64).",
        )
    torch.set_default_dtype(dtype)


# -- the names -------------------------------------------------------------------------------------

_TITLE = "Devices, compilers and switches"

_COUNTS = """
    device_count memory_allocated max_memory_allocated memory_reserved max_memory_reserved
"""
_WITHOUT_EFFECT = """
    manual_seed manual_seed_all seed seed_all empty_cache reset_peak_memory_stats init
    reset_max_memory_allocated ipc_collect set_per_process_memory_fraction
"""
_SWITCHES = """
    set_float32_matmul_precision use_deterministic_algorithms set_warn_always
    set_deterministic_debug_mode
"""
#: What answers what, without a word, as PyTorch does on a computer without a GPU.
_ANSWERS: dict[str, dict[str, Any]] = {
    "torch.cuda": {
        **dict.fromkeys(("is_available", "is_initialized", "is_bf16_supported"), False),
        **dict.fromkeys(_COUNTS.split(), 0),
        **dict.fromkeys(_WITHOUT_EFFECT.split()),
    },
    "torch.cuda.nvtx": dict.fromkeys(("range_push", "range_pop", "mark")),
    "torch.mps": {
        "is_available": False,
        "device_count": 0,
        **dict.fromkeys(("manual_seed", "seed", "empty_cache")),
        **dict.fromkeys(("current_allocated_memory", "driver_allocated_memory"), 0),
    },
    "torch.xpu": {"is_available": False, "device_count": 0, "manual_seed_all": None},
    "torch.accelerator": {
        "is_available": False,
        "device_count": 0,
        **dict.fromkeys(("current_accelerator", "empty_cache")),
    },
    "torch.backends.cuda": {"is_built": False},
    "torch.backends.cudnn": {"is_available": False, "version": None},
    "torch.backends.mps": {"is_available": False, "is_built": False},
    "torch.backends.mkl": {"is_available": torch.backends.mkl.is_available()},
    "torch.backends.mkldnn": {"is_available": torch.backends.mkldnn.is_available()},
    "torch.backends.openmp": {"is_available": torch.backends.openmp.is_available()},
    "torch.distributed": {"is_available": False, "is_initialized": False},
    "torch": {
        "get_float32_matmul_precision": "highest",
        "get_default_device": _CPU,
        "set_flush_denormal": False,
        "are_deterministic_algorithms_enabled": False,
        **dict.fromkeys(_SWITCHES.split()),
    },
}
#: The same, where PyTorch would raise without a GPU or a group of processes.
_SPOKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "torch.cuda": (
        NO_GPU,
        {
            "current_device": 0,
            "get_device_name": "CPU",
            "get_device_capability": (0, 0),
            "memory_summary": "",
            "mem_get_info": (0, 0),
            "utilization": 0,
            **dict.fromkeys(("synchronize", "set_device")),
        },
    ),
    "torch.mps": (NO_GPU, {"synchronize": None}),
    "torch.accelerator": (
        NO_GPU,
        {"current_device_index": 0, **dict.fromkeys(("synchronize", "set_device_index"))},
    ),
    "torch.distributed": (
        _ONE_PROCESS,
        {
            "get_rank": 0,
            "get_world_size": 1,
            **dict.fromkeys(("init_process_group", "destroy_process_group", "barrier")),
        },
    ),
}
#: Settings that a program may assign: they have no effect on a CPU.
SETTINGS: dict[str, dict[str, Any]] = {
    "torch.backends.cudnn": {
        "enabled": True,
        "benchmark": False,
        "deterministic": False,
        "allow_tf32": True,
        "benchmark_limit": 10,
    },
    "torch.backends.cuda.matmul": {
        "allow_tf32": False,
        "allow_fp16_reduced_precision_reduction": True,
        "allow_bf16_reduced_precision_reduction": True,
        "fp32_precision": "none",
    },
    "torch.backends.cudnn.conv": {"fp32_precision": "none"},
    "torch.backends": {"fp32_precision": "none"},
}
_CLASSES: dict[str, Any] = {
    "torch.device": ClassProxy(torch.device, _make_device),
    "torch.cuda.Event": Event,
    "torch.cuda.Stream": Stream,
    "torch.cuda.stream": Stream,
    "torch.cuda.current_stream": Stream,
    "torch.cuda.device": Stream,
    "torch.nn.DataParallel": DataParallel,
    "torch.nn.parallel.DataParallel": DataParallel,
    "torch.nn.parallel.DistributedDataParallel": DataParallel,
    "torch.distributed.all_reduce": _same,
    "torch.distributed.broadcast": _same,
    "torch.compile": _return_function,
    **{
        f"torch.jit.{name}": _return_function
        for name in ("script", "trace", "freeze", "optimize_for_inference")
    },
    **{f"torch.jit.{name}": _return_unmarked for name in ("ignore", "export", "unused")},
    **{f"torch.compiler.{name}": _return_unmarked for name in ("disable", "allow_in_graph")},
    "torch.compiler.is_compiling": _constant(False),
    "torch.set_default_device": _set_default_device,
    "torch.set_default_dtype": torch.set_default_dtype,
    "torch.set_default_tensor_type": _set_default_tensor_type,
    "torch.set_num_threads": _set_thread_count,
    "torch.set_num_interop_threads": _set_thread_count,
    "torch.get_num_threads": torch.get_num_threads,
    "torch.get_num_interop_threads": torch.get_num_threads,
    "torch.version.cuda": None,
    "torch.version.hip": None,
}


def _answering(name: str, value: Any, sentence: str = "") -> Callable[..., Any]:
    function = _constant(value, sentence)
    function.__name__ = name
    effect = "it has no effect" if value is None else f"it gives {value!r}"
    function.__doc__ = f"Programs run on one CPU: {effect}."
    return function


ADDED: dict[str, tuple[str, Any]] = {
    **{
        f"{module}.{name}": (_TITLE, _answering(name, value))
        for module, answers in _ANSWERS.items()
        for name, value in answers.items()
    },
    **{
        f"{module}.{name}": (_TITLE, _answering(name, value, sentence))
        for module, (sentence, answers) in _SPOKEN.items()
        for name, value in answers.items()
    },
    **{
        f"{module}.{name}": (_TITLE, value)
        for module, settings in SETTINGS.items()
        for name, value in settings.items()
    },
    **{path: (_TITLE, thing) for path, thing in _CLASSES.items()},
}
