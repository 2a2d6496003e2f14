"""A line of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Group:
    """Names found on `holder`, which a program spells `prefix.name`."""

    title: str
    prefix: str
    holder: Any
    names: str
