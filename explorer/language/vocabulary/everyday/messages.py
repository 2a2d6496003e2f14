"""warnings and logging: what a program says besides what it prints."""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice, running
from explorer.language.vocabulary.everyday.checks import require_text, to_text
from explorer.language.vocabulary.everyday.per_run import PerRun, Run
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "Warnings and logging"

# -- warnings -----------------------------------------------------------------------------------


def _warn(run: Run) -> Any:
    def warn(message: Any, category: Any = UserWarning, stacklevel: int = 1) -> None:
        """A warning, which is listed with the result."""
        if isinstance(message, Warning):
            category, message = type(message), message.args[0] if message.args else ""
        _require_category(category)
        # A registry of its own: the same warning of the same line is given once a run.
        warnings.warn_explicit(
            to_text(message, str)[:2000], category, "<program>", run.watcher.line, registry=seen
        )

    seen: dict[Any, Any] = {}
    return warn


def _require_category(category: Any) -> None:
    if not (isinstance(category, type) and issubclass(category, Warning)):
        raise TypeError("category must be a Warning subclass")


def _filter(
    action: str, message: str = "", category: Any = Warning, module: str = "", lineno: int = 0,
    append: bool = False,
) -> None:  # fmt: skip
    """Which warnings are listed."""
    _require_category(category)
    require_text(message, "The pattern")
    warnings.filterwarnings(action, message, category, append=bool(append))  # type: ignore[arg-type]


def _filter_all(
    action: str, category: Any = Warning, lineno: int = 0, append: bool = False
) -> None:
    """Which warnings are listed."""
    _require_category(category)
    warnings.simplefilter(action, category, append=bool(append))  # type: ignore[arg-type]


class _CatchWarnings(StandIn):
    """`warnings.catch_warnings`: the filters of a block are its own."""

    def __init__(self, *, record: bool = False, action: Any = None, category: Any = Warning):
        self._run = running()
        self._real = warnings.catch_warnings(record=bool(record))
        self._action, self._category = action, category

    def __enter__(self) -> Any:
        caught = self._real.__enter__()
        if self._action is not None:
            _filter_all(self._action, self._category)
        return caught

    def __exit__(self, *error: Any) -> None:
        # Not after the run: its own filters are no longer there.
        if self._run is not None and running() is self._run:
            self._real.__exit__(*error)


# -- logging ------------------------------------------------------------------------------------

_LEVELS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
_NAMES = {number: name for name, number in _LEVELS.items()} | {0: "NOTSET"}
_BASIC = "%(levelname)s:%(name)s:%(message)s"


def _to_level(level: Any) -> int:
    number = (
        _LEVELS.get(level, {"WARN": 30, "FATAL": 50, "NOTSET": 0}.get(level))
        if isinstance(level, str)
        else level
    )
    if type(number) is not int:
        raise ValueError(f"Unknown level: {to_text(level, repr)[:60]}")
    return number


class _Formatter(StandIn):
    """How a message becomes a line."""

    def __init__(self, fmt: Any = None, datefmt: Any = None, style: str = "%", **_: Any) -> None:
        if style not in ("%", "{", "$"):
            raise ValueError("Style must be one of: %,{,$")
        self._text = require_text("%(message)s" if fmt is None else fmt, "The format")
        self._date = None if datefmt is None else require_text(datefmt, "The date format", 200)
        self._style = style

    def _line(self, fields: dict[str, Any]) -> str:
        from explorer.language.guard import formatting

        fields["asctime"] = time.strftime(self._date or "%Y-%m-%d %H:%M:%S")
        if self._date is None:
            fields["asctime"] += ",000"
        if self._style == "{":
            return formatting.format_template(self._text, (), fields)
        if self._style == "$":
            import string

            return string.Template(self._text).safe_substitute(fields)
        return str(formatting.format_percent(self._text, fields))


