"""The everyday world of scripts: what they import besides torch, numpy and math.

Each module has a theme and tables: `ADDED` (name -> group and object), `KINDS` (classes whose
instances reach a program), `MEMBERS` (what may be read of those) and `CLASS_MEMBERS` (what may be
read of a class itself).
"""

from __future__ import annotations

import datetime
import random
from typing import Any

import numpy as np

from explorer.language.vocabulary.everyday import (
    arguments,
    arrays,
    clocks,
    exact,
    functions,
    messages,
    paths,
    records,
    system,
    texts,
    type_names,
)
from explorer.language.vocabulary.everyday.per_run import PerRun

__all__ = ["ADDED", "BASES", "CLASS_MEMBERS", "GETTERS", "KINDS", "MEMBERS", "PerRun"]

_THEMES = (
    system, paths, clocks, messages, texts, functions, records, type_names, arguments, exact,
    arrays,
)  # fmt: skip
ADDED: dict[str, tuple[str, Any]] = {
    name: entry for theme in _THEMES for name, entry in theme.ADDED.items()
}
KINDS: frozenset[type] = frozenset(
    kind for theme in _THEMES for kind in getattr(theme, "KINDS", ())
)
MEMBERS: dict[type, str] = {
    kind: names for theme in _THEMES for kind, names in getattr(theme, "MEMBERS", {}).items()
}
CLASS_MEMBERS: dict[type, dict[str, Any]] = {
    kind: members
    for theme in _THEMES
    for kind, members in getattr(theme, "CLASS_MEMBERS", {}).items()
}
#: How a method is read that needs a check: (class, name) -> getter.
GETTERS: dict[tuple[type, str], Any] = {
    **{
        (kind, "strftime"): clocks.get_strftime
        for kind in (datetime.date, datetime.datetime, datetime.time)
    },
    (random.Random, "choices"): exact.get_choices,
    (random.Random, "sample"): exact.get_choices,
    (random.Random, "getrandbits"): exact.get_bits,
    (random.Random, "seed"): exact.get_seed,
    **{
        (np.random.RandomState, name): arrays.get_random
        for name in MEMBERS[np.random.RandomState].split()
    },
}
#: Classes that a program may derive from.
BASES = type_names.BASES
