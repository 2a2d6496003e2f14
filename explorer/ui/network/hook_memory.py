"""What it costs to look: bytes that three ways of seeing gradients keep."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from explorer.networks import Held
from explorer.ui.common.glossary import Html, html, term_link
from explorer.ui.common.widgets import note
from explorer.ui.network import runs
from explorer.ui.network.job_progress import result
from explorer.ui.network.settings import Setting
from explorer.ui.network.table import size

_CODE = {
    "hook that prints": "output.register_hook(print)",
    "hook that stores": "output.register_hook(seen.append)",
    "retain_grad": "output.retain_grad()",
}


def section(setting: Setting) -> None:
    """The three ways, measured on this network."""
    found: tuple[Held, ...] | None = result(
        "tab", f"held {setting.key}", partial(runs.held, setting)
    )
    if found is None:
        return
    st.html(_table(found))
    note(
        "On the output of every layer. Measured after backward by weak references to the memory "
        "of each gradient; those of parameters and inputs are not counted."
    )


def _way(name: str) -> Html:
    """A way's name, which begins with the term for it."""
    first, space, rest = name.partition(" ")
    return html(term_link(first, first), space + rest)


def _table(found: Sequence[Held]) -> str:
    most = max((held.bytes for held in found), default=0) or 1
    rows = "".join(
        f"<tr><th>{_way(held.way)}</th><td><code>{_CODE.get(held.way, '')}</code></td>"
        f"<td>{held.seen}</td><td>{held.tensors}</td><td>{size(held.bytes)}</td>"
        f'<td><i class="ax-held" style="width:{9 * held.bytes / most:.2f}rem"></i></td></tr>'
        for held in found
    )
    head = "<tr><td></td><td></td><th>Gradients seen</th><th>kept</th><th>Memory</th><td></td></tr>"
    return f'<table class="ax-plain ax-keeping">{head}{rows}</table>'
