"""Trying the answers of a run

The Expression page shows a run first and tries its answers afterwards. Pages that do and that do
not take turns, in the same browser, each with a server of its own. The time of a picture is that
from Ctrl+Enter to the row of the new tensor; each program is new to both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.browser import Reader, open_readers
from benchmarks.load.serving import ROOT
from benchmarks.measure import Budget, Row
from explorer import sandbox
from explorer.trace import prove, run
from explorer.trace.examples import EXAMPLES
from explorer.trace.proof.prove import LONGEST, has_tries

_PICTURES = 30
#: Its answer has a cure that is tried.
_PROGRAM = """\
import torch
w = torch.tensor(2.0, requires_grad=True)
v = torch.tensor({number}.0, requires_grad=True)
y{number} = w.detach() * v
y{number}.backward()
print(w.grad)
"""


def rows(most: int) -> Iterator[Row]:
    with open_readers(ROOT, ROOT, modules=("streamlit", "benchmarks.untried_app")) as readers:
        for reader in readers:
            reader.tab.bring_to_front()
            reader.open_page("expression", "tr[data-id]")
            reader.wait_idle(1000)
        pictures: list[list[float]] = [[], []]
        answers = []
        for number in range(2, 2 + min(_PICTURES, 3 * most)):
            for reader, taken in zip(readers, pictures, strict=True):
                picture, answer = picture_and_answer(reader, number)
                taken.append(picture)
                if reader is readers[0]:
                    answers.append(answer - picture)
    ours, theirs = (median(taken[1:]) for taken in pictures)
    budget = Budget(1.05, "ratio")
    yield Row("the first picture of a program (median)", ours, "no tries", theirs, budget)
    yield Row(
        "from the picture to the tried answer (median)",
        median(answers[1:]),
        budget=Budget(0.5, "absolute"),
        note=f"The slowest took {max(answers[1:]) * 1000:.0f} ms.",
    )
    yield from tries_of_examples(most)


def picture_and_answer(reader: Reader, number: int) -> tuple[float, float]:
    """Seconds from Ctrl+Enter to the program's table and to its answer."""
    tab = reader.tab
    tab.bring_to_front()
    reader.wait_idle(100)
    tab.fill(".st-key-program textarea", _PROGRAM.format(number=number))
    start = time.perf_counter()
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector(f"td.name:text-is('y{number}')")
    picture = time.perf_counter() - start
    tab.wait_for_selector(".ax-answer:visible >> text=w.grad")
    return picture, time.perf_counter() - start


def tries_of_examples(most: int) -> Iterator[Row]:
    """All tries of a small program, in a child; and what they cost the processor."""
    traces = [run(example.source) for example in EXAMPLES]
    small = [t for t in traces if has_tries(t) and t.seconds <= LONGEST][: 20 * most]
    sandbox.prove(small[0])  # starts the server
    times, used = {}, []
    for trace in small:
        start = time.perf_counter()
        sandbox.prove(trace)
        times[trace.source] = time.perf_counter() - start
        start = time.process_time()
        prove(trace)
        used.append(time.process_time() - start)
    slowest = max(times, key=lambda source: times[source])
    key = next(example.key for example in EXAMPLES if example.source == slowest)
    what = f"all tries of one of {len(times)} examples, in a child"
    yield Row(f"{what} (median)", median(times.values()))
    budget = Budget(0.5, "absolute")
    yield Row("the slowest of them", times[slowest], budget=budget, note=f"The example `{key}`.")
    yield Row("processor time of the tries of one (median)", median(used))
