"""The names that installed modules have, for what is typed without an import, and suggestions."""

from __future__ import annotations

import builtins
import difflib
import importlib
import importlib.util
import sys
from collections.abc import Iterable
from functools import cache

#: Modules that are loaded to know their names. Of others, only those that are loaded anyway.
_LOADED = (
    "torch", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.optim", "torch.autograd",
    "torch.utils.data", "torch.func", "collections", "copy", "functools", "itertools", "math",
    "random", "time", "numpy",
)  # fmt: skip


def module_names(path: str) -> frozenset[str] | None:
    """The public names of a module; None if there is no such module here."""
    if path in _LOADED:
        return _names_of(path)
    module = sys.modules.get(path)
    if module is not None:
        return frozenset(name for name in dir(module) if name[:1] != "_")
    return frozenset() if _is_installed(path.split(".")[0]) else None


@cache
def _names_of(path: str) -> frozenset[str]:
    module = importlib.import_module(path)
    return frozenset(n for n in getattr(module, "__all__", dir(module)) if n[:1] != "_")


@cache
def _is_installed(top: str) -> bool:
    try:
        return bool(top) and importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def star_names(path: str) -> frozenset[str]:
    """The names that `from path import *` binds, of a module that is loaded."""
    listed = getattr(sys.modules.get(path), "__all__", None)
    names = module_names(path) or frozenset()
    return names if listed is None else frozenset(map(str, listed))


#: How similar a name must be to be that one, misspelt: torchdiffeq is not torchview.
SIMILAR = 0.75


def closest_name(name: str, known: Iterable[str], cutoff: float = SIMILAR) -> str:
    """The known name most similar to this one, or an empty string."""
    public = [k for k in known if k[:1] != "_"]
    if same := [k for k in public if k.lower() == name.lower()]:
        return same[0]
    matches = difflib.get_close_matches(name[:60], public, 1, cutoff)
    return matches[0] if matches else ""


BUILTINS = frozenset(name for name in dir(builtins) if name[:1] != "_")
