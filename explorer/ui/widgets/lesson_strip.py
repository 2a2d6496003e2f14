"""The strip above a page while a lesson runs on it: where the reader is, what is asked, whether it
is done, and the way on.

The link has all of it: `lesson=start`, `lesson.at=3` and `lesson.done=1,2`. A step is a link of its
page, so the way to the next one is an ordinary link, and so is the way out: home offers to resume
what its own link, or the session, has. Pages tell `see` what they show; a step is done once that
meets its conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from explorer.lessons import Lesson, Onward, Seen, Step, find_lesson, lessons
from explorer.ui.pages import HOME, Page, page
from explorer.ui.widgets.query_params import Param, report_invalid

#: In the session: the strip of this run, and the newest query of a lesson, which home resumes.
_STRIP, _NEWEST = "lesson.strip", "lesson.newest"
_NAME = Param("lesson", None, find_lesson)
_AT, _DONE = "lesson.at", "lesson.done"


@dataclass(frozen=True)
class Progress:
    """How far a reader is: at step `at`, counted from 1; the steps that are `done`."""

    lesson: Lesson
    at: int = 1
    done: frozenset[int] = frozenset()

    @property
    def step(self) -> Step:
        return self.lesson.steps[self.at - 1]

    @property
    def query(self) -> dict[str, str]:
        """What a link has of it."""
        done = {_DONE: ",".join(map(str, sorted(self.done)))} if self.done else {}
        return {_NAME.key: self.lesson.name, _AT: str(self.at), **done}

    @property
    def address(self) -> str:
        """The link of the step, relative to any page."""
        return _address(page(self.step.page), self.step.query | self.query)


@dataclass
class _Strip:
    """The strip of one run of a page: its place, and what has been seen of the page."""

    progress: Progress
    page: Page
    place: Any
    seen: Seen = field(default_factory=Seen)


def draw_strip(here: Page) -> None:
    """Draw the strip of the lesson in the link, if there is one; on the home page none."""
    st.session_state.pop(_STRIP, None)
    progress = read_progress()
    if progress is None or here is HOME:
        return
    st.session_state[_NEWEST] = progress.query
    strip = _Strip(progress, here, st.empty())
    st.session_state[_STRIP] = strip
    _draw(strip)


def current_step() -> tuple[Step | None, bool]:
    """The step that the page shows, and whether it is done."""
    strip: _Strip | None = st.session_state.get(_STRIP)
    if strip is None or strip.page.key != strip.progress.step.page:
        return None, False
    return strip.progress.step, strip.progress.at in strip.progress.done


def see(**facts: Any) -> None:
    """Tell what the page shows, by the names of `Seen`: the step may be done by it.

    The strip is drawn each time: a fragment may draw here only if it does so in each of its runs.
    """
    strip: _Strip | None = st.session_state.get(_STRIP)
    if strip is None:
        return
    strip.seen = replace(strip.seen, **facts)
    (step, is_done), progress = current_step(), strip.progress
    if step is not None and not is_done and step.is_done(strip.seen):
        strip.progress = replace(progress, done=progress.done | {progress.at})
        st.session_state[_NEWEST] = strip.progress.query
        st.query_params[_DONE] = strip.progress.query[_DONE]
    _draw(strip)


def read_progress() -> Progress | None:
    """The lesson in the link, and how far it is; a sentence for what cannot be used."""
    lesson: Lesson | None = _NAME.read()
    if lesson is None:
        report_invalid(_NAME.key, **{_NAME.key: "none"})
        return None
    count = len(lesson.steps)
    at = Param(_AT, 1, partial(_step_number, count)).read()
    done = Param(_DONE, frozenset(), partial(_step_numbers, count)).read()
    report_invalid(_AT, _DONE, **{_AT: at, _DONE: "none"})
    return Progress(lesson, at, done)


def resumed() -> Progress | None:
    """For the home page: the lesson that the reader has left."""
    progress = read_progress()
    if progress is not None:
        st.session_state[_NEWEST] = progress.query
        return progress
    newest: dict[str, str] | None = st.session_state.get(_NEWEST)
    if newest is None:
        return None
    lesson = find_lesson(newest[_NAME.key])
    done = _step_numbers(len(lesson.steps), newest.get(_DONE, ""))
    return Progress(lesson, int(newest[_AT]), done)


def first_address(lesson: Lesson) -> str:
    """The link of a lesson's first step."""
    return Progress(lesson).address


def _step_number(count: int, text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 4 else 0
    if not 1 <= number <= count:
        raise ValueError(text)
    return number


def _step_numbers(count: int, text: str) -> frozenset[int]:
    return frozenset(_step_number(count, part) for part in text[:100].split(",") if part)


def _address(there: Page, query: dict[str, str]) -> str:
    """A page with this query, relative to any page."""
    path = "./" if there is HOME else there.file.removeprefix("pages/").removesuffix(".py")
    return f"{path}?{urlencode(query)}" if query else path


def _draw(strip: _Strip) -> None:
    """Every text may be a stranger's."""
    progress, step = strip.progress, strip.progress.step
    count, is_done = len(progress.lesson.steps), progress.at in progress.done
    is_last = progress.at == count
    text = escape((is_done and step.answer) or step.question)
    if is_done and is_last:
        onward = " · ".join(filter(None, map(_onward_link, progress.lesson.onward)))
        end = f"Next: {onward}" if onward else "This was the last step."
        text = f"{escape(step.answer)} {end}"
    elif strip.page.key != step.page:
        text = f'This step is on the page <a href="{escape(progress.address)}">' + (
            f"{escape(page(step.page).title)}</a>."
        )
    ways = [f'<span role="status">{"✓ Done" if is_done else ""}</span>']
    if progress.at > 1:
        ways.append(_way("Back", replace(progress, at=progress.at - 1).address))
    if not is_last:
        address = replace(progress, at=progress.at + 1).address
        ways.append(_way("Next" if is_done else "Skip", address, "next" if is_done else ""))
    ways.append(_way("Leave", _address(HOME, progress.query)))
    strip.place.html(
        f'<section class="ax-strip{" done" * is_done}" aria-label="Lesson">'
        f"<p><span>{escape(progress.lesson.title)}, "
        f"step {progress.at} of {count}</span> <b>{escape(step.title)}</b> {text}</p>"
        f'<nav aria-label="Steps of the lesson">{"".join(ways)}</nav></section>'
    )


def _way(label: str, address: str, style: str = "") -> str:
    return f'<a class="{style}" href="{escape(address)}">{label}</a>'


def _onward_link(onward: Onward) -> str:
    """A link from the end of a lesson; nothing for a lesson that is not here."""
    title = onward.title
    if onward.read:
        title, address = f"Read: {title}", onward.read
    elif onward.page:
        address = _address(page(onward.page), dict(onward.link))
    elif onward.lesson in lessons():
        lesson = lessons()[onward.lesson]
        title, address = title or lesson.title, first_address(lesson)
    else:
        return ""
    return f'<a href="{escape(address)}" rel="noopener noreferrer">{escape(title)}</a>'


def lesson_links(some: Iterable[Lesson]) -> str:
    """Links to the first steps of lessons, as markup."""
    return " · ".join(
        f'<a href="{escape(first_address(lesson))}" title="{escape(lesson.about)}">'
        f"{escape(lesson.title)}</a>"
        for lesson in some
    )
