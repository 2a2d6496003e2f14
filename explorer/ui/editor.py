"""The program editor: a text area with numbered lines in which lines can be marked.

Numbers and marks are backgrounds of the text area itself and scroll with its text, so the program
stands on the screen once. Line heights agree with style.css.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import streamlit as st

from explorer.trace.examples import Example

KEY = "program"
_LINE, _TOP, _NUMBERED = 20, 8, 400
_COLOURS = {"error": "rgba(220,70,70,.22)", "selected": "rgba(59,130,246,.2)"}


def _gutter() -> str:
    texts = "".join(f"<text x='28' y='{_LINE * n - 6}'>{n}</text>" for n in range(1, _NUMBERED + 1))
    svg = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='36' height='{_LINE * _NUMBERED}'>"
        "<g font-family='monospace' font-size='11' fill='#8b95a3' text-anchor='end'>"
        f"{texts}</g></svg>"
    )
    return f'url("data:image/svg+xml,{quote(svg)}")'


_GUTTER = (
    f"<style>.st-key-editor {{ --ax-gutter: {_gutter()}; }} .st-key-editor textarea "
    f"{{ background-image: var(--ax-gutter); background-position: 0 {_TOP}px; }}</style>"
)


def editor(examples: Sequence[Example], *, height: int = 250) -> str:
    """Draw the list of examples and the text area; return the program.

    The program lives in the address (`?program=`), so a link reproduces it; the first example
    stands there otherwise.
    """
    by_source = {example.source: example for example in examples}
    by_key = {example.key: example for example in examples}

    def load() -> None:
        chosen = by_key.get(st.session_state.example)
        if chosen:
            st.session_state[KEY] = chosen.source

    top = st.container()
    with st.container(key="editor", gap=None):
        source = st.text_area(
            "Program",
            examples[0].source,
            height=height,
            key=KEY,
            bind="query-params",
            persist_state="session",
            label_visibility="collapsed",
        )
        source = source or ""
        st.html(_GUTTER)
    current = by_source.get(source)
    st.session_state.example = current.key if current else None
    top.selectbox(
        "Example",
        list(by_key),
        format_func=lambda key: f"{by_key[key].group}: {by_key[key].title}",
        key="example",
        placeholder="Your own program. Choose an example to replace it",
        label_visibility="collapsed",
        on_change=load,
    )
    return source


def mark_lines(*, error: int | None = None, selected: int | None = None) -> None:
    """Mark lines of the program, counted from 1; called once per run, whenever they are known."""
    lines = {"error": error, "selected": selected}
    layers = [
        (
            f"linear-gradient({_COLOURS[kind]}, {_COLOURS[kind]})",
            f"0 {_TOP + (line - 1) * _LINE}px",
            f"100% {_LINE}px",
        )
        for kind, line in lines.items()
        if line
    ]
    layers.append(("var(--ax-gutter)", f"0 {_TOP}px", "auto"))
    images, places, sizes = (", ".join(column) for column in zip(*layers, strict=True))
    st.html(
        "<style>.st-key-editor textarea { "
        f"background-image: {images}; background-position: {places}; background-size: {sizes}; "
        "}</style>"
    )
