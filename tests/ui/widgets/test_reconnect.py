"""What a new server makes of what the browser has kept of the one before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

pytestmark = pytest.mark.fast


def _page(key, lost, arrived):  # type: ignore[no-untyped-def]
    import streamlit as st

    from explorer.ui import pages
    from explorer.ui.widgets import reconnect

    reconnect.restore(pages.page(key), lost, arrived=arrived)
    st.session_state.taken = reconnect.take("note")
    reconnect.restore_once("pair", lambda kept: (kept[0] + 1, str(kept[1])))
    reconnect.size_limit("file", 20)
    st.session_state.query = dict(st.query_params)
    reconnect.keep("note", {"text": '<b a="\'">'})


def opened(lost: Any, key: str = "expression", **query: str) -> AppTest:
    at = AppTest.from_function(_page, args=(key, lost, True), default_timeout=30)
    at.query_params.update(query)
    at.run()
    assert not at.exception
    return at


def kept(**values: Any) -> dict[str, Any]:
    return {"kept": {name: json.dumps(value) for name, value in values.items()}}


def test_a_new_server_gets_what_the_browser_kept() -> None:
    at = opened(kept(note=[1, "two"], pair=[1, "two"]))
    assert at.session_state.taken == [1, "two"]
    assert at.session_state.pair == (2, "two")
    at.run()
    assert at.session_state.taken is None  # it is given once
    assert at.session_state.pair == (2, "two")


def test_the_server_before_does_not_take_it_back() -> None:
    at = opened(None)
    at.args = ("expression", kept(note=1, pair=[1, "two"]), False)
    at.run()
    assert at.session_state.taken is None
    assert "pair" not in at.session_state


def test_presses_come_from_the_address_and_not_from_what_streamlit_remembers() -> None:
    lost = {
        "addresses": {"/lesson/optimizer": "problem=A+network&presses=fbs&seed=3"},
        "written": {"presses": "fbs", "seed": "3", "start": None},
    }
    at = opened(lost, "optimizer", problem="A network", presses="f", start="old")
    assert at.session_state.query == {"problem": "A network", "presses": "fbs", "seed": "3"}


def test_another_page_opens_as_it_was_left() -> None:
    network = "at=a%26b&nan=&embed=true"  # Streamlit sees to what it calls embed
    lost = {"addresses": {"/": "box=x", "/optimizer": "presses=fbs", "/network": network}}
    at = opened(lost)
    assert at.session_state.query == {}
    for key, query in (("network", {"at": "a&b", "nan": ""}), ("home", {"box": "x"})):
        at.query_params.clear()
        at.args = (key, None, True)
        at.run()
        assert at.session_state.query == query
    at.query_params.clear()
    at.run()
    assert at.session_state.query == {}  # once


@pytest.mark.parametrize(
    "lost",
    [
        *("text", 7, [], [1], {}, {"kept": 1, "addresses": 2, "written": 3}),
        {"kept": {"note": 7, "pair": None}, "addresses": {"/network": 1}, "written": ["a", 1]},
        {"kept": {"note": "{", "pair": "[" * 100_000}, "addresses": {"": "%ff=%00&&=;"}},
        {"kept": {"note": '"' + "x" * 300_000 + '"', "pair": '["x", 1]'}},
        {"kept": {"pair": "{}"}, "addresses": {"/x/y": "a=1", "/expression": "=" * 200_000}},
        {"kept": {f"n{i}": "1" for i in range(1000)}, "written": {"a": None, "b": 1}},
        *({"kept": {"file.lost": text}} for text in ("Infinity", "NaN", "1e999", '"x"', "[1]")),
        {"addresses": {"/expression": "embed=true&Embed_Options=x"}, "written": {"embed": 1}},
    ],
)
def test_whatever_a_browser_says_is_no_error(lost: Any) -> None:
    at = opened(lost)
    assert at.session_state.taken is None
    assert "pair" not in at.session_state
    assert len(at.session_state["reconnect.kept"] if isinstance(lost, dict) else ()) <= 20
    assert at.session_state.query == {}


def test_what_is_kept_is_text_in_the_page() -> None:
    (element,) = opened(None).get("html")
    assert element.proto.body == (
        '<i class="ax-kept" data-name="note" data-value="{&quot;text&quot;: '
        '&quot;&lt;b a=\\&quot;&#x27;\\&quot;&gt;&quot;}" hidden></i>'
    )
