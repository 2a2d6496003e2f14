"""A lesson as a text file (TOML), and as a text short enough for a link.

    title = "A slope to drag"
    about = "What the gradient says."

    [[step]]
    title = "Drag x"
    page = "expression"
    program = "x**2"
    question = "Where is the slope 0?"
    done = { flat = "x" }

A stranger may have written the file: every part is checked, and bounded in size; what shows it
escapes it. `docs/extending.md` has all that a step may say.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from explorer import limits
from explorer.lessons.conditions import CONDITIONS, Seen, Start, is_done
from explorer.program.completion import complete
from explorer.program.parsing import tree_of

#: The pages that a step can be on; and the key of the program in the link of those that run one.
PAGES = ("expression", "network", "optimizer", "feature_maps")
_PROGRAM = {"expression": "program"}
#: What a link of a lesson begins with, instead of the name of a file here.
_PACKED = "~"
#: What a file, a step, and an entry of `next` may have.
_LESSON = ("title", "about", "next", "step")
_STEP = ("title", "page", "program", "link", "question", "hint", "done", "answer")
_ONWARD = ("title", "lesson", "page", "link", "read")
_FOLDER = Path(__file__).parent


class LessonError(ValueError):
    """What is wrong with a lesson's file, with its name and the number of the step."""


@dataclass(frozen=True)
class Step:
    """One step: what `page` opens with, a question, and the conditions that make it `done`.

    `answer` is said once it is. `hint` is the number of the step in the walk that shows an
    exercise's answer, None for the step that sends the gradient in question.
    """

    title: str
    page: str
    question: str
    program: str = ""
    link: Mapping[str, str] = field(default_factory=dict)
    hint: int | None = None
    done: Mapping[str, Any] = field(default_factory=dict)
    answer: str = ""

    @property
    def query(self) -> dict[str, str]:
        """The query parameters with which the page opens."""
        program = {_PROGRAM[self.page]: self.program} if self.program else {}
        return {**program, **self.link}

    def is_done(self, seen: Seen) -> bool:
        return is_done(self.done, Start(self.program, self.link), seen)


@dataclass(frozen=True)
class Onward:
    """Where to go from the end of a lesson: another one, a page, or something to read."""

    title: str = ""
    lesson: str = ""
    page: str = ""
    link: Mapping[str, str] = field(default_factory=dict)
    read: str = ""


@dataclass(frozen=True)
class Lesson:
    """`name` is what a link calls it: that of a file here, or the whole lesson, packed."""

    name: str
    title: str
    about: str
    steps: tuple[Step, ...]
    onward: tuple[Onward, ...] = ()


@functools.cache
def lessons() -> dict[str, Lesson]:
    """The lessons of the project by name, in the order of their files ("01_start.toml"); the first
    one is where to start."""
    named = {file.stem.partition("_")[2]: file for file in sorted(_FOLDER.glob("*.toml"))}
    return {n: parse_lesson(file.read_text("utf-8"), n, file.name) for n, file in named.items()}


def find_lesson(name: str) -> Lesson:
    """The lesson that a link names, or contains. Raises LessonError."""
    found = _find(name)
    if isinstance(found, str):
        raise LessonError(found)
    return found


@functools.lru_cache(maxsize=64)
def _find(name: str) -> Lesson | str:
    """The lesson, or what is wrong with it: every run of a page asks, also for one that is none."""
    if not name.startswith(_PACKED):
        return lessons().get(name, "There is no lesson of this name.")
    try:
        return parse_lesson(unpack(name), name)
    except LessonError as error:
        return str(error)


# -- a lesson in a link ---------------------------------------------------------------------------


def pack(text: str) -> str:
    """A lesson's text as a word that a link can hold."""
    return _PACKED + base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def unpack(word: str) -> str:
    """The text of a lesson in a link. Raises LessonError."""
    try:
        data = base64.urlsafe_b64decode(word.removeprefix(_PACKED) + "==")
        opened = zlib.decompressobj()
        text = opened.decompress(data, 4 * limits.LESSON_FILE).decode()
        if opened.unconsumed_tail:
            raise ValueError
    except (ValueError, zlib.error) as error:
        raise LessonError("This is not a lesson.") from error
    return text


# -- reading a file -------------------------------------------------------------------------------


def parse_lesson(text: str, name: str = "", file: str = "lesson") -> Lesson:
    """The lesson that a text describes. Raises LessonError, which names the `file`."""
    if len(text) > limits.LESSON_FILE:
        raise LessonError(f"{file}: it is longer than {limits.LESSON_FILE:,} characters.")
    if _DOTTED.search(_NO_KEY.sub("_", text.replace("\r\n", "\n"))):
        raise LessonError(f"{file}: a key of it has too many dots.")
    try:
        return _lesson(tomllib.loads(text), name or pack(text), file)
    except LessonError:
        raise
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{file} is not TOML: {error}.") from error
    except (ValueError, OverflowError, RecursionError) as error:
        raise LessonError(f"{file}: a number in it is too long, or it is nested deeply.") from error


