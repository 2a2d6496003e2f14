"""The Optimizer page: the four calls, pressed one by one, and what they do to each number."""

from html import escape

import streamlit as st

from explorer.language import ProgramRefused
from explorer.ui import address, frame
from explorer.ui.errors import program_error
from explorer.ui.steps import (
    arithmetic,
    asking,
    beside,
    code,
    controls,
    desk,
    history,
    numbers,
    own,
    pictures,
    problems,
    settings,
    style,
)
from explorer.ui.widgets import note

frame.page("optimizer")
style.apply()
asking.here()
if problems.take_over():
    settings.begin()

top = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="settings")
below = st.container(horizontal=True, vertical_alignment="center", gap="small", key="options")
chosen = problems.choose(top, below, settings.begin)
with top:
    optimizer, hyper = settings.draw(chosen.offer)

space = desk.at_work(chosen, optimizer, hyper)
refused = desk.refusal()
event = space.event
if chosen.key == problems.OWN:
    own.mark(refused or (event.error if event else None))
elif chosen.note:
    below.html(f'<div class="ax-note">{escape(chosen.note)}</div>', width="stretch")
if refused:
    program_error(refused)
    note(desk.instead(space, chosen))

controls.calls(space)
controls.outcome(space)

left, right = st.columns([0.4, 0.6], gap="medium")
with left, st.container(gap="xsmall"):
    with st.container(horizontal=True, gap="small"):
        way = beside.way()
        at = numbers.choose(space.view)
    choice = beside.setting(way)
    second = None
    try:
        second = beside.follow(space, choice)
    except ProgramRefused as wrong:
        program_error(wrong.error)
    except ValueError as wrong:
        st.html(f'<div class="ax-error" role="alert">{escape(str(wrong))}</div>')
    numbers.numbers(space.view, space.before, second[0] if second else None, at)
    arithmetic.arithmetic(space, at)

with right, st.container(gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        history.follow_present(space)
        history.play_button(space)
        what, pair = pictures.tools(space)
        code.code_button(space)
    draw = st.fragment(pictures.pictures, run_every=history.PACE if history.playing() else None)
    draw(space, what, pair, second, beside.NAMES[way])

with below:
    address.unread(seed=space.view.seed)
controls.go_on(space)
