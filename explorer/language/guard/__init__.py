"""Run-time checks behind the rewritten code: what may be read, written, computed and formatted.

`attributes` decides by the receiver's type, `classes` knows the classes the program made,
`operators` and `formatting` refuse results that would be endless, `items` guards tensors' items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from explorer.language.guard import formatting, operators
from explorer.language.guard.attributes import Attributes
from explorer.language.guard.classes import Classes
from explorer.language.guard.items import Field, Slot, cells
from explorer.language.guard.stops import Managed, go_on_stopping
from explorer.language.namespaces import Namespace
from explorer.language.watcher import Watcher

__all__ = ["Guard"]


class Guard:
    """The helpers of one run. `helpers` holds them under the names the rewritten code uses."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.classes = Classes()
        self.attributes = Attributes(self.classes, watcher)
        self.helpers: dict[str, Any] = {
            ".get": self.attributes.get,
            ".field": lambda receiver: Field(self.attributes, receiver),
            ".cells": cells,
            ".slot": Slot,
            ".slice": slice,
            ".operate": operators.operate,
            ".augment": operators.augment,
            ".augment_item": operators.augment_item,
            ".format": formatting.formatted,
            ".joined": formatting.joined,
            ".managed": Managed,
            ".go_on_stopping": go_on_stopping,
            ".base": self.classes.base,
            ".counted": self.counted,
            ".module": self.module,
            ".member": self.member,
            ".Exception": Exception,
        }

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a comprehension, each counted as a statement."""
        for item in items:
            self.watcher.tick()
            yield item

    def module(self, path: str, bound: str) -> Any:
        """What `import path` gives the name `bound`."""
        Namespace(path)
        return Namespace(bound)

    def member(self, path: str, name: str) -> Any:
        """What `from path import name` gives."""
        return self.attributes.get(Namespace(path), name)
