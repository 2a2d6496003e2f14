"""All healthy programs by name, and how one is run in plain PyTorch and in the explorer."""

from __future__ import annotations

from pathlib import Path

from explorer import prove, run
from tests.program.compare import plain
from tests.programs import programs

#: "loops: SGD with momentum" → the program.
PROGRAMS: dict[str, str] = {
    f"{path.stem}: {name}": program
    for path in sorted(Path(__file__).with_name("programs").glob("*.py"))
    for name, program in programs(path).items()
}


def alarms(source: str) -> dict[str, str]:
    """What the explorer says of a program about which there is nothing to say: key → words."""
    trace = prove(run(source))
    said = {answer.key: f"{answer.title} {answer.text}" for answer in trace.answers}
    if trace.error is not None:
        said["error"] = f"{trace.error.message} (line {trace.error.line})"
    return said


def run_plainly(source: str) -> None:
    """Raises if the program fails in plain PyTorch, or misses its effect (an assert)."""
    plain(source)
