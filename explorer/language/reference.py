"""The reference of the language: every name of the vocabulary, by group, with a description."""

from __future__ import annotations

import builtins as python
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from explorer.language import builtins, vocabulary
from explorer.language.vocabulary.class_proxy import ClassProxy

#: The maximum length of a description, in characters.
_MAX_DESCRIPTION = 160


@dataclass(frozen=True)
class Entry:
    """A name as a program spells it ("torch.relu", "Tensor.backward"), and its description."""

    name: str
    description: str


@dataclass(frozen=True)
class ReferenceGroup:
    """A group of names and its title."""

    title: str
    entries: tuple[Entry, ...]


@cache
def reference() -> tuple[ReferenceGroup, ...]:
    """All groups in reading order. The descriptions come from the libraries' own docstrings."""
    groups: dict[str, dict[str, Entry]] = {}
    for title, name, thing in vocabulary.entries():
        groups.setdefault(title, {})[name] = Entry(name, _describe(thing))
    names = sorted([*builtins.PLAIN.split(), *builtins.GUARDED.split()], key=str.lower)
    groups["Built-in"] = {n: Entry(n, _describe(getattr(python, n))) for n in names}
    return tuple(ReferenceGroup(title, tuple(group.values())) for title, group in groups.items())


def _describe(thing: Any) -> str:
    if isinstance(thing, ClassProxy):
        thing = thing.wrapped
    if isinstance(thing, bool | int | float | str):
        return repr(thing)[:_MAX_DESCRIPTION]
    return _first_sentence(thing)


def _first_sentence(thing: Any) -> str:
    """The first sentence of a docstring that is neither signature nor markup; "" without one."""
    text = getattr(thing, "__doc__", None)
    if not isinstance(text, str) or text == type(thing).__doc__:
        return ""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if not paragraph.lstrip().startswith(("..", "#")):
            sentence = re.split(r"(?<=[.:])\s", _plain(paragraph), maxsplit=1)[0].rstrip(": ")
            if " " in sentence:
                return (
                    sentence
                    if len(sentence) <= _MAX_DESCRIPTION
                    else sentence[: _MAX_DESCRIPTION - 1] + "…"
                )
    return ""


def _plain(paragraph: str) -> str:
    """One paragraph without signature, cross-references and formula markup."""
    line = " ".join(paragraph.split())
    for pattern, instead in _MARKUP:
        line = re.sub(pattern, instead, line)
    return line


_MARKUP = (
    (r"^[\w.]+\((?:[^()]|\([^()]*\))*\)(?: ?->? ?[\w., \[\]]+?(?=$|\. |  | --))?", ""),  # signature
    (r"^[\s.,:>-]+(?:(?:int|bool|str|float|list|tuple|None|Tensor|Generator)\b[\s.,:>-]*)?", ""),
    (r":\w+:`~?\.?([^`<]*?)\s*(?:<[^`]*>)?`", r"\1"),  # :func:`~torch.relu`
    (r"\\(?:text|operatorname|mathrm|mathbf)\w*\{([^}]*)\}", r"\1"),
    (r"\\(\w+|_)", r"\1"),
    (r"`+|\*\*", ""),
)
