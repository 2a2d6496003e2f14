"""Classes that a program may name, test against and call, without holding the real ones."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from explorer.language.errors import OutsideLanguage


class ClassProxy:
    """A proxy for the class `wrapped`: `isinstance` and `==` accept it, a call returns `make(…)`.

    Without `make` it cannot be called: the real class might create what the language leaves out.
    `members` are what a program may read of it, such as `Path.cwd`; `base` is what a class of the
    program's own is derived from in place of it, if that is possible.
    """

    __slots__ = ("__name__", "base", "make", "members", "wrapped")

    def __init__(
        self,
        wrapped: type,
        make: Callable[..., Any] | None = None,
        members: Mapping[str, Any] | None = None,
        *,
        base: type | None = None,
    ) -> None:
        self.wrapped, self.make, self.members = wrapped, make, members or {}
        self.base = base
        self.__name__ = wrapped.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.make is None:
            raise OutsideLanguage(f"A {self.__name__} cannot be created by calling its class.")
        return self.make(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.wrapped)

    def __eq__(self, other: object) -> bool:
        return self.wrapped is (other.wrapped if isinstance(other, ClassProxy) else other)

    def __hash__(self) -> int:
        return hash(self.wrapped)

    def __getitem__(self, item: Any) -> ClassProxy:
        """`list[int]` means the same as `list` here."""
        return self

    def __or__(self, other: Any) -> Any:
        return self.wrapped | unwrap(other) if isinstance(other, _UNION_PARTS) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return unwrap(other) | self.wrapped if isinstance(other, _UNION_PARTS) else NotImplemented


#: What may be combined with a proxy in `A | B`: an object of a program's own class would receive
#: the real class.
_UNION_PARTS = (ClassProxy, type, type(None), types.UnionType)


def unwrap(classes: Any) -> Any:
    """The real class, or tuple of classes, for the second argument of `isinstance`."""
    if isinstance(classes, tuple):
        return tuple(unwrap(kind) for kind in classes)
    return classes.wrapped if isinstance(classes, ClassProxy) else classes
