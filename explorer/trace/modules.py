"""The parts of a module, read from its own fields.

torch's `named_modules` and `named_parameters` call methods that a program's class may define
otherwise; what is recorded must not depend on them, nor run them.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn


def named_modules(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """(path, module) for the module itself, with an empty path, and all below it, each once."""
    seen: set[int] = set()
    waiting = [("", module)]
    while waiting:
        path, part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield path, part
            prefix = f"{path}." if path else ""
            children = part.__dict__["_modules"].items()
            below = [(f"{prefix}{name}", child) for name, child in children if child is not None]
            waiting += reversed(below)


def named_parameters(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """(path, parameter) for every parameter, each once, in torch's order."""
    seen: set[int] = set()
    for path, part in named_modules(module):
        prefix = f"{path}." if path else ""
        for name, parameter in part.__dict__["_parameters"].items():
            if parameter is not None and id(parameter) not in seen:
                seen.add(id(parameter))
                yield f"{prefix}{name}", parameter
