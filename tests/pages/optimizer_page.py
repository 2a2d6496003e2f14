"""The Optimizer page as its tests use it: presses, and what the page then shows."""

from __future__ import annotations

import re
from typing import Any

from explorer.ui.optimizer import sliders
from tests.pages.test_pages import component, components, html_of, opened

CALLS = ("zero_grad", "forward", "backward", "step")


def page(**state: Any) -> Any:
    """The page with some widgets set; of the parabola, unless another problem is."""
    at = opened("pages/optimizer.py")
    at.selectbox(key="problem").set_value(state.pop("problem", "parabola")).run()
    for key, value in state.items():
        at.session_state[key] = value
    return at.run() if state else at


def press(at: Any, *names: str) -> Any:
    for name in names:
        at.button(key=f"press-{name}").click().run()
        assert not at.exception
    return at


def set_by_hand(at: Any, **hyper: float) -> Any:
    """Set what the sliders set, as a hand does when it lets go."""
    for name, value in hyper.items():
        sliders.set_by_hand(at.session_state["steps"], name, value)
    at.run()
    assert not at.exception
    return at


def slider(at: Any, name: str) -> float:
    """The number that a slider shows."""
    rows = component(at, "sliders")["sliders"]
    return next(row["value"] for row in rows if row["name"] == name)


def menu(at: Any) -> str:
    """The name of the menu of rare settings."""
    return str(at.get("popover")[0].proto.popover.label)


def after_three(**state: Any) -> Any:
    """The page after three iterations and another forward."""
    return press(page(**state), "iterate", "iterate", "iterate", "zero_grad", "forward")


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
    captions = [chart["caption"] for chart in (*_charts(at), component(at, "arrows"))]
    cells = [c.get("caption") or c.get("sentence", "") for c in _cells(at)]
    return "\n".join([html_of(at), *(m.value for m in at.markdown), *cells, *captions])


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


def _charts(at: Any) -> list[Any]:
    return [data for data in components(at) if "cells" in data]


def _cells(at: Any) -> list[Any]:
    return [cell for chart in _charts(at) for cell in chart["cells"]]


def plots(at: Any) -> list[str]:
    return [component(at, "arrows")["alt"], *(cell["alt"] for cell in _cells(at) if "alt" in cell)]
