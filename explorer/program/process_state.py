"""What a program has of the process while it runs, and what is put back when it ends: the streams
to which it prints, its log, the switches, hooks and modes of torch, and random numbers.
"""

from __future__ import annotations

import codecs
import decimal
import gc
import io
import logging
import random
import re
import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad
from torch.fx import traceback
from torch.nn.modules import module as modules
from torch.nn.utils import parametrize
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks
from torch.utils import _device, checkpoint
from torch.utils._python_dispatch import _pop_mode

from explorer.program.parsing import FILE
from explorer.program.saved_hooks import remove_all_hooks

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")


def without_addresses(text: str) -> str:
    """`<A object at 0x7f31622cea40>` becomes `<A object>`: it is another one each time."""
    return _ADDRESS.sub("", text)


class _Stream(io.TextIOWrapper):
    """`sys.stdout` or `sys.stderr` while a program runs. What threads write that were there before
    goes where it would go without the program."""

    def __init__(self, name: str, write: Callable[[str], None], others: set[int]) -> None:
        self._write, self._before, self._others = write, getattr(sys, name), others
        bytes_of = _Bytes(f"<{name}>", self.write)
        super().__init__(bytes_of, encoding="utf-8", errors="replace", write_through=True)

    def write(self, text: str) -> int:
        """Write text, without memory addresses."""
        if threading.get_ident() in self._others:
            return int(self._before.write(text))
        self._write(without_addresses(text))
        return len(text)


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`"""

    def __init__(self, name: str, write: Callable[[str], object]) -> None:
        self.name, self._write = name, write
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def write(self, data: Any) -> int:
        self._write(self._decoder.decode(bytes(data)))
        return len(data)

    def writable(self) -> bool:
        return True


@contextmanager
def own_log(*, restores_all: bool) -> Iterator[None]:
    """Meanwhile `logging` is as a new process has it: a program that logs sets up its own. What it
    has set of logs that were there is put back if `restores_all`: in a fork, looking at each of
    them copies many pages."""
    root, known = logging.root, logging.root.manager.loggerDict
    old = _logs(known.values()) if restores_all else []
    changed = [root, logging.getLogger("explorer"), *old]
    before = [(log, [*log.handlers], {n: getattr(log, n) for n in _OF_LOGS}) for log in changed]
    disabled, count = root.manager.disable, len(known)
    ours = changed[1]  # what it says is not for the program's log
    ours.handlers, ours.propagate = root.handlers or [logging.StreamHandler(sys.stderr)], False
    root.handlers, root.level, root.manager.disable = [], logging.WARNING, 0
    if restores_all:
        root.manager._clear_cache()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for log in _logs(islice(reversed(known.values()), len(known) - count)):
            vars(log).update(handlers=[], level=logging.NOTSET, propagate=True, disabled=False)
        for log, handlers, attributes in before:
            vars(log).update(attributes)
            log.handlers[:] = handlers
        root.manager.disable = disabled
        if restores_all:
            root.manager._clear_cache()  # type: ignore[attr-defined]


#: What a program may set of a log.
_OF_LOGS = ("handlers", "level", "propagate", "disabled")


def _logs(entries: Iterable[object]) -> list[logging.Logger]:
    return [log for log in entries if isinstance(log, logging.Logger)]


@contextmanager
def printed_to(write: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile, `write` gets what is printed; nobody answers `input()`."""
    here = threading.get_ident()
    others = {thread.ident or 0 for thread in threading.enumerate()} - {here}
    output, errors = (_Stream(name, write, others) for name in ("stdout", "stderr"))
    streams = {"stdin": io.TextIOWrapper(io.BytesIO()), "stdout": output, "stderr": errors}
    streams |= {"__stdout__": output, "__stderr__": errors}
    before = {name: getattr(sys, name) for name in streams}
    vars(sys).update(streams)
    try:
        yield
    finally:
        vars(sys).update(before)


# -- what is put back ------------------------------------------------------------------------------


_LOG = logging.getLogger(__name__)

#: To be held while drawing from torch's random generator or changing its gradient mode: both belong
#: to the whole process.
TORCH_LOCK = threading.RLock()

#: Hooks for all modules and optimizers of the process.
GLOBAL_HOOKS: tuple[dict[Any, Any], ...] = (
    *(
        value
        for name, value in vars(modules).items()
        if name.startswith("_global_") and isinstance(value, dict)
    ),
    _global_optimizer_pre_hooks,
    _global_optimizer_post_hooks,
)


def _modes() -> Callable[[], None]:
    """Modes and levels of torch.func that a program has entered and not left."""
    depth = torch._C._functorch.get_dynamic_layer_stack_depth()
    functions, dispatch = torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()
    defaults, device = vars(torch._GLOBAL_DEVICE_CONTEXT), _device.CURRENT_DEVICE
    before, dispatcher = dict(defaults), torch._C._get_torch_function_state()  # type: ignore[attr-defined]

    def restore() -> None:
        torch._C._set_torch_function_state(dispatcher)  # type: ignore[attr-defined]
        defaults.clear()
        defaults.update(before)
        _device.CURRENT_DEVICE = device
        torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)
        while torch._C._len_torch_function_stack() > functions:
            torch._C._pop_torch_function_stack()
        while torch._C._len_torch_dispatch_stack() > dispatch:
            _pop_mode()
        if torch.is_inference_mode_enabled():
            gc.collect()  # ends with the object that has begun it

    return restore


def _figures() -> Callable[[], None]:
    """The settings of matplotlib, if it is loaded, and the open figures of pyplot, for the program
    draws into its own."""
    matplotlib = sys.modules.get("matplotlib")
    parameters = dict(matplotlib.rcParams) if matplotlib is not None else {}
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    figures = OrderedDict[int, Any]() if helpers is None else helpers.Gcf.figs
    if helpers is not None:
        helpers.Gcf.figs = OrderedDict()

    def restore() -> None:
        loaded = sys.modules.get("matplotlib")
        if loaded is not None and parameters:
            dict.update(loaded.rcParams, parameters)
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is not None:
            helpers.Gcf.figs = figures

    return restore


def _program_line() -> list[str]:
    """The innermost line of the program, as the only frame of a traceback."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != FILE:
        frame = frame.f_back
    return [f'  File "{FILE}", line {frame.f_lineno}\n'] if frame is not None else []


def _anomaly() -> Callable[[], None]:
    """Anomaly mode keeps a traceback for every node: here, of the program's own line alone."""
    enabled, check_nan = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    whole, traceback.format_stack = traceback.format_stack, _program_line

    def restore() -> None:
        traceback.format_stack = whole
        torch.set_anomaly_enabled(enabled, check_nan)

    return restore


def _autocast() -> Callable[[], None]:
    """How many `torch.autocast` are entered; torch keeps its cache until all are left."""
    depth = _autocast_depth()

    def restore() -> None:
        for _ in range(_autocast_depth() - depth):
            torch.autocast_decrement_nesting()
        torch.clear_autocast_cache()

    return restore


def _autocast_depth() -> int:
    depth = int(torch.autocast_increment_nesting())
    torch.autocast_decrement_nesting()
    return depth - 1


def _forward_mode() -> Callable[[], None]:
    """Levels of forward mode, and hooks on what is saved, of a program that ended inside one."""

    def restore() -> None:
        while forward_ad._current_level >= 0:
            forward_ad.exit_dual_level()
        torch._C._set_fwd_grad_enabled(True)
        remove_all_hooks()

    return restore


def _set_threads(count: int) -> None:
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)


#: What is asked and set with functions.
_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, _set_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    (torch.is_warn_always_enabled, torch.set_warn_always),
    (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    *(
        (partial(ask, device), partial(set_, device))
        for device in ("cpu", "cuda")
        for ask, set_ in (
            (torch.is_autocast_enabled, torch.set_autocast_enabled),
            (torch.get_autocast_dtype, torch.set_autocast_dtype),
        )
    ),
    (lambda: dict(parametrize._cache), partial(setattr, parametrize, "_cache")),
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (np.get_printoptions, lambda options: np.set_printoptions(**options)),
    (np.geterr, lambda errors: np.seterr(**errors)),
    (np.geterrcall, np.seterrcall),
)
#: What is an attribute; the last two, `warnings.catch_warnings` does not put back.
_ATTRIBUTES: tuple[tuple[Any, str], ...] = (
    *((torch.backends.cudnn, name) for name in ("enabled", "benchmark", "deterministic")),
    (checkpoint, "_enable_checkpoint_early_stop"),
    (parametrize, "_cache_enabled"),
    (modules, "_global_is_full_backward_hook"),
    (warnings, "formatwarning"),
    (logging, "_warnings_showwarning"),
)
#: What is in a dict that stays the same.
_DICTS = (*GLOBAL_HOOKS, vars(torch._tensor_str.PRINT_OPTS))


def _put_back() -> list[Callable[[], object]]:
    """Functions that put the state of the process back as it is now, one for each part of it. Modes
    come first: they would see the calls that put back the rest."""
    return [
        *(save() for save in (_modes, _forward_mode, _autocast, _figures, _anomaly)),
        *(partial(set_, ask()) for ask, set_ in _SETTINGS),
        *(partial(setattr, owner, name, getattr(owner, name)) for owner, name in _ATTRIBUTES),
        *(partial(_refill, held, dict(held)) for held in _DICTS),
    ]


def _refill(held: dict[Any, Any], before: dict[Any, Any]) -> None:
    held.clear()
    held.update(before)


def seed_generators(seed: int) -> None:
    """Seed the random generators of torch, Python and numpy as a run begins with them."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


@contextmanager
def isolated(seed: int) -> Iterator[list[warnings.WarningMessage]]:
    """Seed the random generators, and put back all state of the process afterwards, however the run
    ends: random state, gradient mode, autocast, hooks for all modules and the like.

    They belong to the whole process, so only one program runs at a time. Yields the list in which
    warnings are collected.
    """
    with (
        TORCH_LOCK,
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),  # entered twice, torch's own does not end
        torch.enable_grad(),
        decimal.localcontext(),
        warnings.catch_warnings(record=True) as caught,
    ):
        restores = _put_back()
        warnings.simplefilter("default")
        seed_generators(seed)
        try:
            yield caught
        finally:
            for restore in restores:
                try:
                    restore()
                except Exception:  # of what a program has put there; the rest is put back
                    _LOG.exception("the state of the process could not be put back")
