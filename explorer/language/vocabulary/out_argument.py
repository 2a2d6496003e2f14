"""`out=` of torch's functions: the tensor receives a copy of the result and keeps its layout.

torch would resize a tensor of another shape without a new version, even if the call then fails.
Backward, which has saved that tensor, would read beyond its memory (see `memory_safety`).
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import torch

from explorer.language.errors import OutsideLanguage


def copies_to_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, computed without `out` and then copied to it.

    A function whose signature shows that it has no `out` is returned unchanged; those written in
    C++ have no signature.
    """
    place = _find_out(function)
    if place is None:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > place:
            raise OutsideLanguage("out is not supported here by position.", "Write out=.")
        if "out" not in kwargs:
            return function(*args, **kwargs)
        out = kwargs.pop("out")
        result = function(*args, **kwargs)
        return result if out is None else _copy(result, out, function.__name__)

    call.__qualname__ = call.__name__
    return call


def _find_out(function: Callable[..., Any]) -> float | None:
    """How many arguments may precede `out`; None if the function has none."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return math.inf  # written in C++, where `out` is a keyword argument
    names = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if "out" in names:
        return names.index("out")
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return math.inf if takes_any or "out" in parameters else None


def _copy(result: Any, out: Any, name: str) -> Any:
    results = result if isinstance(result, tuple) else (result,)
    outs = tuple(out) if isinstance(result, tuple) and isinstance(out, tuple | list) else (out,)
    if len(outs) != len(results):
        raise OutsideLanguage(f"out= of {name} must be a tuple of {len(results)} tensors.")
    for new, old in zip(results, outs, strict=True):
        _check(new, old, name)
    for new, old in zip(results, outs, strict=True):
        old.copy_(new)
    return type(result)(outs) if isinstance(result, tuple) else out


def _check(new: Any, old: Any, name: str) -> None:
    if not isinstance(new, torch.Tensor) or not isinstance(old, torch.Tensor):
        raise OutsideLanguage(f"out= of {name} is not supported here.", "Use the result instead.")
    if torch.is_grad_enabled() and (new.requires_grad or old.requires_grad):
        raise RuntimeError(  # as torch does
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    if new.shape != old.shape or not torch.can_cast(new.dtype, old.dtype):
        raise OutsideLanguage(
            f"The result of {name} has shape {tuple(new.shape)} and dtype {new.dtype}; out= has "
            f"{tuple(old.shape)} and {old.dtype}.",
            "Pass a tensor of the same shape and dtype, or use the result instead.",
        )
