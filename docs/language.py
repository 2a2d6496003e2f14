"""Writes docs/language.md from the tables that the language itself uses.

    python -m docs.language

Names come from the vocabulary, the error for each piece of syntax from parsing it, limits from
their constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from explorer.language import ProgramError, ProgramRefused, reference, syntax, watcher
from explorer.language.completion import MOST_INPUTS, complete
from explorer.language.guard import limits
from explorer.language.program import Program
from explorer.language.vocabulary import BASES, WRITABLE_TENSOR_NAMES, entries, sizes
from explorer.language.vocabulary.left_out import (
    LEFT_OUT_BUILTINS,
    LEFT_OUT_MODULES,
    LEFT_OUT_NAMES,
)
from explorer.sandbox.options import Options
from explorer.trace import recorder

HERE = Path(__file__).parent
PAGE = HERE / "language.md"
#: A program that uses all supported syntax.
ALL_SYNTAX = (HERE / "all_syntax.py").read_text()

#: Unsupported syntax as the page shows it -> a program that uses it.
UNSUPPORTED = {
    "`async def`": "async def f():\n    pass",
    "`await`": "await x",
    "`except*`": "try:\n    pass\nexcept* ValueError:\n    pass",
    "`class A(metaclass=B)`": "class A(metaclass=B):\n    pass",
    "`from x import *` in a function": "def f():\n    from torch import *",
    '`b"bytes"`': 'x = b"bytes"',
    "`x.__dict__`, `__x = 1`": "x.__dict__",
}

#: What is typed, and what is therefore run.
COMPLETED = (
    "x**2 + 3*x", "w @ x + b", "softmax(x)", "np.sin(x)", "max(0, x)", "x*sqrt(2)", "x^2 + 3x",
    "2(x + 1)", "x² + √x", "|x|", "a·b", "sin 2x", "f(x) = x²", "x → x²", "d/dx x^2", "grad(x**2)",
    "lambda x: x**2", "y = x**2 at x=3",
)  # fmt: skip
UNCERTAIN = ("x y", "sin x^2", "d/dx x^2 + 3x", "√2x", "f'(x)", "lambda*x")
COMPLETION = """\
A name that is used without an import is imported, such as `torch`, `nn`, `np` and `sin`. A name
without a value becomes an input: a leaf with `requires_grad=True` and a value that can be changed
(`explorer.run(source, inputs={"x": 2.0})`). It is a vector or a matrix where it is used as one. The
result of the last bare expression is called `out`, and backward starts from it, or from its sum.
A program that makes tensors of its own gets no inputs: there, a name without a value is an error.
A program that lacks nothing is not changed. `Trace.completed` is the program as it was run, and
`Trace.readings` says what was understood.

Notations that Python does not have are read where their meaning is certain:
"""

NOT_RUN = """\
Commands of a notebook, such as `%matplotlib inline`, `!pip install` and a cell of `%%bash`, are
skipped; what `%time` and `%timeit` would measure runs once.

The following is not supported. What precedes such a line runs, and the error names the other lines
of the program that cannot run:
"""

#: What is limited -> its maximum.
LIMITS: dict[str, int | float] = {
    "Length of a program, in characters": syntax.MAX_SOURCE,
    "Nodes of a program's syntax tree": syntax.MAX_NODES,
    "One string literal, in characters": syntax.MAX_LITERAL,
    "Length of a string or list": limits.MAX_LENGTH,
    "Bits of an integer": limits.MAX_BITS,
    "Inputs of a program": MOST_INPUTS,
    "Nested calls of `backward` (in hooks, in a custom `backward`)": recorder.MOST_NESTED,
    "Size of a tensor, in MB": sizes.MOST_BYTES >> 20,
    "In the app, on Linux: additional memory of a program and its results, in MB": Options.memory,
    "In the app: running time of a program, in seconds": Options.seconds,
}

HEAD = """\
# The language

*Written by `python -m docs.language` from the tables that the language itself uses; change those,
not this page.*

A program is ordinary Python, as in tutorials. It is parsed, checked against a list of allowed
syntax, rewritten so that every attribute is looked up in a table of names, and then run by Python
itself with the real PyTorch. A program cannot use anything that is not on this page. In the app,
the Glossary lists the same names with a description of each.

