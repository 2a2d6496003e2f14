"""What the variables of a program are at its end: records of tensors, and plain values."""

from __future__ import annotations
import __future__

import types
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.program.missing import MissingImport
from explorer.trace.recording.capture import capture_values
from explorer.trace.recording.objects import (
    first_items,
    first_pairs,
    is_a,
    items_of,
    join_path,
    named_parameters,
)
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.records import Plain


def final_values(
    recorder: ProgramRecorder, variables: Mapping[str, Any]
) -> dict[str, LiveTensor | Plain]:
    """Every variable at the end of the run; a tensor changed since its line gets a new record, one
    of a function as well."""
    finals: dict[str, LiveTensor | Plain] = {}
    records = _NamedRecords(recorder)
    plain, count = PlainValues(), 0
    shown = ((n, v) for n, v in variables.items() if not _is_definition(v))
    for name, value in [
        (name[: limits.MAX_NAME], value)
        for name, value in islice(shown, limits.MOST_VARIABLE_ITEMS)
    ]:
        if is_a(value, torch.Tensor):
            finals[name] = records.final(name, value)
        elif is_a(value, nn.Module):
            finals[name] = _describe(value)
            room = min(limits.MOST_VARIABLE_ITEMS, limits.MOST_VARIABLES - len(finals))
            for label, parameter in islice(named_parameters(value), max(0, room)):
                path = join_path(name, label)
                finals[path] = records.final(path, parameter)
        else:
            finals[name] = plain.convert(value)
            contained = _tensors_in(name, value)
            for path, tensor in islice(contained, max(0, limits.MOST_CONTAINED - count)):
                finals[path] = records.contained(path, tensor)
                count += 1
    for live in list(recorder.leaves.values()):
        if live.scope and live.named and live.requires_grad:
            recorder.refresh(live.tensor, at_end=True)
    return finals


def _tensors_in(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors in a list, tuple or dict, named as Python writes them: `params[0]`."""
    if is_a(value, list | tuple | dict) and depth < limits.MOST_NESTED:
        for path, item in items_of(name, value):
            if is_a(item, torch.Tensor):
                yield path, item
            else:
                yield from _tensors_in(path, item, depth + 1)


class _NamedRecords:
    """The records that are kept, by tensor: of a loop, those of some iterations are dropped."""

    def __init__(self, recorder: ProgramRecorder) -> None:
        self._recorder = recorder
        self._by_tensor: dict[int, list[LiveTensor]] = defaultdict(list)
        for slot in recorder.slots.values():
            for live in slot:
                if live.named:
                    self._by_tensor[id(live.tensor)].append(live)

    def contained(self, path: str, tensor: torch.Tensor) -> LiveTensor:
        """Under whatever name the tensor is recorded as it is now, or as a new record."""
        current = (live for live in self._by_tensor[id(tensor)] if live.is_current())
        return next(current, None) or self.final(path, tensor)

    def final(self, name: str, tensor: torch.Tensor) -> LiveTensor:
        """Under this name as it is now, or as a new record."""
        recorder, named = self._recorder, self._by_tensor[id(tensor)]
        same_name = [live for live in named if live.name == name]
        for live in reversed(same_name):
            if live.is_current():
                return live
        between = recorder.find(tensor)
        if not named and between is not None and between.named and between.is_current():
            live = recorder.choose(between)
        else:
            line = (same_name or named)[-1].line if named else recorder.line
            live = recorder.add(("final", name), line, name, tensor)
            live.named = True
        named.append(live)
        return live


def _is_definition(value: Any) -> bool:
    is_function = callable(value) and not is_a(value, nn.Module)
    return is_function or is_a(value, types.ModuleType | MissingImport | __future__._Feature)


class PlainValues:
    """Converts values that are not tensors to numbers, text, lists and dicts, and the tensors in
    them to arrays; other types, and those of which there are more than `MOST_PLAIN_VALUES` in
    all, or `MOST_CONTAINED` tensors, to a text."""

    def __init__(self) -> None:
        self.room, self.tensors = limits.MOST_PLAIN_VALUES, limits.MOST_CONTAINED

    def convert(self, value: Any, depth: int = 0) -> Plain:
        self.room -= 1
        if value is None or is_a(value, bool | float):
            return value
        if is_a(value, int):
            return int(value) if int.bit_length(value) < 64 else _describe(value)
        if is_a(value, str):
            return str.__getitem__(value, slice(limits.MAX_TEXT))
        if is_a(value, list | tuple | dict) and depth < 3 and self.room > 0:
            if not is_a(value, dict):
                return [
                    self.convert(item, depth + 1)
                    for item in first_items(value, limits.MOST_VARIABLE_ITEMS)
                ]
            pairs = first_pairs(value, limits.MOST_VARIABLE_ITEMS)
            return {_key(key)[:100]: self.convert(item, depth + 1) for key, item in pairs}
        if is_a(value, torch.Tensor) and self.tensors > 0:
            self.tensors -= 1
            array = capture_values(value).array()
            return _describe(value) if array is None else array
        return _describe(value)


def _key(key: Any, depth: int = 0) -> str:
    """A key of a dict as Python writes it; for other objects, the name of the class."""
    if is_a(key, str):
        return repr(key[:100]) if depth else key
    if key is None or is_a(key, float) or (is_a(key, int) and key.bit_length() < 64):
        return str(key)
    if is_a(key, tuple) and depth < 3:
        return f"({', '.join(_key(item, depth + 1) for item in key[: limits.MOST_VARIABLE_ITEMS])})"
    return _describe(key)


def _describe(value: Any) -> str:
    """A short text for an object. Its __repr__ may be code of the program, so it is not called."""
    if is_a(value, torch.Tensor):
        return f"tensor of shape {tuple(value.size())}"
    if is_a(value, int):
        return f"a whole number of {value.bit_length()} bits"
    if is_a(value, nn.Module) or type(value).__module__ != "__main__":
        return f"{type(value).__name__}"
    return f"{type(value).__name__} object"
