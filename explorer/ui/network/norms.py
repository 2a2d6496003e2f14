"""Gradient norms as bars, and the histogram of any parameter's gradient."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.networks import Histogram, Report
from explorer.trace.text import number
from explorer.ui.common.glossary import html, term_link
from explorer.ui.common.layout import columns
from explorer.ui.common.widgets import choice, download, label, note, scrolling
from explorer.ui.network import figures
from explorer.ui.network.runs import BINS, Histograms, InspectedNetwork
from explorer.ui.network.selection import PARAMETER, reset_unless_in


def draw_norms(report: Report, selected_layer: str | None) -> None:
    """Draw the norm of every parameter's gradient as bars, from the input to the output."""
    if report.error is not None and not any(p.grad_norm is not None for p in report.parameters):
        return
    names = [p.name for p in report.parameters]
    norms = [p.grad_norm for p in report.parameters]
    finite = [v for v in norms if v is not None]
    png = _draw_bars(tuple(names), tuple(norms), selected_layer)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label(term_link("norm"), " of each parameter's ", term_link("gradient", "gradient"))
        scale = "Logarithmic scale." if figures.needs_log_scale(finite) else ""
        loss = "" if report.loss is None else f"{term_link('loss')} {number(report.loss)}."
        st.html(f'<div class="ax-note">{loss} {scale}</div>', width="stretch")
        download(lambda: png, "gradient-norms.png", "Downloads the bars as PNG", key="norms")
    largest = max(finite, default=None)
    summary = f"; the largest is {number(largest)}" if largest is not None else ""
    with st.container(key="norms"):  # whose shape the styles know before the image is there
        st.image(png, alt=f"Gradient norms of {len(names)} parameters{summary}", width="stretch")


@st.cache_data(max_entries=64, show_spinner=False)
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
    """Draw the figure, a note on what it leaves out, and a download."""
    histogram = histograms[name][bins]
    if histogram is None:
        note(f"The gradient of {name} has no finite element.")
        return
    png = _draw_histogram(histogram)
    st.image(png, alt=f"Histogram of the gradient of {name} in {bins} bins", width="stretch")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        left_out = (
            f"{histogram.left_out:,} elements that are NaN or infinite are not shown."
            if histogram.left_out
            else ""
        )
        st.html(f'<div class="ax-note">{left_out}</div>', width="stretch")
        download(lambda: png, f"{name}.png", "Downloads the histogram as PNG", key=key)


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs={Histogram: vars})
def _draw_histogram(histogram: Histogram) -> bytes:
    return figures.draw_histogram(histogram)


def draw_counts(histograms: Histograms, name: str, bins: int) -> None:
    """Draw the edges and counts as numbers."""
    histogram = histograms[name][bins]
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
