"""The guard's limits. The guard imports the vocabulary, so it is imported where it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.language.errors import OutsideLanguage


def check_text_length(size: float) -> None:
    """Raises ProgramStopped for a string of too many characters."""
    from explorer.language.guard import limits

    limits.check_text_length(size)


def check_printable(size: int) -> None:
    """Raises OutsideLanguage for a text of an object that is too long to print."""
    if size > 100_000:
        raise OutsideLanguage("This value is too large to print.", "Print a part of it.")


def check_list_length(size: float) -> None:
    """Raises ProgramStopped for a list of too many items."""
    from explorer.language.guard import limits

    limits.check_list_length(size)


def check_bits(size: float) -> None:
    """Raises ProgramStopped for an integer of too many bits."""
    from explorer.language.guard import limits

    limits.check_size(size, limits.MAX_BITS, "an integer of {:,} bits")


def bounded(items: Any) -> Any:
    """The items, if they are not too many; otherwise raises ProgramStopped."""
    from explorer.language.guard import limits

    return limits.bounded(items)


def estimate_size(value: Any) -> int:
    """About how many characters a value's text has. Raises OutsideLanguage if too many."""
    from explorer.language.guard import formatting

    return formatting.estimate_size(value)


def to_text(value: Any, convert: Callable[[Any], str]) -> str:
    """str(value) or repr(value), without addresses, if it is not too long."""
    from explorer.language.guard import formatting

    return formatting.to_text(value, convert)


def require_text(value: Any, what: str, longest: int = 1000) -> str:
    """The value, if it is a string that is not too long. Raises OutsideLanguage otherwise."""
    if type(value) is not str:
        raise TypeError(f"{what} must be a string, not {type(value).__name__[:60]}")
    if len(value) > longest:
        raise OutsideLanguage(f"{what} has {len(value):,} characters.", f"Use at most {longest:,}.")
    return value


def require_int(value: Any, what: str, most: int, least: int = 0) -> int:
    """The value, if it is a whole number in this range. Raises OutsideLanguage otherwise."""
    if type(value) not in (int, bool):
        raise TypeError(f"{what} must be a whole number, not {type(value).__name__[:60]}")
    if not least <= value <= most:
        raise OutsideLanguage(f"{what} must be from {least:,} to {most:,}.")
    return int(value)
