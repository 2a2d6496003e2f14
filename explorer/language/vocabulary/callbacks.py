"""Functions of torch that call a function of the program: what they get is always a function.

Of any other object that can be called, such as an instance of the program's own class, torch and
Python would also read attributes, copy the `__dict__`, or look for other methods.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

_CALLERS = {
    "torch": "vmap",
    "functorch": "grad grad_and_value vmap jacrev jacfwd hessian jvp vjp",
    "torch.func": "grad grad_and_value vmap jacrev jacfwd hessian jvp vjp",
    "torch.autograd.function": "once_differentiable",
    "torch.autograd.functional": "jacobian hessian vjp jvp vhp hvp",
}


def as_function(value: Any) -> Any:
    """A function that calls this value, if it can be called; otherwise the value."""
    if type(value) is types.FunctionType or not callable(value):
        return value
    return lambda *args, **kwargs: value(*args, **kwargs)


def with_functions(caller: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch, which gets functions in place of other objects that can be called."""

    @functools.wraps(caller)
    def call(*args: Any, **kwargs: Any) -> Any:
        named = {name: as_function(value) for name, value in kwargs.items()}
        return caller(*map(as_function, args), **named)

    return call


def make_replacements(table: dict[str, Any]) -> dict[str, Any]:
    paths = [f"{module}.{name}" for module, names in _CALLERS.items() for name in names.split()]
    return {path: with_functions(table[path]) for path in paths}
