"""The Compare tab: gradients of networks that answer one question together, in one chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from explorer.networks import Report
from explorer.networks.presets import FAMILIES
from explorer.networks.runs import InspectedNetwork
from explorer.networks.settings import Settings
from explorer.trace.text import number
from explorer.ui.network.runs import await_run
from explorer.ui.network.selection import Shown
from explorer.ui.widgets.basics import note
from explorer.ui.widgets.mounts import mount_plots
from explorer.view.plot import Line, Plot, around

_KINDS = ("main", "beside", "second")


def relatives(settings: Settings) -> tuple[str, ...]:
    """This preset and those it is compared with; none for a reader's network."""
    if settings.source:
        return ()
    return next((family for family in FAMILIES if settings.name in family), ())


def draw_comparison(shown: Shown) -> None:
    """Draw the gradient norm of each weight, from the input to the output, one line a network."""
    reports: dict[str, Report] = {}
    for name in relatives(shown.settings):
        run: InspectedNetwork | None = await_run(
            f"compare-{name}", "inspect_network", Settings(name)
        )
        if run is None:
            return
        reports[name] = run.report
    norms = {name: _weight_norms(report) for name, report in reports.items()}
    lines = tuple(
        Line(np.arange(1, len(values) + 1), values, kind, name, dots=True)
        for kind, (name, values) in zip(_KINDS, norms.items(), strict=False)
    )
    every = [value for values in norms.values() for value in values]
    count = max(len(values) for values in norms.values())
    title = f"Gradient norm of each weight of {' and '.join(norms)}"
    with st.container(key="compare"):
        mount_plots(
            {
                "compare": (
                    Plot(
                        around([1, count], "weight, from the input to the output", linear=True),
                        around(every, "gradient norm"),
                        lines,
                        title,
                        pointer=True,
                        wide=True,
                    ),
                    300,
                )
            },
            "",
            key="compare-plot",
        )
    for name, values in norms.items():
        if values and values[-1]:
            note(
                f"{name}: the gradient of the first weight is {number(values[0] / values[-1])} "
                "times that of the last."
            )


def _weight_norms(report: Report) -> Sequence[float]:
    """Of the matrices and kernels, not of biases and scales."""
    rows = [p for p in report.parameters if len(p.shape) > 1 and p.grad_norm is not None]
    return [row.grad_norm or 0.0 for row in rows]
