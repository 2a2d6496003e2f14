"""What a reader does on the Optimizer page."""

from __future__ import annotations

import re
from html import unescape

from benchmarks.load.reader import NotHere, Reader
from benchmarks.load.tab import Tab

_CALLS = ("zero_grad", "forward", "backward", "step")
_OWN = "Your own program"
#: The first parameter of every problem.
_PROBLEMS = {
    "Parabola": "x",
    "Ill-conditioned quadratic": "a",
    "Rosenbrock's banana": "x",
    "Linear regression": "w",
    "Two layers with sigmoids": "layer1.weight",
    "All weights 0.1": "conv1.weight",
    "2-D classification": "0.weight",
    "A network": "0.weight",
}


def _said(tab: Tab) -> str:
    """What the last press did."""
    found = re.search(r'<div class="ax-said".*?</div>', tab.texts(), re.DOTALL)
    return unescape(found[0]) if found else ""


def _numbers(tab: Tab) -> dict[str, str]:
    """The rows of the first parameter on the screen, each by its first number."""
    rows = tab.data("numbers")["blocks"][0]["rows"]
    return {row["label"]: row["grid"][0][0]["text"] for row in rows}


def _float(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


async def call(reader: Reader) -> None:
    """Press the call that a training loop makes next."""
    due = next((n for n in _CALLS if _is_due(reader.tab, n)), None)
    if due is None:
        raise NotHere
    before, lr = _numbers(reader.tab), reader.tab.value("number_input", "lr")

    def check(tab: Tab) -> str | None:
        if f"<b>{due}</b>" not in _said(tab):
            return f"{due} was pressed; the page says {_said(tab)!r}"
        return _wrong_step(before, _numbers(tab), lr) if due == "step" else None

    await reader.tab.press(f"press-{due}")
    await reader.see(check)


def _is_due(tab: Tab, name: str) -> bool:
    key = f"press-{name}"
    return tab.has("button", key) and tab.widget("button", key).type == "primary"


def _wrong_step(before: dict[str, str], after: dict[str, str], lr: float) -> str | None:
    """new = old − lr · grad, where the optimizer keeps no buffers."""
    if set(before) - {"value", ".grad", "last update"} or before[".grad"] == "None":
        return None
    old, grad, new = _float(before["value"]), _float(before[".grad"]), _float(after["value"])
    right = old - lr * grad
    fine = abs(new - right) <= 1e-4 * (abs(old) + abs(lr * grad)) + 1e-9
    return None if fine else f"step: {old} − {lr} · {grad} is {right}, not {new}"


async def iterate(reader: Reader) -> None:
    """One iteration."""
    steps = _steps(reader.tab)
    await reader.tab.press("press-iterate")
    await reader.see(
        lambda tab: None if _steps(tab) == steps + 1 else f"{_steps(tab)} steps after {steps} + 1"
    )


def _steps(tab: Tab) -> int:
    found = re.search(r"<i>([\d,]+) steps?</i>", _said(tab))
    return int(found[1].replace(",", "")) if found else -1


async def run(reader: Reader) -> None:
    """Run 200 iterations: answered with the first picture, watched to the end."""

    def moves(tab: Tab) -> str | None:
        return None if tab.all("progress") or ends(tab) is None else "the run did not begin"

    def ends(tab: Tab) -> str | None:
        words = _said(tab)
        fine = "200 iterations done" in words or "Stopped after" in words
        return None if fine else f"the run did not end: {words!r}"

    await reader.tab.press("press-run")
    await reader.see(moves)
    reader.answered()
    if ends(reader.tab) is not None:
        await reader.see(ends, patience=120.0)


async def seed(reader: Reader) -> None:
    """Start again from a random seed, which the server draws."""
    before = reader.tab.query.get("seed")

    def check(tab: Tab) -> str | None:
        drawn = tab.query.get("seed")
        fine = drawn != before and f"Started again from seed {drawn}." in _said(tab)
        return None if fine else f"no new seed {drawn}: {_said(tab)!r}"

    await reader.tab.press("press-new-seed")
    await reader.see(check)


async def rate(reader: Reader) -> None:
    """Another learning rate."""
    now = reader.tab.value("number_input", "lr")
    lr = float(f"{now * reader.rng.uniform(0.7, 0.99):.4g}")
    if lr < 1e-5:
        raise NotHere
    await reader.tab.set("number_input", "lr", lr)
    await reader.see(
        lambda tab: None if f"lr is {lr:g}" in _said(tab) else f"lr {lr:g}: {_said(tab)!r}"
    )


async def problem(reader: Reader) -> None:
    """Another problem of the list."""
    now = reader.tab.value("selectbox", "problem")
    title = reader.rng.choice([name for name in _PROBLEMS if name != now])

    def check(tab: Tab) -> str | None:
        name = tab.data("numbers")["blocks"][0]["name"]
        return None if name == _PROBLEMS[title] else f"{title} has the parameter {name}"

    await reader.tab.set("selectbox", "problem", title)
    await reader.see(check)


async def own(reader: Reader) -> None:
    """A setup of one's own; the page opens it with a forward."""
    tab = reader.tab
    if not tab.has("text_area", "setup"):
        await tab.set("selectbox", "problem", _OWN)
        await reader.see(lambda tab: None if tab.has("text_area", "setup") else "no boxes")
        reader.begin()
    w, x, y = (reader.rng.randint(-99, 99) / 4 for _ in range(3))
    loss = (w * x - y) ** 2
    setup = f"""\
import torch
from torch import nn

x, y = torch.tensor([[{x}]]), torch.tensor([[{y}]])
net = nn.Linear(1, 1, bias=False)
with torch.no_grad():
    net.weight.fill_({w})
"""

    def check(tab: Tab) -> str | None:
        found = re.search(r"The loss is ([−\d.,e+-]+?)\. Its graph", _said(tab))
        fine = found and abs(_float(found[1]) - loss) <= 1e-5 * abs(loss)
        return None if fine else f"the loss is {loss}; the page says {_said(tab)!r}"

    await tab.set("text_area", "setup", setup)
    await reader.see(check)
