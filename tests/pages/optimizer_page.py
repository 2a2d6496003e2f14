"""The Optimizer page as its tests use it: presses, and what the page then shows."""

from __future__ import annotations

import re
from typing import Any

from tests.pages.test_pages import component, html_of, opened

CALLS = ("zero_grad", "forward", "backward", "step")


def page(**state: Any) -> Any:
    """The page with some widgets set."""
    at = opened("pages/optimizer.py")
    if "problem" in state:
        at.selectbox(key="problem").set_value(state.pop("problem")).run()
    for key, value in state.items():
        at.session_state[key] = value
    return at.run() if state else at


def press(at: Any, *names: str) -> Any:
    for name in names:
        at.button(key=f"press-{name}").click().run()
        assert not at.exception
    return at


def run_out(at: Any) -> Any:
    """Press Run and draw the page again, as the browser's clock does, until the run is over."""
    press(at, "run")
    while any(button.key == "press-stop" for button in at.button):
        at.run()
        assert not at.exception
    return at


def said(at: Any) -> str:
    """The line about the last press, without its markup."""
    found = re.search(r'<div class="ax-said.*?</div>', html_of(at))
    return re.sub(r"<[^>]+>", " ", found[0]) if found else ""


def error(at: Any) -> str:
    found = re.search(r'<div class="ax-error".*', html_of(at))
    return re.sub(r"<[^>]+>", " ", found[0]) if found else ""


def shown(at: Any) -> str:
    """All texts of the page: of its own elements, below the charts and in their places."""
    charts = component(at, "cells")
    cells = [c.get("caption") or c.get("sentence", "") for c in charts["cells"]]
    return "\n".join([html_of(at), *(m.value for m in at.markdown), *cells, charts["caption"]])


def block(at: Any, name: str) -> dict[str, list[list[str]]]:
    """A parameter's numbers by label."""
    found = next(b for b in component(at, "blocks")["blocks"] if b["name"] == name)
    return {
        row["label"] + (" beside" if row.get("beside") else ""): [
            [cell["text"] for cell in line] for line in row["grid"]
        ]
        for row in found["rows"]
    }


def value(at: Any, name: str = "x", label: str = "value") -> float:
    return float(block(at, name)[label][0][0])


def changed(at: Any, name: str) -> set[str]:
    """Labels of what is marked as changed."""
    found = next(b for b in component(at, "blocks")["blocks"] if b["name"] == name)
    return {
        r["label"] for r in found["rows"] if any(c["changed"] for row in r["grid"] for c in row)
    }


def plots(at: Any) -> list[str]:
    return [cell["alt"] for cell in component(at, "cells")["cells"] if "alt" in cell]
