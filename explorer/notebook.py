"""In a notebook: `%load_ext explorer`, then `%%explore` on a cell records what it does and shows it
below; `explorer.show(model, batch)` draws a network.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from explorer.__main__ import step_number
from explorer.trace.in_place import NothingRecorded, record


def show(model: Any, *args: Any, loss: Any = None, **kwargs: Any) -> Any:
    """Draw a network: how `model(*args, **kwargs)` goes, and how much gradient reaches its layers.

    Returns the `Report` of `explorer.networks.inspect`, which a notebook shows, and of which
    `save(path)` writes one HTML file. The model runs once, and is left as it was.
    """
    from explorer.networks import inspect  # brings torch and all that reads a network

    return inspect(model, *args, loss=loss, **kwargs)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext explorer`"""

    def explore(line: str, cell: str) -> None:
        """%%explore [--step N] [name]: run the cell as it is, and show what autograd did in it.

        With a name, the variable of this name is the recording afterwards.
        """
        from IPython.display import display

        try:
            options = _parser().parse_args(shlex.split(line))
        except SystemExit:  # argparse has printed what is wrong
            return
        except ValueError as error:
            print(f"%%explore: {error}")
            return
        recording = record(step=options.step)
        with recording.around("<module>"):
            # Lines count as they are seen, with that of the magic.
            done = shell.run_cell(cell if cell.startswith("%%") else f"# %%explore {line}\n{cell}")
            recording.failed = done.error_in_exec
        if done.error_before_exec is not None:  # IPython has shown it
            return
        if options.name is not None:
            shell.user_ns[options.name] = recording
        try:
            display(recording.trace)
        except NothingRecorded as nothing:
            print(nothing)

    shell.register_magic_function(explore, "cell")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="%%explore", add_help=False)
    parser.add_argument("--step", type=step_number, default=None)
    parser.add_argument("name", nargs="?")
    return parser
