"""The glossary: all terms, and the button a term becomes, which opens its entry.

Markup is made of parts: an `Html` part is kept as it is, any other text is escaped.
"""

from __future__ import annotations

from html import escape

from explorer.networks.terms import TERMS as OF_NETWORKS
from explorer.trace.terms import TERMS as OF_AUTOGRAD
from explorer.training.terms import TERMS as OF_TRAINING
from explorer.vision.terms import TERMS as OF_MAPS

#: The whole glossary, by key.
GLOSSARY = {term.key: term for term in (*OF_AUTOGRAD, *OF_TRAINING, *OF_NETWORKS, *OF_MAPS)}


class Html(str):
    """Markup, which must not be escaped again."""


def html(*parts: str) -> Html:
    """Join the parts into markup; plain strings are escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def term_link(key: str, shown: str = "") -> Html:
    """A button with the term's title, or the text `shown`, that opens the glossary at the term
    (glossary_dialog.js listens). Raises KeyError for a key that the glossary lacks."""
    term = GLOSSARY[key]
    text = escape(shown or term.title)
    return Html(
        f'<button type="button" class="ax-word" data-term="{escape(term.key)}">{text}</button>'
    )


def optional_term_link(key: str) -> Html:
    """The same for a key that comes from a run: empty where the glossary has no such term."""
    return term_link(key) if key in GLOSSARY else Html()
