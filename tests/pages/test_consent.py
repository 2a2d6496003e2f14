"""Without walls a program that somebody else may have written waits for a press."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.sandbox import Sandbox, walls
from explorer.ui.widgets import consent
from tests.pages.test_pages import ROOT, html_of

#: By page and key: a text that the page runs, with another name in each.
LINKS = {
    ("app.py", "box"): "box_**2",
    ("pages/expression.py", "program"): "program_ = 2",
    ("pages/network.py", "module"): "module_ = 2",
    ("pages/optimizer.py", "setup"): "setup_ = 2",
    ("pages/feature_maps.py", "program"): "maps_ = 2",
}


@pytest.fixture(autouse=True)
def no_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanisms = (("Landlock", lambda: False, lambda *_: None),)
    monkeypatch.setattr(walls, "_MECHANISMS", mechanisms)


def opened(page: str, **query: str) -> Any:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if page != "app.py":
        at.switch_page(page)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize(("page", "key"), LINKS)
def test_a_program_in_a_link_waits(page: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    submit = Sandbox.submit

    def note(*arguments: Any, **options: Any) -> Any:
        asked.append(arguments[1:])
        return submit(*arguments, **options)

    monkeypatch.setattr(Sandbox, "submit", note)
    text = LINKS[page, key]
    at = opened(page, **{key: text})
    assert "It would run with your rights" in html_of(at)
    assert [code.value for code in at.code] == [text]
    assert not at.text_area
    assert not any(text in str(request) for request in asked)
    button = next(button for button in at.button if button.label == "Run it")
    button.click().run()
    assert not at.exception
    assert "It would run with your rights" not in html_of(at)


def test_what_is_typed_runs_at_once() -> None:
    at = opened("pages/expression.py")
    at.text_area(key="program").set_value("import torch\nx = torch.ones(1)\nprint('typed')").run()
    assert "It would run with your rights" not in html_of(at)
    assert at.text_area(key="program").value.endswith("print('typed')")


def test_what_comes_back_with_the_address_waits_after_typing() -> None:
    """As Back does: Streamlit fills the field from the address."""
    at = opened("pages/expression.py", program="link_ = 2")
    del at.query_params["program"]
    at.session_state["program"] = "typed = 3"
    at.run()
    assert not at.code
    at.query_params["program"] = "link_ = 2"
    at.run()
    assert [code.value for code in at.code] == ["link_ = 2"]


def test_what_a_browser_brings_to_a_new_server_waits() -> None:
    def script() -> None:
        import streamlit as st

        from explorer.ui.pages import page
        from explorer.ui.widgets.consent import wait_for_consent
        from explorer.ui.widgets.reconnect import restore

        lost = {"addresses": {"/expression": "program=kept_+%3D+2"}, "kept": {}, "written": {}}
        restore(page("network"), lost, arrived=False)
        st.session_state.setdefault("program", "kept_ = 2")
        wait_for_consent()
        st.write("runs")

    at = AppTest.from_function(script).run()
    assert [code.value for code in at.code] == ["kept_ = 2"]
    assert not at.markdown


def test_a_file_waits() -> None:
    """The component that opened it says so in every run from then on."""

    def script() -> None:
        from types import SimpleNamespace

        import streamlit as st

        from explorer.ui.widgets.consent import wait_for_consent

        st.session_state["open-file"] = SimpleNamespace(opened="print('from a file')")
        st.session_state.setdefault("program", "print('from a file')")
        wait_for_consent()
        st.write("runs")

    at = AppTest.from_function(script).run()
    assert [code.value for code in at.code] == ["print('from a file')"]
    assert not at.markdown
    at.button[0].click().run()
    assert [text.value for text in at.markdown] == ["runs"]


def test_what_is_discarded_is_gone() -> None:
    at = opened("pages/expression.py", program="link_ = 2")
    next(button for button in at.button if button.label == "Discard it").click().run()
    assert not at.exception
    assert "link_" not in at.text_area(key="program").value


def test_with_walls_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent.sandbox, "missing", lambda: ())
    at = opened("pages/expression.py", program="import torch\nx = torch.ones(1)")
    assert "It would run with your rights" not in html_of(at)
