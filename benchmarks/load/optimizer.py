"""Actions on the Optimizer page."""

from __future__ import annotations

import asyncio
import re
from html import unescape

from benchmarks.load.files import WrongAnswer
from benchmarks.load.reader import NotApplicable, Reader
from benchmarks.load.tab import Tab

_CALLS = ("zero_grad", "forward", "backward", "step")
_OWN = "Your own program"
#: Problem -> its first parameter.
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


def _last_message(tab: Tab) -> str:
    """The page's message about the last press."""
    match = re.search(r'<div class="ax-said".*?</div>', tab.texts(), re.DOTALL)
    return unescape(match[0]) if match else ""


def _numbers(tab: Tab) -> dict[str, str]:
    """The first number of each row of the first parameter, by the row's label."""
    rows = tab.data("numbers")["blocks"][0]["rows"]
    return {row["label"]: row["grid"][0][0]["text"] for row in rows}


def _float(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


async def press_next_call(reader: Reader) -> None:
    """Press the button of the call that comes next in a training loop."""
    next_call = next((n for n in _CALLS if _is_due(reader.tab, n)), None)
    if next_call is None:
        raise NotApplicable
    before, lr = _numbers(reader.tab), _lr(reader.tab)

    def check(tab: Tab) -> str | None:
        if f"<b>{next_call}</b>" not in _last_message(tab):
            return f"{next_call} was pressed; the page says {_last_message(tab)!r}"
        return _check_step(before, _numbers(tab), lr) if next_call == "step" else None

    await reader.tab.press(f"press-{next_call}")
    await reader.wait_for_answer(check)


def _is_due(tab: Tab, name: str) -> bool:
    """Whether the page shows what this call will do."""
    return f'class="ax-will {name} due"' in tab.texts()


def _lr(tab: Tab) -> float:
    """The learning rate as its slider stands."""
    rows = tab.data("sliders")["sliders"]
    return float(next(row["value"] for row in rows if row["name"] == "lr"))


def _check_step(before: dict[str, str], after: dict[str, str], lr: float) -> str | None:
    """Check new = old − lr · grad, if the optimizer keeps no buffers."""
    if set(before) - {"value", ".grad", "last update"} or before[".grad"] == "None":
        return None
    old, grad, new = _float(before["value"]), _float(before[".grad"]), _float(after["value"])
    expected = old - lr * grad
    fine = abs(new - expected) <= 1e-4 * (abs(old) + abs(lr * grad)) + 1e-9
    return None if fine else f"step: {old} − {lr} · {grad} is {expected}, not {new}"


async def iterate(reader: Reader) -> None:
    """Run one iteration."""
    steps = _steps(reader.tab)
    await reader.tab.press("press-iterate")
    await reader.wait_for_answer(
        lambda tab: None if _steps(tab) == steps + 1 else f"{_steps(tab)} steps after {steps} + 1"
    )


def _steps(tab: Tab) -> int:
    match = re.search(r"<i>([\d,]+) steps?</i>", _last_message(tab))
    return int(match[1].replace(",", "")) if match else -1


async def run_200(reader: Reader) -> None:
    """Run 200 iterations: timed until the first picture, watched to the end."""

    def check_begun(tab: Tab) -> str | None:
        begun = "of 200 iterations" in _last_message(tab) or check_ended(tab) is None
        return None if begun else "the run did not begin"

    def check_ended(tab: Tab) -> str | None:
        message = _last_message(tab)
        fine = "200 iterations done" in message or "Stopped after" in message
        return None if fine else f"the run did not end: {message!r}"

    await reader.tab.press("press-run")
    await reader.wait_for_answer(check_begun)
    reader.stop_timing()
    while wait := reader.tab.data("curves")["again"]:  # as the curves ask for the next picture
        await asyncio.sleep(wait)
        await reader.tab.click("curves", 0, "due")
        await reader.wait_for_answer(lambda _: None)
    if objection := check_ended(reader.tab):
        raise WrongAnswer(objection)


async def new_seed(reader: Reader) -> None:
    """Start again from a random seed, which the server draws."""
    before = _last_message(reader.tab)

    def check(tab: Tab) -> str | None:
        message = _last_message(tab)
        fine = message != before and re.search(r"Started again from seed \d+\.", message)
        return None if fine else f"no new seed: {message!r}"

    await reader.tab.press("press-new-seed")
    await reader.wait_for_answer(check)


async def change_lr(reader: Reader) -> None:
    """Change the learning rate."""
    now = _lr(reader.tab)
    lr = float(f"{now * reader.rng.uniform(0.7, 0.99):.4g}")
    if lr < 1e-5:
        raise NotApplicable
    await reader.tab.click("sliders", {"name": "lr", "value": lr}, "kept")
    await reader.wait_for_answer(
        lambda tab: (
            None if f"lr is {lr:g}" in _last_message(tab) else f"lr {lr:g}: {_last_message(tab)!r}"
        )
    )


async def change_problem(reader: Reader) -> None:
    """Choose another problem from the list."""
    now = reader.tab.value("selectbox", "problem")
    title = reader.rng.choice([name for name in _PROBLEMS if name != now])

    def check(tab: Tab) -> str | None:
        name = tab.data("numbers")["blocks"][0]["name"]
        return None if name == _PROBLEMS[title] else f"{title} has the parameter {name}"

    await reader.tab.set("selectbox", "problem", title)
    await reader.wait_for_answer(check)


async def new_program(reader: Reader) -> None:
    """Enter a new setup; the page shows its parameter."""
    tab = reader.tab
    if not tab.has("text_area", "setup"):
        await tab.set("selectbox", "problem", _OWN)
        await reader.wait_for_answer(
            lambda tab: None if tab.has("text_area", "setup") else "no boxes"
        )
        reader.start_timing()
    w, x, y = (reader.rng.randint(-99, 99) / 4 for _ in range(3))
    setup = f"""\
import torch
from torch import nn

x, y = torch.tensor([[{x}]]), torch.tensor([[{y}]])
net = nn.Linear(1, 1, bias=False)
with torch.no_grad():
    net.weight.fill_({w})
"""

    def check(tab: Tab) -> str | None:
        value = _numbers(tab)["value"]
        return None if _float(value) == w else f"the weight is {w}; the page says {value}"

    await tab.set("text_area", "setup", setup)
    await reader.wait_for_answer(check)
