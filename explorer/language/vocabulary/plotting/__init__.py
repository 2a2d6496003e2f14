"""Figures in place of matplotlib's. Calls are recorded, and drawn when the run is over."""

from typing import Any

from explorer.language.vocabulary.plotting import colors, pyplot

ADDED: dict[str, tuple[str, Any]] = {**pyplot.ADDED, **colors.ADDED}
