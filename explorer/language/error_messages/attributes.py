"""What is said when an object has no attribute of a name, where the reason is known."""

from __future__ import annotations

import re

#: Attributes of a tensor that other objects are asked for.
_OF_TENSORS = "backward|grad|requires_grad|requires_grad_|detach|item|grad_fn|retain_grad"

#: (pattern of the object's type, pattern of the name, hint). The first that matches is used.
HINTS: tuple[tuple[str, str, str], ...] = (
    (
        "NoneType",
        "backward|step|zero_grad|parameters|forward",
        "Check where it gets its value: a function without `return` gives None.",
    ),
    (
        "NoneType",
        ".*",
        "A .grad is None until backward has run, for tensors that are not leaves, and after "
        "zero_grad().",
    ),
    (
        "float|int|bool",
        _OF_TENSORS,
        "It is a plain number, which autograd does not record. .item() and float() make one: use "
        "the tensor itself.",
    ),
    (
        "ndarray|float64|float32",
        _OF_TENSORS,
        "numpy's arrays have no gradients. Compute with torch tensors that require grad.",
    ),
    (
        "tuple",
        ".*",
        "A function that returns several values gives a tuple: unpack it, as in out, hidden = "
        "rnn(x).",
    ),
    ("list", ".*", "Take an item of the list, or make one tensor of it with torch.stack(…)."),
    ("function", _OF_TENSORS, "It is a function: call it first, and use its result."),
    (
        r"\w*Loss",
        "backward",
        "It is the loss function. Call backward on its result: criterion(x, y).backward().",
    ),
    (
        "Linear|Sequential|Module|Conv.d|[A-Z]\\w*",
        "backward",
        "Call backward on the loss, which is computed from the output of the model.",
    ),
    ("dict", ".*", "The values of a dict are read with their key: d['name']."),
    ("str", ".*", "It is text."),
)


def hint_for(kind: str, name: str) -> str:
    """What to do about an object of this type that has no attribute of this name; or ""."""
    matching = (
        hint
        for kinds, names, hint in HINTS
        if re.fullmatch(kinds, kind) and re.fullmatch(names, name)
    )
    return next(matching, "")
