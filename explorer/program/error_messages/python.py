"""Errors of Python itself that gradient programs raise."""

from __future__ import annotations

import re
import sys

from explorer.program.completion.names import closest_name, module_names
from explorer.program.error_messages import cures
from explorer.program.error_messages.known import Known
from explorer.program.missing import MOVED

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


# -- all others ------------------------------------------------------------------------------------


PYTHON = (
    Known(
        r"can't allocate memory|not enough memory|DefaultCPUAllocator|bad_alloc"
        r"|Storage size calculation overflowed|integer multiplication overflow",
        "The program needed more memory than one run may use.",
        "Use smaller tensors.",
    ),
    Known(
        r"'NoneType' object is not subscriptable|unsupported operand type\(s\) for .*NoneType",
        "A value on this line is None, often a .grad read before backward.",
        "A .grad is None before backward, for non-leaf tensors, and after zero_grad(), which "
        "sets None. zero_grad(set_to_none=False) keeps zeros.",
    ),
    Known(
        r"not compiled with CUDA|no NVIDIA driver|CUDA driver version|No CUDA GPUs"
        r"|initialize CUDA|get CUDA generator|Cannot access accelerator device",
        "Programs run on the CPU: there is no CUDA device here.",
        "Leave the device out, or write device = 'cuda' if torch.cuda.is_available() else 'cpu'.",
    ),
    Known(
        r"maximum recursion depth exceeded",
        "A function calls itself without end.",
        "Check the condition that should stop it.",
    ),
    Known(
        r"attribute '(\w+)' of 'torch\._C\.TensorBase' objects is not writable",
        "Tensor.{0} cannot be assigned.",
        "Assign the value to a variable instead.",
    ),
    Known(
        r"'type' object does not support the context manager protocol",
        "`with` needs an object, and this is a class: its parentheses are missing.",
        "Write with torch.no_grad():",
        fix=cures.call_the_manager,
    ),
    Known(
        r"'(\w+)' object does not support the context manager protocol",
        "`with` cannot be used with {0:a}.",
    ),
    Known(
        r"'torch\.Size' object is not callable",
        "shape is not a method: it has no parentheses.",
        "Write x.shape, or x.size().",
        fix=cures.without_call,
    ),
    Known(
        r"'NoneType' object is not callable",
        "This optimizer evaluates the loss several times in a step, so step needs a function.",
        "Define closure() that clears the gradients, computes the loss, calls backward and returns "
        "the loss; then call step(closure).",
        code=r"\.step\(\)",
    ),
    Known(
        r"'Tensor' object is not callable",
        "step takes a function, not a tensor.",
        "Call loss.backward() first, then step() without arguments.",
        code=r"\.step\(",
    ),
    Known(
        r"'module' object is not callable",
        "This is a module of a library, not a function or a class.",
        "Call what is in it: torch.optim.SGD, or tqdm after `from tqdm import tqdm`.",
    ),
    Known(
        r"'(\w+)' object is not callable",
        "{0:A} cannot be called like a function.",
        "Check for a variable that has the name of a function, or a missing operator such as *.",
    ),
    Known(
        r"'(?:builtin_function_or_method|method)' object is not (?:subscriptable|iterable)"
        r"|unsupported operand type\(s\) for .*'(?:builtin_function_or_method|method)'",
        "This is a method that was not called: its parentheses are missing.",
        "Write () after its name, such as x.size() or model.parameters().",
        fix=cures.call_the_method,
    ),
    Known(
        r"([\w.]+?)(?:\.__init__|\.forward)?\(\) missing (\d+) required "
        r"(?:positional|keyword-only) arguments?: (.*)",
        "{0} needs {1} more: {2}.",
    ),
    Known(
        r"([\w.]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) w\w+ given",
        "{0} takes {1} arguments, and got {2}.",
        "In a method, self counts as one.",
    ),
    Known(
        r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'",
        "{0} has no argument {1}.",
        "Check its spelling, and whether it belongs to another function.",
    ),
    Known(
        r"cannot access local variable '(\w+)' where it is not associated with a value",
        "The function assigns to {0}, which makes it a variable of the function, without a value "
        "so far.",
        "Pass it as an argument, or write `global {0}` at the beginning of the function.",
    ),
    Known(
        r"'(\w+)' object is not iterable|cannot unpack non-iterable (\w+) object",
        "{0:A}{1:A} has no items to go through.",
        "For a count, write range(n).",
        fix=cures.count_with_range,
    ),
    Known(
        r"object of type '(\w+)' has no len\(\)",
        "{0:A} has no length.",
    ),
    Known(
        r"'(\w+)' object does not support item assignment",
        "The items of {0:a} cannot be changed.",
        "Use a list, or build a new one.",
    ),
    Known(
        r"'(\w+)' object is not subscriptable",
        "{0:A} has no items: it cannot be indexed with [ ].",
    ),
    Known(
        r"can only concatenate str \(not \"(\w+)\"\) to str",
        "Text and {0:a} cannot be added.",
        'Convert it with str(…), or write an f-string: f"loss {{loss}}".',
    ),
    Known(
        r"unsupported operand type\(s\) for (\S+): '(\w+)' and '(\w+)'",
        "{0} does not work between {1:a} and {2:a}.",
        "Check what both are. A layer or a loss is called with its input: nn.ReLU()(x).",
    ),
    Known(
        r"'(\S+)' not supported between instances of '(\w+)' and '(\w+)'",
        "{1:A} and {2:a} cannot be compared with {0}.",
    ),
    Known(
        r"can't multiply sequence by non-int of type '(\w+)'",
        "A list can be repeated a whole number of times, but not multiplied by {0:a}.",
        "Make a tensor of it: torch.tensor(…) * 1.5.",
    ),
    Known(
        r"'(\w+)' object cannot be interpreted as an integer",
        "A whole number is needed here, not {0:a}.",
        "Use // for a division without remainder, or int(…).",
    ),
    Known(
        r"invalid literal for int\(\) with base \d+: (.*)|could not convert string to float: (.*)",
        "The text {0}{1} is not a number.",
    ),
    Known(
        r"math domain error|expected a positive input|expected a nonnegative input",
        "This function of math does not exist for this number, such as the root or logarithm of a "
        "negative one.",
        "torch's functions return nan instead.",
    ),
    Known(
        r"math range error",
        "The result is too large for a floating-point number.",
        "torch's functions return inf instead.",
    ),
    Known(
        r"(list|tuple|string|range object) index out of range",
        "There is no item with this index: the {0} is shorter. Indices count from 0.",
        "Print its length.",
    ),
    Known(
        r"KeyError: (.{1,80})$",
        "The key {0} is not in the dictionary.",
        "Print its keys.",
    ),
    Known(
        r"StopIteration",
        "The iterator has no more items.",
        "Make a new one, with iter(…), or use a for loop.",
    ),
    Known(
        r"AssertionError: (.{1,200})",
        "The assertion on this line does not hold: {0}",
    ),
    Known(
        r"division by zero|modulo by zero",
        "This line divides by zero.",
        "Check the divisor.",
    ),
)
