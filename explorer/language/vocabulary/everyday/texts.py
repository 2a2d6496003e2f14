"""json, re, pprint, textwrap, string, io and traceback: texts of limited length."""

from __future__ import annotations

import io
import json
import pprint
import re
import string
import textwrap
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday import checks
from explorer.language.vocabulary.everyday.paths import missing
from explorer.language.vocabulary.everyday.per_run import PerRun, Run
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "Texts"


class StringIO(StandIn):
    """`io.StringIO`: a text that is written and read like a file."""

    def __init__(self, initial_value: str = "", newline: str = "\n") -> None:
        if not isinstance(initial_value, str | None):
            raise TypeError("initial_value must be str or None")
        self._file = io.StringIO(initial_value)

    def write(self, text: str) -> int:
        """Write text; returns its length."""
        if type(text) is not str:
            raise TypeError(f"string argument expected, got '{type(text).__name__[:60]}'")
        checks.check_text_length(self._file.tell() + len(text))
        return self._file.write(text)

    def getvalue(self) -> str:
        """The whole text."""
        return self._file.getvalue()

    def read(self, size: int | None = -1) -> str:
        """The text from here on."""
        return self._file.read(size)

    def readline(self) -> str:
        """The next line."""
        return self._file.readline()

    def readlines(self) -> list[str]:
        """The lines from here on."""
        return self._file.readlines()

    def seek(self, place: int, whence: int = 0) -> int:
        """Go on reading or writing there."""
        size = len(self._file.getvalue())
        return self._file.seek(checks.require_int(place, "The position", size), whence)

    def tell(self) -> int:
        """The position."""
        return self._file.tell()

    def truncate(self, size: int | None = None) -> int:
        """Drop what follows."""
        return self._file.truncate(size)

    def flush(self) -> None:
        """Nothing is left to be written."""

    def close(self) -> None:
        """The text is no longer needed."""
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.readlines())

    def __enter__(self) -> StringIO:
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()


# -- json ---------------------------------------------------------------------------------------


def _options_of_dumps(options: dict[str, Any]) -> dict[str, Any]:
    for name in options.keys() - _DUMPS:
        raise OutsideLanguage(f"The argument {name[:60]} of json.dumps is not supported here.")
    indent = options.get("indent")
    if indent is not None and type(indent) is not str:
        checks.require_int(indent, "indent", 100)
    separators = options.get("separators")
    texts = [*(separators or ()), *([indent] if type(indent) is str else [])]
    for text in texts:
        checks.require_text(text, "A separator or indent", 100)
    default = options.get("default")
    if default is not None:
        total = 0

        def limited(value: Any) -> Any:
            nonlocal total
            result = default(value)
            total += checks.estimate_size(result)
            checks.check_text_length(total)
            return result

        options = options | {"default": limited}
    return options


_DUMPS = {
    "skipkeys", "ensure_ascii", "check_circular", "allow_nan", "indent", "separators", "default",
    "sort_keys",
}  # fmt: skip


def _dumps(obj: Any, **options: Any) -> str:
    """The text of a value in JSON."""
    checks.estimate_size(obj)
    parts, length = [], 0
    for part in json.JSONEncoder(**_options_of_dumps(options)).iterencode(obj):
        length += len(part)
        checks.check_text_length(length)
        parts.append(part)
    return "".join(parts)


def _dump(obj: Any, fp: Any, **options: Any) -> None:
    """Write a value in JSON to an io.StringIO."""
    if not isinstance(fp, StringIO):
        raise OutsideLanguage(
            "json.dump can write only to an io.StringIO here.", "Print json.dumps(…) instead."
        )
    fp.write(_dumps(obj, **options))


def _loads(text: str, **options: Any) -> Any:
    """The value of a text in JSON."""
    for name in options.keys() - {"object_hook", "object_pairs_hook", "parse_float", "parse_int"}:
        raise OutsideLanguage(f"The argument {name[:60]} of json.loads is not supported here.")
    if type(text) is not str:
        kind = type(text).__name__[:60]
        raise TypeError(f"the JSON object must be str, bytes or bytearray, not {kind}")
    checks.check_text_length(len(text))
    return json.loads(text, **options)


def _load(fp: Any, **options: Any) -> Any:
    """The value of what an io.StringIO contains."""
    if not isinstance(fp, StringIO):
        raise OutsideLanguage("json.load can read only from an io.StringIO here.")
    return _loads(fp.read(), **options)


