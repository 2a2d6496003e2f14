"""What can be taken home: the table, the graph, a script that prints the same norms."""

from __future__ import annotations

from functools import partial

from explorer.networks import Report
from explorer.ui.common.downloads import file, graph_files
from explorer.ui.common.widgets import menu
from explorer.ui.network import table
from explorer.ui.network.graph import Drawn
from explorer.ui.network.settings import Setting, script


def downloads(setting: Setting, report: Report, drawn: Drawn | None) -> None:
    """A menu of files; those of the graph only where there is one."""
    place = menu(
        "Download",
        icon="download",
        key="download",
        help="The table, the graph, or a script that prints the same norms",
    )
    if place is None:
        return
    with place:
        file(
            "Table as CSV",
            partial(table.as_csv, report),
            "layers.csv",
            "text/csv",
            "Every column of the table, and why a gradient is None",
        )
        if drawn is not None:
            graph_files(drawn.dot, "network")
        file(
            "PyTorch script",
            lambda: script(setting).encode(),
            "network.py",
            "text/x-python",
            "Needs PyTorch alone and prints the same norms",
        )
