"""Actions on the Network page."""

from __future__ import annotations

from functools import cache

import torch

from benchmarks.load.reader import NotApplicable, Reader
from benchmarks.load.tab import Tab
from explorer.networks import problem
from explorer.networks.classifiers import CLASSIFIERS

_SMALL = (
    *("ToyModel", "linear layer, divided by 4", "linear layer", "all weights 0.1"),
    *("two-layer sigmoid", "MLP on moons", "LeNet-5", "shapes net"),
)
_LARGE = "resnet18"
#: Networks that take pictures of any size.
_ANY_SIZE = ("ToyModel", "shapes net")
_SIDES, _MAX_BATCH = (24, 128), 8
#: Tab -> whether the page shows its contents.
_TABS = {
    "Layers": lambda tab: tab.has("bidi_component", "layers"),
    "Histogram": lambda tab: tab.has("selectbox", "parameter"),
    "Hook laboratory": lambda tab: tab.has("selectbox", "place"),
    "Memory": lambda tab: "ax-modes" in tab.texts(),
    "Source": lambda tab: any("import" in code.code_text for code in tab.all("code")),
    "Accumulation": lambda tab: tab.has("slider", "sample"),
}


@cache
def _parameters(name: str) -> int:
    """The number of parameters, counted by plain PyTorch."""
    with torch.device("meta" if name in CLASSIFIERS else "cpu"):
        return sum(p.numel() for p in problem(name).model.parameters())


def _check_total(tab: Tab, name: str) -> str | None:
    total = f"Total params <b>{_parameters(name):,}</b>"
    if not tab.has("bidi_component", "layers"):
        return f"no table of layers, but {_page_errors(tab)}"
    return None if total in tab.texts() else f"{name} does not have {total}"


def _page_errors(tab: Tab) -> list[str]:
    """The error messages on the page."""
    return [part.body[:300] for part in tab.all("html") if "ax-error" in part.body[:60]]


def _shows_layers(tab: Tab) -> bool:
    """Whether the tab Layers is open."""
    return tab.query.get("part", "Layers") == "Layers"


async def choose_preset(reader: Reader) -> None:
    """Choose another small network."""
    now = reader.tab.value("selectbox", "preset")
    await _preset(reader, reader.rng.choice([name for name in _SMALL if name != now]))


async def choose_large(reader: Reader) -> None:
    """Choose a large network and wait for its numbers."""
    if reader.tab.value("selectbox", "preset") == _LARGE:
        raise NotApplicable
    await _preset(reader, _LARGE)


async def _preset(reader: Reader, name: str) -> None:
    def check(tab: Tab) -> str | None:
        if tab.all("progress"):
            return "it is still running"
        return _check_total(tab, name) if _shows_layers(tab) else None

    await reader.tab.set("selectbox", "preset", name)
    await reader.wait_for_answer(check)


async def change_size(reader: Reader) -> None:
    """Change the size or the number of the input pictures."""
    tab = reader.tab
    if not _shows_layers(tab):
        await tab.set("tab_container", "part", "Layers")
        await reader.wait_for_answer(
            lambda tab: None if _TABS["Layers"](tab) else "no table of layers"
        )
    name = tab.value("selectbox", "preset")
    if name not in _ANY_SIZE:
        name = reader.rng.choice(_ANY_SIZE)
        await _preset(reader, name)
    reader.start_timing()
    side = round(tab.value("number_input", f"side-{name}"))
    batch = round(tab.value("number_input", f"batch-{name}"))

    is_side = reader.rng.random() < 0.7

    def draw() -> tuple[str, int, int]:
        if is_side:
            return name, batch, reader.rng.randint(*_SIDES)
        return name, reader.rng.randint(1, _MAX_BATCH), side

    _, batch, side = reader.draw_unused(draw)
    shape = f"{batch}×3×{side}×{side}"

    def check(tab: Tab) -> str | None:
        if not tab.has("bidi_component", "layers"):
            return f"no table of layers, but {_page_errors(tab)}"
        inputs = [
            cells[1] for _, _, _, _, _, cells, *_ in tab.data("layers")["tables"]["Layers"]["rows"]
        ]
        return None if shape in inputs else f"no layer of {name} has the input {shape}: {inputs}"

    changed, value = ("side", side) if is_side else ("batch", batch)
    await tab.set("number_input", f"{changed}-{name}", float(value))
    await reader.wait_for_answer(check)


async def choose_layer(reader: Reader) -> None:
    """Choose a layer in the table."""
    if not reader.tab.has("bidi_component", "layers"):
        raise NotApplicable
    rows = reader.tab.data("layers")["tables"]["Layers"]["rows"]
    before = reader.tab.data("selected-layer")["layer"]
    names = {row[1] if row[3] is True else row[3] for row in rows} - {None, "", before}
    if not names:
        raise NotApplicable
    name = reader.rng.choice(sorted(names))

    def check(tab: Tab) -> str | None:
        selected = tab.data("selected-layer")["layer"]
        return None if selected == name else f"the layer {name} was not chosen, but {selected}"

    await reader.tab.click("layers", name, "layer")
    await reader.wait_for_answer(check)


async def switch_tab(reader: Reader) -> None:
    """Switch to another tab."""
    labels = [part for part in _TABS if part != reader.tab.value("tab_container", "part")]
    name = reader.rng.choice(labels)
    samples = reader.tab.value("selectbox", "preset") in ("ToyModel", "LeNet-5", "shapes net")
    if name == "Accumulation" and not samples:
        raise NotApplicable
    await reader.tab.set("tab_container", "part", name)
    await reader.wait_for_answer(
        lambda tab: None if _TABS[name](tab) else f"the tab {name} is empty"
    )
