"""The hook laboratory: hooks in a place, what they see in order, and what they change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from explorer.networks import ACTIONS, KINDS, Change, Event, Experiment, Hook, Report
from explorer.networks.hooks import Seen
from explorer.trace.text import array_lines, number, shape_text
from explorer.ui.common.glossary import term_link
from explorer.ui.common.layout import columns
from explorer.ui.common.widgets import label, note, refuse, scrolling
from explorer.ui.network import pick, runs
from explorer.ui.network.job_progress import result
from explorer.ui.network.settings import Setting

_MODEL = "(model)"
#: Each action's words and the amount it begins with.
_ACTS = {
    "look": ("only look", None),
    "scale": ("multiply by", 100.0),
    "clip": ("clip to ±", 1e-6),
    "zero": ("set to 0", None),
    "noise": ("add noise ×", 0.01),
}
_START = ("forward", "full_backward", "tensor", "post_accumulate")
_MOST = 60


def section(setting: Setting, report: Report) -> None:
    """Choose hooks, and see."""
    hooks = _choose(report)
    if not hooks:
        note("Choose a kind of hook.")
        return
    key = f"trial {setting.key} {hooks!r}"
    found: Experiment | None = result("tab", key, partial(runs.trial, setting, hooks))
    if found is None:
        return
    if found.error is not None:
        refuse(f"{found.error.message} {found.error.hint}".strip())
    left, right = columns(0.6, 0.4)
    with left:
        label("What the ", term_link("hook", "hooks"), f" saw, in order: {len(found.events)}")
        st.html(_events(found.events))
    with right:
        label(term_link("gradient", "Gradients"), " without and with the hooks")
        st.html(_summary(found.changes) + _changes(found.changes))


def _choose(report: Report) -> tuple[Hook, ...]:
    parameters = {p.name for p in report.parameters if p.trainable}
    places = _places(report)
    start = _middle(report)
    pick.among(pick.PLACE, places, start)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        place = st.selectbox(
            "Layer or parameter",
            places,
            places.index(start),
            key=pick.PLACE,
            bind="query-params",
            width=210,
            help="Where the hooks are registered",
        )
        place = place if place in places else start
        allowed = ["tensor", "post_accumulate"] if place in parameters else list(KINDS)
        kinds = st.pills(
            "Hooks",
            allowed,
            selection_mode="multi",
            default=[kind for kind in _START if kind in allowed],
            format_func=lambda kind: KINDS[kind].title,
            key=f"hooks-{'parameter' if place in parameters else 'layer'}",
            bind="query-params",
            help="Which kinds of hook; each is registered once",
        )
        kinds = [kind for kind in allowed if kind in kinds]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        action, amount = _action()
        actor = _actor(kinds) if action != "look" and kinds else ""
        if actor:
            kind = KINDS[actor]
            st.html(
                f'<div class="ax-note"><code>{kind.method}</code> {escape(kind.note)}. '
                f"What it returns replaces {escape(kind.changes)}.</div>",
                width="stretch",
            )
    name = "" if place == _MODEL else place
    return tuple(
        Hook(kind, name, action, amount) if kind == actor else Hook(kind, name) for kind in kinds
    )


def _action() -> tuple[str, float]:
    action = st.selectbox(
        "What one of them does",
        list(_ACTS),
        1,
        format_func=lambda name: _ACTS[name][0],
        key="action",
        bind="query-params",
        width=170,
        help="A hook may return something else in the place of what it sees",
    )
    action = action if action in ACTIONS else "look"
    start = _ACTS[action][1]
    if start is None:
        return action, 1.0
    amount = st.number_input(
        "Amount",
        value=start,
        format="%g",
        key=f"amount-{action}",
        bind="query-params",
        width=120,
        help="The factor, the bound, or the size of the noise",
    )
    return action, start if amount is None else float(amount)


def _actor(kinds: Sequence[str]) -> str:
    """Which of the hooks acts: a backward one at first."""
    first = next((k for k in ("full_backward", "backward", "tensor") if k in kinds), kinds[0])
    pick.among("actor", kinds, first)
    chosen = st.selectbox(
        "Done by",
        kinds,
        kinds.index(first),
        format_func=lambda kind: KINDS[kind].title,
        key="actor",
        bind="query-params",
        width=190,
        help="Which of the hooks changes what it sees; the others only look",
    )
    return chosen if chosen in kinds else first


def _places(report: Report) -> list[str]:
    calls = report.structure.calls if report.structure else report.layers
    layers = dict.fromkeys(call.name or _MODEL for call in calls)
    return [*layers, *(p.name for p in report.parameters if p.trainable)] or [_MODEL]


def _middle(report: Report) -> str:
    """A layer with parameters, half way along the network."""
    held = [row.name for row in report.layers if row.params and row.call is not None]
    return held[(len(held) - 1) // 2] if held and held[0] else _MODEL


def _events(events: Sequence[Event]) -> str:
    rows = []
    for event in events[:_MOST]:
        kind = KINDS[event.kind].title + (f", call {event.call + 1}" if event.call else "")
        acted = ' <b class="ax-acted">changes it</b>' if event.changed else ""
        for i, seen in enumerate(event.seen):
            first = f"<th>{event.number + 1}</th><td>{escape(kind)}{acted}</td>"
            value = "\n".join(array_lines(seen.value)) or "None"
            sees, shape = escape(_sees(event, seen)), escape(shape_text(seen.shape))
            rows.append(
                f"<tr>{first if i == 0 else '<td></td><td></td>'}<td>{sees}</td><td>{shape}</td>"
                f"<td><pre>{escape(value)}</pre></td></tr>"
            )
    rest = len(events) - _MOST
    more = f'<div class="ax-note">The first {_MOST} of {len(events)}.</div>' if rest > 0 else ""
    head = "<tr><th>Call</th><th>Hook</th><th>Sees</th><th>Shape</th><th>Values</th></tr>"
    table = f'<table class="ax-plain ax-seen">{head}{"".join(rows)}</table>'
    return scrolling(table, "What the hooks saw") + more


def _sees(event: Event, seen: Seen) -> str:
    """Of a layer with several parameters, whose .grad it is."""
    return event.place.rpartition(".")[2] + seen.label if seen.label == ".grad" else seen.label


def _summary(changes: Sequence[Change]) -> str:
    own = [c for c in changes if not c.name.startswith("input ")]
    moved = [c.name for c in own if not c.same]
    if not own:
        return ""
    names = ", ".join(moved[:4]) + (f" and {len(moved) - 4} more" if moved[4:] else "")
    words = f"{len(moved)} of {len(own)} parameter gradients change"
    return f'<div class="ax-step"><b>{words}</b>{": " + escape(names) if names else ""}.</div>'


def _changes(changes: Sequence[Change]) -> str:
    rows = "".join(
        f'<tr class="{"" if c.same else "ax-changed"}"><th>{escape(c.name)}</th>'
        f"<td>{_norm(c.norm_before)}</td><td>{_norm(c.norm_after)}</td>"
        f"<td>{'same' if c.same else _ratio(c)}</td></tr>"
        for c in changes
    )
    head = "<tr><th>Gradient of</th><th>Norm without</th><th>with</th><td></td></tr>"
    table = f'<table class="ax-plain ax-figures">{head}{rows}</table>'
    return scrolling(table, "Gradients without and with the hooks")


def _norm(value: float | None) -> str:
    return "None" if value is None else number(value)


def _ratio(change: Change) -> str:
    ratio = change.ratio
    return "changed" if ratio != ratio else f"× {ratio:.4g}"
