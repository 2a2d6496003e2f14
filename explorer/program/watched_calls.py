"""Calls of torch that are reported to what runs the program: backward, step, hooks and the like.

Classes of torch are patched while a program runs, so a call inside a library, such as a trainer, is
reported too. A patch does nothing in threads that run no program. What torch calls itself, to do
what it was asked for, is not reported a second time.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as modules
from torch.nn.utils import parametrize
from torch.optim import lr_scheduler, swa_utils
from torch.utils import checkpoint

from explorer.program.notices import BackwardCall, Running, running

#: The folders of torch and of the explorer: `torchvision` begins with the same letters.
TORCH = f"{Path(torch.__file__).parent}{os.sep}"
_EXPLORER = f"{Path(__file__).parents[1]}{os.sep}"
#: Between a call of backward and torch's engine: no caller is in these files.
_ON_THE_WAY = tuple(
    f"{TORCH}{name}" for name in ("autograd/__init__.py", "_tensor.py", "overrides.py")
)

Make = Callable[[Any], Any]


@dataclass(frozen=True)
class Patch:
    """An attribute of a class or module, and what takes its place, made of what was there."""

    owner: Any
    name: str
    make: Make

    def apply(self) -> Callable[[], None]:
        """Apply it. Returns what takes it back."""
        held = vars(self.owner)
        is_own, old = self.name in held, held.get(self.name)
        setattr(self.owner, self.name, self.make(getattr(self.owner, self.name, None)))

        def undo() -> None:
            if is_own:
                setattr(self.owner, self.name, old)
            else:
                delattr(self.owner, self.name)

        return undo


@contextmanager
def patched(patches: list[Patch]) -> Iterator[None]:
    """These patches, for a while. Who applies them holds TORCH_LOCK."""
    undo: list[Callable[[], None]] = []
    try:
        undo.extend(patch.apply() for patch in patches)
        yield
    finally:
        for take_back in reversed(undo):
            with suppress(AttributeError):  # the program has deleted it
                take_back()


# -- one call ---------------------------------------------------------------------------------


def while_running(new: Callable[..., Any]) -> Make:
    """Makes what takes the place of a function: while a program runs, `new(program, function, …)`
    with the arguments of the call; in threads that run none, the function itself."""

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            program = running()
            if program is None:
                return function(*args, **kwargs)
            return new(program, function, *args, **kwargs)

        return call

    return make


def reported(what: str, *, own: bool = False, is_function: bool = False) -> Make:
    """Makes a function whose calls go through `call` of what runs the program, under this name. Its
    receiver is the first argument, unless it `is_function`. With `own`, calls by torch itself are
    not reported."""

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            program = running()
            if program is None or (own and _is_inside(sys._getframe(1))):
                return function(*args, **kwargs)
            receiver, rest = (None, args) if is_function or not args else (args[0], args[1:])
            key = what, id(receiver)
            if key in program.calling:
                return function(*args, **kwargs)
            program.calling.add(key)
            bound = function if receiver is None else functools.partial(function, receiver)
            try:
                return program.call(what, receiver, bound, *rest, **kwargs)
            finally:
                program.calling.discard(key)

        return call

    return make


def is_inside() -> bool:
    """Asked by a function that is called `while_running`: whether torch, or the recorder, calls."""
    return _is_inside(sys._getframe(3))


def _is_inside(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename.startswith((TORCH, _EXPLORER))


def _caller(frame: FrameType | None) -> tuple[str, bool]:
    """Which function the program called to start torch's engine; and whether the program did."""
    name = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file in _ON_THE_WAY:
            if file == _ON_THE_WAY[0]:
                name = f"torch.autograd.{frame.f_code.co_name}"
            elif frame.f_code is torch.Tensor.backward.__code__:
                name = "Tensor.backward"
        elif not (frame.f_code.co_name == "__torch_function__" or file.startswith(_EXPLORER)):
            break  # neither a mode, which passes it on, nor what reports it
        frame = frame.f_back
    return name, frame is not None and not frame.f_code.co_filename.startswith(TORCH)


