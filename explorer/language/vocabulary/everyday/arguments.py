"""argparse: there is no command line, so arguments have their defaults."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.everyday.checks import bounded, require_text
from explorer.language.vocabulary.everyday.per_run import PerRun, Run
from explorer.language.vocabulary.everyday.records import Namespace as _Namespace
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "Command line"

_FLAG = re.compile(r"-{0,2}[A-Za-z][\w.-]{0,99}\Z")
_ACTIONS = {
    "store", "store_true", "store_false", "store_const", "append", "append_const", "count",
}  # fmt: skip
_OPTIONS = {
    "action", "nargs", "const", "default", "type", "choices", "required", "help", "metavar", "dest",
}  # fmt: skip


class Namespace(_Namespace):
    """The values of the arguments."""

    _title = "Namespace"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        from explorer.language.guard.formatting import without_addresses

        raise OutsideLanguage(
            f"argparse: {without_addresses(message)[:300]}",
            "There is no command line here. Give the argument a default, or write "
            'parser.parse_args(["--name", "value"]).',
        )

    def exit(self, status: int = 0, message: Any = None) -> Any:
        raise OutsideLanguage("argparse ended the program.")


class _Formatter(StandIn):
    """How a help text looks, which nobody reads here."""


class _Group(StandIn):
    """Arguments that belong together."""

    def __init__(self, real: Any, run: Run) -> None:
        self._real, self._run = real, run

    def add_argument(self, *names: str, **options: Any) -> None:
        """Describe an argument."""
        for name in names:
            if type(name) is not str or not _FLAG.match(name):
                raise OutsideLanguage("The name of an argument has letters, digits, - and _ only.")
        for option in options.keys() - _OPTIONS:
            raise TypeError(f"add_argument() got an unexpected argument '{option[:60]}'")
        for ignored in ("help", "metavar"):
            options.pop(ignored, None)
        dest = options.get("dest")
        if dest is not None and not (type(dest) is str and _FLAG.match(dest) and dest[0] != "-"):
            raise OutsideLanguage("dest has letters, digits and _ only.")
        action = options.get("action", "store")
        if type(action) is type and issubclass(action, argparse.BooleanOptionalAction):
            options["action"] = argparse.BooleanOptionalAction
        elif action not in _ACTIONS:
            raise OutsideLanguage(f"These actions are supported: {', '.join(sorted(_ACTIONS))}.")
        nargs = options.get("nargs")
        if not (nargs is None or nargs in ("?", "*", "+") or (type(nargs) is int and nargs < 1000)):
            raise OutsideLanguage('nargs is a number, "?", "*" or "+".')
        if options.get("choices") is not None:
            options["choices"] = list(bounded(options["choices"]))
        if options.get("type") is not None:
            options["type"] = _as_type(options["type"])
        self._real.add_argument(*names, **options)

    def add_argument_group(self, *names: Any, **options: Any) -> _Group:
        """A group of arguments."""
        return _Group(self._real.add_argument_group(), self._run)

    def add_mutually_exclusive_group(self, required: bool = False) -> _Group:
        """A group of which one argument may be given."""
        return _Group(self._real.add_mutually_exclusive_group(required=bool(required)), self._run)


def _as_type(kind: Any) -> Any:
    """A function of the text of an argument, under the name of the program's."""
    if not callable(kind):
        raise ValueError(f"{str(kind)[:60]} is not callable")

    def convert(text: Any) -> Any:
        return kind(text)

    convert.__name__ = str(getattr(kind, "__name__", "value"))[:60]
    return convert


class ArgumentParser(_Group):
    """Describes the arguments of a command line."""

    def __init__(self, run: Run, description: Any = "") -> None:
        super().__init__(_Parser(prog="program.py", add_help=False, allow_abbrev=True), run)
        self.description = description

    def parse_args(self, args: Any = None, namespace: Any = None) -> Namespace:
        """The values of the arguments: the defaults, unless a list of texts is given."""
        values, rest = self.parse_known_args(args, namespace)
        if rest:
            self._real.error(f"unrecognized arguments: {' '.join(rest)}")
        return values

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The values of the arguments, and what is none of them."""
        if args is None:
            args = self._run.shared(_command_line)
            if len(args) == 0:
                notice("There is no command line here: arguments have their defaults.")
        texts = [require_text(text, "An argument", 10_000) for text in bounded(args)]
        real, rest = self._real.parse_known_args(texts)
        return Namespace(**vars(real)), rest

    def set_defaults(self, **values: Any) -> None:
        """Give arguments other defaults."""
        for name in values:
            if not _FLAG.match(name):
                raise OutsideLanguage("The name of an argument has letters, digits and _ only.")
        self._real.set_defaults(**values)

    def get_default(self, dest: str) -> Any:
        """The default of an argument."""
        return self._real.get_default(dest)

    def print_help(self, *args: Any) -> None:
        """Print what the program is for."""
        self._run.write(f"{str(self.description or '')[:1000]}\n")

    def print_usage(self, *args: Any) -> None:
        """Print the name of the program."""
        self._run.write("usage: program.py\n")


def _command_line(run: Run) -> Sequence[str]:
    return ()


def _parser(run: Run) -> Any:
    def make(*args: Any, **options: Any) -> ArgumentParser:
        """Describe the arguments of a command line."""
        return ArgumentParser(run, options.get("description", ""))

    return make


ADDED: dict[str, tuple[str, Any]] = {
    "argparse.ArgumentParser": (TITLE, PerRun(_parser, argparse.ArgumentParser)),
    "argparse.Namespace": (TITLE, Namespace),
    "argparse.BooleanOptionalAction": (TITLE, argparse.BooleanOptionalAction),
    **{
        f"argparse.{name}": (TITLE, _Formatter)
        for name in ("ArgumentDefaultsHelpFormatter", "RawTextHelpFormatter",
                     "RawDescriptionHelpFormatter")
    },
}  # fmt: skip
