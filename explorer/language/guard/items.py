"""Checked item access: `x[i]`, `x[i] = v`, and attributes as the target of an assignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.data_checks import holds_objects, require_numbers


class _Attributes(Protocol):
    def get(self, receiver: Any, name: str) -> Any: ...
    def set(self, receiver: Any, name: str, value: Any) -> None: ...
    def delete(self, receiver: Any, name: str) -> None: ...


class AttributeTarget:
    """`.attribute_target(a)["b"] = v` and `del .attribute_target(a)["b"]`: attributes as items."""

    __slots__ = ("attributes", "receiver")

    def __init__(self, attributes: _Attributes, receiver: Any) -> None:
        self.attributes, self.receiver = attributes, receiver

    def __getitem__(self, name: str) -> Any:
        return self.attributes.get(self.receiver, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.attributes.set(self.receiver, name, value)

    def __delitem__(self, name: str) -> None:
        self.attributes.delete(self.receiver, name)


class _GuardedTensor:
    """A tensor, or a dataset of tensors, whose index is checked first: torch reads a list in an
    index as it reads data."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __getitem__(self, key: Any) -> Any:
        return self.tensor[require_numbers(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[require_numbers(key)] = value


class _GuardedTextArray(_GuardedTensor):
    """A numpy array of strings: no object whose string contains an address can be stored in it."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[key] = require_numbers(value)


class _ReadOnlyArray:
    """A numpy array of Python objects (integers too large for numpy), which cannot be changed."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        raise OutsideLanguage("An array of such large integers cannot be changed.")


def guard_items(receiver: Any) -> Any:
    """The object to which `[…]` is applied in the place of `receiver`."""
    if isinstance(receiver, torch.Tensor | TensorDataset | ConcatDataset | Subset):
        return _GuardedTensor(receiver)
    if isinstance(receiver, np.ndarray) and receiver.dtype.kind in "USO":
        return _ReadOnlyArray(receiver) if holds_objects(receiver) else _GuardedTextArray(receiver)
    return receiver


class AugmentedItem:
    """The item that an augmented assignment changes, with its old value."""

    __slots__ = ("holder", "key", "value")

    def __init__(self, admit: Callable[[Any], Any], holder: Any, key: Any) -> None:
        self.holder, self.key = holder, key
        self.value = admit(holder[key])
