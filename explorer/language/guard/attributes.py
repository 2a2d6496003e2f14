"""Attributes: what a program may read and write, decided by the receiver's type.

A receiver's readable names come from the vocabulary by its class. Two kinds of object belong to
the program itself and are open to it: instances of its own classes, and what it stores on its
own modules. Everything else has no attributes at all.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from explorer.language import vocabulary
from explorer.language.errors import OutsideLanguage
from explorer.language.guard import formatting, sizes
from explorer.language.guard.classes import Classes
from explorer.language.guard.watched import METHODS, Watched
from explorer.language.namespaces import Namespace
from explorer.language.syntax import SPECIAL_READS
from explorer.language.vocabulary import memory
from explorer.language.vocabulary.checked import dense
from explorer.language.vocabulary.data import numbers_only, of_numbers
from explorer.language.vocabulary.kind import Kind
from explorer.language.watcher import Watcher

#: How a readable attribute is read: given the receiver and the name.
Way = Callable[[Any, str], Any]

_STORES = ("_parameters", "_buffers", "_modules")


class Attributes:
    """Reads, writes and deletes attributes for one run. All raise OutsideLanguage."""

    def __init__(self, classes: Classes, watcher: Watcher) -> None:
        self.classes = classes
        self.watched = Watched(watcher)
        self._ways: dict[type, dict[str, Way]] = {}

    def get(self, receiver: Any, name: str) -> Any:
        """What `receiver.name` reads."""
        kind = type(receiver)
        if kind is Namespace:
            return self.watched.function(receiver.path, name) or receiver.member(name)
        way = (self._ways.get(kind) or self._ways_of(kind)).get(name)
        if way is not None:
            return way(receiver, name)
        if kind is super:
            return self._inherited(receiver, name)
        if name == "__class__" and not isinstance(receiver, type):
            return self.classes.of(receiver)
        if self._is_own(receiver, kind, name):
            return self._safe(receiver, name, getattr(receiver, name))
        raise self._missing(receiver, kind, name)

    def set(self, receiver: Any, name: str, value: Any) -> None:
        """Perform `receiver.name = value`."""
        self._check_writable(receiver, name)
        if name == "data" and isinstance(receiver, torch.Tensor):
            memory.set_data(receiver, value)
        else:
            setattr(receiver, name, value)

    def delete(self, receiver: Any, name: str) -> None:
        """Perform `del receiver.name`."""
        self._check_writable(receiver, name)
        delattr(receiver, name)

    def _ways_of(self, kind: type) -> dict[str, Way]:
        """The readable names of a class, each with how it is read."""
        if kind in self._ways:
            return self._ways[kind]
        ways: dict[str, Way] = dict.fromkeys(vocabulary.members(kind), getattr)
        for (holder, name), way in _NARROWED.items():
            if name in ways and issubclass(kind, holder):
                ways[name] = way
        for holder, name in METHODS:
            if name in ways and issubclass(kind, holder):
                ways[name] = self.watched.method
        self._ways[kind] = ways
        return ways

    # -- the program's own names ------------------------------------------------------------

    def _is_own(self, receiver: Any, kind: type, name: str) -> bool:
        """Whether the program itself put this name there."""
        if name.startswith("__"):
            return name in SPECIAL_READS and self._is_special(receiver, kind, name)
        if isinstance(receiver, nn.Module):
            return self._is_stored(receiver, kind, name)
        if kind in self.classes.own:
            return name in receiver.__dict__ or self.classes.defines(kind, name)
        if isinstance(receiver, type):
            return self.classes.defines(receiver, name) or (
                name == "apply" and issubclass(receiver, torch.autograd.Function)
            )
        if isinstance(receiver, torch.autograd.function.FunctionCtx):
            return not name.startswith("_") and name in receiver.__dict__
        if issubclass(kind, torch.autograd.graph.Node):
            return name.startswith("_saved_") and not memory.is_unfilled(receiver, name)
        if isinstance(receiver, tuple) and hasattr(kind, "n_sequence_fields"):
            # torch.return_types: what max(dim=…) gives
            return not name.startswith(("_", "n_")) and isinstance(
                inspect.getattr_static(kind, name, None), types.MemberDescriptorType
            )
        return False

    def _is_stored(self, module: nn.Module, kind: type, name: str) -> bool:
        """Whether `module.name` was stored on this module, or defined by the program's class."""
        fields = module.__dict__
        if name in fields:
            return name[:1] != "_" or name not in vocabulary.internals(kind)
        if any(name in vars(c) for c in kind.__mro__):
            return self.classes.defines(kind, name)
        return any(name in fields.get(store, ()) for store in _STORES)

    def _inherited(self, receiver: Any, name: str) -> Any:
        """What `super().name` reads: as on the object itself, but from a class of the program's
        own on. `super(nn.LSTM, lstm)` would pass over the checks of the class it names."""
        owner, kind = receiver.__self__, receiver.__self_class__
        after = receiver.__thisclass__
        if owner is None or after not in self.classes.own:
            raise OutsideLanguage(
                "super() needs one of your own classes as its first argument.",
                "Use super() without arguments.",
            )
        if self.classes.defines(kind, name, after):
            return getattr(receiver, name)
        way = _INHERITED.get(name) or self._ways_of(kind).get(name)
        if isinstance(owner, type) or way is None:
            raise self._missing(owner, kind, name)
        return way(receiver, name)

    def _safe(self, receiver: Any, name: str, value: Any) -> Any:
        """The value of `receiver.name`, or what stands for it in a program."""
        if name.startswith("_saved_"):
            values = value if isinstance(value, tuple) else (value,)
            private = tuple(map(memory.own_copy, values))
            return private if isinstance(value, tuple) else private[0]
        if name == "__init__" and self.classes.definer(receiver, name) not in self.classes.own:
            return memory.filled(value)
        return value

    def _is_special(self, receiver: Any, kind: type, name: str) -> bool:
        """Whether a name with two underscores may be read of this receiver."""
        if name == "__name__":
            functions = types.FunctionType | types.BuiltinFunctionType
            return isinstance(receiver, type | Kind | functions)
        if name == "__doc__":
            return isinstance(receiver, types.FunctionType) or kind in self.classes.own
        if name == "__class__":
            return False  # a class's class; `get` answers for everything else
        if isinstance(receiver, type):
            known = receiver in self.classes.own or receiver in vocabulary.BASES
            return known and name == "__init__"
        return kind in self.classes.own and self.classes.defines(kind, name)

    # -- writing ----------------------------------------------------------------------------

    def _check_writable(self, receiver: Any, name: str) -> None:
        kind = type(receiver)
        if name.startswith("__") or not self._is_writable(receiver, kind, name):
            is_type = isinstance(receiver, type)
            what = vocabulary.kind_name(receiver if is_type else kind)
            is_tensor = isinstance(receiver, torch.Tensor)
            hint = "Use a variable of its own instead." if is_tensor else ""
            raise OutsideLanguage(f"{what}.{name[:60]} cannot be assigned.", hint)

    def _is_writable(self, receiver: Any, kind: type, name: str) -> bool:
        if isinstance(receiver, torch.Tensor):
            return name in vocabulary.TENSOR_WRITES
        if isinstance(receiver, nn.Module):
            return name[:1] != "_" or name not in vocabulary.internals(kind)
        if isinstance(receiver, torch.autograd.function.FunctionCtx):
            # torchviz and the recorder know the node of a leaf by its `variable`.
            return name[:1] != "_" and name != "variable" and not hasattr(kind, name)
        owner = receiver if isinstance(receiver, type) else kind
        return owner in self.classes.own and self.classes.is_free(owner, name)

    # -- refusing ---------------------------------------------------------------------------

    def _missing(self, receiver: Any, kind: type, name: str) -> OutsideLanguage:
        """Says that there is no such attribute, and suggests the likeliest that is."""
        what = vocabulary.kind_name(receiver if isinstance(receiver, type | Kind) else kind)
        exists = inspect.getattr_static(receiver, name, None) is not None
        if name.startswith("__") or not exists:
            known = self._ways_of(kind).keys() | set(getattr(receiver, "__dict__", ()))
            near = vocabulary.suggest(name, known)
            hint = f"Did you mean .{near}?" if near else ""
            return OutsideLanguage(f"{what} has no attribute {name[:60]}.", hint)
        reason = vocabulary.REASONS.get(name, "See the language reference for what there is.")
        return OutsideLanguage(f"{what}.{name[:60]} is not part of this language.", reason)


