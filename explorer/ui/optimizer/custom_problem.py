"""The reader's own problem: a box that sets up and a box that computes the loss."""

from __future__ import annotations

import streamlit as st

from explorer.language import ProgramError
from explorer.training import ProgramProblem
from explorer.ui.common.editor import COLOURS

SETUP, LOSS = "setup", "loss"
_START = ProgramProblem(
    setup="""\
import torch
from torch import nn

x = torch.linspace(-2, 2, 40).view(-1, 1)
y = torch.sin(2 * x)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
""",
    loss="loss = ((net(x) - y) ** 2).mean()\n",
)
_LINE, _TOP = 20, 8
_LINES = 6


def boxes() -> ProgramProblem:
    """Draw both boxes, side by side; their texts live in the address."""
    left, right = st.container().columns([0.6, 0.4], gap="small")
    with left, st.container(key="own-setup", gap=None):
        setup = _box(
            "Setup: makes the parameters, once",
            SETUP,
            _START.setup,
            "Runs at the start and at every reset. Its leaves that require grad, and those of its "
            "modules, are the parameters.",
        )
    with right, st.container(key="own-loss", gap=None):
        loss = _box(
            "Loss: its last scalar is minimised, every forward",
            LOSS,
            _START.loss,
            "Runs at every forward and may use all names of the setup",
        )
    return ProgramProblem(setup=setup, loss=loss)


def _box(label: str, key: str, start: str, help: str) -> str:
    height = _LINE * _LINES + 2 * _TOP + 2
    text = st.text_area(label, start, height=height, key=key, bind="query-params", help=help)
    return text or ""


def mark(error: ProgramError | None) -> None:
    """Mark the line that failed in the box it stands in; called once per run."""
    line = error.line if error else None
    part = "setup" if error and error.message.startswith("In the setup") else "loss"
    rules = (
        ""
        if line is None
        else (
            f".st-key-own-{part} textarea {{ background-image: "
            f"linear-gradient({COLOURS['error']}, {COLOURS['error']}), var(--ax-gutter); "
            f"background-position: 0 {_TOP + (line - 1) * _LINE}px, 0 {_TOP}px; "
            f"background-size: 100% {_LINE}px, auto; }}"
        )
    )
    st.html(f"<style>{rules}</style>" if rules else "<style>.ax-none {}</style>")
