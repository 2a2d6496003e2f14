"""What a reader keeps when the page's server is lost and another one takes its place.

Streamlit's widgets are restored by the browser, and the link holds most of the rest. A value that
neither has is given to the browser by `keep`, and `take` gives it to the new server. What comes
back may be anything, as what a link says may be: whoever takes a value checks it. (reconnect.js)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from explorer import limits
from explorer.ui.pages import HOME, PAGES, TEXTS, Page
from explorer.ui.widgets.basics import forget_first_query, note
from explorer.ui.widgets.consent import mark_foreign

#: In the session: what the browser has kept, by name, and the queries of pages by their key.
_STARTED, _KEPT, _QUERIES = "reconnect.started", "reconnect.kept", "reconnect.queries"
#: Streamlit's own names in a query, which a page may not set.
_STREAMLIT = frozenset({"embed", "embed_options"})
#: What reading a value raises that nobody has kept; int(inf) is an OverflowError.
_NOT_KEPT = ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError


def keep(name: str, value: Any) -> None:
    """Let the browser keep a plain value for the next server; nothing is seen."""
    text = escape(json.dumps(value), quote=True)
    st.html(f'<i class="ax-kept" data-name="{escape(name)}" data-value="{text}" hidden></i>')


def take(name: str) -> Any:
    """What the browser has kept under this name, once; None if there is nothing."""
    text = st.session_state.get(_KEPT, {}).pop(name, None)
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None


def restore_once(key: str, read: Callable[[Any], Any]) -> None:
    """Put what the browser has kept under this name into the session under the same key, as `read`
    makes it of a plain value. Where it raises because the value is not what was kept, nothing."""
    kept = take(key)
    if kept is not None and key not in st.session_state:
        with suppress(*_NOT_KEPT):
            st.session_state[key] = read(kept)


def size_limit(key: str, megabytes: int) -> int:
    """The largest file that an uploader with this key takes. It is another one each time its file
    was lost: so the browser makes the uploader anew, without the file's name."""
    return megabytes + _losses(key)


def ask_again(key: str, file: Any, sentence: str, instead: str = "") -> None:
    """After an upload: let the browser know of the file. One that was lost with its server is asked
    for again; `sentence` says how. `instead` is the name of what the page shows in its place: once
    the reader chooses another, the file is no longer asked for."""
    losses, asked = _losses(key), f"{key}.asked"
    if file is not None:
        keep(f"{key}.lost", min(losses + 1, limits.MOST_LOST_SERVERS))
        st.session_state.pop(asked, None)
        return
    shown = st.session_state.get(asked)
    if shown is None or (shown and instead and shown != instead):
        st.session_state.pop(asked, None)
        return
    # Not by a callback of the list: the browser's old choice comes back to the new server as well.
    st.session_state[asked] = shown or instead
    note(f"The server that had your file has stopped, and files are never stored. {sentence}")


def waits_for_upload(key: str) -> bool:
    """Whether a file that was lost is being asked for again; for after `ask_again`."""
    return f"{key}.asked" in st.session_state


def _losses(key: str) -> int:
    """How often the file was lost."""

    def read(kept: Any) -> int:
        st.session_state[f"{key}.asked"] = ""
        return min(max(int(kept), 1), limits.MOST_LOST_SERVERS)

    restore_once(f"{key}.lost", read)
    return int(st.session_state.get(f"{key}.lost", 0))


def restore(page: Page, lost: Any, *, arrived: bool) -> None:
    """At the start of a run: in the first of a session accept what the browser had `lost`, and let
    a page that the reader comes to have the query with which they left it."""
    state = st.session_state
    if _STARTED not in state:
        state[_STARTED] = True
        if isinstance(lost, Mapping):
            _accept(lost)
            query = state[_QUERIES].pop(page.key, {})
            _correct_query(lost.get("written"), query)
    elif arrived and (query := state.get(_QUERIES, {}).pop(page.key, {})) and not st.query_params:
        st.query_params.update(query)
        forget_first_query()


def _correct_query(written: Any, query: Mapping[str, str]) -> None:
    """Let the query of this run have what a component has written into the address: Streamlit sends
    it as it was before."""
    for name in written if isinstance(written, Mapping) else ():
        if name not in query:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != query[name]:
            st.query_params[name] = query[name]


def _accept(lost: Mapping[str, Any]) -> None:
    """Put what the browser sent into the session, as far as it is what `reconnect.js` sends."""
    kept = _texts(lost.get("kept"), limits.MOST_KEPT_CHARACTERS)
    st.session_state[_KEPT] = dict(list(kept.items())[: limits.MOST_KEPT])
    keys = {page.file.removeprefix("pages/").removesuffix(".py"): page.key for page in PAGES}
    keys[""] = HOME.key
    queries = {}
    for path, query in _texts(lost.get("addresses"), limits.MOST_QUERY_CHARACTERS).items():
        key = keys.get(path.rstrip("/").rpartition("/")[2], HOME.key)
        pairs = parse_qsl(query, keep_blank_values=True)
        queries[key] = {name: text for name, text in pairs if name.lower() not in _STREAMLIT}
    st.session_state[_QUERIES] = queries
    how = "was open here before the connection was lost"
    mark_foreign(how, (text for query in queries.values() for text in map(query.get, TEXTS)))


def _texts(given: Any, longest: int) -> dict[str, str]:
    """The texts of a mapping that are not too long, by name."""
    pairs = given.items() if isinstance(given, Mapping) else ()
    return {
        name: text
        for name, text in pairs
        if isinstance(name, str) and isinstance(text, str) and len(text) <= longest
    }
