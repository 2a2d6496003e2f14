"""The backward pass, node by node: buttons, a slider, and the rule of each step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from html import escape
from itertools import pairwise

import streamlit as st

from explorer.trace import Array, BackwardPass, BackwardStep, Node, Plain
from explorer.trace.rules import UNKNOWN
from explorer.training.formatting import pluralize
from explorer.ui.common import values
from explorer.ui.common.glossary import GLOSSARY, Html, html, optional_term_link, term_link
from explorer.ui.common.player import Player
from explorer.ui.common.widgets import formula
from explorer.ui.expression.node_roles import role
from explorer.ui.expression.selection import Picker, Selection
from explorer.ui.expression.step_marks import sums_at

#: Plays the walk, with 1.2 seconds for each step.
PLAYER = Player("walk", 1.2)
#: Characters of a value next to the formula.
_WIDTH = 32


def walk_bar(picker: Picker, picked: Selection, shown: BackwardPass) -> None:
    """Draw buttons and a slider over the steps, and the rule of the chosen step below them. 0 is
    before the first. All are parts of the fragment that shows the selection."""
    last = len(shown.steps)
    if not last:
        return
    now = 0 if picked.step is None else picked.step + 1
    ended = PLAYER.playing and now == last
    if ended:
        PLAYER.stop()
    go = partial(_go, picker)

    def slid() -> None:
        number = st.session_state["walk-slider"]
        if number != now:  # a slider whose range changed reports its old value again
            go(number)

    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="walk"):
        st.button(
            "Previous step",
            icon=":material/chevron_left:",
            help="Goes back to the node that ran before",
            key="walk-previous",
            type="tertiary",
            on_click=go,
            args=(now - 1,),
            disabled=now == 0,
        )
        st.button(
            "Next step",
            icon=":material/chevron_right:",
            help="Goes to the node that runs next: its gradients are sent along the edges",
            key="walk-next",
            type="tertiary",
            on_click=go,
            args=(now + 1,),
            disabled=now == last,
        )
        toggled = PLAYER.button(
            "Play",
            "Pause",
            help="Goes through the backward pass by itself",
            type="tertiary",
            on_start=lambda: go(1 if now == last else now + 1),
        )
        st.session_state["walk-slider"] = now
        st.slider(
            "Step of the backward pass",
            0,
            last,
            now,  # without it Streamlit looks through the whole session for a value
            key="walk-slider",
            label_visibility="collapsed",
            help="Moves through the backward pass node by node; 0 is before the first",
            on_change=slid,
        )
        st.html(f'<div class="ax-note">{_count(now, shown)}</div>', width="content")
    if picked.step is not None:
        _rule(shown.steps[picked.step], shown)
    if toggled or ended:
        st.rerun()  # the whole page, which starts or stops the timer


def _count(now: int, shown: BackwardPass) -> str:
    """Where the walk stands, such as "3 of 7"."""
    if not now:
        return pluralize(shown.step_count, "step")
    return f"{shown.steps[now - 1].number:,} of {shown.step_count:,}"


def _rule(step: BackwardStep, shown: BackwardPass) -> None:
    """The local rule of a step: in a sentence, in letters and with its numbers."""
    with st.container(key="local-rule"):
        st.html(rule_words(step, shown))
        formula(step.formula, step.numbers)


def rule_words(step: BackwardStep, shown: BackwardPass) -> str:
    """What the node of a step is called, and what it does to the gradient."""
    node = _node(step, shown)
    sentences = [
        role(node, shown),
        step.words if step.words or step.formula else _NO_RULE,
        *(f"Its gradient is a sum: {text}." for text in sums_at(step, shown)),
    ]
    if step.own:
        sentences.append(f"The rule is your own backward, line {step.own}.")
    term = term_link("accumulation" if node.kind == "accumulate" else "vjp")
    name = title(node, shown)
    return (
        f'<div class="ax-step"><b>Step {step.number:,} of {shown.step_count:,}: '
        f"{escape(name if name != node.name else '')}</b> <code>{_function(node)}</code>: "
        f"{escape(' '.join(filter(None, sentences)))} {term if step.formula else ''}</div>"
    )


def play_on(picker: Picker) -> None:
    """Go to the next step if the walk plays and it is due."""
    if PLAYER.is_due():
        step = picker.current().step
        _go(picker, 1 if step is None else step + 2)


def _go(picker: Picker, number: int) -> None:
    """Go to a step, counted from 1."""
    picker.step(number - 1)


def step_panel(picked: Selection, shown: BackwardPass | None) -> None:
    """What one step took in, what it had saved, and where the results go."""
    if shown is None:
        st.html('<div class="ax-note">There was no backward pass to step through.</div>')
    elif picked.step is None:
        st.html(f'<div class="ax-note">{_unstepped(picked, shown)}</div>')
    else:
        step = shown.steps[picked.step]
        parts = gradients_in(step, shown) + gradients_out(step, shown)
        st.html(f'<div class="ax-flows">{parts}</div>')


_NO_RULE = f"{UNKNOWN} The numbers were read by hooks."


def _unstepped(picked: Selection, shown: BackwardPass) -> str:
    if picked.node is not None or picked.tensor is not None:
        thing = picked.tensor.name if picked.tensor else picked.node.name if picked.node else ""
        why = picked.tensor.why_none if picked.tensor else ""
        term = optional_term_link(picked.tensor.why_term) if picked.tensor else ""
        none = "no recorded step" if _left_out(shown) else "no step"
        return f"<b>{escape(thing)}</b> has {none} in this backward pass. {escape(why)} {term}"
    return (
        f"{term_link('backward', 'Backward')} starts at <b>{escape(shown.root)}</b> and visits "
        f"{pluralize(shown.step_count, 'node')}, each only after everything that depends on it. "
        "Move the slider, or choose a node." + _left_out(shown)
    )


def _left_out(shown: BackwardPass) -> str:
    """Which steps of a very long pass cannot be walked."""
    for before, after in pairwise(shown.steps):
        if after.number > before.number + 1:
            return f" Steps {before.number + 1:,} to {after.number - 1:,} are not recorded."
    return ""


def _node(step: BackwardStep, shown: BackwardPass) -> Node:
    return next((n for n in shown.nodes if n.id == step.node), Node("unknown", "", step.name))


def _function(node: Node) -> Html:
    """The node's name, which opens its own term or that of all such nodes."""
    return term_link(node.name if node.name in GLOSSARY else "grad_fn", node.name)


