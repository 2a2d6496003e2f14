"""The list of examples above the editor: choosing one replaces the program."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.trace.examples import Example

#: The key of the program's text in the session and in the link.
PROGRAM = "program"
#: How many times the list was renewed, and the example it shows.
_SHOWN = "example-shown"


def examples_list(examples: Sequence[Example], source: str) -> None:
    """The list of examples. It is a new widget whenever the program was changed in the editor: a
    browser that has not received the change yet still reports the old choice, which would
    otherwise replace what was just written."""
    by_key = {example.key: example for example in examples}
    current = next((example.key for example in examples if example.source == source), None)
    turn, shown = st.session_state.get(_SHOWN, (0, current))
    turn += current != shown
    st.session_state[_SHOWN] = (turn, current)
    key = f"example-{turn}"
    st.session_state[key] = current

    def load() -> None:
        chosen = by_key.get(st.session_state[key])
        if chosen and st.session_state[_SHOWN][0] == turn:
            st.session_state[PROGRAM] = chosen.source
            st.session_state[_SHOWN] = (turn, chosen.key)

    st.selectbox(
        "Example",
        list(by_key),
        format_func=lambda key: f"{by_key[key].group}: {by_key[key].title}",
        key=key,
        placeholder="Your own program. Choose an example to replace it",
        label_visibility="collapsed",
        help="Replaces your program with an example",
        on_change=load,
    )
