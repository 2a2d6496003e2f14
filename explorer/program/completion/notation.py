"""Notations of mathematics that Python does not have: 2x, x², |x|, √x, f(x) = …, d/dx …

They are looked for only in a text that Python cannot parse, so each change replaces something that
has no other meaning. What could mean several things is changed only on request (`bold`): the result
is then offered to the reader, and not run. No change adds or removes a line.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field

from explorer import limits
from explorer.program.completion.names import module_names

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_FRACTIONS = {"½": "0.5", "¼": "0.25", "¾": "0.75"}
#: Characters that stand for one of Python.
_SYMBOLS = {
    **dict.fromkeys("−–—‐‑－", "-"),
    **dict.fromkeys("·\u0387×⋅∗∙•＊", "*"),
    **dict.fromkeys("÷∕⁄", "/"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("\u00a0\u2009\u202f\u2002\u2003\u3000", " "),
    **dict.fromkeys("\u200b\ufeff", ""),
    "≤": "<=", "≥": ">=", "≠": "!=", "∞": "inf",
    "，": ",", "（": "(", "）": ")", "＝": "=", "＋": "+",
}  # fmt: skip
#: The characters above that are changed without saying so: they look the same.
_SILENT = set("−–—‐‑－“”„‘’\u00a0\u2009\u202f\u2002\u2003\u3000\u200b\ufeff，（）＝＋")

_SPECIAL = "".join((*_SUPERSCRIPTS, *_SUBSCRIPTS, *_FRACTIONS))
_TOKEN = re.compile(
    rf"""
    (?P<string>[rRbBuUfF]{{0,2}}(?:\"\"\"(?:[^\\"]|\\.|"(?!""))*+\"\"\"
        |'''(?:[^\\']|\\.|'(?!''))*+''' |"(?!"")(?:[^"\\\n]|\\.)*+" |""(?!")
        |'(?!'')(?:[^'\\\n]|\\.)*+' |''(?!')))
    |(?P<quote>["'])
    |(?P<comment>\#[^\n]*)
    |(?P<number>0[xXbBoO][0-9a-fA-F_]+|(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[jJ](?!\w))?)
    |(?P<superscript>[{"".join(_SUPERSCRIPTS)}]+)
    |(?P<subscript>[{"".join(_SUBSCRIPTS)}]+)
    |(?P<fraction>[{"".join(_FRACTIONS)}])
    |(?P<name>[^\W\d{_SPECIAL}][^\W{_SPECIAL}]*)
    |(?P<newline>\n)
    |(?P<space>[ \t\f\\]+)
    |(?P<operator>\*\*|//|->|=>|:=|[<>=!]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NAME = r"[^\W\d]\w{0,60}"
_VALUE = rf"({_NAME})\s*=\s*([-−]?\d{{1,30}}(?:\.\d{{0,30}})?)"
_DEFINITION = re.compile(
    rf"({_NAME})\s*\(\s*({_NAME}(?:\s*,\s*{_NAME}){{0,9}})\s*\)\s*:?=(?!=)(.+)"
)
_ARROW = re.compile(
    rf"(?:{_NAME}\s*[:=]\s*)?\(?\s*({_NAME}(?:\s*,\s*{_NAME}){{0,9}})\s*\)?\s*(?:→|↦|⟼|⟶|->|=>)(.+)"
)
_DERIVATIVE = re.compile(rf"[d∂]\s*/\s*[d∂]\s?({_NAME})\s*\*?(.+)")
_AT = re.compile(
    rf"(?:[,;|]|\b(?:at|where|when|for|with|if)\b)\s*({_VALUE}(?:\s*(?:,|and)\s*{_VALUE}){{0,9}})\s*$"
)
_EACH_VALUE = re.compile(_VALUE)


class Unreadable(Exception):
    """The text has no certain meaning."""


@dataclass
class Notation:
    """A text in Python's spelling: `values` are those given to names, as in `x² at x=3`."""

    text: str = ""
    values: dict[str, float] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def read_notation(source: str, bold: bool = False) -> Notation:
    """Replace notations that Python does not have. Raises Unreadable."""
    result = Notation()
    lines = []
    for line in _logical_lines(source):
        indented = line[: len(line) - len(line.lstrip())]
        statement, ending = _statement(line.strip(), result, bold)
        is_read = statement != line.strip()
        text = _Line(statement, result, bold, powers=is_read).read()
        lines.append(indented + text + ending if is_read or text != statement else line)
    result.text = "\n".join(lines)
    result.notices = list(dict.fromkeys(result.notices))[:20]
    return result


def _logical_lines(source: str) -> list[str]:
    """The lines of a text; those in one pair of brackets, or one string, together."""
    depth, start, lines = 0, 0, []
    for token in _TOKEN.finditer(source):
        if token.lastgroup == "quote":
            raise Unreadable
        if token.lastgroup == "newline" and depth <= 0:
            lines.append(source[start : token.start()])
            start, depth = token.end(), 0
        elif token.lastgroup == "operator":
            depth += (token[0] in "([{（") - (token[0] in ")]}）")
    return [*lines, source[start:]]


def _statement(line: str, result: Notation, bold: bool) -> tuple[str, str]:
    """A statement without the notations that concern all of it, and its comment."""
    if len(line) > limits.MAX_FORMULA or not line:
        return line, ""
    code, mark, comment = line.partition("#")
    if mark and ("'" in code or '"' in code):
        return line, ""
    statement, ending = code.rstrip(), mark and "  # " + comment.strip()
    at = _AT.search(statement)
    if at and statement[: at.start()].strip() and _is_balanced(statement[: at.start()]):
        for name, value in _EACH_VALUE.findall(at[1]):
            result.values[name] = float(value.replace("−", "-"))
        result.notices.append(f"`{at[1]}` was read as the value of an input.")
        statement = statement[: at.start()].rstrip()
    if match := _DEFINITION.fullmatch(statement):
        name, parameters, body = match.groups()
        is_one = ";" not in body  # a definition takes all of its line
        start = f"def {name}({parameters}): return" if is_one else f"{name} = lambda {parameters}:"
        statement = f"{start} {body.strip()}"
        result.notices.append(f"`{name}({parameters}) = …` was read as a function.")
    elif match := _DERIVATIVE.fullmatch(statement):
        body = match[2].strip()
        if not bold and not _is_one_term(body):
            raise Unreadable
        result.notices.append(f"`{statement}`: the gradient of `{match[1]}` is this derivative.")
        statement = body
    elif match := _ARROW.fullmatch(statement):
        statement = match[2].strip()
        result.notices.append(f"`{match[0]}` was read as the expression `{statement}`.")
    if statement == code.rstrip():
        return line, ""
    return statement, ending


def _is_balanced(text: str) -> bool:
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))


def _is_one_term(text: str) -> bool:
    """Whether `d/dx` in front of it can only mean all of it: it has no sum outside brackets."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if not depth and place and letter in "+-−":
            return False
    return True


class _Line:
    """One logical line, of which the tokens are replaced from left to right."""

    def __init__(self, text: str, result: Notation, bold: bool, powers: bool) -> None:
        self.result, self.bold, self.powers = result, bold, powers
        self.tokens = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(text)]
        self.out: list[str] = []
        #: Whether an operand is expected next; the open `|`, as the depth of brackets at each.
        self.expects = True
        self.open: list[tuple[str, int]] = []
        self.depth = 0
        #: By the depth of its bracket: what follows when it is closed, as in sin²(x).
        self.after: dict[int, str] = {}

    def read(self) -> str:
        place = 0
        while place < len(self.tokens):
            place = self.token(place)
        if self.open:
            raise Unreadable
        return "".join(self.out)

    def say(self, typed: str, read: str) -> None:
        self.result.notices.append(f"`{typed}` was read as `{read}`.")

    def following(self, place: int) -> tuple[str, str]:
        """The next token but space, and its kind."""
        rest = self.tokens[place + 1 : place + 3]
        return next((token for token in rest if token[0] != "space"), ("newline", "\n"))

    def operand(self, text: str) -> None:
        self.out.append(text)
        self.expects = False

    def token(self, place: int) -> int:
        """Read the token at this place; returns the place of the next."""
        kind, text = self.tokens[place]
        if kind in ("number", "name", "fraction", "string"):
            return self.value(place, kind, text)
        if kind == "superscript":
            self.superscript(place, text)
        elif kind == "operator":
            return self.operator(place, text)
        elif kind == "subscript":
            raise Unreadable
        else:
            self.out.append(text)
        return place + 1

    def value(self, place: int, kind: str, text: str) -> int:
        end = place + 1
        if kind == "name" and text in keyword.kwlist:
            self.out.append(text)
            self.expects = text not in ("None", "True", "False")
            return end
        if kind == "name" and self.tokens[end : end + 1] and self.tokens[end][0] == "subscript":
            digits = "".join(_SUBSCRIPTS[digit] for digit in self.tokens[end][1])
            self.say(text + self.tokens[end][1], text + digits)
            text, end = text + digits, end + 1
        if kind == "name" and text[-1] == "ᵀ" and len(text) > 1:
            self.say(text, f"{text[:-1]}.T")
            text = f"{text[:-1]}.T"
        if kind == "fraction":
            self.say(text, _FRACTIONS[text])
            text = _FRACTIONS[text]
        is_joined = kind == "string" and self.follows_text(place)
        if not self.expects and not is_joined:
            self.multiply(place, kind, text)
        if kind == "name" and text[0] == "π" and text[1:].isalpha():
            self.say(text, f"π*{text[1:]}")
            self.out.append("π*")
            text = text[1:]
        if kind == "name" and _is_function(text) and self.takes_operand(end):
            return self.apply(text, end)
        self.operand(text)
        return end

    def follows_text(self, place: int) -> bool:
        """Whether the last token but space is a string: Python joins them."""
        before = [kind for kind, _ in self.tokens[max(place - 2, 0) : place] if kind != "space"]
        return before[-1:] == ["string"]

    def multiply(self, place: int, kind: str, text: str) -> None:
        """A value follows another one: a product, if that is certain."""
        before = [token for token in self.tokens[max(place - 2, 0) : place] if token[0] != "space"]
        previous, word = before[-1] if before else ("", "")
        touches = self.tokens[place - 1][0] != "space"
        is_number = previous in ("number", "fraction")
        is_factor = word in (")", "|") or previous == "superscript"
        certain = kind == "name" and (is_number or (touches and is_factor))
        certain |= kind == "name" and word == ")" and _is_function(text)
        if "".join(self.out).rstrip().removesuffix(word).rstrip().endswith(("/", "^", "**")):
            certain = False  # 1/2x may be x/2 or 1/(2x), and e^2x either power
        is_short = kind in ("name", "number") and len(word) <= 2 and len(text) <= 2
        if not certain and not (self.bold and is_short and previous != "string"):
            raise Unreadable
        if self.out and self.out[-1].isspace():
            self.out.pop()
        self.say(f"{word}{'' if touches else ' '}{text}", f"{word}*{text}")
        self.out.append("*")

    def takes_operand(self, place: int) -> bool:
        """Whether a function's name is followed by its argument without brackets: `sin x`."""
        rest = self.tokens[place : place + 2]
        kinds = [kind for kind, _ in rest]
        names = rest[1][1] not in keyword.kwlist if len(rest) > 1 else False
        return kinds[:1] == ["space"] and kinds[1:] in (["name"], ["number"]) and names

    def apply(self, name: str, place: int) -> int:
        """`sin x` or `sin 2x` as a call. What follows may not belong to the argument as well."""
        argument, place = [self.tokens[place + 1][1]], place + 2
        if self.tokens[place - 1][0] == "number" and self.tokens[place : place + 1]:
            kind, text = self.tokens[place]
            if kind == "name" and text not in keyword.kwlist:
                argument, place = [*argument, text], place + 1
        kind, text = self.following(place - 1)
        if kind != "newline" and text not in ("+", "-", "−", ")", ",", "=", "|"):
            if not self.bold or (text not in ("^", "**", "*", "/") and kind != "superscript"):
                raise Unreadable
            while place < len(self.tokens) and self.tokens[place][1] not in ("+", "-", ")", ","):
                argument.append(self.tokens[place][1])
                place += 1
        inner = _Line("".join(argument).strip(), self.result, bold=False, powers=True).read()
        self.say(f"{name} {''.join(argument).strip()}", f"{name}({inner})")
        self.operand(f"{name}({inner})")
        return place

    def superscript(self, place: int, text: str) -> None:
        power = "".join(_SUPERSCRIPTS[digit] for digit in text)
        previous = self.tokens[place - 1][1] if place else ""
        if self.expects or not power.lstrip("+-").isdigit():
            raise Unreadable
        if _is_function(previous) and self.following(place)[1] == "(":
            if power.startswith("-"):
                raise Unreadable
            self.say(f"{previous}{text}(…)", f"{previous}(…)**{power}")
            self.after[self.depth] = f"**{power}"
            self.expects = True
            return
        self.say(f"{previous}{text}", f"{previous}**{power}")
        self.out.append(f"**{power}")
        if self.following(place)[1] == ".":  # x².sum() is that of the power
            if self.out[-2:-1] != [previous] or not previous.isidentifier():
                raise Unreadable
            self.out[-2:] = [f"({previous}**{power})"]

    def operator(self, place: int, text: str) -> int:
        if text in _SYMBOLS:
            if text not in _SILENT:
                self.say(text, _SYMBOLS[text])
            text = _SYMBOLS[text]
        if text in ("|", "‖"):
            self.bar(text)
        elif text == "√":
            return self.root(place)
        elif text in ("(", "[", "{"):
            if not self.expects and text == "(" and self.tokens[place - 1][0] == "number":
                self.say("…(", "…*(")
                self.out.append("*")
            self.depth += 1
            self.out.append(text)
            self.expects = True
        elif text in (")", "]", "}"):
            self.depth -= 1
            self.operand(text + self.after.pop(self.depth, ""))
        elif text == "^" and self.powers:
            self.result.notices.append("`^` was read as a power: `**`.")
            self.out.append("**")
            self.expects = True
        else:
            if not text.isascii():
                raise Unreadable
            self.out.append(text)
            self.expects = True
        return place + 1

    def bar(self, text: str) -> None:
        """`|` where a value is expected begins |x|; the next in the same brackets ends it."""
        if self.expects:
            self.open.append((text, self.depth))
            self.out.append("abs(" if text == "|" else "norm(")
        elif (text, self.depth) in self.open[-1:]:
            self.open.pop()
            self.say("|…|" if text == "|" else "‖…‖", "abs(…)" if text == "|" else "norm(…)")
            self.operand(")")
        else:
            self.out.append(text)
            self.expects = True

    def root(self, place: int) -> int:
        """√x, √2 and √(x + 1): the root of the value that follows."""
        if not self.expects:
            self.out.append("*")
        kind, text = self.tokens[place + 1] if place + 1 < len(self.tokens) else ("", "")
        if text == "(":
            self.say("√(…)", "sqrt(…)")
            self.out.append("sqrt")
            return place + 1
        after = self.tokens[place + 2][0] if place + 2 < len(self.tokens) else ""
        if kind not in ("name", "number") or (after in ("name", "superscript") and not self.bold):
            raise Unreadable
        self.say(f"√{text}", f"sqrt({text})")
        self.operand(f"sqrt({text})")
        return place + 2


def _is_function(name: str) -> bool:
    return name in _FUNCTIONS


_TORCH, _MATH = module_names("torch") or frozenset(), module_names("math") or frozenset()
_FUNCTIONS = set(_TORCH & _MATH) | {
    "abs", "arctan", "arcsin", "arccos", "ln", "relu", "sigmoid", "softmax", "cosh", "sinh",
}  # fmt: skip
_FUNCTIONS -= {"e", "pi", "inf", "nan", "pow"}
