"""`torch.utils.checkpoint`: what a function computed is not kept, but computed again in backward.

torch's own implementation runs. The program's function is reported when it runs again, its context
managers cannot suppress the end of the program, and nested backward passes are counted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils import checkpoint as library

from explorer.language.errors import OutsideLanguage, ProgramStopped
from explorer.language.notices import notice, report
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.saved_hooks import pack_hook, unpack_hook

#: The words under which the watcher hears of a function that runs: for the first time or again, if
#: autograd keeps a graph of the first time or not, and of one that runs again.
FORWARD, WITHOUT_GRAPH = "checkpoint.forward", "checkpoint.forward_without_graph"
RECOMPUTED = "checkpoint.recompute"
#: The same for the backward pass that the reentrant variant starts inside another.
REENTERED = "checkpoint.backward"


class _CheckpointHook(library._checkpoint_hook):
    # Compares what is computed again with what was saved: backward's C++ code does not.
    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        self.pack_hook = pack_hook(self.pack_hook, self.unpack_hook)
        self.unpack_hook = unpack_hook


library._checkpoint_hook = _CheckpointHook  # type: ignore[misc]


class CheckpointFunction(library.CheckpointFunction):
    # The reentrant variant's node: its backward starts a pass of its own, which is reported.
    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return report(REENTERED, ctx, library.CheckpointFunction.backward, ctx, *gradients)


def checkpoint(
    function: Any,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = library.noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`torch.utils.checkpoint.checkpoint`."""
    if not callable(function):
        raise TypeError("checkpoint needs a function or a module as its first argument")
    is_reentrant = bool(use_reentrant or (use_reentrant is None and _warn()))
    needs_grad = any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args)
    runs_again = is_reentrant and needs_grad and torch.is_grad_enabled()
    run = _twice(as_function(function), keeps_no_graph=runs_again)
    if debug:
        notice("checkpoint(debug=True) adds nothing here: errors name your lines anyway.")
    if is_reentrant:
        preserve = kwargs.pop("preserve_rng_state", True)
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not library.noop_context_fn:
            raise ValueError("Passing `context_fn` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(run, preserve, *args)
    options = {"determinism_check": determinism_check, "early_stop": early_stop, **kwargs}
    if context_fn is not library.noop_context_fn:
        options["context_fn"] = _guarded_contexts(context_fn)
    return library.checkpoint(run, *args, use_reentrant=False, **options)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """`torch.utils.checkpoint.checkpoint_sequential`: all segments but the last one."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is None:
        use_reentrant = _warn()
    parts = list(functions.children() if isinstance(functions, nn.Sequential) else functions)
    size = len(parts) // segments
    if size < 1:
        raise ValueError("checkpoint_sequential needs at least one function for each segment")
    end = 0
    for end in range(size, size * segments, size):
        input = checkpoint(
            _chain(parts[end - size : end]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _chain(parts[end:])(input)


def _chain(parts: list[Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for part in parts:
            value = part(value)
        return value

    return run


def _warn() -> bool:
    """What torch does if the variant is not chosen: it warns, and takes the reentrant one."""
    import warnings

    warnings.warn(
        "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
        "use_reentrant=False is recommended; use_reentrant=True is the current default.",
        stacklevel=3,
    )
    return True


def _twice(function: Callable[..., Any], *, keeps_no_graph: bool) -> Callable[..., Any]:
    """The function; each of its runs after the first is reported. `keeps_no_graph` says of the
    first that autograd records nothing of it, because backward will run it again."""
    runs = 0

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal runs
        runs += 1
        if runs == 1:
            return function(*args, **kwargs)
        return report(RECOMPUTED, run, function, *args, **kwargs)

    # Who reports needs to know what the function was called, and when it began the first time.
    run.__name__ = str(getattr(function, "__name__", "function"))[:60]
    what = WITHOUT_GRAPH if keeps_no_graph else FORWARD
    return lambda *args, **kwargs: report(what, run, run, *args, **kwargs)


class _Context:
    """A program's context manager, called by torch: it sees and suppresses no error."""

    def __init__(self, manager: Any) -> None:
        kind = type(manager)
        if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            raise OutsideLanguage(
                "context_fn must return two context managers.",
                "Return a tuple of two, for example (torch.no_grad(), torch.no_grad()).",
            )
        self.manager = manager

    def __enter__(self) -> Any:
        return type(self.manager).__enter__(self.manager)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        leave = type(self.manager).__exit__
        if isinstance(error, ProgramStopped):
            with contextlib.suppress(Exception):
                leave(self.manager, None, None, None)
        else:
            leave(self.manager, None, None, None)


def _guarded_contexts(context_fn: Any) -> Callable[[], tuple[_Context, _Context]]:
    make = as_function(context_fn)

    def contexts() -> tuple[_Context, _Context]:
        made = make()
        if not isinstance(made, tuple | list) or len(made) != 2:
            raise OutsideLanguage(
                "context_fn must return two context managers.",
                "The first is for the forward pass, the second for the recomputation.",
            )
        forward, again = made
        return _Context(forward), _Context(again)

    return contexts


_TITLE = "Checkpointing"
ADDED: dict[str, tuple[str, Any]] = {
    "torch.utils.checkpoint.checkpoint": (_TITLE, checkpoint),
    "torch.utils.checkpoint.checkpoint_sequential": (_TITLE, checkpoint_sequential),
    "torch.utils.checkpoint.noop_context_fn": (_TITLE, library.noop_context_fn),
}
