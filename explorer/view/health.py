"""What is unusual about a network, as markup."""

from __future__ import annotations

from explorer.networks.health import Finding
from explorer.view.glossary import Html, html, term_link

#: The glossary's term of each kind.
_TERMS = {
    "never used": "unused",
    "dead": "dead",
    "saturated": "saturated",
    "vanishing": "vanishing",
    "exploding": "exploding",
    "not finite": "nan",
    "frozen": "frozen",
    "shared": "shared",
    "eval mode": "mode",
}
#: How many layers of a finding are named in a text.
_NAMED = 6


def kind_html(finding: Finding) -> str:
    """The kind of a finding, which opens the glossary."""
    kind = term_link(_TERMS[finding.kind], f"{finding.kind[:1].upper()}{finding.kind[1:]}")
    style = " ax-warns" if finding.warns else ""
    return f'<div class="ax-note{style}">{kind}</div>'


def finding_html(finding: Finding) -> str:
    """A finding with its layers, in a line."""
    layers = [name or "(model)" for name in finding.layers]
    named = html(*(Html(f"<code>{html(name)}</code> ") for name in layers[:_NAMED]))
    more = f"and {len(layers) - _NAMED} more: " if len(layers) > _NAMED else ""
    sentence = html(f"{more}{finding.sentence}")
    return f'<div class="row">{kind_html(finding)}<span>{named}{sentence}</span></div>'
