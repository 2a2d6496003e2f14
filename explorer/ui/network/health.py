"""What is unusual about the network: a line for each finding, whose layers can be selected."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from explorer.networks import Report
from explorer.networks.health import Finding, find_health
from explorer.ui.common.widgets import as_code
from explorer.view.glossary import html, term_link

#: How many layers of a finding can be selected here.
_SHOWN = 3
#: The glossary's term of each kind.
_TERMS = {
    "never used": "unused",
    "dead": "dead",
    "saturated": "saturated",
    "vanishing": "vanishing",
    "exploding": "exploding",
    "not finite": "nan",
    "frozen": "frozen",
    "shared": "shared",
    "eval mode": "mode",
}


def draw_health(report: Report, select: Callable[[str], None]) -> None:
    """Draw the findings; nothing where there are none. `select` is called with a layer's name."""
    findings = find_health(report)
    if not findings:
        return
    with st.container(key="health", gap="xxsmall"):
        for i, finding in enumerate(findings):
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                _draw(finding, i, select)


def _draw(finding: Finding, position: int, select: Callable[[str], None]) -> None:
    kind = term_link(_TERMS[finding.kind], f"{finding.kind[:1].upper()}{finding.kind[1:]}")
    style = "ax-warns" if finding.warns else "ax-remarks"
    st.html(f'<div class="ax-note {style}">{kind}</div>', width="content")
    for layer in finding.layers[:_SHOWN]:
        st.button(
            as_code(layer or "(model)"),
            key=f"health-{position}-{layer}",
            type="tertiary",
            on_click=partial(select, layer),
            help="Selects this layer",
        )
    more = len(finding.layers) - _SHOWN
    rest = f"and {more} more: " if more > 0 else ""
    st.html(f'<div class="ax-note">{html(rest + finding.sentence)}</div>', width="content")