def _init(receiver: Any, name: str) -> Any:
    return memory.filled(receiver.__init__)


def _own_text(receiver: Any, name: str) -> Any:
    return lambda: formatting.text(receiver.__self__, lambda owner: getattr(receiver, name)())


#: What `super()` has besides what may be read of the object.
_INHERITED: dict[str, Way] = {
    "__init__": _init,
    "__call__": getattr,
    "__len__": getattr,
    "__repr__": _own_text,
    "__str__": _own_text,
}


def _converted(receiver: nn.Module, name: str) -> Any:
    return memory.versioned(getattr(receiver, name))


def _extra_repr(receiver: nn.Module, name: str) -> Any:
    return lambda: formatting.without_addresses(receiver.extra_repr())


def _get_buffer(receiver: nn.Module, name: str) -> Any:
    def get_buffer(target: str) -> torch.Tensor:
        found = receiver.get_buffer(target)
        if not isinstance(found, torch.Tensor):  # get_submodule may be the program's own
            raise AttributeError(f"{target[:60]} is not a buffer")
        return found

    return get_buffer


def _arguments(receiver: BaseException, name: str) -> Any:
    return tuple(map(_argument, receiver.args))


def _argument(value: Any) -> Any:
    if isinstance(value, str):
        return formatting.without_addresses(value)
    if isinstance(value, tuple):
        return tuple(map(_argument, value))
    kind = value if isinstance(value, type) else type(value)
    is_own = kind.__module__ == "__main__"
    return value if is_own or isinstance(value, _ARGUMENTS) else formatting.text(value, repr)


