"""The base of the language's own objects that stand in for those of a library."""

from __future__ import annotations

from typing import ClassVar


class StandIn:
    """An object in place of one of a library that programs may not use, such as a figure.

    A program may read all its attributes and methods whose names have no leading underscore, and
    assign those named in `writable`. It is never given a real object of the library. What its
    methods receive is untrusted, and may be of any type that `guard.values` admits: check it, keep
    plain copies, and call nothing of it.
    """

    writable: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def provides(self, name: str) -> bool:
        """Whether the object has this attribute now, besides those of its class."""
        return False


def public_names(kind: type) -> frozenset[str]:
    """The names that a program may read on an instance of this StandIn, besides its attributes."""
    classes = (c for c in kind.__mro__ if issubclass(c, StandIn) and c is not StandIn)
    return frozenset(name for c in classes for name in vars(c) if name[:1] != "_") - {"writable"}