# -- backward -----------------------------------------------------------------------------------


#: Among the calls of what runs a program: it starts the next pass itself.
OURS = "backward", 0


@while_running
def _engine(
    program: Running, run: Callable[..., Any], /, outputs: Any, *args: Any, **kwargs: Any
) -> Any:
    """torch's engine, which all calls of `backward` and `grad` start.
    https://github.com/pytorch/pytorch/blob/main/torch/autograd/graph.py"""
    what, is_program = _caller(sys._getframe(1))
    if torch._C._are_functorch_transforms_active():
        is_program = False
    elif OURS in program.calling:  # it is recorded already
        program.calling.discard(OURS)
        is_program = False
    if not is_program:
        return run(outputs, *args, **kwargs)
    starts, _, keeps_graph, inputs = args[:4]
    engine = functools.partial(run, outputs, *args, **kwargs)
    call = BackwardCall(what, tuple(outputs), tuple(starts), tuple(inputs), bool(keeps_graph))
    return program.run_backward(call, engine)


@while_running
def _starts(
    program: Running,
    make: Callable[..., Any],
    /,
    outputs: Any,
    starts: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """`_make_grads`, which refuses what torch's engine cannot start from: the pass fails."""
    try:
        return make(outputs, starts, *args, **kwargs)
    except RuntimeError as error:
        failure = error
        what, is_program = _caller(sys._getframe(1))
        if not is_program:
            raise

    def refuse() -> Any:
        raise failure

    call = BackwardCall(what, tuple(outputs), tuple(starts), (), keeps_graph=False)
    return program.run_backward(call, refuse)


@while_running
def _quietly(program: Running, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """A function in which torch computes nothing that the program asked for."""
    if is_inside():
        return function(*args, **kwargs)
    with torch._C.DisableTorchFunction():
        return function(*args, **kwargs)


# -- checkpoints --------------------------------------------------------------------------------

#: The words for a function that runs: for the first time or again, if autograd keeps a graph of the
#: first time or not, and for one that runs again.
FORWARD, WITHOUT_GRAPH = "checkpoint.forward", "checkpoint.forward_without_graph"
RECOMPUTED = "checkpoint.recompute"
#: The same for the backward pass that the reentrant variant starts inside another.
REENTERED = "checkpoint.backward"


@while_running
def _checkpoint(
    program: Running, run: Callable[..., Any], /, function: Any, *args: Any, **kwargs: Any
) -> Any:
    """`torch.utils.checkpoint.checkpoint`, whose function is reported when it runs."""
    if not callable(function):
        return run(function, *args, **kwargs)
    is_reentrant = kwargs.get("use_reentrant") in (True, None)
    needs_grad = any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args)
    runs_again = is_reentrant and needs_grad and torch.is_grad_enabled()
    again = _twice(program, function, keeps_no_graph=runs_again)
    return run(again, *args, **kwargs)


def _twice(
    program: Running, function: Callable[..., Any], *, keeps_no_graph: bool
) -> Callable[..., Any]:
    """The function, which is reported: first, and when it runs again."""
    runs = 0

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal runs
        runs += 1
        if runs == 1:
            return function(*args, **kwargs)
        return program.call(RECOMPUTED, run, function, *args, **kwargs)

    # Who reports needs to know what the function was called, and when it began the first time.
    run.__name__ = str(getattr(function, "__name__", "function"))[:60]
    what = WITHOUT_GRAPH if keeps_no_graph else FORWARD
    return lambda *args, **kwargs: program.call(what, run, run, *args, **kwargs)


def _reentered(backward: Callable[..., Any]) -> Any:
    @while_running
    def call(program: Running, run: Callable[..., Any], /, ctx: Any, *gradients: Any) -> Any:
        return program.call(REENTERED, ctx, run, ctx, *gradients)

    return staticmethod(call(backward))


# -- others -------------------------------------------------------------------------------------


@while_running
def _scaled(program: Running, scale: Callable[..., Any], /, scaler: Any, outputs: Any) -> Any:
    """`GradScaler.scale`, each of whose tensors is reported."""
    is_one = isinstance(outputs, torch.Tensor) and not is_inside()
    return (reported("GradScaler.scale")(scale) if is_one else scale)(scaler, outputs)


@while_running
def _optimizer_step(
    program: Running, step: Callable[..., Any], /, scaler: Any, optimizer: Any, state: Any,
    *args: Any, **kwargs: Any,
) -> Any:  # fmt: skip
    """`_maybe_opt_step` of a GradScaler, which skips the step if a gradient is inf or NaN."""
    if any(v.item() for v in state["found_inf_per_device"].values()):
        return program.call("GradScaler.skip", scaler, lambda skipped: None, optimizer)
    return step(scaler, optimizer, state, *args, **kwargs)


def _wrapped(kind: str) -> Make:
    """`__new__` of a class of leaves, `nn.Parameter(x)`."""

    def make(new: Callable[..., Any]) -> Any:
        def call(cls: Any, *args: Any, **kwargs: Any) -> Any:
            program = running()
            data = args[0] if args else kwargs.get("data")
            if program is None or _is_inside(sys._getframe(1)) or data is None:
                return new(cls, *args, **kwargs)

            def build(data: Any) -> Any:
                return new(cls, *args, **kwargs)

            return program.call("Tensor.wrapped", kind, build, data)

        return staticmethod(call)

    return make


def _global_hook(register: Callable[..., Any]) -> Callable[..., Any]:
    """A function that registers a hook for all modules: it runs for this program alone. Another
    thread may be using modules of its own."""
    report = reported(f"Module.{register.__name__}", is_function=True)

    @functools.wraps(register)
    def call(hook: Any, *args: Any, **kwargs: Any) -> Any:
        program = running()
        if program is not None and program.is_part:  # the reader's own code, which owns the process
            return report(register)(hook, *args, **kwargs)

        def own(*given: Any, **named: Any) -> Any:
            return hook(*given, **named) if running() is program else None

        return report(register)(own if callable(hook) else hook, *args, **kwargs)

    return call


def _watched_subclasses(base: type) -> Iterator[type]:
    kinds: list[type] = base.__subclasses__()
    for kind in kinds:
        yield kind
        yield from _watched_subclasses(kind)


def _new_optimizers(made: Any) -> Any:
    """`Optimizer.__init_subclass__`: a class that a program makes is watched too."""

    def call(cls: Any, **kwargs: Any) -> None:
        made(**kwargs)
        if running() is not None and "step" in vars(cls):
            cls.step = reported("Optimizer.step")(cls.step)

    return classmethod(call)


def _steps(base: type, what: str, *, own: bool = False) -> list[Patch]:
    """`step` of every class that defines one."""
    kinds: dict[Any, None] = dict.fromkeys([base, *_watched_subclasses(base)])
    return [Patch(kind, "step", reported(what, own=own)) for kind in kinds if "step" in vars(kind)]


_OF_TENSORS = ("register_hook", "register_post_accumulate_grad_hook", "retain_grad")
_OF_MODULES = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_backward_hook",
)  # fmt: skip
_FOR_ALL = (
    "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
)  # fmt: skip
#: Functions by the modules that have them.
_FUNCTIONS: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    ("torch.nn.utils", "clip_grad_norm_", (nn.utils, nn.utils.clip_grad)),
    ("torch.nn.utils", "clip_grad_value_", (nn.utils, nn.utils.clip_grad)),
    ("torch.autograd.graph", "register_multi_grad_hook", (torch.autograd.graph,)),
    ("torch.autograd.graph", "increment_version", (torch.autograd.graph,)),
)
_GRADCHECK = sys.modules["torch.autograd.gradcheck"]  # torch.autograd has the function


