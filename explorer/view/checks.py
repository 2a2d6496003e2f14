"""What is measured of a program: its gradients against slopes, and hooks against retain_grad."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from explorer.trace import Array, Summary, TensorRecord, Trace
from explorer.trace.check import Check, Element, LeafCheck
from explorer.trace.text import number
from explorer.view import values
from explorer.view.glossary import html, term_link

_VERDICTS = {
    "agrees": "agrees",
    "differs": "differs",
    "kink": "no derivative here",
    "changed": "changed by a hook",
    "unchecked": "not checked",
}
_HEAD = "".join(
    f"<th>{heading}</th>"
    for heading in (
        *(term_link("leaf"), "Verdict", "Checked", "Largest deviation"),
        *(term_link("gradient"), term_link("check", "Measured slope"), "Note"),
    )
)


def check_html(check: Check) -> str:
    """The largest deviation, then a row for each leaf."""
    if check.reason or not check.leaves:
        why = check.reason or "The last backward reached no leaf."
        return f'<div class="ax-note">Not checked: {escape(why)}</div>'
    rows = "".join(map(_row, check.leaves))
    return (
        f'<div class="ax-step">{_summary(check)}</div>'
        f'<table class="ax-plain ax-check"><tr>{_HEAD}</tr>{rows}</table>'
    )


def _summary(check: Check) -> str:
    worst = [(leaf.worst.deviation, leaf) for leaf in check.leaves if leaf.worst]
    wrong = [leaf.name for leaf in check.leaves if leaf.verdict == "differs"]
    if wrong:
        return f"<b>The gradient of {escape(', '.join(wrong))} is wrong.</b>"
    if not worst:
        return "<b>Nothing could be compared.</b>"
    largest, leaf = max(worst, key=lambda pair: pair[0])
    return (
        f"<b>Largest deviation {number(largest)}</b>, at {escape(_place(leaf, leaf.worst))}. "
        f"{sum(leaf.checked for leaf in check.leaves):,} elements compared."
    )


def _place(leaf: LeafCheck, element: Element | None) -> str:
    index = ", ".join(map(str, element.index)) if element else ""
    return f"{leaf.name}[{index}]" if index else leaf.name


def _row(leaf: LeafCheck) -> str:
    worst = leaf.worst
    numbers = (
        (number(worst.deviation), number(worst.gradient), number(worst.numeric))
        if worst
        else ("", "", "")
    )
    kinks = ", ".join(_place(leaf, kink) for kink in leaf.kinks[:4])
    note = " ".join(filter(None, (leaf.note, f"At {kinks}." if kinks else "")))
    cells = (_VERDICTS.get(leaf.verdict, leaf.verdict), f"{leaf.checked} of {leaf.total}", *numbers)
    return (
        f'<tr class="ax-{escape(leaf.verdict)}"><th>{escape(leaf.name)}</th>'
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}<td>{escape(note)}</td></tr>"
    )


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
    one_each = {
        (t.name, t.origin.scope, 0 if t.autograd.version else t.line, t.origin.visit): t
        for t in requested
    }
    tensors = tuple(t for t in one_each.values() if t.autograd.version == 0)
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


def captures_html(comparison: CaptureComparison) -> str:
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
        f"<div><b>{escape(a.name)}</b>, {a.place}, version {a.autograd.version}: "
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
