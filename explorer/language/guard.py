"""Run-time checks behind the rewritten code: attributes by the receiver's type, and size limits.

A receiver's readable names come from the vocabulary by its class. Two kinds of object belong to
the program itself and are open to it: instances of its own plain classes, and what it stores on
its own modules. Everything else has no attributes at all.
"""

from __future__ import annotations

import inspect
import math
import operator
import string
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from explorer.language import vocabulary
from explorer.language.errors import OutsideLanguage, ProgramStopped
from explorer.language.namespaces import Namespace, namespace
from explorer.language.syntax import SPECIAL_METHODS, SPECIAL_READS
from explorer.language.watcher import Watcher

#: Largest whole number, in bits; longest string or list; most elements in one tensor.
MAX_BITS = 4096
MAX_LENGTH = 1_000_000
MAX_ELEMENTS = 20_000_000

#: Receivers whose methods are wrapped so that the watcher sees the call.
WATCHED = {
    (torch.Tensor, "backward"),
    (torch.Tensor, "register_hook"),
    (torch.Tensor, "register_post_accumulate_grad_hook"),
    (torch.Tensor, "retain_grad"),
    (torch.optim.Optimizer, "step"),
    (torch.optim.Optimizer, "zero_grad"),
    (torch.nn.Module, "zero_grad"),
    (torch.nn.Module, "register_forward_hook"),
    (torch.nn.Module, "register_forward_pre_hook"),
    (torch.nn.Module, "register_full_backward_hook"),
    (torch.nn.Module, "register_full_backward_pre_hook"),
    (torch.nn.Module, "register_backward_hook"),
}
_WATCHED_NAMES = {name for _, name in WATCHED}
#: The same for functions, by their full names.
WATCHED_FUNCTIONS = {"torch.autograd.grad", "torch.autograd.backward"}


