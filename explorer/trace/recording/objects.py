"""Reading the objects of a program so that none of its code runs, and torch does not refuse.

Only its type is asked what a value is: `isinstance` asks the value for its `__class__`, which is
code of the program in a lazy proxy, and `vars` asks it for its `__dict__`. Some tensors have no
shape or no values, and torch raises where it is asked for the history of others.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from inspect import CO_OPTIMIZED
from itertools import islice
from types import FrameType, UnionType
from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.utils._python_dispatch import _disable_current_modes

from explorer import limits
from explorer.trace.recording.own_files import is_own_file

#: To the dict of a frame, in `variables_of`: the frame's, the variable's, and the question's own.
_OWN_REFERENCES = 3


def is_a(value: Any, kind: type | UnionType | tuple[Any, ...]) -> bool:
    """Whether the value's type is this class, or derived from it."""
    return issubclass(type(value), kind)


def is_own_object(value: Any) -> bool:
    """Whether this is an object with attributes, of a class that the program has written."""
    kind = type(value)
    return (
        kind.__dictoffset__ != 0
        and not issubclass(kind, type)
        and _is_own_module(type.__getattribute__(kind, "__module__"))
    )


def _is_own_module(name: Any) -> bool:
    """Whether this is the module of a program, or of recorded code."""
    if name == "__main__":
        return True
    file = getattr(sys.modules.get(name), "__file__", None) if type(name) is str else None
    return type(file) is str and is_own_file(file)


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of an object itself, if it has any, as they are."""
    if type(value).__dictoffset__ == 0 or issubclass(type(value), type):
        return {}
    fields = object.__getattribute__(value, "__dict__")
    return fields if type(fields) is dict else {}


def variables_of(frame: FrameType) -> Mapping[str, Any]:
    """The variables of a running function, or of a module.

    Before Python 3.13 a frame keeps the dict that it is asked for, with all values, and `locals()`
    is the same one: it is emptied, unless somebody else holds it, or a debugger may write it back.
    """
    held, code = frame.f_locals, frame.f_code
    if type(held) is not dict or not code.co_flags & CO_OPTIMIZED:
        return held
    copy = dict(held)
    is_traced = sys.gettrace() is not None or frame.f_trace is not None
    if not is_traced and sys.getrefcount(held) <= _OWN_REFERENCES:
        held.clear()
    return copy


# -- parts, and how Python writes them ---------------------------------------------------------


def join_path(name: str, path: str) -> str:
    """The name of the part at `path` inside the object `name`."""
    return f"{name}.{path}"[: limits.MAX_NAME] if path else name


def items_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The items of a list, a dict or an object of the program, named as Python writes them."""
    if is_a(value, list | tuple):
        items = first_items(value, limits.MOST_ITEMS)
        yield from ((f"{name}[{i}]", item) for i, item in enumerate(items))
    elif is_a(value, dict):
        pairs = first_pairs(value, limits.MOST_ITEMS)
        plain = ((key, item) for key, item in pairs if is_plain_key(key))
        yield from ((f"{name}[{key!r}]"[: limits.MAX_NAME], item) for key, item in plain)
    elif is_own_object(value):
        fields = first_pairs(fields_of(value), limits.MOST_ITEMS)
        yield from ((join_path(name, field), item) for field, item in fields)


def first_items(value: list[Any] | tuple[Any, ...], most: int) -> list[Any]:
    """The first items, without calling what a class of the program may have overridden."""
    kind = list if is_a(value, list) else tuple
    return list(islice(kind.__iter__(value), most))  # type: ignore[arg-type]


def first_pairs(value: dict[Any, Any], most: int) -> list[tuple[Any, Any]]:
    """The first keys, with their values, likewise."""
    kind = OrderedDict if is_a(value, OrderedDict) else dict  # which has an order of its own
    return list(islice(kind.items(value), most))


def is_plain_key(key: Any) -> bool:
    """Whether a key is text or a number whose text is short. What the `repr` of another one says,
    the program may have written."""
    return type(key) is str or (type(key) in (int, bool) and int(key).bit_length() < 64)


# torch's `named_modules` and `named_parameters` call methods that a program's class may override;
# the record must not depend on them, and must not run them.


def named_modules(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """(path, module) for the module itself, with an empty path, and each submodule once."""
    visited: set[int] = set()
    pending = [("", module)]
    while pending:
        path, part = pending.pop()
        if id(part) not in visited:
            visited.add(id(part))
            yield path, part
            prefix = f"{path}." if path else ""
            children = fields_of(part).get("_modules", {}).items()
            submodules = [
                (f"{prefix}{name}", child) for name, child in children if is_a(child, nn.Module)
            ]
            pending += reversed(submodules)


def named_parameters(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """(path, parameter) for every parameter, each once, in torch's order."""
    visited: set[int] = set()
    for path, part in named_modules(module):
        prefix = f"{path}." if path else ""
        for name, parameter in fields_of(part).get("_parameters", {}).items():
            if parameter is not None and id(parameter) not in visited:
                visited.add(id(parameter))
                yield f"{prefix}{name}", parameter


# -- tensors ---------------------------------------------------------------------------------------


def quiet() -> AbstractContextManager[Any]:
    """Meanwhile torch computes what the program has not asked for: neither its classes of tensors
    nor its modes (`TorchDispatchMode`, `make_fx`) get to know of it."""
    silent = torch._C.DisableTorchFunction()
    if not torch._C._len_torch_dispatch_stack():
        return silent
    both = ExitStack()
    both.enter_context(silent)
    both.enter_context(_disable_current_modes())
    return both


def has_no_shape(tensor: torch.Tensor) -> bool:
    """Whether this tensor of a lazy layer still waits for its shape."""
    return isinstance(tensor, UninitializedParameter | UninitializedBuffer)


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """The shape of a tensor, of its first dimensions if it has very many; () of a nested one, whose
    parts have different ones."""
    if tensor.is_nested:
        return ()
    return tuple(tensor.size())[: limits.MOST_DIMENSIONS]  # .shape of a lazy layer's raises


def has_no_values(tensor: torch.Tensor) -> bool:
    """Whether a tensor has no values of its own to read: a nested one, or one of a class that the
    program has written with a `__torch_dispatch__`, which would be asked for them."""
    kind = type(tensor)
    is_own = kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    return (is_own and kind.__module__ == "__main__") or tensor.is_nested


def tangent_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tangent that a tensor carries now. Call it with torch functions disabled."""
    if forward_ad._current_level < 0 or not (tensor.is_floating_point() or tensor.is_complex()):
        return None
    return forward_ad.unpack_dual(tensor).tangent


def is_uninitialised(node: Any, attribute: str) -> bool:
    """Whether this attribute of a graph node is uninitialised: the noise of rrelu, drawn only in
    training, and oneDNN's workspace of an LSTM (torch 2.13)."""
    if attribute == "_saved_noise":
        return not getattr(node, "_saved_training", True)
    return attribute == "_saved_result3" and node.name() == "MkldnnRnnLayerBackward0"


# -- their history ---------------------------------------------------------------------------------


def history_of(tensor: torch.Tensor) -> tuple[bool, Any]:
    """(requires_grad, grad_fn) of a tensor.

    torch raises for a part of a leaf that was taken under no_grad and changed in place since, as in
    `row = w[0]; row *= 2`. Such a part has no history.
    """
    try:
        return tensor.requires_grad, tensor.grad_fn
    except RuntimeError:
        return False, None


def grad_fn_of(tensor: torch.Tensor) -> Any:
    """The node that computed the tensor; None if none did."""
    return history_of(tensor)[1]