# -- re -----------------------------------------------------------------------------------------

_MOST_PATTERN = 5000


class Pattern(StandIn):
    """A compiled regular expression."""

    def __init__(self, pattern: Any, flags: int = 0) -> None:
        if isinstance(pattern, Pattern):
            self._real: re.Pattern[str] = pattern._real
            return
        text = checks.require_text(pattern, "A regular expression", _MOST_PATTERN)
        if type(flags) is not int or flags & re.DEBUG:
            raise OutsideLanguage("These flags are not supported here.")
        self._real = re.compile(text, flags)

    pattern = property(lambda self: self._real.pattern)
    flags = property(lambda self: self._real.flags)
    groups = property(lambda self: self._real.groups)
    groupindex = property(lambda self: dict(self._real.groupindex))

    def search(self, string: str, *where: int) -> Any:
        """The first match."""
        return self._real.search(_plain(string), *where)

    def match(self, string: str, *where: int) -> Any:
        """The match at the beginning."""
        return self._real.match(_plain(string), *where)

    def fullmatch(self, string: str, *where: int) -> Any:
        """The match of the whole text."""
        return self._real.fullmatch(_plain(string), *where)

    def findall(self, string: str, *where: int) -> list[Any]:
        """The texts of all matches."""
        return self._real.findall(_plain(string), *where)

    def finditer(self, string: str, *where: int) -> Iterator[Any]:
        """All matches."""
        return self._real.finditer(_plain(string), *where)

    def split(self, string: str, maxsplit: int = 0) -> list[Any]:
        """The parts of the text between the matches."""
        return self._real.split(_plain(string), maxsplit)

    def sub(self, repl: Any, string: str, count: int = 0) -> str:
        """The text with another one in place of each match."""
        return self.subn(repl, string, count)[0]

    def subn(self, repl: Any, string: str, count: int = 0) -> tuple[str, int]:
        """The same, and how many matches there were."""
        size = len(_plain(string))

        def limited(match: re.Match[str]) -> str:
            nonlocal size
            if type(repl) is str:
                longest = max(len(part or "") for part in (match[0], *match.groups()))
                checks.check_text_length(len(repl) + repl.count("\\") * longest)
                text = match.expand(repl)
            else:
                text = repl(match)
            if type(text) is not str:
                raise TypeError(f"expected str instance, {type(text).__name__[:60]} found")
            size += len(text)
            checks.check_text_length(size)
            return text

        if type(repl) is not str and not callable(repl):
            raise TypeError("decoding to str: need a string or a function")
        return self._real.subn(limited, string, count)

    def __repr__(self) -> str:
        return repr(self._real)


def _plain(text: Any) -> str:
    if type(text) is not str:
        raise TypeError(f"expected string or bytes-like object, got '{type(text).__name__[:60]}'")
    return text


def _of_pattern(name: str) -> Callable[..., Any]:
    def call(pattern: Any, *args: Any, flags: int = 0, **options: Any) -> Any:
        most = {"sub": 3, "subn": 3, "split": 2}.get(name, 1)
        if len(args) > most:
            *args, flags = args  # type: ignore[assignment]
        return getattr(Pattern(pattern, flags), name)(*args, **options)

    call.__doc__, call.__name__ = getattr(re, name).__doc__, name
    return call


# -- texts for people ---------------------------------------------------------------------------


class _LimitedText(io.StringIO):
    def write(self, text: str) -> int:
        checks.check_text_length(self.tell() + len(text))
        return super().write(text)


def _pformat(
    object: Any, indent: int = 1, width: int = 80, depth: Any = None, *, compact: bool = False,
    sort_dicts: bool = True, underscore_numbers: bool = False,
) -> str:  # fmt: skip
    """The text of a value, one item a line if it is long."""
    from explorer.language.guard.formatting import without_addresses

    checks.estimate_size(object)
    checks.require_int(indent, "indent", 100)
    checks.require_int(width, "width", 100_000)
    out = _LimitedText()
    pprint.PrettyPrinter(
        indent, width, depth, out, compact=bool(compact), sort_dicts=bool(sort_dicts),
        underscore_numbers=bool(underscore_numbers),
    ).pprint(object)  # fmt: skip
    return without_addresses(out.getvalue()[:-1])


