"""The glossary at an address of its own: what the dialog of every page shows."""

import explorer.ui.server.early  # noqa: F401  (first)
from explorer.ui.widgets.frame import draw_frame
from explorer.ui.widgets.glossary_dialog import draw_glossary

draw_glossary(draw_frame("glossary"), key="glossary-search")
