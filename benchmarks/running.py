"""Running groups, each in a process of its own: `python -m benchmarks.running NAME MOST` is one."""

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
    "sandbox",
    "training",
    "networks",
    "vision",
    "peers",
    "expression_page",
    "optimizer_page",
    "network_page",
    "feature_maps_page",
)
#: As in the app and its sandbox.
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def group(name: str, most: int) -> Group:
    """Measure one group, printing each row as it comes; repeat nothing more than `most` times."""
    title, about, rows = name, "", []
    for found in _measured(name, most):
        if isinstance(found, str):
            title, _, about = (part.strip() for part in found.partition("\n"))
            print(f"\n{title}", flush=True)
        else:
            rows.append(found)
            print(line(found), flush=True)
    return Group(title, " ".join(about.split()), tuple(rows))


def _measured(name: str, most: int) -> Iterator[str | Row]:
    """The group's docstring, then its rows. What one group imports or leaves in memory does not
    touch another."""
    command = [sys.executable, "-m", __name__, name, str(most)]
    environment = os.environ | _ONE_THREAD
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            found = json.loads(text)
            yield found if isinstance(found, str) else _row(found)
    if process.returncode:
        yield _rest(name, f"its process ended with {process.returncode}")


def _row(plain: dict[str, Any]) -> Row:
    budget = plain.pop("budget")
    return Row(**plain, budget=budget and Budget(**budget))


def _rest(name: str, why: str) -> Row:
    return Row(f"the rest of {name}", None, note=why)


def _measure(name: str, most: int, say: Callable[[Any], None]) -> None:
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        say(module.__doc__)
        gc.collect()
        gc.freeze()  # as the app does
        for row in module.rows(most):
            say(asdict(row))
    except (Missing, ImportError) as missing:
        say(asdict(_rest(name, str(missing))))
    except Exception as error:  # a bad group shall not cost the others' results
        first = (str(error).splitlines() or [""])[0]
        say(asdict(_rest(name, f"{type(error).__name__}: {first}")))


if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    _measure(
        sys.argv[1],
        int(sys.argv[2]),
        lambda found: print(json.dumps(found), file=answers, flush=True),
    )