def _pprint(run: Run) -> Any:
    def pprint(object: Any, stream: Any = None, *args: Any, **options: Any) -> None:
        """Print a value, one item a line if it is long."""
        text = f"{_pformat(object, *args, **options)}\n"
        run.write(text) if stream is None else stream.write(text)

    return pprint


def _pp(run: Run) -> Any:
    def pp(object: Any, *args: Any, sort_dicts: bool = False, **options: Any) -> None:
        """Print a value, with its keys in their order."""
        run.write(f"{_pformat(object, *args, sort_dicts=sort_dicts, **options)}\n")

    return pp


#: How often an argument of textwrap may appear in the result.
_REPEATED = ("initial_indent", "subsequent_indent", "placeholder", "prefix")


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(text: str, *args: Any, **options: Any) -> Any:
        checks.check_text_length(len(_plain(text)))
        for name in _REPEATED:
            longest = len(checks.require_text(options.get(name, ""), name))
            checks.check_text_length(len(text) * (longest + 1) if longest else 0)
        if function is textwrap.indent and args and type(args[0]) is str:
            checks.check_text_length((text.count("\n") + 1) * len(args[0]) + len(text))
        tabs = options.get("tabsize", 8)
        checks.check_text_length(text.count("\t") * checks.require_int(tabs, "tabsize", 1000))
        return function(text, *args, **options)

    call.__doc__, call.__name__ = function.__doc__, function.__name__
    return call


# -- errors -------------------------------------------------------------------------------------


def _format_error(run: Run, error: BaseException | None) -> str:
    """The traceback of an error, of the program's own frames alone."""
    from explorer.language.explain import FILE, locate, short_text

    if error is None:
        return "NoneType: None\n"
    line, _ = locate(error)
    head = "Traceback (most recent call last):\n"
    where = f'  File "{FILE}", line {line}\n' if line is not None else ""
    text = short_text(error)
    name = run.classes.of(error).__name__[:60]
    return f"{head}{where}{name}: {text}\n" if text else f"{head}{where}{name}\n"


def _format_exc(run: Run) -> Any:
    def format_exc(*args: Any, **options: Any) -> str:
        """The traceback of the error that is handled."""
        import sys

        return _format_error(run, sys.exception())

    return format_exc


def _print_exc(run: Run) -> Any:
    def print_exc(*args: Any, **options: Any) -> None:
        """Print the traceback of the error that is handled."""
        import sys

        run.write(_format_error(run, sys.exception()))

    return print_exc


def _no_file(file: Any, *args: Any, **options: Any) -> Any:
    """There are no files: raises FileNotFoundError."""
    raise missing(file)


_STRINGS = """
    ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable
    whitespace capwords
"""
_FLAGS = "A ASCII I IGNORECASE M MULTILINE S DOTALL X VERBOSE U UNICODE"
_RE = "search match fullmatch findall finditer split sub subn"
ADDED: dict[str, tuple[str, Any]] = {
    path: (TITLE, thing)
    for path, thing in {
        "json.dumps": _dumps,
        "json.dump": _dump,
        "json.loads": _loads,
        "json.load": _load,
        "json.JSONDecodeError": json.JSONDecodeError,
        "re.compile": Pattern,
        **{f"re.{name}": _of_pattern(name) for name in _RE.split()},
        **{f"re.{name}": int(getattr(re, name)) for name in _FLAGS.split()},
        "re.escape": lambda pattern: re.escape(checks.require_text(pattern, "A text", 100_000)),
        "re.error": re.error,
        "re.Pattern": ClassProxy(Pattern),
        "re.Match": ClassProxy(re.Match),
        "pprint.pformat": _pformat,
        "pprint.pprint": PerRun(_pprint, pprint.pprint),
        "pprint.pp": PerRun(_pp, pprint.pp),
        **{f"textwrap.{name}": _wrapping(getattr(textwrap, name)) for name in
           ("wrap", "fill", "dedent", "indent", "shorten")},
        **{f"string.{name}": getattr(string, name) for name in _STRINGS.split()},
        "io.StringIO": StringIO,
        "io.open": _no_file,
        "traceback.format_exc": PerRun(_format_exc, traceback.format_exc),
        "traceback.print_exc": PerRun(_print_exc, traceback.print_exc),
    }.items()
}  # fmt: skip
KINDS = (re.Match,)
MEMBERS = {
    re.Match: "group groups groupdict start end span string pos endpos lastindex lastgroup",
    json.JSONDecodeError: "msg doc pos lineno colno",
}
