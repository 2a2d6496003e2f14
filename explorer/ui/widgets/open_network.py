"""Opening the network of a program on the Network page or on Feature maps, by a link."""

from __future__ import annotations

import streamlit as st

from explorer.networks.program_model import makes_network
from explorer.trace import Trace
from explorer.ui.pages import MODULE, PROGRAM, page
from explorer.ui.server.shared_cache import derived
from explorer.ui.widgets.editor import fits_in_link

#: The choice of the reader's own network, on both pages.
OWN = "Your own"
#: By page: the key of its list of networks, and of the program in its link.
_KEYS = {"network": ("preset", MODULE), "feature_maps": ("network", PROGRAM)}
#: Where the page finds a program that is too long for a link.
_LONG = "network-program"


def show_network(trace: Trace) -> None:
    """Offer to open a program that makes a network on the Network page."""
    if derived(trace, "makes a network", lambda: makes_network(trace.completed)):
        _offer("network", trace.source)


def show_maps(source: str) -> None:
    """Offer to open a program whose network takes images on Feature maps."""
    _offer("feature_maps", source)


def take_program() -> str:
    """The program that another page has sent, or a link gives as `program`, once; empty without
    one."""
    text = st.session_state.pop(_LONG, "") or st.query_params.get(PROGRAM, "")
    if PROGRAM in st.query_params:
        st.query_params.pop(PROGRAM)
    return text


def _offer(name: str, source: str) -> None:
    target = page(name)
    if st.button(
        f"Open in {target.title}",
        icon=target.icon,
        type="tertiary",
        key=f"open-{name}",
        help=f"Open it on the {target.title} page",
    ):
        choice, key = _KEYS[name]
        link = {choice: OWN}
        if fits_in_link(source):
            link[key] = source
        st.session_state[_LONG] = source
        st.switch_page(target.file, query_params=link)
