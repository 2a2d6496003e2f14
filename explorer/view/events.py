"""What happened besides operations, in order: hooks, zero_grad, backward, step, silent writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape

from explorer.trace import Array, Trace
from explorer.trace.records import Change, Event, Unkept
from explorer.trace.text import shape_text
from explorer.view import values
from explorer.view.glossary import Html, html, term_link

#: Characters of a value: what fits next to a tensor's numbers.
_WIDTH = 30
#: How an event's sentence names its kind, where that is a term of the glossary.
_NAMES = {"hook": "hook", "step": "step", "zero_grad": "zero_grad", "backward": "backward"}


def of(trace: Trace, name: str) -> list[Event]:
    """The events a tensor took part in, with what they changed of it."""
    mine = (name, f"{name}.grad")
    events = []
    for event in trace.events:
        changes = tuple(change for change in event.changes if change.name in mine)
        if changes or event.name == name:
            events.append(replace(event, changes=changes or event.changes))
    return events


def all_html(trace: Trace) -> str:
    """All events of a run, and how many are left out."""
    left_out = trace.event_count - sum(event.times for event in trace.events)
    more = f'<div class="ax-note">{left_out:,} events in between are left out.</div>'
    return (more if left_out > 0 else "") + events_html(trace.events, trace.place)


def events_html(events: Sequence[Event], place: Callable[[int], str] = "line {}".format) -> str:
    """A list: number, `place` of the line, what happened, and each change from … to."""
    first = {event.kind: event for event in reversed(events)}
    rows = "".join(
        f"<div><b>{event.number}</b><span>{escape(place(event.line)) if event.line else ''}</span>"
        f"<div>{_what(event, first[event.kind] is event)}</div>"
        f"{''.join(map(_change, event.changes))}</div>"
        for event in events
    )
    return f'<div class="ax-events">{rows}</div>'


def _what(event: Event, first: bool) -> Html:
    """What happened; the first event of a kind opens the glossary at its name."""
    before, name, after = event.what.partition(_NAMES.get(event.kind, "\0"))
    after += f", {event.times:,} times up to event {event.until:,}" if event.times > 1 else ""
    return html(before, term_link(event.kind, name) if first and name else name, after)


def _change(change: Change) -> str:
    before, after = (
        f'<div class="ax-value">{escape(_value(value))}</div>'
        for value in (change.before, change.after)
    )
    return f'<div class="ax-change">{escape(change.name)}: {before} → {after}</div>'


def _value(value: Array | Unkept | None) -> str:
    if isinstance(value, Unkept):
        return f"{shape_text(value.shape)} numbers"
    return values.text(value, rows=3, columns=5, width=_WIDTH)
