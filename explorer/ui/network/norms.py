"""Gradient norms as bars, and the histogram of any parameter's gradient."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.networks import Report
from explorer.trace.text import number
from explorer.ui.common.glossary import term_link
from explorer.ui.common.layout import columns
from explorer.ui.common.widgets import choice, download, label, note, scrolling
from explorer.ui.network import figures, pick
from explorer.ui.network.runs import BINS, Histograms, Numbers


def bars(report: Report, chosen: str | None) -> None:
    """The norm of every parameter's gradient, along the network."""
    if report.error is not None and not any(p.grad_norm is not None for p in report.parameters):
        return
    names = [p.name for p in report.parameters]
    norms = [p.grad_norm for p in report.parameters]
    finite = [v for v in norms if v is not None]
    png = _bars(tuple(names), tuple(norms), chosen)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label(term_link("norm"), " of each parameter's ", term_link("gradient", "gradient"))
        scale = "Logarithmic scale." if figures.log_scale(finite) else ""
        loss = "" if report.loss is None else f"{term_link('loss')} {number(report.loss)}."
        st.html(f'<div class="ax-note">{loss} {scale}</div>', width="stretch")
        download(lambda: png, "gradient-norms.png", "The bars as PNG", key="norms")
    largest = max(finite, default=None)
    summary = f"; the largest is {number(largest)}" if largest is not None else ""
    st.image(png, alt=f"Gradient norms of {len(names)} parameters{summary}", width="stretch")


@st.cache_data(max_entries=64, show_spinner=False)
def _bars(names: tuple[str, ...], norms: tuple[float | None, ...], chosen: str | None) -> bytes:
    return figures.norm_bars(names, norms, chosen)


def notes(report: Report, about: str) -> None:
    """What is worth knowing of this network and this run."""
    for sentence in (*report.notes, about):
        if sentence:
            note(sentence)


def parameter_choice(names: Sequence[str]) -> str:
    """The list of parameters that have a gradient."""
    start = "conv2.weight" if "conv2.weight" in names else names[0]
    pick.among(pick.PARAMETER, names, start)
    chosen = st.selectbox(
        "Parameter",
        names,
        names.index(start),
        key=pick.PARAMETER,
        bind="query-params",
        label_visibility="collapsed",
        help="Whose gradient is shown",
        width=280,
    )
    return chosen if chosen in names else start


def section(numbers: Numbers | None) -> None:
    """One parameter's gradient as a histogram, with its counts."""
    if numbers is None:
        note("The gradients are not there yet.")
        return
    if not numbers.histograms:
        note("No parameter has a gradient.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = parameter_choice(list(numbers.histograms))
        bins = int(
            choice(
                "Bins",
                "bins",
                [str(b) for b in BINS],
                "Into how many bins of equal width the elements are counted",
            )
        )
    left, right = columns(0.58, 0.42)
    with left:
        histogram(numbers.histograms, name, bins, key="histogram")
    with right:
        counts(numbers.histograms, name, bins)
        why = [f"{p.name}: None, {p.why_none}." for p in numbers.report.parameters if p.why_none]
        for sentence in why[:4]:
            note(sentence)


def histogram(found: Histograms, name: str, bins: int, *, key: str) -> None:
    """The figure, with what it shows said and a download."""
    shown = found[name][bins]
    if shown is None:
        note(f"The gradient of {name} has no finite element.")
        return
    png = figures.histogram_bars(shown)
    st.image(png, alt=f"Histogram of the gradient of {name} in {bins} bins", width="stretch")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        left_out = f" {shown.left_out} not finite are left out." if shown.left_out else ""
        st.html(
            '<div class="ax-note">Each bar stands on its own bin edges. The article this page '
            "retraces drew bars as wide as the tallest bin is from the lowest, which is wrong."
            f"{left_out}</div>",
            width="stretch",
        )
        download(lambda: png, f"{name}.png", "The histogram as PNG", key=key)


def counts(found: Histograms, name: str, bins: int) -> None:
    """Edges and counts as numbers."""
    shown = found[name][bins]
    if shown is None:
        return
    edges = shown.edges
    rows = "".join(
        f"<tr><td>{edges[i]:.6f}</td><td>{edges[i + 1]:.6f}</td><td>{count}</td></tr>"
        for i, count in enumerate(shown.counts)
    )
    head = "<tr><th>From</th><th>to</th><th>Elements</th></tr>"
    table = f'<table class="ax-plain ax-figures">{head}{rows}</table>'
    st.html(scrolling(table, f"Counts of the histogram of {name}"))
