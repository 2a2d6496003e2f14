"""Classes a program may name, test against and call, without holding the real ones."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from explorer.language.errors import OutsideLanguage


class Kind:
    """Stands for the class `kind`: `isinstance` and `==` take it, a call makes what `make` makes.

    Without `make` it cannot be called: the real class might make what the language leaves out.
    """

    __slots__ = ("__name__", "kind", "make")

    def __init__(self, kind: type, make: Callable[..., Any] | None = None) -> None:
        self.kind, self.make = kind, make
        self.__name__ = kind.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.make is None:
            raise OutsideLanguage(f"A {self.__name__} cannot be made by calling its class.")
        return self.make(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.kind)

    def __eq__(self, other: object) -> bool:
        return self.kind is (other.kind if isinstance(other, Kind) else other)

    def __hash__(self) -> int:
        return hash(self.kind)

    def __getitem__(self, item: Any) -> Kind:
        """`list[int]` says no more than `list` here."""
        return self

    def __or__(self, other: Any) -> Any:
        return self.kind | real(other) if isinstance(other, _UNITED) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return real(other) | self.kind if isinstance(other, _UNITED) else NotImplemented


#: What may stand beside a Kind in `A | B`: an object of a program's would be handed the class.
_UNITED = (Kind, type, type(None), types.UnionType)


def real(kinds: Any) -> Any:
    """The class, or tuple of classes, behind what a program passed to `isinstance`."""
    if isinstance(kinds, tuple):
        return tuple(real(kind) for kind in kinds)
    return kinds.kind if isinstance(kinds, Kind) else kinds