class Guard:
    """The helpers of one run. `helpers()` gives them under the names the rewritten code uses."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.classes: set[type] = set()

    def helpers(self) -> dict[str, Any]:
        return {
            f".{name}": getattr(self, name)
            for name in "get field operate augment augment_item format base counted".split()
        } | {".slice": slice, ".module": self.module, ".member": self.member}

    # -- attributes -------------------------------------------------------------------------

    def get(self, receiver: Any, name: str) -> Any:
        """What `receiver.name` reads, if the language has it. Raises OutsideLanguage."""
        kind = type(receiver)
        if kind is Namespace:
            return self.member(receiver.path, name)
        if name not in vocabulary.members(kind) and not self.is_own(receiver, kind, name):
            self.refuse(receiver, kind, name)
        if kind is str and name == "format":
            return lambda *args, **kwargs: _SafeFormatter(self).vformat(receiver, args, kwargs)
        value = getattr(receiver, name)
        if name in _WATCHED_NAMES:
            for holder, watched in WATCHED:
                if watched == name and isinstance(receiver, holder):
                    return self.watched(f"{holder.__name__}.{name}", receiver, value)
        return value

    def watched(self, call: str, receiver: Any, method: Callable[..., Any]) -> Callable[..., Any]:
        def through(*args: Any, **kwargs: Any) -> Any:
            return self.watcher.call(call, receiver, method, *args, **kwargs)

        return through

    def is_own(self, receiver: Any, kind: type, name: str) -> bool:
        """Whether the program itself put this name on the receiver, or on its own class."""
        if name.startswith("__"):
            return name in SPECIAL_READS and self.special(receiver, kind, name)
        if isinstance(receiver, type):
            return self.class_has(receiver, name)
        if isinstance(receiver, super):
            start = receiver.__self_class__
            return start is not None and (
                self.class_has(start, name) or name in vocabulary.members(start)
            )
        if isinstance(receiver, torch.nn.Module):
            if name.startswith("_"):
                return name in receiver.__dict__.get(".own", ()) or self.class_has(kind, name)
            fields = receiver.__dict__
            return (
                name in fields
                or any(name in fields[group] for group in ("_parameters", "_buffers", "_modules"))
                or self.class_has(kind, name)
            )
        if kind in self.classes:
            return name in getattr(receiver, "__dict__", {}) or self.class_has(kind, name)
        if isinstance(receiver, torch.autograd.function.FunctionCtx):
            return not name.startswith("_") and name in receiver.__dict__
        if isinstance(receiver, tuple) and hasattr(kind, "n_sequence_fields"):
            # torch.return_types: what max(dim=…) gives
            return not name.startswith(("_", "n_")) and isinstance(
                inspect.getattr_static(kind, name, None), types.MemberDescriptorType
            )
        return False

    def class_has(self, kind: type, name: str) -> bool:
        return any(name in vars(c) for c in kind.__mro__ if c in self.classes)

    def special(self, receiver: Any, kind: type, name: str) -> bool:
        if name == "__name__":
            return isinstance(receiver, type | types.FunctionType | types.BuiltinFunctionType)
        if name == "__class__":
            return not isinstance(receiver, type | Namespace)
        if name == "__doc__":
            return isinstance(receiver, types.FunctionType) or kind in self.classes
        if isinstance(receiver, super):
            return name in ("__init__", "__repr__", "__str__", "__call__")
        if isinstance(receiver, type):
            return name == "__init__" and (
                receiver in self.classes or receiver in vocabulary.BASES
            )
        return kind in self.classes and name in SPECIAL_METHODS

    def refuse(self, receiver: Any, kind: type, name: str) -> None:
        """Say that there is no such attribute, and suggest the likeliest that is."""
        what = vocabulary.kind_name(kind)
        owner = f"{receiver.__name__}" if isinstance(receiver, type) else what
        if name.startswith("__") or not self.exists(receiver, name):
            known = vocabulary.members(kind) | set(getattr(receiver, "__dict__", ()))
            near = vocabulary.suggest(name, known)
            hint = f"Did you mean .{near}?" if near else ""
            raise OutsideLanguage(f"{owner} has no attribute {name}.", hint)
        raise OutsideLanguage(
            f"{owner}.{name} is not part of this language.",
            vocabulary.REASONS.get(name, "See the language reference for what there is."),
        )

    @staticmethod
    def exists(receiver: Any, name: str) -> bool:
        return inspect.getattr_static(receiver, name, None) is not None

    def field(self, receiver: Any) -> _Field:
        return _Field(self, receiver)

    def set(self, receiver: Any, name: str, value: Any) -> None:
        """Perform `receiver.name = value`, if the language has it. Raises OutsideLanguage."""
        self.writable(receiver, name)
        setattr(receiver, name, value)
        if name.startswith("_") and isinstance(receiver, torch.nn.Module):
            receiver.__dict__.setdefault(".own", set()).add(name)

    def writable(self, receiver: Any, name: str) -> None:
        kind = type(receiver)
        if isinstance(receiver, torch.Tensor):
            allowed = name in vocabulary.TENSOR_WRITES
        elif isinstance(receiver, torch.nn.Module):
            internal = name.startswith("_") and (
                hasattr(torch.nn.Module, name) or name in torch.nn.Module().__dict__
            )
            allowed = not name.startswith("__") and not internal
        elif isinstance(receiver, torch.autograd.function.FunctionCtx):
            allowed = not name.startswith("_") and not hasattr(type(receiver), name)
        else:
            owner = receiver if isinstance(receiver, type) else kind
            allowed = owner in self.classes and not name.startswith("__")
        if not allowed:
            what = receiver.__name__ if isinstance(receiver, type) else vocabulary.kind_name(kind)
            hint = "Use a variable of its own instead." if isinstance(receiver, torch.Tensor) else ""
            raise OutsideLanguage(f"{what}.{name} cannot be assigned.", hint)

    def delete(self, receiver: Any, name: str) -> None:
        self.writable(receiver, name)
        delattr(receiver, name)

    # -- operators --------------------------------------------------------------------------

    def operate(self, symbol: str, left: Any, right: Any) -> Any:
        """`left symbol right`, after checking that the result stays small."""
        if not isinstance(left, torch.Tensor):
            left = self.check_growth(symbol, left, right)
        return _OPERATIONS[symbol](left, right)

    def augment(self, symbol: str, left: Any, right: Any) -> Any:
        """`left symbol= right`: in place where the type does so."""
        if not isinstance(left, torch.Tensor):
            left = self.check_growth(symbol, left, right)
        return _AUGMENTED[symbol](left, right)

    def augment_item(self, symbol: str, holder: Any, key: Any, value: Any) -> None:
        holder[key] = self.augment(symbol, holder[key], value)

    def check_growth(self, symbol: str, left: Any, right: Any) -> Any:
        if isinstance(left, str) and symbol == "%":
            return self.percent(left, right)
        for sized, times in ((left, right), (right, left)):
            if symbol == "*" and isinstance(sized, str | list | tuple) and isinstance(times, int):
                _limit(len(sized) * times, MAX_LENGTH, "A string or list of {:,} items")
        if symbol == "+" and isinstance(left, str | list | tuple) and hasattr(right, "__len__"):
            _limit(len(left) + len(right), MAX_LENGTH, "A string or list of {:,} items")
        if isinstance(left, int) and isinstance(right, int):
            _limit(_bits(symbol, int(left), int(right)), MAX_BITS, "A whole number of {:,} bits")
        return left

    # -- formatting -------------------------------------------------------------------------

    def format(self, value: Any, conversion: int, spec: str) -> str:
        """One `{value!r:spec}` of an f-string."""
        _check_spec(spec)
        if conversion in (ord("r"), ord("a")):
            value = self.text(value, repr)
        elif conversion == ord("s"):
            value = self.text(value, str)
        elif not spec:
            return self.text(value, str)
        return format(value, spec)

    def percent(self, template: str, values: Any) -> _Percent:
        _check_spec(template)
        for value in values if isinstance(values, tuple) else (values,):
            printable(value)
            if isinstance(value, int) and abs(value) > MAX_LENGTH and "*" in template:
                raise OutsideLanguage("This width is too large.", "Use a smaller one.")
        return _Percent(template)

    def text(self, value: Any, convert: Callable[[Any], str]) -> str:
        """str(value) or repr(value), unless it would be endless."""
        printable(value)
        return convert(value)

    # -- the rest ---------------------------------------------------------------------------

    def base(self, kind: Any) -> Any:
        """A class another may be derived from."""
        if kind in self.classes or (isinstance(kind, type) and kind in vocabulary.BASES):
            return kind
        name = getattr(kind, "__name__", str(type(kind).__name__))
        raise OutsideLanguage(
            f"A class cannot be derived from {name}.",
            "Derive from nn.Module, torch.autograd.Function, Exception or a class of your own.",
        )

    def build_class(self, function: Any, name: str, *bases: Any, **_: Any) -> type:
        """What a class statement calls; remembers the classes the program made."""
        made = __build_class__(function, name, *bases)  # type: ignore[name-defined]
        self.classes.add(made)
        return made

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a comprehension, each counted as a statement."""
        for item in items:
            self.watcher.tick()
            yield item

    def module(self, path: str, bound: str) -> Any:
        namespace(path)
        return namespace(bound)

    def member(self, path: str, name: str) -> Any:
        """What `from path import name` gives."""
        value = namespace(path).member(name)
        if f"{path}.{name}" in WATCHED_FUNCTIONS:
            return self.watched(f"{path}.{name}", None, value)
        return value


