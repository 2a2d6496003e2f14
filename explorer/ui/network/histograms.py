"""The Histogram tab: the gradients of one run, or over steps of training as ridges, one below the
other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from explorer import limits
from explorer.networks.runs import BINS, Histograms, InspectedNetwork, TrainingSteps
from explorer.networks.settings import Settings
from explorer.networks.statistics import Histogram
from explorer.networks.training_steps import OPTIMIZERS, TrainingStep, edges
from explorer.trace.colours import BAR, FIGURE_TEXT
from explorer.trace.text import number
from explorer.training.formatting import pluralize
from explorer.ui.network import figures
from explorer.ui.network.charts import draw_chart, draw_histogram_chart, field
from explorer.ui.network.runs import await_stoppable
from explorer.ui.network.selection import PARAMETER, Shown, pick
from explorer.ui.network.table import figures_table
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import choice, columns, download, label, note, whole
from explorer.view.glossary import term_link

ONE_RUN, TRAINING = "One run", "Over training"
#: How many times higher than the distance of two ridges the highest one is.
_OVERLAP = 1.8
#: Pixels between two ridges, and the most characters of a name.
_DISTANCE, _LONGEST = 20, 22
_START = 8
#: Pixels of a list of ridges, which scrolls if it is longer.
_HEIGHT = 440


def draw_histogram_tab(shown: Shown) -> None:
    """Draw the histogram of one run, or those over steps of training."""
    views = [ONE_RUN, TRAINING]
    if (
        choice("Histograms of", "histograms", views, "One backward, or steps of training")
        == ONE_RUN
    ):
        _draw_one_run(shown.inspected)
    else:
        _draw_training(shown.settings)


def choose_parameter(names: Sequence[str]) -> str:
    """Draw the list of parameters that have a gradient."""
    return pick(
        "Parameter",
        PARAMETER,
        names,
        "The parameter whose gradient is shown",
        start="conv2.weight" if "conv2.weight" in names else None,
        width=280,
    )


def _draw_one_run(inspected: InspectedNetwork | None) -> None:
    """Draw one parameter's gradient as a histogram, with its counts."""
    if inspected is None:
        note("The gradients have not been computed yet.")
        return
    if not inspected.histograms:
        note("No parameter has a gradient.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = choose_parameter(list(inspected.histograms))
        bins = int(
            choice(
                "Bins",
                "bins",
                [str(b) for b in BINS],
                "The number of bins, all of equal width",
            )
        )
    left, right = columns(0.58, 0.42)
    with left:
        draw_histogram(inspected.histograms, name, bins, key="histogram")
    with right:
        draw_counts(inspected.histograms, name, bins)
        missing = [p for p in inspected.report.parameters if p.why_none]
        for sentence in [f"{p.name} has no gradient ({p.why_none})." for p in missing[:4]]:
            note(sentence)


def draw_histogram(histograms: Histograms, name: str, bins: int, *, key: str) -> None:
    """Draw the chart, a note on what it leaves out, and a download."""
    histogram = histograms[name][BINS.index(bins)]
    if histogram is None:
        note(f"The gradient of {name} has no finite element.")
        return
    alt = f"Histogram of the gradient of {name} in {bins} bins"
    draw_histogram_chart(histogram, key=f"{key}-chart", alt=alt)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        left_out = (
            f"{histogram.left_out:,} elements that are NaN or infinite are not shown."
            if histogram.left_out
            else ""
        )
        st.html(f'<div class="ax-note">{left_out}</div>', width="stretch")
        download(
            lambda: _draw_histogram(histogram),
            f"{name}.png",
            "Downloads the histogram as PNG",
            key=key,
        )


@shared(8 * 2**20, key=lambda h: (h.counts.tobytes(), h.edges.tobytes(), h.left_out))
def _draw_histogram(histogram: Histogram) -> bytes:
    return figures.draw_histogram(histogram)


def draw_counts(histograms: Histograms, name: str, bins: int) -> None:
    """Draw the edges and counts as numbers."""
    histogram = histograms[name][BINS.index(bins)]
    if histogram is None:
        return
    edges = histogram.edges
    rows = "".join(
        f"<tr><td>{edges[i]:.6f}</td><td>{edges[i + 1]:.6f}</td><td>{count}</td></tr>"
        for i, count in enumerate(histogram.counts)
    )
    st.html(figures_table(("From", "to", "Elements"), rows, f"Counts of the histogram of {name}"))


def _draw_training(settings: Settings) -> None:
    """Draw the controls; one parameter's gradient at every step; every parameter's at one step."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        steps = whole(
            "Steps",
            "train-steps",
            1,
            limits.MOST_TRAINING_STEPS,
            start=_START,
            width=110,
            help="Steps of training",
        )
        optimizer = pick(
            "Optimizer",
            "train-optimizer",
            list(OPTIMIZERS),
            "What takes the steps; all other options are PyTorch's defaults",
            width=110,
            labelled=True,
        )
        lr = st.number_input(
            "Learning rate",
            0.0,
            10.0,
            0.01,
            format="%g",
            key="train-rate",
            bind="query-params",
            width=130,
            help="The learning rate of each step",
        )
    run = _train(settings, steps or _START, optimizer, float(lr or 0.0))
    if run is None or not run.steps:
        return
    if not run.steps[0].names:
        note("No parameter has a gradient.")
        return
    left, right = columns(0.5, 0.5)
    with left:
        name = choose_parameter(list(run.steps[0].names))
        label("Its ", term_link("gradient", "gradient"), " before each step")
        rows = [(f"step {s.step}", s, name) for s in run.steps if name in s.names]
        _draw_ridges(rows, key="ridges-steps", alt=f"Gradient of {name} at each step")
    with right:
        step = _choose_step(run.steps)
        label(f"Every parameter before step {step.step}: loss {number(step.loss)}")
        rows = [(name, step, name) for name in step.names]
        alt = f"Gradient of every parameter at step {step.step}"
        _draw_ridges(rows, key="ridges-layers", alt=alt)
    note(
        "How many elements of the gradient have which size, on a logarithmic scale. Each ridge is "
        "scaled to its own highest bin; elements that are exactly 0 are in no bin."
    )


def _train(settings: Settings, steps: int, optimizer: str, lr: float) -> TrainingSteps | None:
    run = await_stoppable(
        "train_steps",
        settings,
        again="Train again",
        total=pluralize(steps, "step"),
        so_far=TrainingSteps,
        steps=steps,
        optimizer=optimizer,
        lr=lr,
    )
    if run is not None and len(run.steps) < steps and run.steps:
        last = run.steps[-1]
        if not np.isfinite(last.loss):
            note(f"The loss is {last.loss} at step {last.step}: the training diverged.")
    return run


def _choose_step(steps: Sequence[TrainingStep]) -> TrainingStep:
    if len(steps) == 1:
        return steps[0]
    if not 1 <= st.session_state.get("train-step", 1) <= len(steps):
        st.session_state["train-step"] = len(steps)
    chosen = st.slider(
        "Step", 1, len(steps), len(steps), key="train-step", help="The step that is shown below"
    )
    return steps[min(max(chosen, 1), len(steps)) - 1]


def _draw_ridges(rows: Sequence[tuple[str, TrainingStep, str]], *, key: str, alt: str) -> None:
    """Draw a ridge for each title, step and name of a parameter."""
    borders = edges()
    counts = [step.counts[step.names.index(name)] for _, step, name in rows]
    used = np.flatnonzero(np.sum(counts, axis=0))
    first, last = (int(used[0]), int(used[-1])) if used.size else (0, len(borders) - 2)
    data: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    titles: list[dict[str, Any]] = []
    for row, ((title, step, name), count) in enumerate(zip(rows, counts, strict=True)):
        i = step.names.index(name)
        highest, total = max(int(count.max()), 1), int(count.sum()) + step.zeros[i] + step.lost[i]
        titles.append({"title": title[-_LONGEST:], "base": -row})
        for j in range(max(first - 1, 0), min(last + 2, len(count))):
            point = (
                *(row, -row, -row + _OVERLAP * int(count[j]) / highest),
                *(float(borders[j] + borders[j + 1]) / 2, title),
                f"{10 ** borders[j]:.2g} to {10 ** borders[j + 1]:.2g}",
                *(f"{int(count[j]):,} of {total:,}", step.zeros[i], number(step.norms[i])),
            )
            for values, value in zip(data.values(), point, strict=True):
                values.append(value)
    left = 8 + 6.4 * max((len(title["title"]) for title in titles), default=0)
    long = _DISTANCE * len(rows) > _HEIGHT
    with st.container(height=_HEIGHT if long else "content", border=False):
        draw_chart(
            data,
            _ridges(titles) | {"padding": {"left": left, "right": 8, "top": 4, "bottom": 4}},
            height=int(_DISTANCE * (len(rows) + _OVERLAP)),
            key=key,
            alt=alt,
        )


#: What is known at each point of a ridge.
_COLUMNS = ("row", "base", "top", "size", "which", "from", "elements", "zero", "norm")


def _ridges(titles: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The chart in Vega-Lite: the ridges, the points under the pointer, and the names."""
    domain = [0.2 - len(titles), _OVERLAP + 0.1]
    ridge = {"type": "area", "interpolate": "monotone", "color": BAR, "fillOpacity": 0.55}
    name = {"type": "text", "align": "right", "baseline": "bottom", "fontSize": 11}
    return {
        "layer": [
            {
                "encoding": {
                    "x": field(
                        "size",
                        title="absolute value of an element",
                        scale={"nice": False},
                        axis={"labelExpr": "'1e' + datum.value", "tickMinStep": 1, "grid": True},
                    ),
                    "y": field("top", axis=None, scale={"domain": domain, "nice": False}),
                },
                "layer": [
                    {
                        "mark": ridge | {"line": {"color": BAR, "strokeWidth": 1}},
                        "encoding": {"y2": {"field": "base"}, "detail": field("row", "ordinal")},
                    },
                    {
                        "mark": {"type": "circle", "size": 90, "opacity": 0, "color": BAR},
                        "encoding": {"tooltip": _TOOLTIP},
                    },
                ],
            },
            {
                "data": {"values": titles},
                "mark": name | {"color": FIGURE_TEXT},
                "encoding": {
                    "x": {"value": -6},
                    "y": field("base"),
                    "text": field("title", "nominal"),
                },
            },
        ],
    }


_TOOLTIP = [
    field("which", "nominal", title="gradient"),
    field("from", "nominal", title="size"),
    field("elements", "nominal"),
    field("zero", title="exactly 0"),
    field("norm", "nominal"),
]
