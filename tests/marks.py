"""Parameters of tests that only `-m thorough` runs, and those that run now."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest


def thorough(*values: Any) -> Any:
    """These arguments of a test, in its thorough part."""
    return pytest.param(*values, marks=pytest.mark.thorough)


def sample(arguments: Collection[Any], every: int) -> list[Any]:
    """Of these, one in so many; the others in the thorough part.

    Each is one argument, or a tuple of arguments.
    """
    return [
        argument
        if number % every == 0
        else thorough(*argument if isinstance(argument, tuple) else (argument,))
        for number, argument in enumerate(arguments)
    ]


def chosen(request: pytest.FixtureRequest, argument: str) -> list[Any]:
    """The values of this argument that tests of the file run with now, in their order."""
    params = [
        item.callspec.params
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and hasattr(item, "callspec")
    ]
    return list(dict.fromkeys(values[argument] for values in params if argument in values))
