"""Hooks compared with retain_grad: the bytes each keeps, and where their gradients differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import numpy as np
import streamlit as st

from explorer.trace import Array, Summary, TensorRecord, Trace
from explorer.ui.common import values
from explorer.ui.common.glossary import html, term_link


@dataclass(frozen=True)
class CaptureComparison:
    """What it costs to read the gradients of non-leaves, and where the two ways differ.

    `retained` is the number of bytes of the `.grad` that retain_grad keeps as long as the tensors
    live. `differ` pairs the records of the tensors whose gradients differ.
    """

    tensors: tuple[TensorRecord, ...]
    retained: int
    differ: tuple[tuple[TensorRecord, TensorRecord], ...]


def compare_captures(hooked: Trace, retained: Trace) -> CaptureComparison:
    """Compare the traces of one program run with hooks and with retain_grad."""
    requested = [t for t in retained.tensors if t.grad_from == ".grad" and not t.is_leaf]
    # An in-place change makes a new record of one tensor, which has one .grad.
    one_each = {(t.name, t.scope, t.line if t.version == 0 else 0, t.visit): t for t in requested}
    tensors = tuple(t for t in one_each.values() if t.version == 0)
    by_id = {t.id: t for t in hooked.tensors}
    pairs = [(by_id[t.id], t) for t in retained.tensors if t.id in by_id]
    differ = tuple((a, b) for a, b in pairs if not _equal(a.grad, b.grad))
    return CaptureComparison(tensors, sum(t.nbytes for t in tensors), differ)


def _equal(a: Array | None, b: Array | None) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, Summary) or isinstance(b, Summary):
        return (
            isinstance(a, Summary)
            and isinstance(b, Summary)
            and (a.mean, a.norm) == (b.mean, b.norm)
        )
    return a.shape == b.shape and bool(np.allclose(a, b, equal_nan=True))


def memory_panel(trace: Trace, other: Callable[[str], Trace | None]) -> None:
    """Draw the comparison. `other` runs the same program with another capture; None while it
    runs."""
    hooked, retained = (
        trace if trace.capture == capture else other(capture) for capture in ("hook", "retain_grad")
    )
    if hooked is None or retained is None:
        return
    st.html(as_html(compare_captures(hooked, retained)))


def as_html(comparison: CaptureComparison) -> str:
    """Bytes of each way, the tensors concerned, and every gradient that differs."""
    names = ", ".join(dict.fromkeys(f"{t.name} ({t.nbytes:,})" for t in comparison.tensors[:20]))
    rows = [
        (
            html("A ", term_link("hook", "hook"), " that only reads"),
            "0 bytes",
            "It is called as the gradient passes.",
        ),
        (
            "A hook that stores what it reads",
            f"{comparison.retained:,} bytes",
            "As much as retain_grad, for as long as you keep it.",
        ),
        (
            term_link("retain_grad"),
            f"{comparison.retained:,} bytes",
            html("One .grad for each ", term_link("non-leaf", "non-leaf"), f": {names}.")
            if names
            else "The program has no non-leaf tensor.",
        ),
    ]
    table = "".join(
        f"<tr><th>{html(a)}</th><td>{html(b)}</td><td>{html(c)}</td></tr>" for a, b, c in rows
    )
    return f'<table class="ax-plain">{table}</table>{_differences(comparison)}'


def _differences(comparison: CaptureComparison) -> str:
    if not comparison.differ:
        return '<div class="ax-note">Both ways give the same gradients for this program.</div>'
    lines = "".join(
        f"<div><b>{escape(a.name)}</b>, {a.place}, version {a.version}: "
        f"a hook read <code>{escape(values.text(a.grad))}</code>, retain_grad holds "
        f"<code>{escape(values.text(b.grad))}</code></div>"
        for a, b in comparison.differ[:8]
    )
    return (
        '<div class="ax-note">They differ where a tensor was changed in place: a hook registered '
        "before the change sees the gradient of the old value, retain_grad keeps the gradient of "
        "the new one."
        f"{lines}</div>"
    )
