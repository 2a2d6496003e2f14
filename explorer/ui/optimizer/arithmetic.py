"""The update of the picked number, written out: the rule, and each line with its numbers."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st

from explorer.trace.records import WHOLE
from explorer.training import TrainingSession, Update
from explorer.training.numbers import element
from explorer.ui.common.glossary import term_link
from explorer.ui.optimizer.numbers import Element
from explorer.ui.optimizer.workspace import Workspace

_STEPS = ("step", "iterate", "run")


def arithmetic(space: Workspace, at: Element) -> None:
    """The last step if that was just taken, otherwise the step to come."""
    view = space.view
    stepped = space.run is not None or (space.event is not None and space.event.action in _STEPS)
    last, coming = view.last.get(at.name), view.next.get(at.name)
    found = last if (stepped and last) or coming is None else coming
    name = element(at.name, at.index(view.parameters[at.name].value.shape))
    if found is None:
        if view.parameters[at.name].grad is None:
            _say(f"{name} has no gradient yet, so step would leave it alone.")
        else:
            _say("step would fail: a setting is too large for the parameters' dtype.")
        return
    whole = _whole(space, at, found is last)
    index = _index(whole or found, at, view.parameters[at.name].value.shape)
    if index is None:
        _say(f"The arithmetic is shown for the first {WHOLE:,} numbers of a tensor.")
        return
    used = whole or found
    title = "The last step" if found is last else "step, if pressed now"
    st.html(
        f'<div class="ax-sum"><b>{title}</b> for {escape(name)}, '
        f"{term_link('optimizer', used.optimizer)}</div>"
    )
    with st.container(key="rule", gap="xxsmall"):
        lines = r" \\ ".join(
            rf"&{term.formula} &&\footnotesize\textsf{{{_for_latex(term.meaning)}}}"
            for term in used.terms
        )
        st.latex(rf"\begin{{aligned}}{lines}\end{{aligned}}")
    rows = "".join(f"<div>{escape(line)}</div>" for line in used.at(index))
    st.html(f'<div class="ax-sums">{rows}</div>')


def _whole(space: Workspace, at: Element, last: bool) -> Update | None:
    """The arithmetic of every number, where the view holds the first only and it can be had."""
    session = space.session
    if at.place < WHOLE or not isinstance(session, TrainingSession):
        return None
    with space.lock:
        return session.last_update(at.name) if last else session.next_update(at.name)


def _index(update: Update, at: Element, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where the number stands in the arithmetic's arrays: they may be flattened, or hold complex
    numbers as pairs, of which the real part is taken."""
    after = update.after
    index = at.index(shape)
    if after.shape[: len(shape)] == tuple(shape):
        return index + (0,) * (after.ndim - len(shape))
    if at.place >= len(after):
        return None
    return (at.place, *(0,) * (np.ndim(after) - 1))


def _for_latex(words: str) -> str:
    return words.replace("_", r"\_")


def _say(sentence: str) -> None:
    st.html(f'<div class="ax-note">{escape(sentence)}</div>')
