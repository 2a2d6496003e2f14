"""Small widgets, notes and errors that several pages share, and how a page is arranged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.networks import CPU, devices
from explorer.program import ProgramError, ProgramRefused
from explorer.view.answers import error_html
from explorer.view.component import Component
from explorer.view.glossary import html

#: In place of an answer that no page can draw.
UNDRAWABLE = "What your network has answered cannot be drawn."

_HUES = ("blue", "green", "orange", "red", "gray", "yellow", "violet")
#: The options of `[theme.light]` and `[theme.dark]` that become variables.
NAMES = (
    *("textColor", "backgroundColor", "secondaryBackgroundColor", "borderColor", "linkColor"),
    "primaryColor",
    *(f"{hue}{part}Color" for hue in _HUES for part in ("", "Background", "Text")),
)


def renderer(component: Component) -> Any:
    """What draws a component on a page, as `st.components.v2.component` returns it."""
    return st.components.v2.component(
        component.name, html=component.html, css=component.css, js=component.js
    )


def while_drawn(key: str, report: Callable[[], None]) -> Callable[[], None]:
    """The same function for the `on_…_change` of the component `key`; it does nothing once that is
    no longer there. What is sent together with the way to another page arrives when Streamlit has
    forgotten what was on this one."""

    def call() -> None:
        if key in st.session_state:
            report()

    return call


def columns(*shares: float) -> list[Any]:
    """Columns with these shares of the width, whose parts stand close together."""
    return [column.container(gap="xsmall") for column in st.columns(shares, gap="medium")]


def choice(
    label: str, key: str, options: Iterable[str] | Mapping[str, str], help: str, **more: Any
) -> str:
    """One of a few options, kept in the link; the first unless chosen otherwise. A mapping
    names them for the page."""
    names = options if isinstance(options, Mapping) else {option: option for option in options}
    keys = list(names)
    chosen = st.segmented_control(
        label,
        keys,
        default=keys[0],
        required=True,
        format_func=names.__getitem__,
        key=key,
        bind="query-params",
        label_visibility="collapsed",
        help=help,
        **more,
    )
    return chosen if chosen in names else keys[0]


def device(help: str) -> str:
    """Where the network runs; asked only where there is more than the CPU."""
    options = devices()
    return choice("Device", "device", list(options), help) if len(options) > 1 else CPU


def download(
    make: Callable[[], bytes],
    file: str,
    help: str,
    *,
    key: str,
    label: str = "PNG",
    mime: str = "image/png",
) -> None:
    """A quiet button, labelled with the kind of file; `make` is called when it is pressed."""
    st.download_button(
        label,
        make,
        file,
        mime,
        key=f"download-{key}",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        help=help,
    )


def download_entry(label: str, data: Callable[[], bytes], name: str, mime: str, help: str) -> None:
    """An entry of a menu of files; `data` is called when it is pressed."""
    st.download_button(
        label,
        data,
        name,
        mime,
        key=f"download-{name}",
        on_click="ignore",
        width="stretch",
        help=help,
    )


def menu(label: str, *, icon: str = "", key: str, help: str) -> Any:
    """A quiet button and the popover it opens; None while that is closed, so that its content is
    not made. Widgets in it are not bound to the link: one that is not drawn drops out of it."""
    place = st.popover(
        label,
        icon=f":material/{icon}:" if icon else None,
        type="tertiary",
        key=key,
        help=help,
        on_change="rerun",
    )
    return place if place.open else None


def draw_tabs(titles: Sequence[str], key: str) -> dict[str, Any]:
    """Tabs by title. The open one is kept in the link, and stays open when others come or go."""
    if key in st.session_state:
        # Otherwise, if the titles have changed, Streamlit may open an older tab: the one that was
        # open when they changed before.
        st.session_state[key] = st.session_state[key]
    return dict(zip(titles, st.tabs(titles, key=key, bind="query-params"), strict=True))


def note(*parts: str) -> None:
    """A quiet sentence: text, and terms of the glossary."""
    st.html(f'<div class="ax-note">{html(*parts)}</div>')


def formula(*lines: str) -> None:
    """Formulas, each on a line of its own unless it is empty. They are put into Markdown, where a
    line break could end one and begin a stranger's text."""
    if any(lines):
        st.markdown("\n\n".join(f"$$\n{' '.join(line.split())}\n$$" for line in lines if line))