class _Handler(StandIn):
    """Where messages go: to the output, or, for a file, nowhere."""

    def __init__(self, target: Any = None) -> None:
        self._target, self._level, self._formatter = target, 0, _Formatter()

    def setLevel(self, level: Any) -> None:
        """Leave out what is less important."""
        self._level = _to_level(level)

    def setFormatter(self, formatter: Any) -> None:
        """How a message becomes a line."""
        if not isinstance(formatter, _Formatter):
            raise TypeError("a handler needs a logging.Formatter")
        self._formatter = formatter

    def flush(self) -> None:
        """Nothing is left to be written."""

    def close(self) -> None:
        """Nothing is left to be written."""


class _Logger(StandIn):
    """A named source of messages."""

    def __init__(self, name: str, logs: _Logs) -> None:
        self.name, self.level, self.propagate = name, 0, True
        self.handlers: list[Any] = []
        self._logs = logs

    writable = frozenset({"propagate"})

    def setLevel(self, level: Any) -> None:
        """Leave out what is less important."""
        self.level = _to_level(level)

    def getEffectiveLevel(self) -> int:
        """The level from which messages are written."""
        return next((one.level for one in self._chain() if one.level), 0)

    def isEnabledFor(self, level: Any) -> bool:
        """Whether a message of this level would be written."""
        number = _to_level(level)
        return number > self._logs.disabled and number >= self.getEffectiveLevel()

    def hasHandlers(self) -> bool:
        """Whether messages go anywhere."""
        return any(one.handlers for one in self._chain())

    def addHandler(self, handler: Any) -> None:
        """Send messages there too."""
        if not isinstance(handler, _Handler):
            raise TypeError("a logger needs one of the handlers of logging")
        if handler not in self.handlers:
            self.handlers.append(handler)

    def removeHandler(self, handler: Any) -> None:
        """No longer send messages there."""
        if handler in self.handlers:
            self.handlers.remove(handler)

    def debug(self, message: Any, *args: Any, **options: Any) -> None:
        """Write a message of level DEBUG."""
        self.log(10, message, *args, **options)

    def info(self, message: Any, *args: Any, **options: Any) -> None:
        """Write a message of level INFO."""
        self.log(20, message, *args, **options)

    def warning(self, message: Any, *args: Any, **options: Any) -> None:
        """Write a message of level WARNING."""
        self.log(30, message, *args, **options)

    def error(self, message: Any, *args: Any, **options: Any) -> None:
        """Write a message of level ERROR."""
        self.log(40, message, *args, **options)

    def critical(self, message: Any, *args: Any, **options: Any) -> None:
        """Write a message of level CRITICAL."""
        self.log(50, message, *args, **options)

    warn, exception, fatal = warning, error, critical

    def log(self, level: int, message: Any, *args: Any, **options: Any) -> None:
        """Write a message."""
        if self.isEnabledFor(level):
            self._logs.write(self, _to_level(level), message, args)

    def _chain(self) -> list[_Logger]:
        """This logger and those that it passes its messages to."""
        chain, name = [self], self.name
        while name != "root" and chain[-1].propagate:
            name = name.rpartition(".")[0] or "root"
            if name in self._logs.loggers:
                chain.append(self._logs.loggers[name])
        return chain

    def __repr__(self) -> str:
        level = _NAMES.get(self.getEffectiveLevel(), str(self.getEffectiveLevel()))
        kind = "RootLogger" if self.name == "root" else "Logger"
        return f"<{kind} {self.name} ({level})>"


