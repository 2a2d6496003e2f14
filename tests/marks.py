"""Parameters of tests that only `-m thorough` runs."""

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
