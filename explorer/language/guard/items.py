"""Attribute targets and tensors' items, as objects that `[…]` and `[…] = v` can be written to."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from torch.utils.data import ConcatDataset, TensorDataset

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.data import holds_objects, numbers_only


class _Attributes(Protocol):
    def get(self, receiver: Any, name: str) -> Any: ...
    def set(self, receiver: Any, name: str, value: Any) -> None: ...
    def delete(self, receiver: Any, name: str) -> None: ...


class Field:
    """`.field(a)["b"] = v` and `del .field(a)["b"]`: attributes as items."""

    __slots__ = ("attributes", "receiver")

    def __init__(self, attributes: _Attributes, receiver: Any) -> None:
        self.attributes, self.receiver = attributes, receiver

    def __getitem__(self, name: str) -> Any:
        return self.attributes.get(self.receiver, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.attributes.set(self.receiver, name, value)

    def __delitem__(self, name: str) -> None:
        self.attributes.delete(self.receiver, name)


class _Cells:
    """A tensor, or a dataset of them, whose index is looked at first: torch reads a list in it as
    it reads data."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __getitem__(self, key: Any) -> Any:
        return self.tensor[numbers_only(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[numbers_only(key)] = value


class _Texts(_Cells):
    """A numpy array of texts: nothing is put into it whose text holds an address."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[key] = numbers_only(value)


class _Objects:
    """A numpy array of Python objects (whole numbers too long for it): nothing is put into it."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        raise OutsideLanguage("These numbers are too large for an array to be changed.")


def cells(receiver: Any) -> Any:
    """What `receiver[…]` is applied to."""
    if isinstance(receiver, torch.Tensor | TensorDataset | ConcatDataset):
        return _Cells(receiver)
    if isinstance(receiver, np.ndarray) and receiver.dtype.kind in "USO":
        return _Objects(receiver) if holds_objects(receiver) else _Texts(receiver)
    return receiver


class Slot:
    """The item an augmented assignment changes; holds its old value."""

    __slots__ = ("holder", "key", "value")

    def __init__(self, holder: Any, key: Any) -> None:
        self.holder, self.key = holder, key
        self.value = holder[key]
