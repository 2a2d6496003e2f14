r"""A parser of the LaTeX in which the local rules are shown.

`parse` makes a tree of tuples, (kind, children …), of a formula such as
`G \odot \frac{1}{\sqrt{1 - a^2}}`; tests/trace/tex_values.py works it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

Tree = tuple[Any, ...]

_TOKEN = re.compile(
    r"\\begin\{bmatrix\}(?P<matrix>.*?)\\end\{bmatrix\}|\\text\{(?P<text>[^{}]*)\}"
    r"|\\operatorname\{(?P<operator>\w+)\}|(?P<skip>\\[,;! ]|\s+|\\(?:left|right|textstyle)\b)"
    r"|(?P<command>\\(?:[a-zA-Z]+'?|[\\#{}]))|(?P<number>\d+\.?\d*)|(?P<letter>[a-zA-Z]'?)"
    r"|(?P<sign>[-+*/^_=<>()\[\]{}|,.:])"
)
_DEFINITION = re.compile(r",\\ (?=\\?[a-zA-Z]+'? = )")
_PRODUCTS = {r"\cdot": "mul", r"\odot": "mul", r"\times": "cross", "/": "div", r"\star": "star"}
_COMPARED = {"<": "<", ">": ">", "=": "=", r"\le": "<=", r"\ge": ">=", r"\ne": "!="}
#: Functions written as a command in front of their argument.
_FUNCTIONS = (
    r"\sin", r"\cos", r"\tan", r"\sinh", r"\cosh", r"\tanh", r"\ln", r"\psi", r"\psi'", r"\Phi",
    r"\varphi", r"\sigma",
)  # fmt: skip
_OVER = {r"\bar": "mean", r"\overline": "mean"}


class NotUnderstood(Exception):
    """The text is not of the LaTeX that is parsed here, or it names what has no value."""


@cache
def parse(text: str) -> Tree:
    """("where", formula, ((letter, formula) …)) of `formula,\\ letter = formula …`."""
    main, *rest = _DEFINITION.split(text)
    named = tuple(tuple(part.split(" = ", 1)) for part in rest)
    return ("where", _whole(main), tuple((name, _whole(body)) for name, body in named))


def _whole(text: str) -> Tree:
    parser = _Parser(text)
    tree = parser.sum()
    if parser.next is not None:
        raise NotUnderstood(f"{parser.next} in {text}")
    return tree


class _Parser:
    """Recursive descent: sum, product, power, base, each with what binds more strongly."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise NotUnderstood(text[place:])
            kind = str(match.lastgroup)
            if kind != "skip":
                self.tokens.append((kind, match[kind]))
            place = match.end()
        self.place = 0

    @property
    def token(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    @property
    def next(self) -> str | None:
        """The next command or sign; None at the end."""
        return self.token[1] if self.token[0] != "end" else None

    def take(self, *expected: str) -> str:
        kind, text = self.token
        if kind == "end" or (expected and text not in expected):
            raise NotUnderstood(f"{text or 'the end'} where {expected} is expected")
        self.place += 1
        return text

    def met(self, text: str) -> bool:
        """Whether `text` comes next, which is then taken."""
        if self.token[0] in ("sign", "command", "text") and self.next == text:
            self.place += 1
            return True
        return False

    def group(self, inside: Callable[[], Tree] | None = None) -> Tree:
        self.take("{")
        tree = (inside or self.sum)()
        self.take("}")
        return tree

    def sum(self) -> Tree:
        tree = self.product()
        while self.next in ("+", "-") and self.token[0] == "sign":
            tree = ("add" if self.take() == "+" else "sub", tree, self.product())
        return tree

    def product(self) -> Tree:
        if self.met("-"):
            return ("neg", self.product())
        self.met(r"\pm")
        tree = self.power()
        while True:
            if self.token[0] in ("sign", "command") and self.next in _PRODUCTS:
                kind = _PRODUCTS[self.take()]
                if kind == "star" and self.met("^"):
                    self.group(lambda: (self.take(r"\top"),))
                    kind = "star_top"
                tree = (kind, tree, self.power())
            elif self.starts():
                tree = ("beside", tree, self.power())
            else:
                return tree

    def starts(self) -> bool:
        """Whether a factor comes next, with no sign of a product before it."""
        kind, text = self.token
        if kind == "command":
            return text not in (*_COMPARED, r"\}", r"\lnot", r"\ldots", r"\rfloor")
        return kind in ("number", "letter", "operator", "matrix") or text == "("

    def power(self) -> Tree:
        tree = self.postfix(self.base())
        while self.token[0] == "sign" and self.met("^"):
            tree = self.postfix(self.exponent(tree))
        return tree

    def exponent(self, tree: Tree) -> Tree:
        if self.next != "{":
            return ("pow", tree, self.base())
        self.take("{")
        inverse = self.tokens[self.place : self.place + 2] == [("sign", "-"), ("command", r"\top")]
        if inverse:
            self.take("-")
        if self.met(r"\top"):
            self.take("}")
            tree = ("transpose", tree)
            return ("inverse", tree) if inverse else tree
        power = self.sum()
        self.take("}")
        return ("pow", tree, power)

    def postfix(self, tree: Tree) -> Tree:
        """`G[i] of axis 1`, and `G with 0 at …`."""
        while True:
            if self.token == ("sign", "["):
                tree = ("part", tree, self.location())
            elif self.met("with 0 at"):
                tree = ("clear", tree, self.location())
            else:
                return tree

    def location(self) -> Tree:
        """("at", word, index, axis): a word, a letter, or numbers and slices in brackets."""
        word = self.take() if self.token[0] == "text" else ""
        index: Any = None
        if self.met("["):
            if self.token[0] == "text":
                word = self.take()
            else:
                index = self.slices()
            self.take("]")
        elif self.token[0] in ("letter", "command"):
            index = self.base()
        axis = int(self.take()) if self.met("of axis") else None
        return ("at", word, index, axis)

    def slices(self) -> Any:
        text, place = "", self.place
        while self.next != "]":
            text += self.take()
        if re.fullmatch(r"[-\d:,]+", text):
            parts = [
                slice(*(int(n) if n else None for n in part.split(":")))
                if ":" in part
                else int(part)
                for part in text.split(",")
            ]
            return ("index", tuple(parts))
        self.place = place
        return self.base()

    def base(self) -> Tree:
        kind = self.token[0]
        if kind == "number":
            return ("number", float(self.take()))
        if kind == "matrix":
            return ("number", _matrix(self.take()))
        if kind == "text":
            return ("letter", self.take())
        if kind == "letter":
            return self.named(self.take())
        if kind == "operator":
            return self.operator(self.take())
        if kind == "sign":
            return self.bracketed(self.take("(", "[", "|"))
        if kind == "command":
            return self.command(self.take())
        raise NotUnderstood("the end")

    def named(self, letter: str) -> Tree:
        if not self.met("_"):
            return ("letter", letter)
        if self.next != "{":
            below = self.take()
        else:
            self.take("{")
            below = self.take().lstrip("\\")
            self.take("}")
        if (letter, below) == ("I", "1"):
            return ("call", "I_1", (self.base(),))
        return ("letter", f"{letter}_{below}")

    def bracketed(self, opened: str) -> Tree:
        if opened == "[":
            tree = self.condition()
            self.take("]")
            return ("iverson", tree)
        if opened == "|":
            tree = self.sum()
            self.take("|")
            return ("call", "abs", (tree,))
        parts = self.listed(")")
        return parts[0] if len(parts) == 1 else ("tuple", *parts)

    def listed(self, closed: str) -> list[Tree]:
        parts = []
        while not self.met(closed):
            if not self.met(r"\ldots"):
                parts.append(self.sum())
            if self.next != closed:
                self.take(",")
        return parts

    def condition(self) -> Tree:
        if self.met(r"\lnot"):
            return ("not", self.condition())
        chain: list[Any] = [self.sum()]
        while self.next in _COMPARED:
            chain += [_COMPARED[self.take()], self.sum()]
        if self.token[0] == "text":
            return (self.take(), chain[0])
        return ("compare", *chain) if len(chain) > 1 else chain[0]

    def operator(self, name: str) -> Tree:
        if self.met("^"):
            self.take("{"), self.take("-"), self.take("1"), self.take("}")
            name += "^-1"
        self.take("(")
        if name not in ("place", "add"):
            return ("call", name, tuple(self.listed(")")))
        tree = self.sum()
        self.take("at")
        tree = ("place", tree, self.location())
        self.take(")")
        return tree

    def command(self, name: str) -> Tree:
        if name in (r"\frac", r"\tfrac"):
            return ("div", self.group(), self.group())
        if name == r"\sqrt":
            return ("call", "sqrt", (self.group(),))
        if name in _OVER:
            return (_OVER[name], self.group())
        if name == r"\hat":
            return ("letter", f"{name}{{{self.group()[1]}}}")
        if name == r"\mathbf":
            self.group()
            return ("ones",)
        if name == r"\lfloor":
            tree = self.sum()
            self.take(r"\rfloor")
            return ("call", "floor", (tree,))
        if name == r"\#":
            self.take(r"\{")
            tree = self.condition()
            self.take(r"\}")
            return ("count", tree)
        if name == r"\sum":
            return self.summed()
        if name == r"\underset":
            self.take("{")
            while self.take() != "}":
                pass
            return self.group()
        if name in _FUNCTIONS and self.next in ("(", "^"):
            return self.function(name[1:])
        if name == r"\ln":
            return self.function("ln")
        return ("letter", name)

    def function(self, name: str) -> Tree:
        if name == "psi" and self.met("^"):
            order = self.group()
            return ("call", "polygamma", (order, self.base()))
        return ("call", name, (self.power() if name == "ln" else self.base(),))

    def summed(self) -> Tree:
        if not self.met("_"):
            return ("sum", "", self.product())
        self.take("{")
        below = ""
        while self.next != "}":
            below += self.take()
        self.take("}")
        return ("sum", below, self.product())


def _matrix(body: str) -> list[list[float]]:
    r"""The numbers of `1 & 2 \\ 3 & -\infty`."""
    text = re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", body).replace(r"\infty", "inf")
    text = text.replace(r"\text{nan}", "nan")
    return [[float(cell) for cell in row.split("&")] for row in text.split(r"\\")]
