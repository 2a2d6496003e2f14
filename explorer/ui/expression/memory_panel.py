"""Hooks against retain_grad: the bytes each keeps, and where their gradients differ."""

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
class Held:
    """What reading the gradients of non-leaves costs, and what the two ways disagree about.

    `retained` and `stored` are bytes: of the `.grad` that retain_grad keeps until the tensors go,
    and of what the operations had saved for backward besides.
    """

    tensors: tuple[TensorRecord, ...]
    retained: int
    differ: tuple[tuple[TensorRecord, TensorRecord], ...]


def held(hooked: Trace, retained: Trace) -> Held:
    """Compare the traces of one program run with hooks and with retain_grad."""
    asked = [t for t in retained.tensors if t.grad_from == ".grad" and not t.is_leaf]
    # An in-place change makes a new record of one tensor, which has one .grad.
    one_each = {(t.name, t.scope, t.line if t.version == 0 else 0, t.visit): t for t in asked}
    tensors = tuple(t for t in one_each.values() if t.version == 0)
    by_id = {t.id: t for t in hooked.tensors}
    pairs = [(by_id[t.id], t) for t in retained.tensors if t.id in by_id]
    differ = tuple((a, b) for a, b in pairs if not _equal(a.grad, b.grad))
    return Held(tensors, sum(t.nbytes for t in tensors), differ)


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


def memory_panel(trace: Trace, other: Callable[[str], Trace]) -> None:
    """`other` runs the same program with the capture it is given."""
    ways = {way: trace if trace.capture == way else other(way) for way in ("hook", "retain_grad")}
    st.html(as_html(held(ways["hook"], ways["retain_grad"])))


def as_html(found: Held) -> str:
    """Bytes of each way, the tensors concerned, and every gradient that differs."""
    names = ", ".join(dict.fromkeys(f"{t.name} ({t.nbytes:,})" for t in found.tensors[:20]))
    rows = [
        (
            html("A ", term_link("hook", "hook"), " that only looks"),
            "0 bytes",
            "It is called while the gradient passes by.",
        ),
        (
            "A hook that stores what it sees",
            f"{found.retained:,} bytes",
            "As much as retain_grad, for as long as you keep it.",
        ),
        (
            term_link("retain_grad"),
            f"{found.retained:,} bytes",
            html("One .grad for each ", term_link("non-leaf", "non-leaf"), f": {names}.")
            if names
            else "There is no non-leaf to keep.",
        ),
    ]
    table = "".join(
        f"<tr><th>{html(a)}</th><td>{html(b)}</td><td>{html(c)}</td></tr>" for a, b, c in rows
    )
    return f'<table class="ax-plain">{table}</table>{_differences(found)}'


def _differences(found: Held) -> str:
    if not found.differ:
        return '<div class="ax-note">Both ways give the same gradients for this program.</div>'
    lines = "".join(
        f"<div><b>{escape(a.name)}</b>, line {a.line}, version {a.version}: "
        f"a hook saw <code>{escape(values.text(a.grad))}</code>, retain_grad holds "
        f"<code>{escape(values.text(b.grad))}</code></div>"
        for a, b in found.differ[:8]
    )
    return (
        '<div class="ax-note">They differ where a tensor was changed in place: a hook set before '
        "the change sees the gradient of the old value, retain_grad keeps that of the new one."
        f"{lines}</div>"
    )
