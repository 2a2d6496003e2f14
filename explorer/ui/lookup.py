"""Look something up on any page: the words of the field, and what the language has."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.language import Entry, reference
from explorer.networks.words import WORDS as OF_NETWORKS
from explorer.trace.glossary import TERMS, Term
from explorer.training.words import WORDS as OF_TRAINING
from explorer.vision.words import WORDS as OF_MAPS

#: The whole glossary, by key.
WORDS = {term.key: term for term in (*TERMS, *OF_TRAINING, *OF_NETWORKS, *OF_MAPS)}
_AUTOGRAD = ("tensor", "gradient", "autograd", "graph", "backward", "leaf", "non-leaf")
_HOOKS = ("hook", "forward_hook", "full_backward_hook", "deprecated_hook", "post_accumulate")
#: Which of them each page shows; they come first there.
ON_PAGE = {
    "home": (
        *("autograd", "tensor", "gradient", "graph", "leaf", "saved", "AccumulateGrad"),
        *("forward", "backward", "step", "zero_grad", "hook", "layer", "optimizer", "feature_map"),
    ),
    "expression": (
        *(*_AUTOGRAD, "requires_grad", "grad_fn", "hook", "retain_grad", "saved", "scalar"),
        *("AccumulateGrad", "accumulation", "version", "in-place", "view", "vjp", "check"),
        *("zero_grad", "forward", "step", "norm"),
    ),
    "network": (
        *("layer", "parameter", "norm", "macs", "dead", "batch", "mode", "accumulation", "forward"),
        *(*_AUTOGRAD, *_HOOKS, "retain_grad", "loss", "step", "learning_rate", "optimizer"),
        *("zero_grad", "convolution", "TBackward0"),
    ),
    "optimizer": (
        *("loss", "forward", "backward", "step", "zero_grad", "optimizer", "learning_rate"),
        *("momentum", "dampening", "nesterov", "weight_decay", "maximize", "adam", "iteration"),
        *("seed", "surface", "norm", "parameter", "gradient", "autograd", "graph", "leaf"),
        *("scalar", "AccumulateGrad", "TBackward0", "layer"),
    ),
    "feature_maps": (
        *("feature_map", "convolution", "kernel", "padding", "receptive_field", "dead", "layer"),
        *("grad_cam", "saliency", "logits", "gradient", "parameter", "imagenet", "safetensors"),
    ),
}

#: Names of a group that are shown, and up to how many are described beside them.
_MOST, _DESCRIBED = 60, 12


def lookup_button(page: str) -> None:
    """A button that opens the words, those of the page first, and the functions in a dialog."""
    if st.button(
        "Glossary",
        icon=":material/menu_book:",
        type="tertiary",
        key="lookup",
        help="The words on this page, and what a program may use",
    ):
        _dialog(page)


@st.dialog("Words and functions", width="large")
def _dialog(page: str) -> None:
    asked = st.text_input(
        "Search",
        key="asked",
        placeholder="leaf, conv2d, softmax …",
        help="Keeps the words and names that hold this text",
    )
    words, functions = st.tabs(["Words", "Functions and names"])
    words.html(terms_html(asked or "", page))
    functions.html(functions_html(asked or ""))


def terms_html(asked: str, page: str) -> str:
    """The glossary's entries that hold the text asked for, those of the page first."""
    wanted = asked.strip().lower()
    found = [t for t in WORDS.values() if wanted in " ".join((t.title, t.text, *t.also)).lower()]
    here = [t for t in found if t.key in ON_PAGE[page]]
    parts = {"On this page": here, "Elsewhere": [t for t in found if t not in here]}
    lists = "".join(_list(title, terms) for title, terms in parts.items() if terms)
    return lists or _nothing(asked)


def _list(title: str, terms: list[Term]) -> str:
    rows = "".join(f"<dt>{escape(t.title)}</dt><dd>{escape(t.text)}</dd>" for t in terms)
    return f'<div class="ax-label">{title}</div><dl class="ax-words">{rows}</dl>'


def functions_html(asked: str) -> str:
    """Names a program may use that hold the text, by group; few enough stand with what they do."""
    wanted = asked.strip().lower()
    parts = []
    for group in reference():
        found = [entry for entry in group.entries if wanted in entry.name.lower()]
        if not found:
            continue
        if len(found) <= _DESCRIBED:
            rows = [f"<div>{_name(e)} {escape(e.description)}</div>" for e in found]
            listed = "".join(rows)
        else:
            more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
            listed = ", ".join(map(_name, found[:_MOST])) + more
        parts.append(f"<dt>{escape(group.title)}</dt><dd>{listed}</dd>")
    return f'<dl class="ax-words">{"".join(parts)}</dl>' if parts else _nothing(asked)


def _name(entry: Entry) -> str:
    """The name; what it does is shown when the pointer is over it."""
    return f'<code title="{escape(entry.description)}">{escape(entry.name)}</code>'


def _nothing(asked: str) -> str:
    return f'<div class="ax-note">Nothing here is called {escape(asked)}.</div>'
