"""The home page: what the app does, a small live example, links to the pages."""

import streamlit as st

from explorer.trace import Trace
from explorer.ui.common.frame import draw_frame
from explorer.ui.common.graph import legend, miniature
from explorer.ui.common.pages import HOME, PAGES
from explorer.ui.common.sandbox_call import run
from explorer.ui.common.startup import warning_for_operator
from explorer.ui.common.values import text

PROGRAM = """\
import torch

x = torch.tensor([3.0, 4.0], requires_grad=True)
length = (x**2).sum().sqrt()
length.backward()
"""

draw_frame("home")
if warning := warning_for_operator():
    st.warning(warning)
left, right = st.columns([0.52, 0.48], gap="large", vertical_alignment="top")

with left:
    st.html(
        f'<div class="ax-hero" id="page"><h1>{HOME.question}</h1>'
        "<p>Type PyTorch code, or paste a program from a tutorial. The app runs it and shows every "
        "value, every gradient and every step of the backward pass.</p></div>"
    )
    for page in PAGES:
        with st.container(border=True, gap="xxsmall", key=f"door-{page.key}"):
            st.page_link(page.file, label=f"**{page.title}**", icon=page.icon)
            st.html(f'<div class="ax-note"><b>{page.question}</b> {page.about}</div>')

with right:
    trace = run(PROGRAM) or Trace(PROGRAM)
    st.code(PROGRAM.rstrip(), wrap_lines=True)
    if trace.passes:
        miniature(trace.passes[0].dot, alt="Graph of the length of a vector", height=400)
        legend(trace.passes[0].dot)
    leaf = next((t for t in trace.tensors if t.name == "x"), None)
    if leaf is not None:
        st.html(
            f'<div class="ax-result">x.grad = {text(leaf.grad)}<span>the unit vector</span></div>'
        )
