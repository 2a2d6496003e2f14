"""Which of a program's variables are parameters, and how to write them down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from explorer.language import ProgramError, ProgramRefused

#: Most elements all parameters of a program may have together.
MOST_ELEMENTS = 200_000


def parameters_of(variables: dict[str, Any]) -> dict[str, Tensor]:
    """Leaves by name, each once, under the first name it has."""
    found: dict[str, Tensor] = {}
    for name, value in variables.items():
        for path, leaf in _leaves(name, value):
            if all(leaf is not known for known in found.values()):
                found[path] = leaf
    if not found:
        raise ProgramRefused(
            ProgramError(
                "The setup names no parameter.",
                hint="Make one with requires_grad=True, or a module such as nn.Linear.",
            )
        )
    total = sum(leaf.numel() for leaf in found.values())
    if total > MOST_ELEMENTS:
        raise ProgramRefused(
            ProgramError(
                f"The setup makes {total:,} parameters; at most {MOST_ELEMENTS:,} can be stepped.",
                hint="Use smaller tensors or layers.",
            )
        )
    return found


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, nn.Module):
        for path, p in value.named_parameters():
            if p.requires_grad and p.numel():
                yield f"{name}.{path}", p
    elif isinstance(value, Tensor):
        if value.requires_grad and value.is_leaf and value.numel():
            yield name, value
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _leaves(f"{name}[{i}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{name}[{key!r}]", item)


def expressions_of(variables: dict[str, Any]) -> list[str]:
    """What to hand to an optimizer, in the order of `parameters_of`."""
    parts: list[str] = []
    for path in parameters_of(variables):
        owner = path.split(".")[0]
        text = f"*{owner}.parameters()" if isinstance(variables.get(owner), nn.Module) else path
        if text not in parts:
            parts.append(text)
    return parts
