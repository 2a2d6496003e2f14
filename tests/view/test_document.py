"""The HTML file of a pass: whole, safe, and of a size that can be sent."""

from __future__ import annotations

import json
import re

import pytest

import explorer
from explorer.view import graphviz
from explorer.view.document import NotDrawn, document

pytestmark = [
    pytest.mark.fast,
    pytest.mark.skipif(not graphviz.available(), reason="the dot program is not installed"),
]


def test_it_holds_every_step_with_its_rule() -> None:
    trace = explorer.run("a = torch.sin(x*x)\nout = a*3 + x**2", inputs={"x": 2.0})
    html = document(trace)
    frames = json.loads(re.findall(r"const FRAMES = (.*)", html)[0])
    assert len(frames) == 1 + len(trace.passes[0].steps)
    assert [bool(frame["svg"]) for frame in frames] == [True] + [False] * (len(frames) - 1)
    assert all("<math" in frame["rule"] for frame in frames[1:])
    assert "× cos(x·x) = -0.654" in frames[0]["factored"]
    assert len(html) < 200_000


def test_it_fetches_nothing_and_what_a_program_says_is_text() -> None:
    name = "</script><script>alert(1)</script>"
    html = document(explorer.run(f"s = {name!r}\nx = torch.tensor(1., requires_grad=True)\n"
                                 f"y = {{s: x * 2}}\ny[s].backward()"))  # fmt: skip
    assert html.count("<script") == html.count("</script>") == 1
    assert "default-src 'none'" in html
    assert not re.search(r"(?:src|href)=|url\(|@import", html)


def test_without_a_pass_there_is_none() -> None:
    with pytest.raises(NotDrawn):
        document(explorer.run("x = 1"))
