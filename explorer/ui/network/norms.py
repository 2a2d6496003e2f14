"""Gradient norms as bars, and the histogram of any parameter's gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from explorer.networks import Histogram, Report
from explorer.networks.runs import BINS, Histograms, InspectedNetwork
from explorer.networks.tree import extreme_gradients
from explorer.trace.text import number
from explorer.ui.common.shared_cache import shared
from explorer.ui.common.widgets import as_code, choice, columns, download, label, note, scrolling
from explorer.ui.network import figures
from explorer.ui.network.charts import draw_histogram_chart, draw_norm_chart
from explorer.ui.network.selection import PARAMETER, reset_unless_in
from explorer.view.glossary import html, term_link

#: With more bars than this, the chart can be made wide.
_MANY = 40
_WIDE_HELP = "Bars wide enough to click each; they scroll sideways"


def draw_extremes(report: Report, select: Callable[[str], None]) -> None:
    """Draw a sentence on the parameters whose gradients have the smallest and the largest norm;
    their names are buttons that select them."""
    extremes = extreme_gradients(report)
    if extremes is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="extremes"):
        for what, parameter in zip(("smallest", "largest"), extremes, strict=True):
            start = "Smallest gradient norm of a parameter" if what == "smallest" else what
            st.html(f'<div class="ax-note">{start}:</div>', width="content")
            st.button(
                as_code(parameter.name),
                key=f"extreme-{what}",
                type="tertiary",
                on_click=select,
                args=(parameter.name,),
                help="Selects this parameter and its layer",
            )
            norm = number(parameter.grad_norm)
            end = " ·" if what == "smallest" else ""
            st.html(f'<div class="ax-note">{norm}{end}</div>', width="content")


def draw_norms(report: Report, selected_layer: str | None, select: Callable[[str], None]) -> None:
    """Draw the norm of every parameter's gradient as a bar; `select` is called with the name of a
    parameter."""
    if report.error is not None and not any(p.grad_norm is not None for p in report.parameters):
        return
    if not report.parameters:
        return
    names = tuple(p.name for p in report.parameters)
    norms = tuple(p.grad_norm for p in report.parameters)
    finite = [v for v in norms if v is not None]
    wide = False
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label(term_link("norm"), " of each parameter's ", term_link("gradient", "gradient"))
        scale = "Log scale." if figures.needs_log_scale(finite) else ""
        loss = "" if report.loss is None else f"{term_link('loss')} {number(report.loss)}."
        st.html(f'<div class="ax-note">{loss} {scale}</div>', width="stretch")
        if len(names) > _MANY:
            wide = st.toggle("Wide", key="wide", bind="query-params", help=_WIDE_HELP)
        download(
            lambda: _draw_bars(names, norms, selected_layer),
            "gradient-norms.png",
            "Downloads the bars as PNG",
            key="norms",
        )
    largest = max(finite, default=None)
    summary = f"; the largest is {number(largest)}" if largest is not None else ""
    alt = f"Gradient norms of {len(names)} parameters{summary}. The tab Layers lists them."
    draw_norm_chart(report.parameters, selected_layer, select, wide=wide, alt=alt)


@shared(8 * 2**20)
def _draw_bars(
    names: tuple[str, ...], norms: tuple[float | None, ...], selected_layer: str | None
) -> bytes:
    return figures.draw_norm_bars(names, norms, selected_layer)


def draw_notes(report: Report, about: str) -> None:
    """Draw sentences about this run, and `about`, the one about this network."""
    sentences = [sentence for sentence in (*report.notes, about) if sentence]
    if sentences:
        st.html("".join(f'<div class="ax-note">{html(sentence)}</div>' for sentence in sentences))


def choose_parameter(names: Sequence[str]) -> str:
    """Draw the list of parameters that have a gradient."""
    start = "conv2.weight" if "conv2.weight" in names else names[0]
    reset_unless_in(PARAMETER, names, start)
    chosen = st.selectbox(
        "Parameter",
        names,
        names.index(start),
        key=PARAMETER,
        bind="query-params",
        label_visibility="collapsed",
        help="The parameter whose gradient is shown",
        width=280,
    )
    return chosen if chosen in names else start


def draw_histogram_tab(inspected: InspectedNetwork | None) -> None:
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
    head = "<tr><th>From</th><th>to</th><th>Elements</th></tr>"
    table = f'<table class="ax-plain ax-figures">{head}{rows}</table>'
    st.html(scrolling(table, f"Counts of the histogram of {name}"))
