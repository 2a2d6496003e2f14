"""`torch.save` and `torch.load`: copies in memory, for the length of a run.

No file is written or read, and nothing is pickled: what was saved under a name is copied, and each
load gives another copy.
"""

from __future__ import annotations

import copy
import posixpath
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from explorer.language.errors import OutsideLanguage, ProgramStopped
from explorer.language.notices import Running, notice, running
from explorer.language.vocabulary.sizes import check_bytes
from explorer.language.vocabulary.stand_in import StandIn

#: How many names one run may save under, and how deeply what it saves may be nested.
MOST_NAMES, MOST_DEPTH = 100, 50
#: The most objects, besides tensors, in what is saved.
MOST_PARTS = 100_000

#: What each run has saved: the name or the object that stands for a file -> the copy, its bytes,
#: and the object, so that its id stays its own.
_saved: WeakKeyDictionary[Running, dict[Any, tuple[Any, float, Any]]] = WeakKeyDictionary()


def save(obj: Any, f: Any, *args: Any, **options: Any) -> None:
    """Keep a copy of an object under the name of a file, until the run ends."""
    program = running()
    if program is None:
        raise OutsideLanguage("Only a running program can save something.")
    kept = _saved.setdefault(program, {})
    key = _key(f)
    others = sum(size for name, (_, size, _) in kept.items() if name != key)
    if key not in kept and len(kept) >= MOST_NAMES:
        raise ProgramStopped(
            f"A program may save at most {MOST_NAMES} files.", "Use the same name again."
        )
    size = _bytes_of(obj)
    check_bytes(others + size, 1)
    kept[key] = _copy(obj), size, f
    notice("No file is written here: what a program saves can be loaded until its run ends.")


def load(f: Any, *args: Any, **options: Any) -> Any:
    """A copy of what this run has saved under this name. The other arguments have no effect."""
    program = running()
    kept = {} if program is None else _saved.get(program, {})
    key = _key(f)
    if key not in kept:
        name = f"the name {key[:60]!r}" if isinstance(key, str) else "this name"
        raise FileNotFoundError(
            f"Programs here cannot read files, and this run has saved nothing under {name}"
        )
    return _copy(kept[key][0])


def is_saved(name: str) -> bool:
    """Whether the running program has saved something under this name of a file."""
    program = running()
    return program is not None and _key(name) in _saved.get(program, {})


def _key(f: Any) -> Any:
    """The name of a file, or for an object such as a buffer its identity."""
    if isinstance(f, StandIn):
        path = getattr(type(f), "__fspath__", None)
        name = path(f) if path else getattr(f, "name", None)
        f = name if isinstance(name, str) else f
    if type(f) is str:
        return posixpath.normpath(f[:1000])
    if not isinstance(f, StandIn):
        raise TypeError("expected the name of a file, or a buffer")
    return id(f)


def _parts(thing: Any) -> Iterator[Any]:
    """The tensors and other objects in it, as far as they are containers, modules or tensors."""
    waiting, visited = [thing], set()
    while waiting:
        part = waiting.pop()
        if id(part) in visited:
            continue
        visited.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += [*part.values()]
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, nn.Module):
            waiting += [*part.parameters(), *part.buffers()]


def _bytes_of(thing: Any) -> float:
    """About how much memory a copy takes."""
    size = 0.0
    for count, part in enumerate(_parts(thing)):
        if count > MOST_PARTS:
            raise ProgramStopped(
                f"What is saved has more than {MOST_PARTS:,} parts.", "Save tensors instead."
            )
        size += part.numel() * part.element_size() if isinstance(part, torch.Tensor) else 100
    return size


def _copy(thing: Any) -> Any:
    """A deep copy. Tensors lose their history, as in a file, and dictionaries keep their class."""
    return _Copies().of(thing)


class _Copies:
    """The copies made by one save: an object used in several places is copied once."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def of(self, thing: Any, depth: int = 0) -> Any:
        """The copy of this part, which is nested so deeply."""
        if depth > MOST_DEPTH:
            raise OutsideLanguage("What is saved is nested too deeply.", "Save a flat dictionary.")
        if id(thing) not in self._made:
            self._made[id(thing)] = self._make(thing, depth + 1)
        return self._made[id(thing)]

    def _make(self, thing: Any, depth: int) -> Any:
        if isinstance(thing, torch.Tensor):
            if thing.is_leaf:
                return copy.deepcopy(thing)
            return thing.detach().clone().requires_grad_(thing.requires_grad)
        kind = type(thing)
        if isinstance(thing, dict) and kind.__module__ in ("builtins", "collections"):
            copied = copy.copy(thing)
            for key, value in thing.items():
                copied[key] = self.of(value, depth)
            return copied
        if kind in (list, tuple):
            return kind([self.of(part, depth) for part in thing])
        return copy.deepcopy(thing)


_TITLE = "Saving and loading"

ADDED: dict[str, tuple[str, Any]] = {
    f"{module}.{function.__name__}": (_TITLE, function)
    for module in ("torch", "torch.jit")
    for function in (save, load)
}
