"""The glossary at an address of its own: what the dialog of every page shows."""

import explorer.ui.common.early  # noqa: F401  (first)
from explorer.ui.common.frame import draw_frame
from explorer.ui.common.glossary_dialog import draw_glossary

draw_glossary(draw_frame("glossary"), key="glossary-search")