def with_formula(above: str, latex: str, below: str) -> None:
    """A formula between two pieces of markup, each one block element, in one element of the page.

    Streamlit puts it into Markdown, which reads a block of markup as it is up to its first empty
    line; so there are no line breaks in it."""
    above, latex, below = (" ".join(part.split()) for part in (above, latex, below))
    st.markdown(f"{above}\n\n$$\n{latex}\n$$\n\n{below}", unsafe_allow_html=True)


def scrolling(html: str, name: str, style: str = "") -> str:
    """A table that scrolls and that the keyboard can reach; `name` says what it is."""
    return (
        f'<div class="ax-scroll {style}" tabindex="0" role="region" aria-label="{escape(name)}">'
        f"{html}</div>"
    )


def label(*parts: str) -> None:
    """The label of what follows: text, and terms of the glossary."""
    st.html(f'<div class="ax-label">{html(*parts)}</div>', width="content")


def as_code(name: str) -> str:
    """A name for a label, which Streamlit reads as Markdown."""
    return f"`{' '.join(name.split()).replace('`', chr(39))[-60:]}`"


def refuse(sentence: str) -> None:
    """What went wrong and what to do, shown as text."""
    st.html(f'<div class="ax-error" role="alert">{escape(sentence)}</div>')


@contextmanager
def reported(own: object) -> Iterator[None]:
    """Say what a child refuses inside. With an `own` network of the reader, anything that cannot be
    drawn is no more than a sentence: its program may have answered what it wants."""
    try:
        yield
    except ProgramRefused as refused:
        refuse(refused.error.message)
    except Exception:
        if not own:
            raise
        refuse(UNDRAWABLE)


def program_error(error: ProgramError) -> None:
    """Show what was wrong, where, what to do, and below it the message of torch or Python."""
    st.html(error_html(error))


def whole(
    label: str,
    key: str,
    low: int,
    high: int,
    *,
    start: int | None = None,
    hidden: bool = False,
    width: int = 96,
    help: str | None = None,
    placeholder: str | None = None,
) -> int | None:
    """An integer, kept in the link; None where it is left empty, as it is without `start`.
    One that no longer lies within the bounds is reset to `start`."""
    current = st.session_state.get(key)
    if current is not None and not low <= current <= high:
        st.session_state[key] = start
    # Streamlit fails on a link with an infinite number where it expects an int, not a float.
    chosen = st.number_input(
        label,
        float(low),
        float(high),
        start if start is None else float(start),
        1.0,
        "%.0f",
        key=key,
        bind="query-params",
        label_visibility="collapsed" if hidden else "visible",
        width=width,
        help=help,
        placeholder=placeholder,
    )
    return None if chosen is None else round(chosen)


def page(key: str, count: int, size: int) -> int:
    """Which page of `count` things, `size` on each, counted from 0; asked where there are more
    than one."""
    pages = -(-count // size)
    if pages == 1:
        return 0
    chosen = whole("Page", key, 1, pages, start=1, hidden=True, help=f"Which page, of {pages}")
    label(f"of {pages}")
    return (chosen or 1) - 1


def forget_first_query() -> None:
    """Let widgets that are bound to the address begin with what it has now: Streamlit takes what it
    had when the page's session began."""
    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as params:
        params.set_initial_query_params_from_current()


def forget_in_query(key: str) -> None:
    """Take a parameter out of the address, even if a widget is bound to it, which then begins with
    its default. (For callbacks.)"""
    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as params:
        params.remove_param(key)
        params.set_initial_query_params_from_current()
    st.session_state.pop(key, None)


@cache
def theme_css() -> str:
    """The theme's colours as CSS variables, so that our own styles follow it.

    Streamlit passes its colours to components only. Here they become variables of the whole
    document, `blueTextColor` as `--ax-blue-text`, with the browser choosing between light and
    dark. Dialogs and popovers are outside the app's element, where Streamlit sets no
    colour scheme: there the system's applies, as it does for the theme."""
    rules = "".join(
        f"{variable(name)}: light-dark({_colour('light', name)}, {_colour('dark', name)});"
        for name in NAMES
    )
    return f":root {{ color-scheme: light dark; {rules} }}"


def variable(name: str) -> str:
    """The CSS variable of a theme option."""
    return "--ax-" + re.sub("([A-Z])", r"-\1", name.removesuffix("Color")).lower()


def _colour(theme: str, name: str) -> str:
    return str(st.get_option(f"theme.{theme}.{name}"))
