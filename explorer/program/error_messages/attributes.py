"""What is said when an object has no attribute of a name, where the reason is known."""

from __future__ import annotations

import re
import sys

from explorer.program.missing import MOVED
from explorer.program.real_names import closest_name, module_names

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


#: What Python says, and what it says of: an object, a module or a class, and the name.
_SAID = re.compile(
    r"(?:'([\w.]+)' object|module '([\w.]+)'|type object '([\w.]+)') has no attribute '(\w+)'"
)
#: Where a name of torch may be that another part of it lacks.
_HOMES = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.linalg")


def describe_attribute(error: AttributeError) -> tuple[str, str]:
    """The message and the hint for an AttributeError; empty where it says nothing of a name."""
    said = _SAID.search(str(error))
    if said is None:
        return "", ""
    kind, module, _, name = said.groups()
    name = name[:60]
    if kind == "NoneType":
        return f"The value before .{name} is None.", hint_for(kind, name)
    owner = error.obj if error.obj is not None else sys.modules.get(module or "")
    what = (module or (kind or said[3]).rpartition(".")[2])[:60]
    message = f"{what} has {'no' if module else 'no attribute'} {name}."
    return message, _hint(what, name, owner, is_module=bool(module))


def _hint(what: str, name: str, owner: object, *, is_module: bool) -> str:
    if moved := MOVED.get(f"{what}.{name}"):
        return f"Use {moved}."
    homes = _HOMES if is_module and what.startswith("torch") else ()
    if home := next((home for home in homes if name in (module_names(home) or ())), ""):
        return f"Did you mean {home}.{name}?"
    if closest := closest_name(name, _names(owner), cutoff=0.6):
        return f"Did you mean {f'{what}.' if is_module else '.'}{closest}?"
    if type(owner).__module__ == "__main__" and hasattr(owner, "named_parameters"):
        return f"Set it in __init__: self.{name} = …"
    return hint_for(what, name)


def _names(owner: object) -> list[str]:
    try:
        return [name for name in dir(owner) if name[:1] != "_"]
    except Exception:  # the program may define __dir__
        return []
