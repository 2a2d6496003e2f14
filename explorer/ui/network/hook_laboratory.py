"""The hook laboratory: hooks on a layer, what they receive in order, and what they change."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from explorer import limits
from explorer.networks import HOOK_KINDS, Hook, Report
from explorer.networks.hooks import GradientChange, HookEvent, HookExperiment, HookValue
from explorer.trace.text import array_lines, number, shape_text
from explorer.ui.network.runs import await_run
from explorer.ui.network.selection import PLACE, Shown, pick
from explorer.ui.network.table import figures_table
from explorer.ui.widgets.basics import columns, label, note, refuse, scrolling
from explorer.ui.widgets.query_params import accept_renamed
from explorer.view.glossary import term_link

_MODEL = "(model)"
#: The label of each action, and its initial amount.
_ACTIONS = {
    "look": ("change nothing", None),
    "scale": ("multiply by", 100.0),
    "clip": ("clip to ±", 1e-6),
    "zero": ("set to 0", None),
    "noise": ("add noise ×", 0.01),
}
_START = ("forward", "full_backward", "tensor", "post_accumulate")


def draw_laboratory(shown: Shown) -> None:
    """Draw the choice of hooks, what they receive, and what they change."""
    hooks = _choose_hooks(shown.report)
    if not hooks:
        note("Choose at least one kind of hook.")
        return
    experiment: HookExperiment | None = await_run("tab", "run_hooks", shown.settings, hooks=hooks)
    if experiment is None:
        return
    if experiment.error is not None:
        refuse(f"{experiment.error.message} {experiment.error.hint}".strip())
    left, right = columns(0.6, 0.4)
    with left:
        calls = f" in the order they ran: {len(experiment.events)}"
        label("Calls of the ", term_link("hook", "hooks"), calls)
        st.html(_events_table(experiment.events))
    with right:
        label(term_link("gradient", "Gradients"), " without and with the hooks")
        st.html(_summary(experiment.changes) + _changes_table(experiment.changes))


def _choose_hooks(report: Report) -> tuple[Hook, ...]:
    parameters = {p.name for p in report.parameters if p.trainable}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        place = pick(
            "Layer or parameter",
            PLACE,
            _places(report),
            "Where the hooks are registered",
            start=_middle(report),
            width=210,
            labelled=True,
        )
        allowed = ["tensor", "post_accumulate"] if place in parameters else list(HOOK_KINDS)
        kinds = st.pills(
            "Hooks",
            allowed,
            selection_mode="multi",
            default=[kind for kind in _START if kind in allowed],
            format_func=lambda kind: HOOK_KINDS[kind].title,
            key=f"hooks-{'parameter' if place in parameters else 'layer'}",
            bind="query-params",
            help="Kinds of hook to register, one of each",
        )
        kinds = [kind for kind in allowed if kind in kinds]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        action, amount = _choose_action()
        actor = _choose_actor(kinds) if action != "look" and kinds else ""
        if actor:
            kind = HOOK_KINDS[actor]
            st.html(
                f'<div class="ax-note"><code>{kind.method}</code> {escape(kind.note)}. '
                f"What it returns replaces {escape(kind.replaces)}.</div>",
                width="stretch",
            )
    name = "" if place == _MODEL else place
    return tuple(
        Hook(kind, name, action, amount) if kind == actor else Hook(kind, name) for kind in kinds
    )


def _choose_action() -> tuple[str, float]:
    accept_renamed("action", {"only look": "look"})  # its label in earlier versions
    action = pick(
        "Action",
        "action",
        list(_ACTIONS),
        "A hook may return a value that replaces what it receives",
        start="scale",
        width=170,
        labelled=True,
        format_func=lambda name: _ACTIONS[name][0],
    )
    start = _ACTIONS[action][1]
    if start is None:
        return action, 1.0
    amount = st.number_input(
        "Amount",
        value=start,
        format="%g",
        key=f"amount-{action}",
        bind="query-params",
        width=120,
        help="The factor, the bound, or the standard deviation of the noise",
    )
    return action, start if amount is None else float(amount)


def _choose_actor(kinds: Sequence[str]) -> str:
    """Draw the choice of the hook that acts; at first a backward one."""
    first = next((k for k in ("full_backward", "backward", "tensor") if k in kinds), kinds[0])
    return pick(
        "Performed by",
        "actor",
        kinds,
        "The hook that changes what it receives; the others change nothing",
        start=first,
        width=190,
        labelled=True,
        format_func=lambda kind: HOOK_KINDS[kind].title,
    )


def _places(report: Report) -> list[str]:
    calls = report.structure.calls if report.structure else report.layers
    layers = dict.fromkeys(call.name or _MODEL for call in calls)
    return [*layers, *(p.name for p in report.parameters if p.trainable)] or [_MODEL]


def _middle(report: Report) -> str:
    """A layer with parameters, half way through the network."""
    layers = [row.name for row in report.layers if row.params and row.call is not None]
    return layers[(len(layers) - 1) // 2] if layers and layers[0] else _MODEL


def _events_table(events: Sequence[HookEvent]) -> str:
    rows = []
    for event in events[: limits.MOST_HOOK_CALLS]:
        kind = HOOK_KINDS[event.kind].title + (f", call {event.call + 1}" if event.call else "")
        changes = ' <b class="ax-changed-value">changes it</b>' if event.changed else ""
        for i, received in enumerate(event.values):
            first = f"<th>{event.number + 1}</th><td>{escape(kind)}{changes}</td>"
            value = "\n".join(array_lines(received.value)) or "None"
            name, shape = escape(_label(event, received)), escape(shape_text(received.shape))
            rows.append(
                f"<tr>{first if i == 0 else '<td></td><td></td>'}<td>{name}</td><td>{shape}</td>"
                f"<td><pre>{escape(value)}</pre></td></tr>"
            )
    rest = len(events) - limits.MOST_HOOK_CALLS
    more = (
        f'<div class="ax-note">The first {limits.MOST_HOOK_CALLS} of {len(events)} calls.</div>'
        if rest > 0
        else ""
    )
    head = "<tr><th>Call</th><th>Hook</th><th>Receives</th><th>Shape</th><th>Values</th></tr>"
    table = f'<table class="ax-plain ax-calls">{head}{"".join(rows)}</table>'
    return scrolling(table, "Calls of the hooks") + more


def _label(event: HookEvent, received: HookValue) -> str:
    """The label of a value; with the parameter's name before .grad."""
    parameter = event.place.rpartition(".")[2] if received.label == ".grad" else ""
    return parameter + received.label


def _summary(changes: Sequence[GradientChange]) -> str:
    parameters = [c for c in changes if not c.name.startswith("input ")]
    changed = [c.name for c in parameters if not c.same]
    if not parameters:
        return ""
    names = ", ".join(changed[:4]) + (f" and {len(changed) - 4} more" if changed[4:] else "")
    count = f"{len(changed)} of {len(parameters)} parameter gradients change"
    return f'<div class="ax-step"><b>{count}</b>{": " + escape(names) if names else ""}.</div>'


def _changes_table(changes: Sequence[GradientChange]) -> str:
    rows = "".join(
        f'<tr class="{"" if c.same else "ax-changed"}"><th>{escape(c.name)}</th>'
        f"<td>{_norm(c.norm_before)}</td><td>{_norm(c.norm_after)}</td>"
        f"<td>{'same' if c.same else _ratio(c)}</td></tr>"
        for c in changes
    )
    head = ("Gradient of", "Without hooks", "With hooks", "")
    return figures_table(head, rows, "Gradients without and with the hooks")


def _norm(value: float | None) -> str:
    return "None" if value is None else number(value)


def _ratio(change: GradientChange) -> str:
    ratio = change.ratio
    return "changed" if ratio != ratio else f"× {ratio:.4g}"
