"""Plain dataclasses to JSON and back, driven by their type hints.

One codec serves the trace download, the sandbox's pipe and the caches. NaN and infinities
survive (Python's json writes and reads them). Arrays travel as base64 of their bytes.
"""

from __future__ import annotations

import base64
import dataclasses
import types
import typing
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Turn dataclasses, arrays, tuples and dicts into what `json.dumps` takes."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"$": type(value).__name__, **fields}
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        return {
            "$": "array",
            "dtype": data.dtype.str,
            "shape": list(value.shape),
            "data": base64.b64encode(data.tobytes()).decode(),
        }
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Rebuild what `to_plain` made; `kind` is the dataclass expected at the top.

    Raises ValueError, TypeError or KeyError on data of another shape.
    """
    return typing.cast(T, _build(kind, data))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _array(data: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(data["dtype"])
    if dtype.hasobject:
        raise ValueError("arrays of objects are not accepted")
    flat = np.frombuffer(base64.b64decode(data["data"]), dtype=dtype)
    return flat.reshape(data["shape"])


def _build(kind: Any, data: Any) -> Any:
    if isinstance(data, dict) and "$" in data:
        if data["$"] == "array":
            return _array(data)
        match = next((k for k in _alternatives(kind) if k.__name__ == data["$"]), None)
        if match is None:
            raise TypeError(f"{data['$']} where {kind} was expected")
        hints = _hints(match)
        return match(**{k: _build(hints[k], v) for k, v in data.items() if k != "$"})
    return _container(kind, data)


def _container(kind: Any, data: Any) -> Any:
    options = [kind, *get_args(kind)] if _is_union(kind) else [kind]
    for option in options:
        origin, args = get_origin(option), get_args(option)
        if origin is tuple and isinstance(data, list):
            inner = args[0] if len(args) == 2 and args[1] is Ellipsis else Any
            return tuple(_build(inner, item) for item in data)
        if origin is list and isinstance(data, list):
            return [_build(args[0], item) for item in data]
        if origin is dict and isinstance(data, dict):
            return {key: _build(args[1], item) for key, item in data.items()}
    return data


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _alternatives(kind: Any) -> list[type]:
    """The dataclasses that may stand where `kind` is expected."""
    if _is_union(kind):
        return [found for arg in get_args(kind) for found in _alternatives(arg)]
    return [kind] if dataclasses.is_dataclass(kind) and isinstance(kind, type) else []