`import torch`, `import torch.nn as nn`, `from torch.nn import functional as F`,
`import numpy as np` and similar imports work as usual. There is no access to files, the network or
the operating system. Interactive sessions can be pasted with their `>>>` prompts. The random
generators start from a fixed seed.
"""


def make_page() -> str:
    """The text of docs/language.md."""
    parts = _completion(), _syntax(), _classes(), _names(), _unsupported_names(), _limits()
    return "\n".join([HEAD, *chain(*parts)])


def _completion() -> Iterator[str]:
    yield "## What is added to a program\n"
    yield COMPLETION
    yield from _table(("typed", "run as"), ((f"`{t}`", _run_as(t)) for t in COMPLETED))
    yield "What could mean several things is not run; the error offers a spelling:\n"
    rows = ((f"`{text}`", _offer(text)) for text in UNCERTAIN)
    yield from _table(("typed", "offered"), rows)


def _run_as(text: str) -> str:
    """The lines of the completed program but imports and scalar inputs."""
    lines = complete(text).code.split("\n")
    shown = [n for n in lines if "import " not in n and "tensor(2.0," not in n and "r(3.0" not in n]
    return ", ".join(f"`{line}`" for line in shown)


def _offer(text: str) -> str:
    """The program offered with the error that this text has."""
    try:
        Program(text, {})
    except ProgramRefused as refused:
        return f"`{refused.error.fix}`"
    raise AssertionError(f"this has a meaning: {text}")


def _syntax() -> Iterator[str]:
    yield "## Syntax\n"
    yield "All supported syntax, in one program that runs:\n"
    body = ALL_SYNTAX[ALL_SYNTAX.index("import torch") :]
    yield f"```python\n{body.rstrip()}\n```\n"
    yield NOT_RUN
    rows = ((shown, *_error_of(source)) for shown, source in UNSUPPORTED.items())
    yield from _table(("syntax", "error message", "hint"), rows)


def _error_of(source: str) -> tuple[str, str]:
    """The error message and hint for this program. Raises AssertionError if it is allowed."""
    error = refusal_of(source)
    assert error is not None, f"this is supported: {source}"
    return error.message, error.hint


def refusal_of(source: str) -> ProgramError | None:
    """The first error of what a program's text contains; None if all of it is accepted."""
    try:
        program = Program(source)
    except ProgramRefused as refused:
        return refused.error
    return next(iter(program.refused), program.unread)


def _classes() -> Iterator[str]:
    spelled = {thing: name for _, name, thing in reversed([*entries()])}
    bases = (spelled.get(kind, kind.__name__) for kind in BASES)
    named = sorted(name for name in bases if not name.startswith("torch.nn"))
    yield "## Classes\n"
    yield f"A class may derive from {_codes(named)}, any layer of `torch.nn`, and your own classes."
    special = _codes(sorted(syntax.SPECIAL_METHODS))
    yield f"It may define {special}, and methods with plain names."
    yield f"On a tensor, {_codes(sorted(WRITABLE_TENSOR_NAMES))} may be assigned.\n"


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


def _unsupported_names() -> Iterator[str]:
    yield "## Unsupported names, and what to do instead\n"
    yield "Names of torch and its objects:\n"
    yield from _table(("name", "instead"), _coded(LEFT_OUT_NAMES))
    yield "Modules:\n"
    yield from _table(("module", "instead"), _coded(LEFT_OUT_MODULES))
    yield "Built-in functions:\n"
    yield from _table(("function", "instead"), _coded(LEFT_OUT_BUILTINS))


def _limits() -> Iterator[str]:
    yield "## Limits\n"
    yield "A program that reaches a limit is stopped with an error that names the limit. The"
    yield "operator of the app may change the last three. Printed output is no reason to stop: of"
    yield f"more than {watcher.MAX_OUTPUT:,} characters, the beginning and the end are kept.\n"
    rows = ((what, f"{limit:,.0f}") for what, limit in LIMITS.items())
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
    """The text with underscores outside code spans, and all bars, escaped for Markdown."""
    parts = text.replace("|", "\\|").split("`")
    return "`".join(part if i % 2 else part.replace("_", "\\_") for i, part in enumerate(parts))


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
