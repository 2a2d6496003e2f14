"""Functions of torch whose C++ code lacks a check of its arguments, with that check."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import handle_torch_function

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.memory_safety import private_copy
from explorer.language.vocabulary.saved_hooks import keep_saved

# -- indices that backward does not check (see `memory_safety`) -----------------------------------


def copy_index_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called with private copies of integer tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if torch._C._is_torch_function_mode_enabled():  # the recorder sees the original arguments
            return handle_torch_function(call, args, *args, **kwargs)
        named = {name: private_copy(value) for name, value in kwargs.items()}
        return function(*map(private_copy, args), **named)

    return call


def copy_index_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, returning private copies of integer tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return tuple(map(private_copy, result)) if isinstance(result, tuple) else result

    return call


# -- functions that access memory outside their tensors, or trap, in torch 2.13 --------------------


def make_dense_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called with dense tensors: it would read or write beyond the memory of an
    expanded one."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(to_dense, args), **{name: to_dense(v) for name, v in kwargs.items()})

    return call


def to_dense(value: Any) -> Any:
    """The tensor, copied if it is expanded, that is, repeats elements without storing them."""
    is_expanded = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return value.contiguous() if is_expanded and 0 in value.stride() else value


def check_batch_norm(function: Callable[..., Any]) -> Callable[..., Any]:
    """Batch norm, which writes its running statistics: an expanded tensor cannot hold them."""

    @functools.wraps(function)
    def call(input: Any, running_mean: Any, running_var: Any, *args: Any, **kwargs: Any) -> Any:
        if any(to_dense(value) is not value for value in (running_mean, running_var)):
            raise OutsideLanguage(
                "The running statistics are expanded: all channels share one number.",
                "Call .clone() on them first.",
            )
        return function(input, running_mean, running_var, *args, **kwargs)

    return call


def refuse_empty(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss that would return uninitialised memory if there are no samples."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(a, torch.Tensor) and not a.numel() for a in (*args, *kwargs.values())):
            raise OutsideLanguage(
                f"{function.__name__} needs at least one sample.", "Check the shape of the input."
            )
        return function(*args, **kwargs)

    return call


def limit_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called with numbers of at most 32 bits: it multiplies them without a check."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            for number in value if isinstance(value, tuple | list) else (value,):
                if isinstance(number, torch.Tensor) and number.numel() != 1:
                    continue
                with contextlib.suppress(TypeError):  # not an integer
                    if abs(operator.index(number)) >= 2**31:
                        raise OutsideLanguage(
                            f"A size of {function.__name__} is too large.", "Use a smaller one."
                        )
        return function(*args, **kwargs)

    return call


def limit_grid(function: Callable[..., Any]) -> Callable[..., Any]:
    """`grid_sample`, whose backward uses a grid that is not finite as addresses if it pads with
    numbers of the image. The limited grid is a copy, which the program cannot change."""

    @functools.wraps(function)
    def call(
        input: Any, grid: Any, mode: Any = "bilinear", padding_mode: Any = "zeros", *args: Any,
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        if padding_mode != "zeros":
            grid = torch.nan_to_num(grid, -1.0).clamp(-1e6, 1e6)
        return function(input, grid, mode, padding_mode, *args, **kwargs)

    return call


def divide_without_trap(function: Callable[..., Any]) -> Callable[..., Any]:
    """A division in which the smallest integer divided by -1, which would end the process, is that
    integer, as `//` gives it."""

    @functools.wraps(function)
    def call(input: Any, other: Any, **options: Any) -> Any:
        if options.get("rounding_mode") == "trunc":
            if isinstance(other, torch.Tensor):
                kind = torch.result_type(input, other)
                if not kind.is_floating_point and not kind.is_complex and kind is not torch.bool:
                    traps = (input == torch.iinfo(kind).min) & (other == -1)
                    other = torch.where(traps, 1, other)
            elif other == -1:
                options["rounding_mode"] = "floor"  # the same for this divisor
        return function(input, other, **options)

    return call


def solve_least_squares(function: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.linalg.lstsq`, whose default driver reads uninitialised memory."""

    @functools.wraps(function)
    def call(*args: Any, driver: str | None = None, **options: Any) -> Any:
        if driver not in (None, "gelsy"):
            return function(*args, driver=driver, **options)
        result = function(*args, driver="gelsd", **options)
        return type(result)((*result[:3], result[3].new_zeros(0)))  # gelsy has no singular values

    return call


#: Functions of torch that layers call -> the checked ones.
FUNCTIONS: dict[Any, Any] = {
    functional.embedding: copy_index_arguments(functional.embedding),
    functional.nll_loss: copy_index_arguments(functional.nll_loss),
    functional.cross_entropy: copy_index_arguments(functional.cross_entropy),
    functional.rrelu: keep_saved(functional.rrelu),
    functional.multi_margin_loss: refuse_empty(functional.multi_margin_loss),
    functional.batch_norm: check_batch_norm(make_dense_first(functional.batch_norm)),
    **{
        function: copy_index_results(limit_numbers(function))
        for function in (functional.max_pool1d, functional.max_pool1d_with_indices)
    },
    functional.pad: limit_numbers(functional.pad),
}
#: Other pooling layers -> the functions that they call.
POOLING = {
    "MaxPool2d": "max_pool2d",
    "MaxPool3d": "max_pool3d",
    "AdaptiveMaxPool1d": "adaptive_max_pool1d",
    "AdaptiveMaxPool2d": "adaptive_max_pool2d",
}

#: Other functions by name, each with what checks it.
_CHECKS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "torch.median": make_dense_first,
    "torch.nanmedian": make_dense_first,
    "torch.div": divide_without_trap,
    "torch.divide": divide_without_trap,
    "torch.linalg.lstsq": solve_least_squares,
    "torch.nn.functional.grid_sample": lambda function: keep_saved(limit_grid(function)),
    **{f"torch.nn.functional.{name}": copy_index_results for name in POOLING.values()},
}


def make_replacements(table: dict[str, Any]) -> dict[str, Any]:
    """The checked replacements of the table's functions, by name."""
    functions = {f"torch.nn.functional.{f.__name__}": ours for f, ours in FUNCTIONS.items()}
    functions |= {path: check(table[path]) for path, check in _CHECKS.items()}
    return {path: function for path, function in functions.items() if path in table}
