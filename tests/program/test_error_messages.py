"""What is said about the exceptions that gradient programs raise, program by program.

Each file of `errors/` has programs of one theme, with the line and the sentence of the error, what
to do, and the changed line if there is a fix that was tried. `python -m
tests.program.test_error_messages` writes what is said now, to be read before it is committed.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import explorer
from explorer.program.draft import changed_line
from explorer.program.error_messages import Failure, describe
from tests.program.compare import plain

FOLDER = Path(__file__).parent / "errors"
HEADER = (
    "import copy, math\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\n"
    "from torch import nn\n"
)
LINES = HEADER.count("\n")


@dataclass(frozen=True)
class Case:
    """A program, and what is said about its error."""

    program: str
    line: int | None = None
    message: str = ""
    hint: str = ""
    fix: str = ""

    @property
    def source(self) -> str:
        return f"{HEADER}{self.program}\n"

    def __str__(self) -> str:
        parts = [f"> line {self.line}: {self.message}"]
        parts += [f"> {self.hint}"] if self.hint else []
        parts += [f"> fix: {self.fix}"] if self.fix else []
        return "\n".join([self.program, *parts])


def read(file: Path) -> Iterator[Case]:
    for block in file.read_text().strip().split("\n\n"):
        lines = block.split("\n")
        program = "\n".join(line for line in lines if line[:2] != "> ")
        said = [line[2:] for line in lines if line[:2] == "> "]
        place, message = said[0].split(": ", 1)
        fix = next((text[5:] for text in said if text.startswith("fix: ")), "")
        hint = next((text for text in said[1:] if not text.startswith("fix: ")), "")
        yield Case(program, int(place.split()[1]), message, hint, fix)


def said_now(case: Case) -> Case:
    """The case with what is said about its program now."""
    trace = explorer.prove(explorer.run(case.source))
    error = trace.error
    assert error is not None, case.program
    fix = changed_line(case.source, error.fix)[1] if error.fix else ""
    line = error.line - LINES if error.line else None
    return replace(case, line=line, message=error.message, hint=error.hint, fix=fix)


CASES = {
    f"{file.stem}: {case.program}": case
    for file in sorted(FOLDER.glob("*.txt"))
    for case in read(file)
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said(name: str) -> None:
    assert str(said_now(CASES[name])) == str(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_the_sentence_belongs_to_the_error_of_plain_pytorch(name: str) -> None:
    """The program fails there too, with an exception that we have a sentence for."""
    with pytest.raises(Exception) as raised, contextlib.redirect_stdout(io.StringIO()):  # noqa: PT011
        plain(CASES[name].source)
    text = f"{type(raised.value).__name__}: {raised.value}"
    assert describe(Failure(text, "", None, None)) or isinstance(raised.value, ALSO_KNOWN), text


#: Exceptions that are described by what was missing or wrong in the program, not by their text.
ALSO_KNOWN = (AttributeError, NameError, SyntaxError, NotImplementedError, AssertionError)


def test_shapes_in_sentences_are_the_shapes_of_the_program() -> None:
    """Every "x has the shape …" holds in the program, run in plain PyTorch up to that line."""
    checked = 0
    for case in CASES.values():
        for name, shape in re.findall(r"\b([a-z]\w*) has the shape (\([\d, ]*\))", case.message):
            names: dict[str, object] = {}
            lines = case.source.split("\n")[: (case.line or 1) + LINES]
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec("\n".join(lines), names)
            if name in names:
                assert str(tuple(getattr(names[name], "shape", ()))) == shape, case.program
                checked += 1
    assert checked > 30


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.txt")):
        cases = [said_now(case) for case in read(path)]
        path.write_text("\n\n".join(map(str, cases)) + "\n")
        print(path.stem, len(cases), "programs,", sum(bool(c.fix) for c in cases), "with a fix")
