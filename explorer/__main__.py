"""Runs a script as `python` would, and writes the page of one step of its training:

python -m explorer --step 20 --html step.html train.py --epochs 1
python -m explorer -m package.train
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType

from explorer.trace.record import NothingRecorded, Recording, record


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the script that is named. Raises whatever the script raises, SystemExit too."""
    options = _parser().parse_args(arguments)
    recording = record(step=options.step)
    module = types.ModuleType("__main__")
    if options.module is not None:
        sys.argv = [options.module, *options.rest]
        sys.path.insert(0, os.getcwd())
        code, file, package = _of_module(options.module)
    else:
        if not options.rest:
            _parser().error("which script? python -m explorer train.py")
        sys.argv = options.rest
        file, package = os.path.abspath(options.rest[0]), None
        sys.path.insert(0, str(Path(file).resolve().parent))
        code = _of_file(file)
    vars(module).update(__file__=file, __package__=package, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    try:
        with recording.around("<module>", file):
            exec(code, vars(module))
    except Exception as error:
        _show(error, file)
        sys.exit(1)
    finally:
        _write(recording, Path(options.html))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m explorer",
        description="Run a script as python would, record what autograd does in one iteration of "
        "its training loop, and write that as one HTML file.",
    )
    parser.add_argument(
        "--step", type=_step, default=None, metavar="N",
        help="which iteration, from 1; without it, recording begins with the script",
    )  # fmt: skip
    parser.add_argument("--html", default="step.html", metavar="FILE", help="default: step.html")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module in its place")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="script.py [its arguments]")
    return parser


def _step(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _of_file(script: str) -> CodeType:
    try:
        return compile(Path(script).read_bytes(), script, "exec")
    except OSError as error:
        sys.exit(f"python -m explorer: {script}: {error.strerror}")


def _of_module(name: str) -> tuple[CodeType, str, str]:
    spec = None
    with suppress(ModuleNotFoundError):  # of a package around it
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    loader = getattr(spec, "loader", None)
    if spec is None or spec.origin is None or not hasattr(loader, "get_code"):
        sys.exit(f"python -m explorer: there is no module {name} to run")
    return loader.get_code(spec.name), spec.origin, spec.parent or ""  # type: ignore[union-attr]


def _show(error: Exception, file: str) -> None:
    """The traceback as `python` prints it: from the script's own frame on."""
    traceback = error.__traceback__
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
