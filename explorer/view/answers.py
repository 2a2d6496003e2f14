"""What is said about a program as markup: its error, how it was read, and answers.

All of it may be a stranger's text: it is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from explorer import limits
from explorer.program import ProgramError
from explorer.trace import Answer, Trace
from explorer.trace.examples import Example
from explorer.trace.explain.order import can_be_tried
from explorer.trace.proof.prove import REASONS
from explorer.view.fix import fix_html, room_html
from explorer.view.glossary import optional_term_link

_CODE = re.compile("`([^`]+)`")
#: How many sentences about the program are seen before the line is opened.
_SENTENCES = 2
#: As long as what a try showed.
_TRIED = "x" * 40


def error_html(error: ProgramError, *, change: str = "", place: str = "") -> str:
    """The error box; every part but the markup is escaped. `change` is the markup of its fix, once
    that has been tried, `place` says where it is if that is not a line of the program."""
    where = f"{escape(place) or f'Line {error.line}'}: " if error.line else ""
    parts = [f"<div><b>{where}</b>{escape(error.message)}</div>"]
    if error.text.strip():
        parts.append(f"<pre>{escape(_pointed(error))}</pre>")
    if error.hint or change:
        parts.append(f'<div class="ax-hint">{escape(error.hint)}{change}</div>')
    if error.also:
        others = "".join(
            f"<li>{escape(sentence)}</li>" for sentence in error.also[: limits.ERROR_ALSO]
        )
        parts.append(f'<ul class="ax-hint">{others}</ul>')
    if error.detail:
        parts.append(
            "<details><summary>Original error message</summary>"
            f"<code>{escape(error.detail)}</code></details>"
        )
    style = "ax-error ax-stopped" if error.stopped else "ax-error"
    return f'<div class="{style}" role="alert">{"".join(parts)}</div>'


def _pointed(error: ProgramError) -> str:
    """The line of the program, with a caret below the column if there is one."""
    line = error.text.rstrip("\n")
    indent = len(line) - len(line.lstrip())
    shown = line.strip()
    if error.column is None or not indent < error.column <= indent + len(shown):
        return shown
    return f"{shown}\n{' ' * (error.column - indent)}^"


def notices_html(trace: Trace) -> str:
    """How the text was understood and what was done in another way, in a line that opens to show
    all of it, and the program as it was run."""
    added = trace.completed.rstrip("\n").count("\n") - trace.source.rstrip("\n").count("\n")
    sentences = [sentence.rstrip(".") for sentence in trace.notices]
    if added > 0:
        sentences.insert(0, f"{added} line{'s were' if added > 1 else ' was'} added")
    parts = [_with_code(sentence) for sentence in sentences]
    summary, rest = " · ".join(parts[:_SENTENCES]) or "Shown as it was run", ""
    if len(parts) > _SENTENCES:
        summary += f" · {len(parts) - _SENTENCES} more"
        rest = f"<ul>{''.join(f'<li>{part}.</li>' for part in parts)}</ul>"
    if not is_as_typed(trace):
        copy = f'<button type="button" class="ax-apply" data-copy="{escape(trace.completed)}">'
        program = escape(trace.completed.rstrip())
        rest += f'{copy}Copy</button><pre class="ax-printed">{program}</pre>'
    if not rest:
        return f'<div class="ax-note ax-notices">{summary}</div>'
    return f'<details class="ax-note ax-notices"><summary>{summary}</summary>{rest}</details>'


def _with_code(sentence: str) -> str:
    """A sentence, escaped; what it has between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(sentence))


def is_as_typed(trace: Trace) -> bool:
    """Whether there is no other program to show than that in the editor."""
    return trace.completed.strip() in ("", trace.source.strip())


def answers_html(
    answers: Sequence[Answer],
    source: str,
    *,
    is_tried: bool,
    rest: str = "",
    already: int = 0,
    open: bool,
) -> str:
    """Answers about a program, the first one `open`. With those shown `already`, no more than
    `limits.ANSWERS_SEEN` are seen before the line is opened that counts the others. What waits for
    being tried has only room. `rest` is what follows the program in the editor."""
    parts = []
    waiting = [a for a in answers if not is_tried and can_be_tried(a)]
    for i, answer in enumerate(answers):
        if answer not in waiting:
            change = fix_html(source, answer.fix, rest=rest)
            parts.append(answer_html(answer, change, open=open and i == 0))
            continue
        title = _trying(len(waiting)) if answer is waiting[0] else ""
        room = _room(answer, source, open=open and i == 0)
        parts.append(f'<div class="ax-to-try">{title}{room}</div>')
    seen = max(limits.ANSWERS_SEEN - already, 0)
    if (more := len(parts) - seen) > 0:
        others = "".join(parts[seen:])
        parts[seen:] = [
            f'<details class="ax-more-answers"><summary>{more} more</summary>{others}</details>'
        ]
    return "".join(parts)


def untried_fix_html(source: str, fix: str | None) -> str:
    """The room for the fix of an error that is being tried."""
    if fix is None:
        return ""
    room = f'<div class="ax-room" aria-hidden="true">{room_html(source, fix)}</div>'
    return f'<div class="ax-to-try">{_trying(1)}{room}</div>'


def _trying(count: int) -> str:
    cures = "a cure" if count == 1 else f"{count} cures"
    return f'<div class="ax-note ax-trying" role="status">Trying {cures} …</div>'


def _room(answer: Answer, source: str, *, open: bool) -> str:
    """The room for an answer that may turn out false: as many letters, which say nothing."""

    def blank(text: str) -> str:
        return re.sub(r"\S", "x", text)

    empty = Answer(
        key="",
        title=blank(answer.title),
        text=blank(answer.text),
        cure=blank(answer.cure),
        tried=_TRIED,
    )
    change = room_html(source, answer.fix)
    return f'<div class="ax-room" aria-hidden="true">{answer_html(empty, change, open=open)}</div>'


def example_html(example: Example) -> str:
    """An example's question, and what it shows."""
    return (
        f'<div class="ax-answer"><b>{escape(example.question)}</b> {escape(example.answer)}</div>'
    )


def answer_html(answer: Answer, change: str, *, open: bool = False) -> str:
    """One answer that can be opened, with its change and what that showed."""
    term = f'<div class="ax-term">{optional_term_link(answer.glossary)}</div>'
    cure = f'<div class="ax-cure">{_with_code(answer.cure)}</div>' if answer.cure else ""
    style = "ax-tried ax-untried" if answer.tried in REASONS else "ax-tried"
    tried = f'<div class="{style}">{_with_code(answer.tried)}</div>' if answer.tried else ""
    return (
        f'<details class="ax-answer"{" open" if open else ""}>'
        f"<summary>{escape(answer.title)}</summary>{_with_code(answer.text)}"
        f"{cure}{change}{tried}{term}</details>"
    )
