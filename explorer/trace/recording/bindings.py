"""What the names of a program meant, in order: tensors, modules and optimizers, as objects.

A name is one of a variable (`w`), of an item (`layers[0]`), or of an attribute of a module or of
an object of the program (`fc` of `net`). That an attribute is known by its owner makes `self.fc`
inside a method and `net.fc` outside it the same name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.trace.recording.objects import (
    fields_of,
    is_a,
    is_own_object,
    items_of,
    join_path,
    named_modules,
)

_FOLLOWED = (torch.Tensor, nn.Module, torch.optim.Optimizer)


@dataclass(frozen=True, eq=False)
class Binding:
    """A name was given to an object that it did not mean before.

    `number` counts all of them, from 1: what has a smaller one came first. `visit` says how often
    the line had run. `scope` is the function of a variable ("train"), `owner` the module or object
    of an attribute. The object is held here, so that its id is not reused.
    """

    number: int
    line: int
    visit: int
    name: str
    value: Any
    scope: str = ""
    owner: Any = None


class Bindings:
    """The log of one run. The first meanings of each name are kept, and the last one."""

    def __init__(self) -> None:
        #: How many names have been given so far: the present moment, in `Binding.number`.
        self.number = 0
        self._by_name: dict[tuple[int | str, str], list[Binding]] = {}
        self._by_object: dict[int, list[Binding]] = {}

    # -- while the program runs -----------------------------------------------------------------

    def give(self, name: str, value: Any, line: int, visit: int = 1, scope: str = "") -> None:
        """The program has given a variable this value, or may have changed what is inside it."""
        at = (line, visit)
        if name == "self":  # the caller has named it otherwise
            self._look_inside(value, at)
        elif is_a(value, _FOLLOWED):
            self._add(name, value, at, scope)
            if is_a(value, nn.Module):
                self._look_through(value, at)
        elif is_own_object(value):
            self._add(name, value, at, scope)
            self._look_inside(value, at)
        else:
            self._add_items(name, value, at, scope)

    def _look_through(self, module: nn.Module, at: tuple[int, int]) -> None:
        for _, part in islice(named_modules(module), limits.MOST_NAMED_MODULES):
            self._look_inside(part, at)

    def _look_inside(self, owner: Any, at: tuple[int, int]) -> None:
        """The attributes of a module or an object of the program; of those that are new, theirs."""
        fields = fields_of(owner)
        if is_a(owner, nn.Module):
            for store in ("_parameters", "_modules"):
                for name, value in fields.get(store, {}).items():
                    if value is not None and self._add(name, value, at, owner=owner):
                        self._look_through_new(value, at)
        for name, value in islice(fields.items(), limits.MOST_NAMED_MODULES):
            if is_a(value, _FOLLOWED):
                if self._add(name, value, at, owner=owner):
                    self._look_through_new(value, at)
            elif name[:1] != "_" and is_a(value, list | tuple | dict):
                self._add_items(name, value, at, owner=owner)

    def _look_through_new(self, value: Any, at: tuple[int, int]) -> None:
        if is_a(value, nn.Module):
            self._look_through(value, at)

    def _add_items(
        self, name: str, items: Any, at: tuple[int, int], scope: str = "", owner: Any = None
    ) -> None:
        for label, item in items_of(name, items):
            if is_a(item, _FOLLOWED):
                inside = [(label, item)]
            elif is_a(owner, nn.Module) and is_a(item, list | tuple):
                inside = list(items_of(label, item))  # layers in a list of lists
            else:
                continue
            for path, part in inside:
                if is_a(part, _FOLLOWED) and self._add(path, part, at, scope, owner):
                    self._look_through_new(part, at)

    def _add(
        self, name: str, value: Any, at: tuple[int, int], scope: str = "", owner: Any = None
    ) -> bool:
        """Log a name, unless it means this object already."""
        key = (scope if owner is None else id(owner), name)
        meanings = self._by_name.get(key)
        if meanings is None:
            if len(self._by_name) >= limits.MOST_NAMES:
                return False
            meanings = self._by_name[key] = []
        elif meanings[-1].value is value:
            return False
        if len(meanings) > limits.FIRST_VISITS:
            last = meanings.pop()
            self._by_object[id(last.value)].remove(last)
        self.number += 1
        binding = Binding(self.number, *at, name, value, scope, owner)
        meanings.append(binding)
        self._by_object.setdefault(id(value), []).append(binding)
        return True

    # -- afterwards -----------------------------------------------------------------------------

    def names_of(self, value: Any) -> list[Binding]:
        """When the object got each of its names, the first first."""
        return list(self._by_object.get(id(value), ()))

    def successor(self, binding: Binding) -> Binding | None:
        """When the name was given to another object; after very many times, perhaps the last."""
        meanings = self._meanings(binding)
        place = meanings.index(binding) + 1
        return meanings[place] if place < len(meanings) else None

    def predecessor(self, binding: Binding) -> Binding | None:
        """When the name was given to the object that it meant before."""
        meanings = self._meanings(binding)
        place = meanings.index(binding) - 1
        return meanings[place] if place >= 0 else None

    def _meanings(self, binding: Binding) -> list[Binding]:
        owner = binding.owner
        return self._by_name[binding.scope if owner is None else id(owner), binding.name]

    def __iter__(self) -> Iterator[Binding]:
        return (binding for meanings in self._by_name.values() for binding in meanings)

    def path(self, binding: Binding) -> str:
        """The name in full: "net.fc.weight" for `weight`, an attribute of `net.fc`."""
        return self._path(binding, ())

    def path_of(self, value: Any) -> str:
        """The first name of an object, one outside of functions if it has any; the name of its
        class, if it has none, or `self` for what holds it."""
        return self._path_of(value, ())

    def _path(self, binding: Binding, inside: tuple[int, ...]) -> str:
        if binding.owner is None:
            return binding.name
        return join_path(self._path_of(binding.owner, inside), binding.name)

    def _path_of(self, value: Any, inside: tuple[int, ...]) -> str:
        inside = (*inside, id(value))
        names = [b for b in self._by_object.get(id(value), ()) if id(b.owner) not in inside]
        if not names or len(inside) > limits.MAX_NAME_DEPTH:
            return "self" if len(inside) > 1 else type(value).__name__
        return self._path(min(names, key=lambda b: bool(b.scope)), inside)
