"""Runs remembered operations again, with other values for the leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as tree

from explorer.trace.check.tape import Call, Fixed, Live


def repeat(calls: Iterable[Call], leaves: Mapping[int, torch.Tensor]) -> dict[int, torch.Tensor]:
    """Run the calls again with these values for the leaves: every live tensor, by key."""
    values = dict(leaves)
    for call in calls:
        flat = [_value(item, values) for item in call.arguments]
        args, kwargs = tree.tree_unflatten(flat, call.shape)
        if call.random is not None:
            torch.set_rng_state(call.random)
        result = call.function(*args, **kwargs)
        made = [flat[0]] if call.name == "__setitem__" else tree.tree_flatten(result)[0]
        for place, key in call.outputs:
            values[key] = made[place]
    return values


@contextmanager
def as_it_was() -> Iterator[None]:
    """Keep the random state of the process: repeated calls draw again."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def _value(item: Any, values: Mapping[int, torch.Tensor]) -> Any:
    if isinstance(item, Live):
        return values[item.key]
    if isinstance(item, Fixed):
        return item.value.clone() if item.fresh else item.value
    return item
