"""The operator's page: how many readers there are, and how they are served."""

import explorer.ui.common.early  # noqa: F401  (first)
from explorer.ui.common.frame import draw_frame
from explorer.ui.operator.access import is_operator
from explorer.ui.operator.panel import draw_report

draw_frame("operator")
if is_operator():
    draw_report()
