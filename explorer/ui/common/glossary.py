"""The glossary's words, and how one stands on a page: as a button that opens it there.

Mark-up is made of parts: what is `Html` stands as it is, any other text is escaped.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from explorer.networks.terms import WORDS as OF_NETWORKS
from explorer.trace.terms import TERMS
from explorer.training.terms import WORDS as OF_TRAINING
from explorer.vision.terms import WORDS as OF_MAPS

#: The start of a component's script that draws with texts and words.
ELEMENTS = Path(__file__).with_name("elements.js").read_text(encoding="utf-8")

#: The whole glossary, by key.
WORDS = {term.key: term for term in (*TERMS, *OF_TRAINING, *OF_NETWORKS, *OF_MAPS)}
_AUTOGRAD = ("tensor", "gradient", "autograd", "graph", "backward", "leaf", "non-leaf")
_HOOKS = ("hook", "forward_hook", "full_backward_hook", "deprecated_hook", "post_accumulate")
#: Which of them each page shows; they come first there.
ON_PAGE = {
    "home": (
        *("autograd", "tensor", "gradient", "graph", "leaf", "saved", "AccumulateGrad"),
        *("operation", "scalar"),
        *("forward", "backward", "step", "zero_grad", "hook", "layer", "optimizer", "feature_map"),
    ),
    "expression": (
        *(*_AUTOGRAD, "requires_grad", "grad_fn", "hook", "retain_grad", "saved", "scalar"),
        *(
            "operation",
            "AccumulateGrad",
            "accumulation",
            "version",
            "in-place",
            "view",
            "vjp",
            "check",
        ),
        *("zero_grad", "forward", "step", "norm"),
    ),
    "network": (
        *("layer", "parameter", "norm", "macs", "dead", "batch", "mode", "accumulation", "forward"),
        *(*_AUTOGRAD, *_HOOKS, "retain_grad", "loss", "step", "learning_rate", "optimizer"),
        *("zero_grad", "convolution", "TBackward0", "operation", "unused"),
    ),
    "optimizer": (
        *("loss", "forward", "backward", "step", "zero_grad", "optimizer", "learning_rate"),
        *("momentum", "dampening", "nesterov", "weight_decay", "maximize", "adam", "iteration"),
        *("seed", "surface", "norm", "parameter", "gradient", "autograd", "graph", "leaf"),
        *("scalar", "AccumulateGrad", "TBackward0", "layer", "operation"),
    ),
    "feature_maps": (
        *("feature_map", "convolution", "kernel", "padding", "receptive_field", "dead", "layer"),
        *("grad_cam", "saliency", "logits", "gradient", "parameter", "imagenet", "safetensors"),
    ),
}


class Html(str):
    """Mark-up, as against text."""


def html(*parts: str) -> Html:
    """The parts as one piece of mark-up; those that are text are escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def word(key: str, shown: str = "") -> Html:
    """A word of the glossary that opens it there (`lookup.py` listens), written as its title has
    it or as `shown`. A key that the glossary lacks raises KeyError."""
    term = WORDS[key]
    text = escape(shown or term.title)
    return Html(
        f'<button type="button" class="ax-word" data-term="{escape(term.key)}">{text}</button>'
    )


def behind(key: str) -> Html:
    """The word behind something a run has told; nothing where it names none of the glossary."""
    return word(key) if key in WORDS else Html()
