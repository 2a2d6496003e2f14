"""`torch.nn.utils.parametrize`, the parametrizations of torch, and the older norms.

torch gives a parametrized module a class of its own, with a property for each parametrized tensor.
Measured with torch 2.13: if a module's `parametrizations` are not torch's own, the property is put
on the class of the module itself; `set_` changes a tensor's memory behind the version counter; the
kernel of weight norm reads and writes beyond a magnitude that is too small.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary import memory_safety
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.stand_in import StandIn

# -- modules whose class torch has replaced -------------------------------------------------------


def is_parametrized_name(kind: type, name: str) -> bool:
    """Whether the tensor `name` of a module of this class is computed by a parametrization."""
    value = inspect.getattr_static(kind, name, None)
    function = value.fget if isinstance(value, property) else None
    return getattr(function, "__globals__", None) is vars(parametrize)


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch that parametrizes a tensor of a module, or ends that."""

    @functools.wraps(function)
    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(module, nn.Module):
            raise TypeError("The first argument must be a module")
        getstate = vars(type(module)).get("__getstate__")
        is_ours = getattr(getstate, "__globals__", None) is vars(parametrize)
        if hasattr(module, "parametrizations") != is_ours:
            raise OutsideLanguage(
                "torch keeps the parametrizations of a module in `parametrizations`.",
                "Choose another name for your own attribute.",
            )
        return function(module, *args, **kwargs)

    return call


def _set_with_version(dest: torch.Tensor, src: torch.Tensor) -> None:
    """What parametrize does in place of `dest.set_(src)`: a new layout gets a new version."""
    if dest is not src:
        with torch._C.DisableTorchFunction():
            memory_safety.set_data(dest, src)


# The setter of a parametrized tensor calls it too, from wherever it is assigned.
parametrize._maybe_set = _set_with_version

# -- norms ----------------------------------------------------------------------------------------


def _weight_norm(v: torch.Tensor, g: torch.Tensor, dim: int) -> torch.Tensor:
    """`torch._weight_norm`, whose kernel does not compare the sizes of direction and magnitude."""
    dim = int(dim)
    expected = torch.norm_except_dim(v, 2, dim)
    if g.shape != expected.shape or g.dtype != v.dtype:
        raise RuntimeError(
            f"The magnitude of weight norm must have the shape {tuple(expected.shape)} and the "
            f"dtype {expected.dtype}, not {tuple(g.shape)} and {g.dtype}"
        )
    return torch._weight_norm(v, g, dim)


def _check_vectors(matrix: torch.Tensor, u: torch.Tensor, v: torch.Tensor) -> None:
    """Refuse vectors of spectral norm that torch would resize."""
    for vector, size in ((u, matrix.shape[0]), (v, matrix.shape[1])):
        if vector.shape != (size,) or vector.dtype != matrix.dtype or not vector.is_contiguous():
            raise RuntimeError("The vectors of spectral norm do not match the weight")


class _WeightNorm(parametrizations._WeightNorm):
    def forward(self, weight_g: torch.Tensor, weight_v: torch.Tensor) -> torch.Tensor:
        return _weight_norm(weight_v, weight_g, self.dim)


class _SpectralNorm(parametrizations._SpectralNorm):
    def _power_method(self, weight_mat: torch.Tensor, n_power_iterations: int) -> None:
        _check_vectors(weight_mat, self._u, self._v)
        super()._power_method(weight_mat, n_power_iterations)


_OLD_WEIGHT_NORM: Any = sys.modules["torch.nn.utils.weight_norm"]
_OLD_SPECTRAL_NORM: Any = sys.modules["torch.nn.utils.spectral_norm"]


class WeightNorm(_OLD_WEIGHT_NORM.WeightNorm):
    def compute_weight(self, module: nn.Module) -> Any:
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return _weight_norm(v, g, self.dim)


class SpectralNorm(_OLD_SPECTRAL_NORM.SpectralNorm):
    def compute_weight(self, module: nn.Module, do_power_iteration: bool) -> torch.Tensor:
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        _check_vectors(self.reshape_weight_to_matrix(weight), u, v)
        normed: torch.Tensor = super().compute_weight(module, do_power_iteration)
        return normed


# torch makes them by these names, and tells its own hooks by them.
for _kind in (_WeightNorm, _SpectralNorm):
    _kind.__module__ = parametrizations.__name__
    setattr(parametrizations, _kind.__name__, _kind)
_OLD_WEIGHT_NORM.WeightNorm, _OLD_SPECTRAL_NORM.SpectralNorm = WeightNorm, SpectralNorm


class Cached(StandIn):
    """`parametrize.cached()`: inside, a parametrized tensor is computed once."""

    def __init__(self) -> None:
        self._manager = parametrize.cached()

    def __enter__(self) -> None:
        self._manager.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._manager.__exit__(None, None, None)


_TITLE = "Parametrizations"
_FUNCTIONS: dict[str, tuple[Any, str]] = {
    "torch.nn.utils.parametrize": (
        parametrize,
        "register_parametrization remove_parametrizations",
    ),
    "torch.nn.utils.parametrizations": (parametrizations, "orthogonal spectral_norm weight_norm"),
    "torch.nn.utils": (
        nn.utils,
        "weight_norm remove_weight_norm spectral_norm remove_spectral_norm",
    ),
}
ADDED: dict[str, tuple[str, Any]] = {
    f"{path}.{name}": (_TITLE, _checked(getattr(holder, name)))
    for path, (holder, names) in _FUNCTIONS.items()
    for name in names.split()
} | {
    "torch.nn.utils.parametrize.is_parametrized": (_TITLE, parametrize.is_parametrized),
    "torch.nn.utils.parametrize.cached": (_TITLE, ClassProxy(Cached, Cached)),
}