#: What an exception may hand to a program, besides its own objects and texts; of what torch, numpy
#: and Python put there (numpy a function of its own) it gets the text.
_ARGUMENTS = (
    int, float, complex, type(None), list, dict, set, frozenset, range, slice, types.FunctionType,
    torch.Tensor, torch.dtype, torch.device, nn.Module, np.generic, np.ndarray,
)  # fmt: skip


def _new_tensor(receiver: torch.Tensor, name: str) -> Any:
    return lambda data, **options: receiver.new_tensor(numbers_only(data), **options)


def _reshaped(receiver: torch.Tensor, name: str) -> Any:
    memory.outside_backward()
    return getattr(receiver, name)


def _dense(receiver: torch.Tensor, name: str) -> Any:
    return getattr(dense(receiver), name)


def _clip(receiver: np.ndarray, name: str) -> Any:
    return of_numbers(receiver.clip, fills=False)


def _of_numbers(receiver: Any, name: str) -> Any:
    return of_numbers(getattr(receiver, name))


#: Methods of arrays that may be told which type of items to make.
_MAKING = "astype sum prod mean std var cumsum trace"


def _format(template: str, name: str) -> Any:
    return lambda *args, **kwargs: formatting.fill(template, args, kwargs)


#: Methods that are given in a narrower form.
_NARROWED: dict[tuple[type, str], Way] = {
    **{(nn.Module, name): _converted for name in ("to", "float", "double", "half", "type")},
    (nn.Module, "extra_repr"): _extra_repr,
    (nn.Module, "get_buffer"): _get_buffer,
    (BaseException, "args"): _arguments,
    (torch.Tensor, "median"): _dense,
    **{(torch.Tensor, name): _reshaped for name in ("squeeze_", "unsqueeze_", "transpose_", "t_")},
    (torch.Tensor, "new_tensor"): _new_tensor,
    **{(kind, name): _of_numbers for kind in (np.ndarray, np.generic) for name in _MAKING.split()},
    (np.ndarray, "clip"): _clip,
    (np.random.Generator, "choice"): _of_numbers,
    (np.random.Generator, "permutation"): _of_numbers,
    (str, "format"): _format,
    **sizes.METHODS,
}
