"""What belongs together: node, tensor, step and line, in the session and in the address."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

pytestmark = pytest.mark.fast

SCRIPT = """
import explorer
import streamlit as st
from explorer.ui.expression.selection import Picker

trace = explorer.run('''import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * 2) ** 2
y.sum().backward()
''')
shown = trace.passes[0]
picker = Picker("test", trace, shown, shown.nodes)
if "do" in st.session_state:
    what, value = st.session_state.pop("do")
    getattr(picker, what)(value)
picked = picker.current()
st.session_state.found = (
    picked.node.name if picked.node else None,
    picked.tensor.name if picked.tensor else None,
    shown.steps[picked.step].name if picked.step is not None else None,
    picked.line,
)
st.session_state.ids = {t.name: t.id for t in trace.tensors}
st.session_state.nodes = {n.name: n.id for n in shown.nodes}
"""


def done(*do: Any, at: str = "") -> Any:
    test = AppTest.from_string(SCRIPT, default_timeout=30)
    if at:
        test.query_params["at"] = at
    if do:
        test.run()
        what, value = do
        known = test.session_state["ids" if what == "tensor" else "nodes"]
        test.session_state["do"] = (what, known.get(value, value))
    test.run()
    assert not test.exception
    return test


@pytest.mark.parametrize(
    ("do", "found"),
    [
        (("node", "PowBackward0"), ("PowBackward0", "y", "PowBackward0", 3)),
        (("tensor", "y"), ("PowBackward0", "y", "PowBackward0", 3)),
        (("tensor", "x"), ("leaf", "x", "AccumulateGrad", 2)),
        (("node", "AccumulateGrad"), ("AccumulateGrad", "x", "AccumulateGrad", 2)),
        (("line", 3), ("PowBackward0", "y", "PowBackward0", 3)),
        (("line", 1), (None, None, None, None)),
        (("step", 0), ("SumBackward0", "y.sum()", "SumBackward0", 4)),
        (("step", -1), (None, None, None, None)),
        (("node", "no-such-node"), (None, None, None, None)),
    ],
)
def test_one_pick_is_everywhere(do: Any, found: Any) -> None:
    assert done(*do).session_state["found"] == found


def test_a_leaf_that_was_also_saved_is_walked_at_its_accumulation() -> None:
    test = AppTest.from_string(SCRIPT.replace("(x * 2) ** 2", "x * x"), default_timeout=30).run()
    test.session_state["do"] = ("tensor", test.session_state["ids"]["x"])
    test.run()
    assert test.session_state["found"][2] == "AccumulateGrad"


def test_the_address_holds_the_pick_and_gives_it_back() -> None:
    test = done("tensor", "y")
    (address,) = (
        {test.query_params["at"]}
        if isinstance(test.query_params["at"], str)
        else set(test.query_params["at"])
    )
    assert done(at=address).session_state["found"] == test.session_state["found"]


@pytest.mark.parametrize("address", ["tensor-99", "node-<b>", "tensor-x", "nonsense", "-"])
def test_a_wrong_address_picks_nothing_and_goes(address: str) -> None:
    test = done(at=address)
    assert test.session_state["found"] == (None, None, None, None)
    assert "at" not in test.query_params
