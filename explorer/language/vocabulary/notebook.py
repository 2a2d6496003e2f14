"""What notebooks show values with, in place of `IPython.display`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.language.notices import notice, running
from explorer.language.vocabulary.plotting.figure import Figure, show_now
from explorer.language.vocabulary.stand_in import StandIn


class Media(StandIn):
    """An image, a page or a formula that a notebook would show."""


def display(*objs: Any, **options: Any) -> None:
    """Show values: a figure as it is now, anything else as a notebook prints it."""
    from explorer.language.guard import formatting  # which imports the vocabulary

    program = running()
    for value in objs:
        if isinstance(value, Figure):
            show_now(value)
        elif not isinstance(value, Media) and program is not None:
            text = formatting.to_text(value, repr)
            program.write(formatting.without_addresses(text) + "\n")


def clear_output(wait: Any = False) -> None:
    """Let the figures that follow replace earlier ones of the same line."""
    program = running()
    if program is not None:
        program.figures.clear_output()


def no_effect(*args: Any, **options: Any) -> None:
    """Of no effect here."""


def _media(kind: str) -> Callable[..., Media]:
    def make(*args: Any, **options: Any) -> Media:
        notice("Images, web pages, formulas and sounds of a notebook are not shown.")
        return Media()

    make.__name__ = kind
    make.__doc__ = f"{kind} of a notebook: not shown here."
    return make


_TITLE = "Notebooks"
_FUNCTIONS: dict[str, Any] = {
    "display": display,
    "clear_output": clear_output,
    "set_matplotlib_formats": no_effect,
    **{kind: _media(kind) for kind in ("Image", "HTML", "Markdown", "SVG", "Math", "Latex",
                                       "Audio", "Video", "YouTubeVideo", "IFrame", "Javascript",
                                       "Code", "JSON")},
}  # fmt: skip
ADDED: dict[str, tuple[str, Any]] = {
    **{
        f"{home}.{name}": (_TITLE, thing)
        for home in ("IPython.display", "IPython.core.display")
        for name, thing in _FUNCTIONS.items()
    },
    "IPython.get_ipython": (_TITLE, no_effect),
}