class _Logs:
    """The loggers of one run."""

    def __init__(self, run: Run) -> None:
        self.run, self.disabled = run, 0
        self.root = _Logger("root", self)
        self.root.level = 30
        self.loggers = {"root": self.root}
        logs = self

        def getLogger(name: Any = None) -> _Logger:
            """The logger of this name."""
            name = require_text(name or "root", "The name", 200)
            if len(logs.loggers) > 1000:
                raise OutsideLanguage("There are more than 1,000 loggers.")
            return logs.loggers.setdefault(name, _Logger(name, logs))

        def basicConfig(**options: Any) -> None:
            """Send messages to the output, in a format."""
            given = options.get("handlers")
            if logs.root.handlers and not options.get("force"):
                return
            if options.get("filename") is not None:
                notice("logging writes to the output here, not to a file.")
            logs.root.handlers = []
            formatter = _Formatter(
                options.get("format", _BASIC), options.get("datefmt"), options.get("style", "%")
            )
            for handler in [_Handler()] if given is None else given:
                if isinstance(handler, _Handler) and (given is None or "format" in options):
                    handler.setFormatter(formatter)
                logs.root.addHandler(handler)
            if options.get("level") is not None:
                logs.root.setLevel(options["level"])

        def disable(level: Any = 50) -> None:
            """Write no messages up to this level."""
            logs.disabled = _to_level(level)

        def writer(name: str) -> Any:
            def write(message: Any, *args: Any, **options: Any) -> None:
                """Write a message of the root logger."""
                if not logs.root.handlers:
                    basicConfig()
                getattr(logs.root, name)(message, *args, **options)

            return write

        def log(level: int, message: Any, *args: Any) -> None:
            """Write a message of the root logger."""
            if not logs.root.handlers:
                basicConfig()
            logs.root.log(level, message, *args)

        self.functions = {
            "getLogger": getLogger, "basicConfig": basicConfig, "disable": disable, "log": log,
            **{name: writer(name) for name in _WRITERS.split()},
        }  # fmt: skip

    def write(self, logger: _Logger, level: int, message: Any, args: tuple[Any, ...]) -> None:
        from explorer.language.guard import formatting

        text = to_text(message, str)
        if args:
            values = args[0] if len(args) == 1 and isinstance(args[0], dict) and args[0] else args
            text = str(formatting.format_percent(text, values))
        fields = {
            "message": text, "name": logger.name, "levelno": level, "lineno": self.run.watcher.line,
            "levelname": _NAMES.get(level, f"Level {level}"), "filename": "program.py",
            "module": "program", "funcName": "<module>", "process": 1, "pathname": "program.py",
            "thread": 1, "threadName": "MainThread", "processName": "MainProcess", "msecs": 0.0,
            "created": 0.0, "relativeCreated": 0.0,
        }  # fmt: skip
        handlers = [handler for one in logger._chain() for handler in one.handlers]
        if not handlers and level >= 30:
            self.run.write(f"{formatting.without_addresses(text)}\n")
        for handler in handlers:
            if level >= handler._level and handler._target is not NOWHERE:
                line = handler._formatter._line(dict(fields))
                self.run.write(f"{formatting.without_addresses(line)}\n")


_WRITERS = "debug info warning warn error critical exception fatal"
NOWHERE = "nowhere"


def _make_file_handler(filename: Any, *args: Any, **options: Any) -> _Handler:
    """A handler for a file: nothing is written."""
    notice("Nothing is written to a log file here.")
    return _Handler(NOWHERE)


ADDED: dict[str, tuple[str, Any]] = {
    path: (TITLE, thing)
    for path, thing in {
        "warnings.warn": PerRun(_warn, warnings.warn),
        "warnings.filterwarnings": _filter,
        "warnings.simplefilter": _filter_all,
        "warnings.resetwarnings": lambda: warnings.resetwarnings(),
        "warnings.catch_warnings": _CatchWarnings,
        **{
            f"logging.{name}": PerRun(
                lambda run, name=name: run.shared(_Logs).functions[name],  # type: ignore[misc]
                getattr(logging, name),
            )
            for name in ["getLogger", "basicConfig", "disable", "log", *_WRITERS.split()]
        },
        **{f"logging.{name}": number for name, number in _LEVELS.items()},
        "logging.WARN": 30,
        "logging.NOTSET": 0,
        "logging.Formatter": _Formatter,
        "logging.StreamHandler": _Handler,
        "logging.NullHandler": lambda: _Handler(NOWHERE),
        "logging.FileHandler": _make_file_handler,
    }.items()
}
KINDS = (warnings.WarningMessage,)
MEMBERS = {warnings.WarningMessage: "message category lineno"}
