"""What a sentence about an exception is made of."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer import limits
from explorer.program.parsing import line_of

#: The names that torch's messages have for dtypes.
DTYPES = {
    "Long": "int64", "long long": "int64", "Int": "int32", "Short": "int16", "Char": "int8",
    "Byte": "uint8", "unsigned char": "uint8", "Half": "float16", "BFloat16": "bfloat16",
    "Float": "float32", "float": "float32", "Double": "float64", "double": "float64",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip
#: What an object is called, by the name of its type.
KINDS = {"NoneType": "None", "ndarray": "numpy array", "str": "text"}


@dataclass(frozen=True)
class Operand:
    """A tensor that the failed operation was given; without a name if it has none."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Failure:
    """An exception at a place in a program. `text` is "ValueError: …", `node` the expression that
    failed, if it is known."""

    text: str
    source: str
    line: int | None
    node: ast.expr | None
    operands: Sequence[Operand] = ()

    @property
    def code(self) -> str:
        """The text of the expression; without one, of the line."""
        if self.node is None:
            return line_of(self.source, self.line)
        return ast.get_source_segment(self.source, self.node) or ""


Fix = Callable[[Failure, re.Match[str]], str | None]


@dataclass(frozen=True)
class Known:
    """A message of torch, numpy or Python, and what is said in its place.

    The groups of `pattern` fill `message` and `hint` as {0}, {1}, …; {0:dtype} is a dtype and {0:a}
    a type with its article. `shows` adds the "shapes" or the "dtypes" of the operands. `fix`
    changes the program, if it is known how. With `code`, a pattern too, it is the error of an
    expression that matches this.
    """

    pattern: str
    message: str
    hint: str = ""
    shows: str = ""
    fix: Fix | None = None
    code: str = ""

    def describe(self, failure: Failure) -> tuple[str, str, str | None] | None:
        """The message, the hint, and the changed program; None if this is another error."""
        match = re.search(self.pattern, failure.text)
        if match is None or (self.code and not re.search(self.code, failure.code)):
            return None
        groups = [Group(readable(group or "")) for group in match.groups()]
        message, hint = self.message.format(*groups), self.hint.format(*groups)
        shown = show_operands(failure.operands, self.shows)
        fix = None if self.fix is None else self.fix(failure, match)
        return f"{message} {shown}".strip(), hint, fix


class Group(str):
    """A part of a message, which a template can show as a dtype or as a type with its article."""

    def __format__(self, how: str) -> str:
        if how == "dtype":
            return DTYPES.get(self, self)
        if how in ("a", "A") and self:
            kind = KINDS.get(self, str(self))
            article = "" if kind in ("None", "text") else "an " if kind[0] in "aeiou" else "a "
            said = f"{article}{kind}"
            return said[0].upper() + said[1:] if how == "A" else said
        return str(self)


def readable(group: str) -> str:
    """A part of torch's message as Python would write it: "[2, 3]" is the shape (2, 3)."""
    shape = re.fullmatch(r"(?:torch\.Size\()?\[([\d, *-]*)\]\)?", group)
    if shape is None:
        return group
    return shape_text([size.strip() for size in shape[1].split(",") if size.strip()])


def shape_text(sizes: Sequence[object]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def show_operands(operands: Sequence[Operand], what: str) -> str:
    """The shapes or dtypes of the tensors that have names, as a sentence."""
    named = [
        o
        for o in operands
        if 0 < len(o.name) <= limits.MAX_OPERAND_NAME and not o.name.endswith(".bias")
    ]
    named = list({o.name: o for o in named}.values())[: limits.MOST_OPERANDS]
    if not named or not what:
        return ""
    if what == "shapes":
        parts = [f"{o.name} has the shape {shape_text(o.shape)}" for o in named]
    else:
        parts = [f"{o.name} is {o.dtype}" for o in named]
    return f"Here {', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]}."
