"""Actions on the Expression page."""

from __future__ import annotations

import random
import re
from html import escape, unescape

from benchmarks.load.reader import NotApplicable, Reader
from benchmarks.load.tab import Tab
from explorer.trace.examples import EXAMPLES

#: Panel -> whether the tab shows it, for any program.
_PANELS = {
    "Tensors": lambda tab: tab.has("bidi_component", "tensors"),
    "Step": lambda tab: any(
        words in tab.texts() for words in ("ax-flows", "starts at <b>", "There was no backward")
    ),
    "Tensor": lambda tab: "Choose a row" in tab.texts() or "What happened to it" in tab.texts(),
    "Events": lambda tab: "ax-events" in tab.texts() or "No backward, hook" in tab.texts(),
    "Gradient check": lambda tab: tab.has("button", "check"),
    "Memory": lambda tab: "ax-plain" in tab.texts(),
}


def program(rng: random.Random) -> tuple[str, str]:
    """A program nobody has run, and its output, from arithmetic that is exact in float32."""
    a, b, c, d = (rng.randint(-999, 999) / 4 for _ in range(4))
    kind = rng.choice(("square", "matrix", "loop"))
    if kind == "square":
        text = f"""\
import torch

x = torch.tensor([{a}, {b}], requires_grad=True)
w = torch.tensor([{c}, {d}])
y = (w * x**2).sum()
y.backward()
print("answer", x.grad.tolist())
"""
        return text, f"answer {[2 * c * a, 2 * d * b]}"
    if kind == "matrix":
        text = f"""\
import torch

A = torch.tensor([[{a}, {b}], [{c}, {d}]])
v = torch.tensor([[1.0], [2.0]], requires_grad=True)
out = torch.relu(A @ v).sum()
out.backward()
print("answer", v.grad.flatten().tolist())
"""
        rows = [row for row in ((a, b), (c, d)) if row[0] + 2 * row[1] > 0]
        return text, f"answer {[float(sum(row[i] for row in rows)) for i in (0, 1)]}"
    text = f"""\
import torch
from torch import nn

net = nn.Linear(1, 1, bias=False)
with torch.no_grad():
    net.weight.fill_({a})
optimizer = torch.optim.SGD(net.parameters(), lr=0.25)
x = torch.ones(1, 1)
for step in range(4):
    optimizer.zero_grad()
    loss = ((net(x) - {b}) ** 2).mean()
    loss.backward()
    optimizer.step()
print("answer", net.weight.item())
"""
    for _ in range(4):
        a = (a + b) / 2
    return text, f"answer {a}"


def printed(tab: Tab) -> str:
    match = re.search(r'<pre class="ax-printed">(.*?)</pre>', tab.texts(), re.DOTALL)
    return unescape(match[1]) if match else ""


def _check_answer(tab: Tab, answer: str) -> str | None:
    if printed(tab) != answer:
        return f"printed {printed(tab)!r}, not {answer!r}"
    rows = tab.data("tensors")["rows"] if tab.has("bidi_component", "tensors") else [True]
    return None if rows and tab.has("bidi_component", "graph") else "no graph or no table"


async def new_program(reader: Reader) -> None:
    """Type a program and run it."""
    text, answer = program(reader.rng)
    await reader.tab.set("text_area", "program", text)
    await reader.wait_for_answer(lambda tab: _check_answer(tab, answer))


async def open_link(reader: Reader) -> None:
    """Leave, and come back by a link to a program."""
    text, answer = program(reader.rng)
    await reader.open_page("expression", program=text)
    await reader.wait_for_answer(lambda tab: _check_answer(tab, answer))


async def choose_example(reader: Reader) -> None:
    """Choose an example, which the browser writes into the editor: its question is answered."""
    chosen = reader.rng.choice(EXAMPLES)

    def check(tab: Tab) -> str | None:
        if tab.value("text_area", "program") != chosen.source:
            return f"the editor does not hold the example {chosen.key}"
        question = f"<b>{escape(chosen.question)}</b>"
        return None if question in tab.texts() else f"no answer to {chosen.question!r}"

    if reader.tab.value("text_area", "program") == chosen.source:
        raise NotApplicable
    await reader.tab.set("text_area", "program", chosen.source)
    await reader.wait_for_answer(check)


async def next_step(reader: Reader) -> None:
    """The next step of the backward pass; after the last step, the one before."""
    if not reader.tab.has("slider", "walk-slider"):
        raise NotApplicable
    slider = reader.tab.widget("slider", "walk-slider")
    at, last = int(slider.value[0] if slider.value else 0), int(slider.max)
    target, button = (at - 1, "walk-previous") if at == last else (at + 1, "walk-next")
    if not target:
        raise NotApplicable

    def check(tab: Tab) -> str | None:
        match = re.search(r"<b>Step ([\d,]+) of ([\d,]+):", tab.texts())
        # A very long pass does not show all steps.
        reached = int(match[1].replace(",", "")) if match else 0
        return None if reached >= target else f"step {reached}, not {target} of {last}"

    await reader.tab.press(button)
    await reader.wait_for_answer(check)


async def switch_panel(reader: Reader) -> None:
    """Switch to another panel."""
    if not reader.tab.has("button_group", "panel"):
        raise NotApplicable
    offered = [option.content for option in reader.tab.widget("button_group", "panel").options]
    shown = reader.tab.value("button_group", "panel")
    name = reader.rng.choice([n for n in offered if [n] != shown])
    await reader.tab.set("button_group", "panel", [name])
    await reader.wait_for_answer(lambda tab: None if _PANELS[name](tab) else f"no panel {name}")
