"""Query parameters that cannot be used, reported until the reader changes them.

Streamlit's bound widgets read the link themselves and ignore values they cannot show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import streamlit as st

from explorer.ui.widgets.basics import note

#: By the key of a widget: the value in the link, the value used instead, and the labels of its
#: values.
_INVALID = "query_params.invalid"
_NOT_YET = object()
#: Characters shown of a value.
_MOST = 40


@dataclass(frozen=True)
class Param:
    """A value of the page that a query parameter holds, or none where it is the `default`.

    `parse` raises ValueError for a text that cannot be used, which is reported as `validate` does.
    """

    key: str
    default: Any
    parse: Callable[[str], Any]
    format: Callable[[Any], str] = str

    def read(self) -> Any:
        """The value in the link, or the default."""
        text = st.query_params.get(self.key, "")
        validate(self.key, self.is_readable)
        return self.parse(text) if self.is_readable(text) else self.default

    def is_readable(self, text: str) -> bool:
        try:
            self.parse(text)
        except ValueError:
            return False
        return True

    def write(self, value: Any) -> str | None:
        """The text of a value; None for the default. ValueError for what a link cannot hold."""
        return None if value == self.default else self.format(value)

    def put(self, value: Any) -> None:
        """Let the link have this value."""
        text = self.write(value)
        if text is None:
            st.query_params.pop(self.key, None)
        elif st.query_params.get(self.key) != text:
            st.query_params[self.key] = text


def validate(
    key: str, readable: Callable[[str], bool], words: Mapping[Any, str] = MappingProxyType({})
) -> None:
    """Before a widget that is bound to a query parameter: remember a value it will ignore.

    `words` are the labels of those values that have one."""
    asked = st.query_params.get(key)
    if asked and not readable(asked):
        st.session_state.setdefault(_INVALID, {})[key] = (asked, _NOT_YET, words)


def validate_named(key: str, words: Mapping[Any, str]) -> None:
    """The same for a widget that offers a few values by these labels."""
    validate(key, set(words.values()).__contains__, words)


def accept_renamed(key: str, values: Mapping[str, Any]) -> None:
    """Before a widget that is bound to a query parameter: let a link that has one of its labels
    from an earlier version choose the value that has this label now."""
    label = st.query_params.get(key, "")
    if label in values:
        st.session_state.setdefault(key, values[label])


def is_finite(text: str) -> bool:
    """Whether a text is a number, and not an infinite one."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def report_invalid(*keys: str, **others: Any) -> None:
    """After all widgets: say which values were ignored and what is used instead, of all parameters
    or of these. `others` are values that the link sets without a widget."""
    invalid = st.session_state.get(_INVALID, {})
    sentences = []
    for key, (asked, before, words) in list(invalid.items()):
        if keys and key not in keys:
            continue
        now = others.get(key, st.session_state.get(key))
        if now is None or before not in (_NOT_YET, now):
            del invalid[key]
            continue
        invalid[key] = (asked, now, words)
        shown = asked if len(asked) <= _MOST else f"{asked[:_MOST]}…"
        instead = f"{now:g}" if isinstance(now, float) else words.get(now, now)
        sentences.append(
            f"The link asks for {key} = {shown}, which cannot be used; {instead} is used instead."
        )
    if sentences:
        note(" ".join(sentences))
