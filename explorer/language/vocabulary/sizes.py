"""How much memory a tensor or array may take, and how many elements a call would create."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from explorer.language.errors import ProgramStopped

#: The most bytes that one tensor may take, unless a sandbox sets what its children may use in all.
MOST_BYTES = 512 * 2**20
_most_bytes = MOST_BYTES
#: The bytes of an element where its type is not known: most types have as many, or more.
_ITEM = 4


def limit_bytes(most: int) -> None:
    """From now on, let no tensor of any program in this process take more than so many bytes."""
    global _most_bytes
    _most_bytes = most


def check_bytes(count: float, item: int = _ITEM) -> None:
    """Raises ProgramStopped if one tensor of so many elements, with `item` bytes each, would take
    more memory than the limit."""
    if count * item > _most_bytes:
        raise ProgramStopped(
            f"A tensor of {_in_megabytes(count * item)} MB is too large; a program may use "
            f"{_in_megabytes(_most_bytes)} MB.",
            "Use a smaller shape.",
        )


def _in_megabytes(size: float) -> str:
    size /= 2**20
    return f"{size:,.0f}" if size < 1e12 else f"{size:.0e}"


def _item_size(dtype: Any) -> int:
    """The bytes of an element of this dtype, of torch or numpy."""
    if isinstance(dtype, torch.dtype):
        return dtype.itemsize
    default = torch.get_default_dtype().itemsize
    return max(_ITEM, default) if dtype is None else np.dtype(dtype).itemsize


# -- how many elements a call would create, from its arguments -----------------------------------


def product(*args: Any, **kwargs: Any) -> float:
    """The product of all integers in the arguments that give a shape."""
    size = kwargs.get("size", kwargs.get("shape", args))
    return math.prod(float(n) for n in _flat(size))


def _sequences(*args: Any, **kwargs: Any) -> float:
    """The same, for functions that take their shape as one sequence."""
    given = kwargs.get("size", [a for a in args if isinstance(a, list | tuple)])
    return math.prod(float(n) for n in _flat(given))


def _flat(value: Any) -> Iterator[int]:
    if isinstance(value, np.ndarray | np.generic | torch.Tensor):
        value = value.tolist()
    if isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, int):
        yield value


def _steps(*args: Any, **kwargs: Any) -> float:
    return float(kwargs.get("steps", args[2] if len(args) > 2 else 0))


def _range(*args: Any, **kwargs: Any) -> float:
    names = ("start", "end", "stop", "step")
    numbers = [*args, *(kwargs[name] for name in names if name in kwargs)]
    low, high, step = (0, *numbers, 1)[:3] if len(numbers) == 1 else (*numbers, 1)[:3]
    return abs((float(high) - float(low)) / (float(step) or 1))


def _shape(*args: Any, **kwargs: Any) -> float:
    """The product of `shape=`."""
    return product(kwargs["shape"]) if kwargs.get("shape") is not None else 0


def _third(*args: Any, **kwargs: Any) -> float:
    """The product of `size`, the third argument of numpy's random functions."""
    return product(kwargs.get("size", args[2] if len(args) > 2 else 0))


def _entries(array: Any) -> float:
    return float(np.size(array))


SIZES: dict[str, Callable[..., float]] = {
    "torch.zeros": product,
    "torch.ones": product,
    "torch.rand": product,
    "torch.randn": product,
    "torch.eye": lambda n, m=None, **_: float(n) * float(n if m is None else m),
    "torch.full": _sequences,
    "torch.randint": _sequences,
    "torch.normal": _sequences,
    "torch.randperm": lambda n, **_: float(n),
    "torch.arange": _range,
    "torch.linspace": _steps,
    "torch.logspace": _steps,
    "numpy.zeros": product,
    "numpy.ones": product,
    "numpy.full": lambda shape, *_, **__: product(shape),
    **{f"numpy.{name}_like": _shape for name in ("zeros", "ones", "full")},
    "numpy.eye": lambda N, M=None, *_, **__: float(N) * float(N if M is None else M),
    "numpy.identity": lambda n, *_, **__: float(n) ** 2,
    "numpy.linspace": lambda start, stop, num=50, *_, **__: float(num),
    "numpy.tile": lambda A, reps: _entries(A) * product(reps),
    "numpy.repeat": lambda a, repeats, *_, **__: _entries(a) * float(np.max(repeats)),
    "numpy.outer": lambda a, b, *_, **__: _entries(a) * _entries(b),
    "numpy.diag": lambda v, k=0: (_entries(v) + abs(k)) ** 2 if np.ndim(v) == 1 else 0,
    "numpy.arange": _range,
    **{
        f"numpy.{name}": lambda start, stop, num=50, *_, **__: float(num)
        for name in ("logspace", "geomspace")
    },
    **{
        f"numpy.{name}": lambda n, *args, **_: float(n) * float(args[-1] if len(args) > 1 else n)
        for name in ("tri", "tril_indices", "triu_indices")
    },
    **{
        f"numpy.{name}": lambda M: float(M)
        for name in ("hamming", "hanning", "blackman", "bartlett")
    },
    "numpy.indices": lambda dimensions, *_, **__: product(dimensions) * len(dimensions),
    "numpy.diagflat": lambda v, k=0: (_entries(v) + abs(k)) ** 2,
    "numpy.kron": lambda a, b: _entries(a) * _entries(b),
    "numpy.vander": lambda x, N=None, *_, **__: _entries(x) * float(N or np.size(x)),
    "numpy.broadcast_to": lambda array, shape, *_, **__: product(shape),
    "numpy.bincount": lambda x, *_, minlength=0, **__: max(
        float(np.max(x, initial=0)), float(minlength)
    ),
    "numpy.fft.fftfreq": lambda n, *_, **__: float(n),
    "numpy.fft.rfftfreq": lambda n, *_, **__: float(n),
    **{
        f"numpy.fft.{name}": lambda a, n=None, *_, **__: float(n or 0)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"numpy.fft.{name}": lambda a, s=None, *_, **__: product(s) if s is not None else 0.0
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
    "numpy.random.random": product,
    **{f"numpy.random.{name}": _third for name in ("randint", "uniform", "normal")},
    "numpy.random.rand": product,
    "numpy.random.randn": product,
}


def limit_size(function: Callable[..., Any], size: Callable[..., float]) -> Callable[..., Any]:
    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        try:
            count, item = size(*args, **kwargs), _item_size(kwargs.get("dtype"))
        except (TypeError, ValueError, OverflowError):
            count = item = 0  # wrong arguments: torch's own error is better
        check_bytes(count, item)
        return function(*args, **kwargs)

    return make