def title(node: Node, shown: BackwardPass) -> str:
    """What a reader calls a node: the tensor it made, or the leaf whose gradient it adds to."""
    if node.kind == "accumulate":
        leaves = {edge.source for edge in shown.edges if edge.target == node.id}
        return next((f"{n.label}.grad" for n in shown.nodes if n.id in leaves), "a leaf's .grad")
    return node.label or node.name


def gradients_in(step: BackwardStep, shown: BackwardPass) -> str:
    """The gradients in, and where each came from; several paths into one input are added."""
    nodes = {node.id: node for node in shown.nodes}
    parts = []
    for slot, grad in enumerate(step.grads_in):
        ways = [
            (nodes[s.node], flow.grad)
            for s in shown.steps
            for flow in s.grads_out
            if flow.to == step.node and flow.slot == slot and s.node in nodes
        ]
        mark = f" {slot}" if len(step.grads_in) > 1 else ""
        added = f": sum of {len(ways)} paths" if len(ways) > 1 else ""
        heading = html(term_link("gradient", "Gradient"), f" in{mark}, G{added}")
        parts.append(_labelled(heading, grad))
        if len(ways) > 1:
            parts += [_labelled(f"from {title(n, shown)}", g, "ax-way") for n, g in ways[:6]]
        elif ways:
            parts.append(f'<div class="ax-from">from {escape(title(ways[0][0], shown))}</div>')
        else:
            users = (nodes[e.target] for e in shown.edges if e.source == step.node)
            lost = _left_out(shown) and any(user.kind == "function" for user in users)
            source = "from a step that is not recorded" if lost else "backward starts here"
            parts.append(f'<div class="ax-from">{source}</div>')
    return f'<div class="ax-flow">{"".join(parts)}</div>'


def gradients_out(step: BackwardStep, shown: BackwardPass) -> str:
    """The gradients out and where they go, and what the node had saved."""
    nodes = {node.id: node for node in shown.nodes}
    parts = [
        _labelled(f"Gradient passed to {title(nodes[flow.to], shown)}", flow.grad)
        for flow in step.grads_out
        if flow.to in nodes
    ]
    if step.after is not None:
        parts.append(_labelled(".grad before", step.before))
        parts.append(_labelled(".grad after", step.after))
    saved = term_link("saved", "saved")
    for name, value in _saved(step):
        parts.append(_labelled(html(saved, f" {name}"), value, "ax-way"))
        saved = html("saved")  # one of them opens the glossary
    return f'<div class="ax-flow">{"".join(parts)}</div>'


def _saved(step: BackwardStep) -> Iterator[tuple[str, Array | Plain]]:
    for name, value in step.saved.items():
        if value is not None and "_sym_" not in name:
            yield name, value


def _labelled(name: str, value: Array | Plain, style: str = "") -> str:
    return (
        f'<div class="{style}"><span>{html(name)}</span>'
        f'<div class="ax-value">{escape(values.any_text(value, width=_WIDTH))}</div></div>'
    )