#: What has no key in TOML, or is a quoted part of one: strings, and comments. One that does not end
#: reaches as far as it can, where tomllib stops; so every character is looked at once.
_NO_KEY = re.compile(
    r'''(?s:"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?|'{3}(?:[^']|'(?!''))*+(?:'{3,5})?)'''
    r"""|"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?|#[^\n]*+"""
)
#: A key of so many parts that tomllib, which takes the square of them, would take seconds.
_DOTTED = re.compile(rf"(?:\.[^.=,\[\]{{}}\n]*+){{{limits.LESSON_KEY_DOTS}}}")


def _lesson(table: dict[str, Any], name: str, file: str) -> Lesson:
    whole = _Table(file, table, _LESSON)
    entries = whole.tables("step", limits.LESSON_STEPS)
    if not entries:
        raise whole.error("it has no [[step]].")
    steps = tuple(_step(f"{file}, step {number}", e) for number, e in enumerate(entries, 1))
    onward = tuple(
        _onward(f"{file}, next {number}", entry)
        for number, entry in enumerate(whole.tables("next", limits.LESSON_STEPS), 1)
    )
    title = whole.text("title", limits.LESSON_TITLE, needed=True)
    about = whole.text("about", limits.LESSON_QUESTION)
    return Lesson(name, title, about, steps, onward)


def _step(place: str, entry: Any) -> Step:
    table = _Table(place, entry, _STEP)
    page = table.text("page", 20, needed=True)
    table.one_of("page", page, PAGES)
    program = table.text("program", limits.LESSON_FILE).strip("\n")
    if program and page not in _PROGRAM:
        raise table.error(f"the page {page} opens with a link, not with a program.")
    if page == "expression" and not program.strip():
        raise table.error("the page expression needs a program.")
    if program and tree_of(complete(program).code) is None:
        raise table.error("Python cannot read this program.")
    step = Step(
        table.text("title", limits.LESSON_TITLE, needed=True),
        page,
        table.text("question", limits.LESSON_QUESTION, needed=True),
        program,
        table.link(),
        table.whole("hint"),
        _conditions(table, page),
        table.text("answer", limits.LESSON_QUESTION),
    )
    _check_names(table, step)
    return step


def _conditions(table: _Table, page: str) -> dict[str, Any]:
    done = table.values.get("done")
    if not isinstance(done, dict) or not done:
        raise table.error('it has no "done", as in done = { walked = true }.')
    for name, wanted in done.items():
        table.one_of("done", name, CONDITIONS)
        condition = CONDITIONS[name]
        if page not in condition.pages:
            raise table.error(f"{name} can be done on {' or '.join(condition.pages)}, not {page}.")
        if not _is_kind(wanted, condition.kind):
            raise table.error(f"{name} needs {_KINDS[condition.kind]}, not {_short(wanted)}.")
    return done


_KINDS = {str: "a text", bool: "true", int: "a whole number", float: "a number"}


def _is_kind(value: Any, kind: type) -> bool:
    """Whether a condition takes this argument."""
    if kind is bool:
        return value is True
    if kind is float:
        return type(value) in (int, float) and _is_short(value)
    if kind is str:
        return isinstance(value, str) and 0 < len(value) <= limits.LESSON_TARGET
    return type(value) is kind and _is_short(value)


def _is_short(number: Any) -> bool:
    """Of a number: neither an int of thousands of digits, nor infinite or NaN."""
    return abs(number) <= limits.LESSON_NUMBER


def _check_names(table: _Table, step: Step) -> None:
    """What a condition names must be there, as far as that can be known without a run."""
    done = step.done
    if "predict" in done and not done["predict"].endswith(".grad"):
        raise table.error('predict needs a gradient, such as "x.grad".')
    if "factor" in done and not re.fullmatch(r"\S+ -> \S+", done["factor"]):
        raise table.error('factor needs two names, such as "b -> a".')
    if "predict" in done and "factor" in done:
        raise table.error("a step asks for a gradient or for a factor, not for both.")
    if step.hint is not None and not {"predict", "factor"} & set(done):
        raise table.error("only a step with predict or factor has a hint.")
    if "moved" in done:
        name = done["moved"]
        if Start(step.program, step.link).input(name) is None:
            if step.link.get(f"in.{name}"):
                raise table.error(f"in.{name} of its link is no number.")
            raise table.error(f"its program has no input {name}.")


