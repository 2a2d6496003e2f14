"""Functions of ours where torch's or numpy's own would do too much."""

from __future__ import annotations

import copy
import functools
import math
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage, ProgramStopped
from explorer.language.vocabulary import checked, memory
from explorer.language.vocabulary.data import numbers_only, of_numbers, stranger
from explorer.language.vocabulary.kind import Kind
from explorer.language.vocabulary.python import NUMPY_RANDOM

#: Most elements a tensor may be created with.
MAX_ELEMENTS = 20_000_000
#: Largest settings of torch.set_printoptions.
PRINT_LIMITS = {"precision": 30, "threshold": 10_000, "edgeitems": 50, "linewidth": 1_000}


def elements(count: float) -> None:
    """Stop the program if one tensor would have more elements than the limit."""
    if count > MAX_ELEMENTS:
        raise ProgramStopped(
            f"A tensor of {int(count):,} elements would be made; the limit is {MAX_ELEMENTS:,}.",
            "Use a smaller shape.",
        )


# -- how many elements a call would make, told from its arguments -----------------------------


def _product(*args: Any, **kwargs: Any) -> float:
    """The product of every whole number in the arguments that give a shape."""
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
    return _product(kwargs["shape"]) if kwargs.get("shape") is not None else 0


def _third(*args: Any, **kwargs: Any) -> float:
    """The product of `size`, the third argument of numpy's random functions."""
    return _product(kwargs.get("size", args[2] if len(args) > 2 else 0))


def _entries(array: Any) -> float:
    return float(np.size(array))


SIZES: dict[str, Callable[..., float]] = {
    "torch.zeros": _product,
    "torch.ones": _product,
    "torch.rand": _product,
    "torch.randn": _product,
    "torch.eye": lambda n, m=None, **_: float(n) * float(n if m is None else m),
    "torch.full": _sequences,
    "torch.randint": _sequences,
    "torch.normal": _sequences,
    "torch.randperm": lambda n, **_: float(n),
    "torch.arange": _range,
    "torch.linspace": _steps,
    "torch.logspace": _steps,
    "numpy.zeros": _product,
    "numpy.ones": _product,
    "numpy.full": lambda shape, *_, **__: _product(shape),
    **{f"numpy.{name}_like": _shape for name in ("zeros", "ones", "full")},
    "numpy.eye": lambda N, M=None, *_, **__: float(N) * float(N if M is None else M),
    "numpy.identity": lambda n, *_, **__: float(n) ** 2,
    "numpy.linspace": lambda start, stop, num=50, *_, **__: float(num),
    "numpy.tile": lambda A, reps: _entries(A) * _product(reps),
    "numpy.repeat": lambda a, repeats, *_, **__: _entries(a) * float(np.max(repeats)),
    "numpy.outer": lambda a, b, *_, **__: _entries(a) * _entries(b),
    "numpy.diag": lambda v, k=0: (_entries(v) + abs(k)) ** 2 if np.ndim(v) == 1 else 0,
    "numpy.arange": _range,
    "numpy.random.random": _product,
    **{f"numpy.random.{name}": _third for name in ("randint", "uniform", "normal")},
    "numpy.random.rand": _product,
    "numpy.random.randn": _product,
}


def _sized(function: Callable[..., Any], size: Callable[..., float]) -> Callable[..., Any]:
    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        try:
            count = size(*args, **kwargs)
        except (TypeError, ValueError, OverflowError):
            count = 0  # wrong arguments: torch says it better
        elements(count)
        return function(*args, **kwargs)

    return make


# -- creating ----------------------------------------------------------------------------------


def _from_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def make(data: Any, *args: Any, **kwargs: Any) -> Any:
        return function(numbers_only(data), *args, **kwargs)

    return make


def _tensor_class(dtype: torch.dtype) -> Callable[..., torch.Tensor]:
    """`torch.Tensor(2, 3)` is uninitialised memory in torch; here it is zeros."""

    def make(*args: Any) -> torch.Tensor:
        if args and all(isinstance(a, int) for a in args):
            elements(_product(*args))
            return torch.zeros(*args, dtype=dtype)
        if len(args) == 1 and isinstance(args[0], torch.Size):
            elements(_product(args[0]))
            return torch.zeros(args[0], dtype=dtype)
        if len(args) == 1 and isinstance(args[0], list | tuple | torch.Tensor | np.ndarray):
            return torch.as_tensor(numbers_only(args[0]), dtype=dtype)
        if not args:
            return torch.zeros(0, dtype=dtype)
        raise OutsideLanguage("Tensor takes sizes or one list of numbers.", "Use torch.tensor.")

    return make


def _generator(seed: int | None = None) -> np.random.Generator:
    """A numpy generator; without a seed it is seeded from the run's own."""
    numbers_only(seed)
    return np.random.default_rng(NUMPY_RANDOM.randint(2**31) if seed is None else seed)


