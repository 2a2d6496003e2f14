"""Lazy layers: their parameters get a shape when the layer is called for the first time.

Until then a parameter is an `UninitializedParameter`. torch then makes memory for it, and gives the
layer the class of the ordinary one; here that memory is zero, and the class is the checked one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from explorer.language.vocabulary.checked_torch import LAYERS
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.memory_safety import with_zero_initialisation

_NAMES = """
    LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d
    LazyConvTranspose3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyInstanceNorm1d
    LazyInstanceNorm2d LazyInstanceNorm3d
"""


def _checked(kind: Any) -> type:
    """The lazy class that becomes a checked one, which a program's attribute cannot change."""
    becomes = LAYERS.get(kind.cls_to_become, kind.cls_to_become)
    methods = {
        "__init__": with_zero_initialisation(kind.__init__),
        "initialize_parameters": with_zero_initialisation(kind.initialize_parameters),
        "_lazy_load_hook": with_zero_initialisation(kind._lazy_load_hook),
        "cls_to_become": property(lambda self: becomes),
    }
    names = ("__module__", "__doc__", "__qualname__")
    return type(kind.__name__, (kind,), {n: getattr(kind, n) for n in names} | methods)


def _proxy(kind: Any) -> ClassProxy:
    """Programs make lazy layers, and derive no classes from them."""
    return ClassProxy(kind, kind)


_TITLE = "Layers"
ADDED: dict[str, tuple[str, Any]] = {
    f"torch.nn.{name}": (_TITLE, _proxy(_checked(getattr(nn, name)))) for name in _NAMES.split()
} | {
    f"torch.nn{path}.{kind.__name__}": (_TITLE, ClassProxy(kind))
    for path in ("", ".parameter")
    for kind in (UninitializedParameter, UninitializedBuffer)
}


def has_no_shape(tensor: torch.Tensor) -> bool:
    """Whether this tensor still waits for its shape."""
    return isinstance(tensor, UninitializedParameter | UninitializedBuffer)
