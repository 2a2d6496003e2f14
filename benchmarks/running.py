"""Measures groups, each in a process of its own: `python -m benchmarks.running NAME MOST`."""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from benchmarks.measure import Budget, Missing, Row
from benchmarks.results import Group, line

#: The modules of this package that measure, in the order they run.
GROUPS = (
    "trace",
    "record",
    "loops",
    "sandbox",
    "drag",
    "training",
    "networks",
    "show",
    "vision",
    "peers",
    "tries",
    "pages",
    "actions",
    "optimizer_page",
    "layout_shift",
)
#: As in the app and its sandbox.
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def measure_group(name: str, most: int) -> Group:
    """Measure one group and print each row as it comes; repeat nothing more than `most` times."""
    title, about, rows = name, "", []
    for answer in _rows_from_process(name, most):
        if isinstance(answer, str):
            title, _, about = (part.strip() for part in answer.partition("\n"))
            print(f"\n{title}", flush=True)
        else:
            rows.append(answer)
            print(line(answer), flush=True)
    return Group(title, " ".join(about.split()), tuple(rows))


def _rows_from_process(name: str, most: int) -> Iterator[str | Row]:
    """The group's docstring, then its rows.

    A process per group, so that one group's imports and memory do not affect another.
    """
    command = [sys.executable, "-m", __name__, name, str(most)]
    environment = os.environ | _ONE_THREAD
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            answer = json.loads(text)
            yield answer if isinstance(answer, str) else _row(answer)
    if process.returncode:
        yield _row_for_failure(name, f"its process ended with {process.returncode}")


def _row(plain: dict[str, Any]) -> Row:
    budget = plain.pop("budget")
    return Row(**plain, budget=budget and Budget(**budget))


def _row_for_failure(name: str, why: str) -> Row:
    return Row(f"the rest of {name}", None, note=why)


def _measure(name: str, most: int, send: Callable[[Any], None]) -> None:
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        send(module.__doc__)
        gc.collect()
        gc.freeze()  # as the app does
        for row in module.rows(most):
            send(asdict(row))
    except (Missing, ImportError) as missing:
        send(asdict(_row_for_failure(name, str(missing))))
    except Exception as error:  # one failing group must not lose the results of the others
        first = (str(error).splitlines() or [""])[0]
        send(asdict(_row_for_failure(name, f"{type(error).__name__}: {first}")))


if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr  # a library's output is not an answer
    _measure(
        sys.argv[1],
        int(sys.argv[2]),
        lambda answer: print(json.dumps(answer), file=answers, flush=True),
    )
