"""The editor and a browser that is behind: nothing a reader wrote is lost."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.load.tab import Tab

#: For an answer. The app may have just been started, on a machine that is busy with other tests.
SECONDS = 300.0
FIRST, SECOND = (
    f"import torch\n\n{name} = torch.tensor(1.0, requires_grad=True)\n"
    for name in ("first", "second")
)


def _has(tab: Tab, name: str) -> str | None:
    if not tab.has("bidi_component", "tensors"):
        return "there is no table yet"
    cells = [row["cells"][0] for row in tab.data("tensors")["rows"]]
    return None if cells == [name] else f"the table has {cells}"


async def _writes_twice(address: str) -> None:
    tab = Tab(address)
    await tab.open("expression")
    await tab.wait_until(lambda tab: None, SECONDS)
    examples = tab.widget("selectbox", "Example")
    shown = WidgetState(id=examples.id, string_value=examples.options[examples.default])
    await tab.set("text_area", "program", FIRST)
    await tab.wait_until(lambda tab: _has(tab, "first"), SECONDS)
    # What a browser sends that has not heard of this answer: the list shows the example still.
    tab.states[examples.id] = shown
    await tab.set("text_area", "program", SECOND)
    await tab.wait_until(lambda tab: _has(tab, "second"), SECONDS)
    tab.states[examples.id] = shown
    await tab.press("Run")
    await tab.wait_until(lambda tab: _has(tab, "second"), SECONDS)
    assert tab.value("text_area", "program") == SECOND
    # A choice of the list that stands there now counts.
    title = examples.options[3]
    await tab.set("selectbox", "Example", title)
    await tab.wait_until(
        lambda tab: None if tab.value("selectbox", "Example") == title else "not chosen", SECONDS
    )
    assert tab.value("text_area", "program") not in (FIRST, SECOND)
    await tab.close()


def test_an_old_choice_reported_again_does_not_replace_what_was_written(app: str) -> None:
    with ThreadPoolExecutor(1) as apart:  # a browser test before this one holds an event loop
        apart.submit(asyncio.run, _writes_twice(app)).result()
