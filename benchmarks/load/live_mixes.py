"""Readers who type, drag or upload without a pause: mixes of their own, reported beside the mix."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from benchmarks.load import expression, feature_maps
from benchmarks.load.mix import ACTIONS
from benchmarks.load.reader import NEW, Action, ActionResult, Mix, Reader
from benchmarks.load.tab import Tab

#: Frames of one drag, and the shortest time between two: the browser sends the next one when the
#: last has been painted.
FRAMES, _FRAME_TIME = 20, 1 / 30
#: Lines of a program that is typed.
_LINES = 8
_OPEN = replace(ACTIONS[0], weight=0)


async def type_on(reader: Reader) -> None:
    """Type until the next pause: to the end of a line or, half of the time, only up to its middle.

    The editor commits the text after a pause of 0.3 s. Where it cannot run yet, the page keeps the
    picture of the text before.
    """
    notes = reader.notes
    if len(notes.get("lines", ())) in (0, _LINES):
        notes["lines"], notes["name"] = [], f"v{reader.rng.getrandbits(24):x}"
    lines = notes["lines"]
    value = reader.rng.randint(-999, 999) / 4
    name = f"{notes['name']}_{len(lines)}"
    line = f"{name} = torch.tensor({value}, requires_grad=True); print({name}.item())"
    answer = [text for _, text in lines]
    text = "\n".join(["import torch", *(typed for typed, _ in lines)])
    if reader.rng.random() < 0.5:
        text += "\n" + line[: line.index("tensor") + 3]  # torch.ten
    else:
        lines.append((line, str(value)))
        answer.append(str(value))
        text += "\n" + line

    def check(tab: Tab) -> str | None:
        printed = expression.printed(tab).split("\n") if answer else []
        return None if printed == answer else f"printed {printed}, not {answer}"

    await reader.tab.set("text_area", "program", text)
    await reader.wait_for_answer(check)


async def drag_number(reader: Reader) -> None:
    """Drag a number of the program: each frame is a result of its own; this one is letting go."""
    number = reader.rng.randint(1, 999) / 4
    line = "x = torch.tensor({}, requires_grad=True)"
    text = f"import torch\n{line}\ny = x * x\ny.backward()\nprint(x.grad.item())"
    start = line.index("{")
    place = {"line": 2, "column": start, "end": start + len(str(number))}

    async def commit(value: float) -> None:
        await reader.tab.set("text_area", "program", text.replace("{}", str(value)))
        await reader.wait_for_answer(
            lambda tab: None if expression.printed(tab) == str(2 * value) else "another answer"
        )

    async def move(value: float, phase: str) -> None:
        name = f"{reader.rng.getrandbits(40):x}"
        event = {"target": place, "value": value, "phase": phase, "number": name}

        def check(tab: Tab) -> str | None:
            data = tab.data("drag")
            if data.get("number") != name:
                return "the frame has not come"
            return None if data["numbers"] or phase == "end" else f"no numbers: {data['note']!r}"

        await reader.tab.click("drag", event, "moved")
        await reader.wait_for_answer(check)

    await commit(number)
    for _ in range(FRAMES):
        began = time.monotonic()
        number += 0.25
        await move(number, "move")
        taken = time.monotonic() - began
        reader.done.append(ActionResult(FRAME, taken, began=began))
        await asyncio.sleep(max(0.0, _FRAME_TIME - taken))
    reader.start_timing()
    await move(number, "end")
    await commit(number)


FRAME = Action("expression", "drag a number: one frame", NEW, 0, drag_number)
TYPING = Mix(
    "typing",
    {"expression": 100.0},
    (_OPEN, Action("expression", "type on, to the next pause", NEW, 1, type_on)),
    interval=1.5,
    jitter=0.7,
)
DRAGGING = Mix(
    "dragging",
    {"expression": 100.0},
    (_OPEN, FRAME, Action("expression", "let go of the number", NEW, 1, drag_number)),
    interval=5.0,
)
UPLOADING = Mix(
    "uploading",
    {"feature_maps": 100.0},
    (
        _OPEN,
        Action("feature_maps", "upload an image", NEW, 1, feature_maps.upload_image),
        Action("feature_maps", "upload a photograph", NEW, 1, feature_maps.upload_photograph),
    ),
)
LIVE_MIXES = (TYPING, DRAGGING, UPLOADING)
