"""Functions of `torch.func` that torch makes by tracing, or that take whole models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.memory_safety import check_captured_layouts

_vjp = check_captured_layouts(torch.func.vjp)


def _linearize(func: Any, *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and the linear function of tangents that approximates it there.

    torch traces the function and writes a new one as Python code. Here its graph is kept: the
    vector-Jacobian product is linear, and its own is the Jacobian-vector product.
    """
    leaves, spec = pytree.tree_flatten(primals)
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise TypeError("linearize needs tensors, or containers of tensors")
    called = as_function(func)

    def flat(*tensors: torch.Tensor) -> Any:
        return called(*pytree.tree_unflatten(list(tensors), spec))

    output, pull_back = _vjp(flat, *leaves)
    zeros = pytree.tree_map(torch.zeros_like, output)
    _, push_forward = _vjp(lambda *cotangents: pull_back(cotangents[0]), zeros)

    def jvp_fn(*tangents: Any) -> Any:
        given, given_spec = pytree.tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}"
            )
        for number, (tangent, primal) in enumerate(zip(given, leaves, strict=True)):
            if not isinstance(tangent, torch.Tensor) or tangent.shape != primal.shape:
                raise RuntimeError(
                    f"tangent:{number} doesn't match the shape {primal.shape} of the "
                    "corresponding primal."
                )
        (result,) = push_forward(tuple(given))
        return result

    return output, jvp_fn


def _functionalize(func: Any, *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself: replacing its changes in place concerns compilers alone."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): Valid options for inputs to 'remove' are "
            "'mutations' and 'mutations_and_views'."
        )
    notice("functionalize gave the function as it is: its results are the same.")
    return as_function(func)


def _stack_module_state(models: Any) -> Any:
    """The parameters and buffers of models of one class, stacked."""
    if not isinstance(models, list | tuple | nn.ModuleList) or not all(
        isinstance(model, nn.Module) for model in models
    ):
        raise OutsideLanguage("stack_module_state needs a list of modules.")
    return torch.func.stack_module_state(list(models))


_TITLE = "Function transforms"
ADDED: dict[str, tuple[str, Any]] = {
    f"torch.func.{function.__name__[1:]}": (_TITLE, function)
    for function in (_linearize, _functionalize, _stack_module_state)
}