@while_running
def _named(program: Running, check: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`gradcheck`, with its name for a receiver."""
    if is_inside():
        return check(*args, **kwargs)
    return program.call("gradcheck", check.__name__, check, *args, **kwargs)


def _applied(apply: Any) -> Any:
    """`autograd.Function.apply`: it is not a torch function, and no mode sees it."""

    def call(cls: Any, *args: Any, **kwargs: Any) -> Any:
        run, program = types.MethodType(apply.__func__, cls), running()
        if program is None or not program.watches_apply:
            return run(*args, **kwargs)
        return program.call("Function.apply", None, run, *args, **kwargs)

    return classmethod(call)


#: Reports calls of `Function.apply`.
APPLY = Patch(torch.autograd.Function, "apply", _applied)


def _without_ours(walk: Callable[..., Any]) -> Callable[..., Any]:
    """The frames of a traceback, without those of the explorer, which calls what it watches."""

    @functools.wraps(walk)
    def call(tb: Any) -> Iterator[Any]:
        frames = walk(tb)
        if running() is None:
            return frames
        return (one for one in frames if not one[0].f_code.co_filename.startswith(_EXPLORER))

    return call


#: What a program prints of an exception shows its own frames, and those of libraries.
OWN_TRACEBACK = Patch(traceback, "_walk_tb_with_full_positions", _without_ours)


def watched_calls() -> list[Patch]:
    """The patches that report what a program calls."""
    scaler, average = torch.amp.GradScaler, swa_utils.AveragedModel
    return [
        Patch(torch.autograd, "_engine_run_backward", _engine),
        Patch(torch.autograd, "_make_grads", _starts),
        Patch(torch.autograd.forward_ad, "unpack_dual", _quietly),
        Patch(torch.autograd.graph, "get_gradient_edge", _quietly),
        *(Patch(torch.Tensor, n, reported(f"Tensor.{n}", own=True)) for n in _OF_TENSORS),
        *(Patch(nn.Module, n, reported(f"Module.{n}", own=True)) for n in _OF_MODULES),
        *(Patch(modules, name, _global_hook) for name in _FOR_ALL),
        Patch(nn.Module, "zero_grad", reported("Module.zero_grad")),
        Patch(torch.optim.Optimizer, "zero_grad", reported("Optimizer.zero_grad")),
        Patch(torch.optim.Optimizer, "__init_subclass__", _new_optimizers),
        *_steps(torch.optim.Optimizer, "Optimizer.step"),
        *_steps(lr_scheduler.LRScheduler, "LRScheduler.step", own=True),
        *(
            Patch(owner, name, reported(f"{path}.{name}", own=True, is_function=True))
            for path, name, owners in _FUNCTIONS
            for owner in owners
        ),
        *(
            Patch(owner, name, _named)
            for owner in (torch.autograd, _GRADCHECK)
            for name in ("gradcheck", "gradgradcheck")
        ),
        Patch(
            parametrize,
            "register_parametrization",
            reported("register_parametrization", own=True, is_function=True),
        ),
        Patch(checkpoint, "checkpoint", _checkpoint),
        Patch(checkpoint.CheckpointFunction, "backward", _reentered),
        Patch(scaler, "scale", _scaled),
        Patch(scaler, "unscale_", reported("GradScaler.unscale_")),
        Patch(scaler, "_maybe_opt_step", _optimizer_step),
        Patch(scaler, "update", reported("GradScaler.update", own=True)),
        Patch(average, "update_parameters", reported("AveragedModel.update", own=True)),
        Patch(nn.Parameter, "__new__", _wrapped("Parameter")),
        Patch(nn.Buffer, "__new__", _wrapped("Buffer")),
        Patch(torch.autograd.Variable, "__new__", _wrapped("Variable")),
    ]