class _Field:
    """`.field(a)["b"] = v` and `del .field(a)["b"]`: attribute targets as items."""

    def __init__(self, guard: Guard, receiver: Any) -> None:
        self.guard, self.receiver = guard, receiver

    def __getitem__(self, name: str) -> Any:
        return self.guard.get(self.receiver, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.guard.set(self.receiver, name, value)

    def __delitem__(self, name: str) -> None:
        self.guard.delete(self.receiver, name)


class _Percent(str):
    """A template that has been checked; `%` on it is Python's own."""


class _SafeFormatter(string.Formatter):
    """`"{}".format(…)` without `{0.attribute}` and with the guard's sizes."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        if "." in field_name or "[" in field_name:
            raise OutsideLanguage(
                "A format field cannot reach into its value.",
                "Pass the value itself: '{}'.format(x.item()).",
            )
        return super().get_field(field_name, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        return self.guard.format(value, -1, format_spec)


def _check_spec(spec: str) -> None:
    digits = "".join(c if c.isdigit() else " " for c in spec).split()
    if any(len(number) > 4 for number in digits):
        raise OutsideLanguage("This width is too large.", "Use a width below 10,000.")


def _limit(size: int, most: int, what: str) -> None:
    if size > most:
        raise ProgramStopped(
            f"{what.format(size)} would be made; the limit is {most:,}.", "Use a smaller one."
        )


def _bits(symbol: str, left: int, right: int) -> int:
    a, b = left.bit_length(), right.bit_length()
    if symbol == "**":
        return a * right if right > 0 and a > 1 else a
    if symbol == "<<":
        return a + right
    return a + b if symbol == "*" else max(a, b)


def printable(value: Any, depth: int = 0) -> None:
    """Refuse values whose text would be endless: torch shortens long axes, not many short ones."""
    if isinstance(value, torch.Tensor):
        shown = math.prod(min(n, 6) for n in value.shape) if value.numel() > 1000 else 0
        if shown > 20_000:
            raise OutsideLanguage(
                f"A tensor with {value.dim()} axes is too large to print.",
                "Print its shape, or a part of it.",
            )
    elif isinstance(value, dict):
        printable(list(value.values()), depth)
    elif isinstance(value, list | tuple | set) and depth < 4:
        for item in list(value)[:200]:
            printable(item, depth + 1)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "**": operator.pow,
    "<<": operator.lshift,
    "%": operator.mod,
    "+": operator.add,
}
_AUGMENTED: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.imul,
    "**": operator.ipow,
    "<<": operator.ilshift,
    "%": operator.imod,
    "+": operator.iadd,
    "-": operator.isub,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "@": operator.imatmul,
    ">>": operator.irshift,
    "|": operator.ior,
    "^": operator.ixor,
    "&": operator.iand,
}
