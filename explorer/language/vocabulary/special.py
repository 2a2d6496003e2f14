"""The few names whose torch function would do too much: each has a narrower one of ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from explorer.language.errors import OutsideLanguage, ProgramStopped

MAX_ELEMENTS = 20_000_000

GROUP = "Data"
#: Names that stand in no group of the table.
ADDED = (
    "torch.Tensor",
    "torch.FloatTensor",
    "torch.DoubleTensor",
    "torch.LongTensor",
    "torch.IntTensor",
    "torch.utils.data.DataLoader",
    "torch.cuda.is_available",
)


class Kind:
    """A class a program may test against (`isinstance`) and call, with a call of our own."""

    def __init__(self, kind: type, make: Callable[..., Any]) -> None:
        self.kind, self.make = kind, make
        self.__name__ = kind.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.make(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.kind)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)


def elements(count: float) -> None:
    """Stop the program if one tensor would have more elements than the limit."""
    if count > MAX_ELEMENTS:
        raise ProgramStopped(
            f"A tensor of {int(count):,} elements would be made; the limit is {MAX_ELEMENTS:,}.",
            "Use a smaller shape.",
        )


def _product(*args: Any, **kwargs: Any) -> float:
    """The product of every whole number in the arguments that give a shape."""
    size = kwargs.get("size", args)
    return math.prod(float(n) for n in _flat(size))


def _sequences(*args: Any, **kwargs: Any) -> float:
    """The same, for functions that take their shape as one sequence."""
    given = kwargs.get("size", [a for a in args if isinstance(a, list | tuple)])
    return math.prod(float(n) for n in _flat(given))


def _flat(value: Any) -> Iterator[int]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, int):
        yield value


def _steps(*args: Any, **kwargs: Any) -> float:
    return float(kwargs.get("steps", args[2] if len(args) > 2 else 0))


def _range(*args: Any, **kwargs: Any) -> float:
    numbers = [*args, *(kwargs[k] for k in ("start", "end", "step") if k in kwargs)]
    low, high, step = (0, *numbers, 1)[:3] if len(numbers) == 1 else (*numbers, 1)[:3]
    return abs((float(high) - float(low)) / (float(step) or 1))


#: How many elements a call of each creating function would make.
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
    "numpy.arange": _range,
    "numpy.random.rand": _product,
    "numpy.random.randn": _product,
}


def _sized(function: Callable[..., Any], size: Callable[..., float]) -> Callable[..., Any]:
    def make(*args: Any, **kwargs: Any) -> Any:
        try:
            count = size(*args, **kwargs)
        except (TypeError, ValueError, OverflowError):
            count = 0  # wrong arguments: torch says it better
        elements(count)
        return function(*args, **kwargs)

    make.__name__ = function.__name__
    return make


def _tensor_class(dtype: torch.dtype) -> Callable[..., torch.Tensor]:
    """`torch.Tensor(2, 3)` is uninitialised memory in torch; here it is zeros."""

    def make(*args: Any) -> torch.Tensor:
        if args and all(isinstance(a, int) for a in args):
            elements(_product(*args))
            return torch.zeros(*args, dtype=dtype)
        if len(args) == 1 and isinstance(args[0], list | tuple | torch.Tensor):
            return torch.as_tensor(args[0], dtype=dtype)
        if not args:
            return torch.zeros(0, dtype=dtype)
        raise OutsideLanguage("Tensor takes sizes or one list of numbers.", "Use torch.tensor.")

    return make


def _data_loader(dataset: Any, *args: Any, **kwargs: Any) -> Any:
    known = {"batch_size", "shuffle", "drop_last", "num_workers", "pin_memory"}
    for name in kwargs.keys() - known:
        raise OutsideLanguage(f"DataLoader takes no {name} in this language.", "Leave it out.")
    kwargs.pop("pin_memory", None)
    if kwargs.pop("num_workers", 0):
        raise OutsideLanguage(
            "DataLoader cannot start workers here.", "Leave num_workers out: it loads in place."
        )
    return torch.utils.data.DataLoader(dataset, *args[:2], **kwargs)


def _is_available() -> bool:
    """Programs run on the processor."""
    return False


def replacements(table: dict[str, Any]) -> dict[str, Any]:
    """What to put into the table in place of, or besides, torch's own functions."""
    made: dict[str, Any] = {
        name: _sized(table[name], size) for name, size in SIZES.items() if name in table
    }
    made["torch.Tensor"] = Kind(torch.Tensor, _tensor_class(torch.float32))
    made["torch.FloatTensor"] = _tensor_class(torch.float32)
    made["torch.DoubleTensor"] = _tensor_class(torch.float64)
    made["torch.LongTensor"] = _tensor_class(torch.int64)
    made["torch.IntTensor"] = _tensor_class(torch.int32)
    made["torch.utils.data.DataLoader"] = _data_loader
    made["torch.cuda.is_available"] = _is_available
    return made
