"""What the address asks for and cannot be had, said until the reader changes it.

Streamlit's widgets read the address themselves and pass over what they cannot show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import streamlit as st

from explorer.ui.common.widgets import note

#: By the key of a widget: what the address asked for, what stood there instead, and the words the
#: reader knows its values by.
_UNREAD = "address.unread"
_NOT_YET = object()
#: Characters shown of what was asked for.
_MOST = 40


def validate(
    key: str, readable: Callable[[str], bool], words: Mapping[Any, str] = MappingProxyType({})
) -> None:
    """Before a widget that is bound to the address: remember what it will pass over. `words` are
    those of its values that the reader knows by another name."""
    asked = st.query_params.get(key)
    if asked and not readable(asked):
        st.session_state.setdefault(_UNREAD, {})[key] = (asked, _NOT_YET, words)


def validate_named(key: str, words: Mapping[Any, str]) -> None:
    """The same, of a widget that offers a few values by these words."""
    validate(key, set(words.values()).__contains__, words)


def is_finite(text: str) -> bool:
    """Whether a text is a number, and not an infinite one."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def report_invalid(**others: Any) -> None:
    """After all widgets: say what was passed over and what stands in. `others` are values that
    the address sets without a widget."""
    held = st.session_state.get(_UNREAD, {})
    said = []
    for key, (asked, before, words) in list(held.items()):
        now = others.get(key, st.session_state.get(key))
        if now is None or before not in (_NOT_YET, now):
            del held[key]
            continue
        held[key] = (asked, now, words)
        shown = asked if len(asked) <= _MOST else f"{asked[:_MOST]}…"
        instead = f"{now:g}" if isinstance(now, float) else words.get(now, now)
        said.append(
            f"The address asks for {key} = {shown}, which cannot be used; {instead} stands in."
        )
    if said:
        note(" ".join(said))
