"""Writes docs/language.md from the tables the language itself uses.

    python -m docs.language

Names come from the vocabulary, the verdict on each piece of syntax from reading it, limits from
the constants that hold them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from explorer.language import ProgramError, ProgramRefused, builtins, reference, syntax, watcher
from explorer.language.guard import sizes
from explorer.language.program import Program
from explorer.language.vocabulary import BASES, REASONS, TENSOR_WRITES, entries, narrowed
from explorer.language.vocabulary.reasons import MODULES
from explorer.sandbox.options import Options
from explorer.trace import recorder

HERE = Path(__file__).parent
PAGE = HERE / "language.md"
#: A program that uses every form of syntax there is.
TOUR = (HERE / "tour.py").read_text()

#: Syntax that is left out: how the table names it, and a program that uses it.
LEFT_OUT = {
    "`match`": "match x:\n    case 1:\n        pass",
    "`async def`": "async def f():\n    pass",
    "`await`": "await x",
    "`yield from`": "def f(y):\n    yield from y",
    "`except*`": "try:\n    pass\nexcept* ValueError:\n    pass",
    "`yield` inside `with`": "def f():\n    with x:\n        yield 1",
    "`yield` inside `try … finally`": "def f():\n  try:\n    yield 1\n  finally:\n    pass",
    "`class A(metaclass=B)`": "class A(metaclass=B):\n    pass",
    "`from x import *`": "from torch import *",
    "`from . import x`": "from . import x",
    '`b"bytes"`': 'x = b"bytes"',
    "`x.__dict__`, `__x = 1`": "x.__dict__",
    "`%matplotlib`, `!pip`": "%matplotlib inline",
}

#: What is limited, and the most there may be.
LIMITS: tuple[tuple[str, int | float], ...] = (
    ("Length of a program, in characters", syntax.MAX_SOURCE),
    ("Nodes of its syntax tree", syntax.MAX_NODES),
    ("A text written out in it, in characters", syntax.MAX_LITERAL),
    ("Statements one run executes, items of comprehensions included", watcher.MAX_STATEMENTS),
    ("What `print` writes, in characters", watcher.MAX_OUTPUT),
    ("Elements of a tensor", narrowed.MAX_ELEMENTS),
    ("Length of a text or list", sizes.MAX_LENGTH),
    ("Bits of a whole number", sizes.MAX_BITS),
    ("`backward` calls inside each other (in hooks, in a custom `backward`)", recorder.MOST_NESTED),
    ("In the app, on Linux: memory a program may add, in MB", Options.memory),
    ("In the app: seconds a program may run", Options.seconds),
)

HEAD = """\
# The language

*Written by `python -m docs.language` from the tables the language itself uses; change those, not
this page.*

A program is Python as tutorials write it. It is read, checked against a list of allowed syntax,
rewritten so that every attribute is looked up in a table of names, and then run by Python itself
with the real PyTorch. What is not on this page does not exist for a program. In the app the
Glossary searches the same names, each with a line about it.

`import torch`, `import torch.nn as nn`, `from torch.nn import functional as F`,
`import numpy as np` and the like work as usual; there are no files, no network and no system.
Sessions copied with their `>>>` prompts can be pasted. Random numbers start from a seed.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_syntax(), *_classes(), *_names(), *_left_out(), *_limits()])


def _syntax() -> Iterator[str]:
    yield "## Syntax\n"
    yield "Every form there is, in one program that runs:\n"
    body = TOUR[TOUR.index("import torch") :]
    yield f"```python\n{body.rstrip()}\n```\n"
    yield "Not part of the language:\n"
    rows = ((shown, *_said(source)) for shown, source in LEFT_OUT.items())
    yield from _table(("syntax", "what is said", "what to do"), rows)


def _said(source: str) -> tuple[str, str]:
    """What a reader is told who writes this. Raises AssertionError if it is allowed."""
    error = refusal_of(source)
    assert error is not None, f"part of the language after all: {source}"
    return error.message, error.hint


def refusal_of(source: str) -> ProgramError | None:
    """Why a program's text is refused; None if it is not."""
    try:
        Program(source)
    except ProgramRefused as refused:
        return refused.error
    return None


def _classes() -> Iterator[str]:
    spelled = {thing: name for _, name, thing in reversed([*entries()])}
    bases = (spelled.get(kind, kind.__name__) for kind in BASES)
    named = sorted(name for name in bases if not name.startswith("torch.nn"))
    yield "## Classes\n"
    yield f"A class may derive from {_codes(named)}, any layer of `torch.nn`, and your own classes."
    yield f"It may define {_codes(sorted(syntax.SPECIAL_METHODS))} beside methods with plain names."
    yield f"Of a tensor, {_codes(sorted(TENSOR_WRITES))} may be assigned.\n"


def _names() -> Iterator[str]:
    yield "## Names\n"
    heading = ""
    for group in reference():
        title = "Attributes and methods" if "attributes" in group.title else group.title
        if title != heading:
            heading = title
            yield f"### {heading}\n"
        for owner in dict.fromkeys(entry.name.rpartition(".")[0] for entry in group.entries):
            names = [entry.name for entry in group.entries]
            parts = (name.rpartition(".") for name in names)
            listed = _codes(name for of, _, name in parts if of == owner)
            yield f"`{owner}`: {listed}\n" if owner else f"{listed}\n"


def _left_out() -> Iterator[str]:
    yield "## Left out, and what to do instead\n"
    yield "Names of torch and its objects:\n"
    yield from _table(("name", "instead"), _coded(REASONS))
    yield "Modules:\n"
    yield from _table(("module", "instead"), _coded(MODULES))
    yield "Built-in functions:\n"
    yield from _table(("function", "instead"), _coded(builtins.REASONS))


def _limits() -> Iterator[str]:
    yield "## Limits\n"
    yield "A program that reaches one is stopped with a sentence that says which. Who runs the app"
    yield "may set the last two.\n"
    rows = ((what, f"{most:,.0f}") for what, most in LIMITS)
    yield from _table(("what", "at most"), rows)


def _codes(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _coded(reasons: dict[str, str]) -> Iterator[tuple[str, str]]:
    return ((f"`{name}`", reason) for name, reason in reasons.items())


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(text: str) -> str:
    """Text of ours as Markdown shows it unchanged: code spans stay, underscores outside do not
    make bold."""
    parts = text.replace("|", "\\|").split("`")
    return "`".join(part if i % 2 else part.replace("_", "\\_") for i, part in enumerate(parts))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