def _data_loader(dataset: Any, batch_size: int = 1, shuffle: bool = False, **options: Any) -> Any:
    """Batches of a dataset, loaded in this process."""
    known = {"drop_last", "num_workers", "pin_memory", "collate_fn", "generator"}
    for name in options.keys() - known:
        raise OutsideLanguage(f"DataLoader takes no {name[:60]} in this language.", "Leave it out.")
    options.pop("pin_memory", None)
    if options.pop("num_workers", 0):
        raise OutsideLanguage(
            "DataLoader cannot start workers here.", "Leave num_workers out: it loads in place."
        )
    if batch_size is not None and options.get("collate_fn") is None:
        options["collate_fn"] = _collate
    return torch.utils.data.DataLoader(dataset, batch_size, shuffle, **options)


def _collate(samples: list[Any]) -> Any:
    """torch's default_collate, of numbers: it makes tensors of the lists in the samples."""
    strange = stranger(samples, dict, OrderedDict)
    if strange is not None:
        raise OutsideLanguage(
            f"A batch is made of numbers; a sample holds a {type(strange).__name__[:60]}.",
            "Return tensors, numbers, lists or dictionaries of them, or pass a collate_fn.",
        )
    return torch.utils.data.default_collate(samples)


# -- the rest ----------------------------------------------------------------------------------


def _is_available() -> bool:
    """Whether a GPU can be used: no, programs run on the processor."""
    return False


def _set_printoptions(**options: Any) -> None:
    for name, most in PRINT_LIMITS.items():
        if isinstance(options.get(name), float | int) and options[name] > most:
            raise OutsideLanguage(f"{name} may be at most {most:,}.", "Use a smaller one.")
    torch.set_printoptions(**options)


@functools.wraps(copy.copy)
def _copy(x: Any) -> Any:
    # Python would look a bound method up again, by the name the function was given.
    return x if isinstance(x, types.MethodType) else copy.copy(x)


@functools.wraps(copy.deepcopy)
def _deepcopy(x: Any, memo: Any = None) -> Any:
    if memo is not None:
        raise OutsideLanguage("The memo argument of deepcopy is not supported.", "Leave it out.")
    return copy.deepcopy(x)


class _Annotation:
    """A name of `typing`: it may stand in annotations, which are not looked at."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, item: Any) -> _Annotation:
        return self

    def __repr__(self) -> str:
        return f"typing.{self._name}"


_ANNOTATIONS = "Any Callable Dict Iterable Iterator List Optional Sequence Set Tuple Union"

#: Names that stand in no group of the table: title, full name, object.
ADDED: dict[str, tuple[str, Any]] = {
    "torch.Tensor": ("Creating tensors", Kind(torch.Tensor, _tensor_class(torch.float32))),
    "torch.FloatTensor": ("Creating tensors", _tensor_class(torch.float32)),
    "torch.DoubleTensor": ("Creating tensors", _tensor_class(torch.float64)),
    "torch.LongTensor": ("Creating tensors", _tensor_class(torch.int64)),
    "torch.IntTensor": ("Creating tensors", _tensor_class(torch.int32)),
    "torch.empty": ("Creating tensors", torch.zeros),
    "torch.empty_like": ("Creating tensors", torch.zeros_like),
    "torch.set_printoptions": ("Autograd", _set_printoptions),
    "torch.cuda.is_available": ("Autograd", _is_available),
    "torch.utils.data.DataLoader": ("Data", Kind(torch.utils.data.DataLoader, _data_loader)),
    "numpy.ndarray": ("numpy", Kind(np.ndarray)),
    "numpy.random.default_rng": ("numpy", _generator),
    **{f"typing.{name}": ("Python", _Annotation(name)) for name in _ANNOTATIONS.split()},
}


def _takes_where(function: Any) -> bool:
    """Whether `where=` says which of its results are computed; in sums it says what is added."""
    return isinstance(function, np.ufunc) or function is np.clip


def replacements(table: dict[str, Any]) -> dict[str, Any]:
    """What to put into the table in place of, or besides, the libraries' own functions."""
    made = {name: _sized(table[name], size) for name, size in SIZES.items()}
    for name in ("torch.tensor", "torch.as_tensor"):
        made[name] = _from_numbers(table[name])
    for name, thing in table.items():
        if name.startswith("numpy.") and callable(thing) and not isinstance(thing, type):
            made[name] = of_numbers(made.get(name, thing), fills=not _takes_where(thing))
    made |= checked.replacements(table)
    made |= {"copy.copy": _copy, "copy.deepcopy": _deepcopy}
    vector = "torch.nn.utils.vector_to_parameters"
    made[vector] = memory.versioned(table[vector])
    made |= {name: thing for name, (_, thing) in ADDED.items()}
    made["torch.empty"], made["torch.empty_like"] = made["torch.zeros"], table["torch.zeros_like"]
    made["numpy.empty"], made["numpy.empty_like"] = made["numpy.zeros"], made["numpy.zeros_like"]
    return made
