"""Runs a script as `python` would, and writes the page of one step of its training:

python -m explorer --step 20 --html step.html train.py --epochs 1
python -m explorer -m package.train
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import types
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path

from explorer.program.parsing import compiled
from explorer.trace.in_place import NothingRecorded, Recording, record

#: What a shell says of a process that Ctrl+C has ended.
_INTERRUPTED = 128 + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the script that is named. Raises whatever the script raises, SystemExit too."""
    ours, theirs = _divided(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(ours)
    if not theirs:
        _parser().error("which script? python -m explorer train.py")
    recording = record(step=options.step)
    module, spec = types.ModuleType("__main__"), None
    sys.argv = theirs
    if options.module is not None:
        sys.path[0] = os.getcwd()
        spec = _module(options.module)
        file = sys.argv[0] = str(spec.origin)
    else:
        file = os.path.abspath(theirs[0])
        sys.path[0] = str(Path(file).resolve().parent)
        if not os.path.isfile(file):
            _parser().error(f"{theirs[0]}: there is no such file")
    vars(module).update(__file__=file, __spec__=spec, __builtins__=__builtins__)
    vars(module).update(__package__=None if spec is None else spec.parent)
    sys.modules["__main__"] = module
    try:
        code = compiled(Path(file).read_bytes(), file)
        with recording.around("<module>", file):
            exec(code, vars(module))
    except SystemExit:
        raise
    except BaseException as error:
        _show(error, file)
        sys.exit(_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1)
    finally:
        _write(recording, Path(options.html))


def _divided(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our options, and the script or module with its arguments."""
    ours: list[str] = []
    waiting = [*arguments]
    while waiting and waiting[0].startswith("-"):
        option = waiting.pop(0)
        if option == "--":
            break
        takes_value = option in ("--step", "--html", "-m") and waiting
        ours += [option, waiting.pop(0)] if takes_value else [option]
        if option == "-m":
            return ours, [ours[-1], *waiting]
    return ours, waiting


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m explorer",
        description="Run a script as python would, record what autograd does in one iteration of "
        "its training loop, and write that as one HTML file.",
        usage="%(prog)s [--step N] [--html FILE] (script.py | -m module) [arguments of it]",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--step", type=step_number, default=None, metavar="N",
        help="which iteration, from 1; without it, recording begins with the script",
    )  # fmt: skip
    parser.add_argument("--html", default="step.html", metavar="FILE", help="default: step.html")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module in its place")
    return parser


def step_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _module(name: str) -> ModuleSpec:
    spec = None
    with suppress(ModuleNotFoundError):  # of a package around it
        spec = None if name.startswith(".") else importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or not (spec.origin or "").endswith(".py"):
        sys.exit(f"python -m explorer: there is no module {name} to run")
    return spec


def _show(error: BaseException, file: str) -> None:
    """The traceback as `python` prints it: from the script's own frame on."""
    traceback = error.__traceback__ if not isinstance(error, SyntaxError) else None
    while traceback is not None and traceback.tb_frame.f_code.co_filename != file:
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)


def _write(recording: Recording, path: Path) -> None:
    """Write the page, and say so on stderr: stdout is the script's."""
    try:
        recording.save(path)
    except NothingRecorded as nothing:
        print(f"explorer: {nothing}", file=sys.stderr)
    except Exception as error:  # the script has done its work, whatever becomes of the page
        what = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        print(f"explorer: {path} could not be written: {what}", file=sys.stderr)
    else:
        size = path.stat().st_size / 1000
        print(f"explorer: {path} ({size:,.0f} kB): {recording.trace!r}", file=sys.stderr)


if __name__ == "__main__":
    main()
