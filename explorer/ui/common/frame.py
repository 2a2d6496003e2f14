"""The frame every page stands in: one registry of pages, page settings, navigation, styles.

There is no `st.navigation`: beside a `pages/` folder it runs a page without `app.py` on a cold
deep link. Every page draws this frame itself instead.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import torch

from explorer import sandbox
from explorer.ui.common import collector, editor, palette
from explorer.ui.common.glossary_dialog import lookup

_STYLE = Path(__file__).with_name("style.css")
_ICON = str(Path(__file__).with_name("icon.svg"))
NAME = "Autograd Explorer"
#: Seen while it has the keyboard's focus. Streamlit's own link leads to before the navigation.
_SKIP = '<a class="ax-skip" href="#page">Skip the navigation</a>'


@dataclass(frozen=True)
class Page:
    """A page as navigation, the entrance and the tests know it.

    `file` is relative to the project's root; `icon` a Material symbol; `question` the headline.
    """

    key: str
    title: str
    icon: str
    file: str
    question: str
    about: str = ""


HOME = Page(
    "home",
    "Home",
    ":material/home:",
    "app.py",
    "See what autograd does",
)

#: Every page but the entrance, in the order of the navigation.
PAGES = (
    Page(
        "expression",
        "Expression",
        ":material/account_tree:",
        "pages/expression.py",
        "Where does each gradient come from?",
        "Type a tensor program. See its graph, every value and every gradient.",
    ),
    Page(
        "network",
        "Network",
        ":material/lan:",
        "pages/network.py",
        "What reaches each layer?",
        "Pick a network. See every layer's gradient, cost and graph, and put hooks on it.",
    ),
    Page(
        "optimizer",
        "Optimizer",
        ":material/trending_down:",
        "pages/optimizer.py",
        "What does step() do to each number?",
        "Press zero_grad, forward, backward and step. See every number, and the arithmetic.",
    ),
    Page(
        "feature_maps",
        "Feature maps",
        ":material/image_search:",
        "pages/feature_maps.py",
        "What does each layer see?",
        "Upload an image. See what every layer of a network makes of it, and why it decides.",
    ),
)


@functools.cache
def _settle() -> None:
    """Once per process: start the sandbox, so that the first program need not wait for it, give
    each reader's thread one processor (helper threads get in the others' way), have a GPU round
    float32 no more than the CPU does, and spare the garbage collector the imported modules."""
    sandbox.start()
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    collector.spare_when_idle()


@functools.cache
def _styles() -> str:
    """The styles of all pages, in one element."""
    gutter = f":root {{ --ax-gutter: {editor.gutter()}; }}"
    return f"<style>{palette.css()}{gutter}{_STYLE.read_text(encoding='utf-8')}</style>"


def page(key: str) -> Page:
    """Draw the frame of the page `key` and return its entry. The first call of every page."""
    here = next(p for p in (HOME, *PAGES) if p.key == key)
    st.set_page_config(
        page_title=NAME if here is HOME else f"{here.title} · {NAME}",
        page_icon=_ICON,
        layout="wide",
    )
    try:
        _settle()
    except sandbox.OptionError as error:
        st.error(f"The app cannot start. {error}")
        st.stop()
    st.html(_styles())
    with st.container(horizontal=True, vertical_alignment="center", gap="xxsmall", key="pages"):
        st.html(_SKIP, width="content")
        st.page_link(HOME.file, label=f"**{NAME}**")
        lookup(here.key)
        for entry in PAGES:
            st.page_link(entry.file, label=entry.title, icon=entry.icon)
    if here is not HOME:
        st.html(f'<div class="ax-head" id="page"><h1>{here.question}</h1></div>')
    return here
