"""What stands beside the graph: the smallest and the largest gradient, what is unusual, and all
gradient norms as bars."""

from __future__ import annotations

import streamlit as st

from explorer.networks.health import Finding, find_health
from explorer.networks.tree import extreme_gradients
from explorer.trace.text import number
from explorer.ui.network import figures
from explorer.ui.network.charts import draw_norm_chart
from explorer.ui.network.selection import Shown
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import as_code, download, label
from explorer.view.glossary import html, term_link
from explorer.view.health import kind_html

#: With more bars than this, the chart can be made wide.
_MANY = 40
_WIDE_HELP = "Bars wide enough to click each; they scroll sideways"
#: How many layers of a finding can be selected here.
_SHOWN = 3


def draw_extremes(shown: Shown) -> None:
    """Draw a sentence on the parameters whose gradients have the smallest and the largest norm;
    their names are buttons that select them."""
    extremes = extreme_gradients(shown.report)
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
                on_click=shown.select_parameter,
                args=(parameter.name,),
                help="Selects this parameter and its layer",
            )
            norm = number(parameter.grad_norm)
            end = " ·" if what == "smallest" else ""
            st.html(f'<div class="ax-note">{norm}{end}</div>', width="content")


def draw_health(shown: Shown) -> None:
    """Draw what is unusual, a line for each finding, whose layers can be selected."""
    findings = find_health(shown.report)
    if not findings:
        return
    with st.container(key="health", gap="xxsmall"):
        for i, finding in enumerate(findings):
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                _draw_finding(finding, i, shown)


def _draw_finding(finding: Finding, position: int, shown: Shown) -> None:
    st.html(kind_html(finding), width="content")
    for layer in finding.layers[:_SHOWN]:
        st.button(
            as_code(layer or "(model)"),
            key=f"health-{position}-{layer}",
            type="tertiary",
            on_click=shown.select_layer,
            args=(layer,),
            help="Selects this layer",
        )
    more = len(finding.layers) - _SHOWN
    rest = f"and {more} more: " if more > 0 else ""
    st.html(f'<div class="ax-note">{html(rest + finding.sentence)}</div>', width="content")


def draw_norms(shown: Shown) -> None:
    """Draw the norm of every parameter's gradient as a bar, once it is known."""
    report = shown.report
    if shown.inspected is None:
        return
    if report.error is not None and not any(p.grad_norm is not None for p in report.parameters):
        return
    if not report.parameters:
        return
    layer = shown.layer
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
            lambda: _draw_bars(names, norms, layer),
            "gradient-norms.png",
            "Downloads the bars as PNG",
            key="norms",
        )
    largest = max(finite, default=None)
    summary = f"; the largest is {number(largest)}" if largest is not None else ""
    alt = f"Gradient norms of {len(names)} parameters{summary}. The tab Layers lists them."
    draw_norm_chart(report.parameters, layer, shown.select_parameter, wide=wide, alt=alt)


@shared(8 * 2**20)
def _draw_bars(
    names: tuple[str, ...], norms: tuple[float | None, ...], selected_layer: str | None
) -> bytes:
    return figures.draw_norm_bars(names, norms, selected_layer)


def draw_notes(shown: Shown) -> None:
    """Draw sentences about this run, and the one about a preset."""
    about = "" if shown.settings.source else shown.facts.note
    sentences = [sentence for sentence in (*shown.report.notes, about) if sentence]
    if sentences:
        st.html("".join(f'<div class="ax-note">{html(sentence)}</div>' for sentence in sentences))