def _onward(place: str, entry: Any) -> Onward:
    table = _Table(place, entry, _ONWARD)
    onward = Onward(
        table.text("title", limits.LESSON_TITLE),
        table.text("lesson", limits.LESSON_TARGET),
        table.text("page", 20),
        table.link(),
        table.text("read", limits.LESSON_QUESTION),
    )
    if sum(map(bool, (onward.lesson, onward.page, onward.read))) != 1:
        raise table.error("it has one of lesson, page and read.")
    if onward.page:
        table.one_of("page", onward.page, PAGES)
    if onward.lesson and not re.fullmatch(r"\w+", onward.lesson):
        raise table.error("lesson is the name of a file here, without .toml.")
    if onward.read and not re.fullmatch(r"https://[\w.-]+(/\S*)?", onward.read):
        raise table.error("read is an address that begins with https://.")
    if not onward.title and not onward.lesson:
        raise table.error("it needs a title.")
    return onward


@dataclass(frozen=True)
class _Table:
    """A table of the file; errors say where it stands."""

    place: str
    values: Any
    known: Sequence[str]

    def __post_init__(self) -> None:
        if not isinstance(self.values, dict):
            raise self.error("it is not a table.")
        for key in self.values:
            if key not in self.known:
                has = ", ".join(self.known)
                raise self.error(f"it has an unknown key {_short(key)}; known are {has}.")

    def error(self, sentence: str) -> LessonError:
        return LessonError(f"{self.place}: {sentence}")

    def text(self, key: str, most: int, *, needed: bool = False) -> str:
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self.error(f"{key} is not a text.")
        if needed and not value.strip():
            raise self.error(f"it has no {key}.")
        if len(value) > most:
            raise self.error(f"{key} is longer than {most:,} characters.")
        return value

    def whole(self, key: str) -> int | None:
        value = self.values.get(key)
        most = limits.LESSON_HINT
        if value is not None and (type(value) is not int or not 1 <= value <= most):
            raise self.error(f"{key} is not a whole number from 1 to {most:,}.")
        return value

    def tables(self, key: str, most: int) -> list[Any]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or len(value) > most:
            raise self.error(f"{key} is not a list of at most {most} tables.")
        return value

    def link(self) -> dict[str, str]:
        """The query parameters of a page: texts, numbers and switches."""
        value = self.values.get("link", {})
        if not isinstance(value, dict):
            raise self.error("link is not a table, such as { lr = 0.1 }.")
        link = {}
        for key, part in value.items():
            if key.startswith("lesson") or not re.fullmatch(r"[\w.-]{1,40}", key):
                raise self.error(f"link has a key that no page has: {_short(key)}.")
            if not isinstance(part, str | int | float):
                raise self.error(f"{key} in link is neither a text nor a number.")
            if not isinstance(part, str) and not _is_short(part):
                raise self.error(f"{key} in link is too large a number.")
            link[key] = part if isinstance(part, str) else json.dumps(part)
        if len(urlencode(link)) > limits.LESSON_FILE:
            raise self.error("link is too long.")
        return link

    def one_of(self, what: str, name: str, names: Sequence[str] | Mapping[str, Any]) -> None:
        if name not in names:
            raise self.error(f"{what} cannot be {_short(name)}; it is one of {', '.join(names)}.")


def _short(value: Any) -> str:
    """A value of the file for a sentence about it."""
    text = repr(value)
    return text if len(text) <= limits.LESSON_TARGET else f"{text[: limits.LESSON_TARGET]} …"


# -- writing a file -------------------------------------------------------------------------------


def to_toml(lesson: Lesson) -> str:
    """The text of a lesson's file; `parse_lesson` gives it back."""
    parts = [_lines({"title": lesson.title, "about": lesson.about})]
    for step in lesson.steps:
        keys = ("title", "page", "question", "program", "hint", "answer")
        parts.append("[[step]]\n" + _lines({key: getattr(step, key) for key in keys}))
        parts[-1] += "".join(
            f"{key} = {{ {_pairs(table)} }}\n"
            for key, table in (("link", step.link), ("done", step.done))
            if table
        )
    return "\n".join(parts)


def _lines(entries: Mapping[str, Any]) -> str:
    lines = {key: _value(value) for key, value in entries.items() if value}
    program = entries.get("program", "")
    if "\n" in program and not re.search("'''|[^\n\t -~\u00a0-\ud7ff]", program):
        lines["program"] = f"'''\n{program}\n'''"
    return "".join(f"{key} = {text}\n" for key, text in lines.items())


def _pairs(table: Mapping[str, Any]) -> str:
    return ", ".join(f"{json.dumps(key)} = {_value(value)}" for key, value in table.items())


def _value(value: Any) -> str:
    """A value as TOML, which reads what JSON writes."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
