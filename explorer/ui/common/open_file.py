"""Opens a program or notebook of the reader's: the browser reads the file and turns it into a text
for the editor, as typing would. The file itself is never sent.

Where nothing keeps a program from this machine, the text is sent ahead, so that it waits until its
reader has seen it (consent.py)."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from explorer import limits, sandbox
from explorer.ui.common.consent import OPEN_FILE

#: The largest file in bytes: outputs with pictures make a notebook large, its code is small.
MAX_FILE = 50_000_000

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "open_file",
    html="""
<button type="button" class="open" title="Replaces your program with a .py file or a notebook;
Ctrl+Z brings it back. You can also drop the file on the editor">Open file</button>
<input type="file" accept=".py,.ipynb,.txt" hidden aria-label="Program or notebook">
<span class="said" role="status"></span>
""",
    css=(_HERE / "open_file.css").read_text(encoding="utf-8"),
    js="".join((_HERE / name).read_text("utf-8") for name in ("notebook_text.js", "open_file.js")),
)


def open_file() -> None:
    """Draw the button that opens a file."""
    data = {"most": limits.MAX_SOURCE, "largest": MAX_FILE, "tells": bool(sandbox.missing())}
    _component(key=OPEN_FILE, data=data, width="content", on_opened_change=lambda: None)
