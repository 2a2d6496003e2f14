"""The app's colours as CSS variables, for what is drawn without Streamlit."""

from __future__ import annotations

import re
import tomllib
from functools import cache

from explorer.start import FOLDER

#: The theme has one place, in which Streamlit looks for it.
_CONFIG = FOLDER / ".streamlit" / "config.toml"
_FONTS = (
    '--st-font: system-ui, sans-serif; --st-code-font: "Source Code Pro", ui-monospace, monospace;'
)


@cache
def theme_css() -> str:
    """The variables that `graph.css` and its like use, light or dark as the reader's system is."""
    theme = tomllib.loads(_CONFIG.read_text("utf-8"))["theme"]
    rules = "".join(
        f"{variable}: light-dark({light}, {theme['dark'][name]});"
        for name, light in theme["light"].items()
        if isinstance(light, str) and light.startswith("#")
        for variable in (f"--st-{_dashed(name)}", f"--ax-{_dashed(name.removesuffix('Color'))}")
    )
    radius = theme["baseRadius"]
    return f":root {{ color-scheme: light dark; --st-base-radius: {radius}; {_FONTS} {rules} }}"


def _dashed(name: str) -> str:
    return re.sub("([A-Z])", r"-\1", name).lower()
