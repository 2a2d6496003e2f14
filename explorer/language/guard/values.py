"""Which values may reach a program.

Whatever an attribute, an item, a call, an iteration, an unpacking or an argument hands to the
program is admitted by its class, whoever returned it. So a function of torch that the table has by
mistake may return anything: a program gets numbers, text, containers, tensors, modules and the
like, its own classes and functions, and the names of the vocabulary. Frames, code, Python's
modules, descriptors and other classes never arrive. Containers are not searched: their items are
admitted when they are taken out.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn
from torch._functorch.autograd_function import WrappedCtx
from torch.optim.lr_scheduler import LRScheduler

from explorer.language import vocabulary
from explorer.language.errors import OutsideLanguage, ProgramExit
from explorer.language.guard.classes import Classes
from explorer.language.missing import MissingImport
from explorer.language.module_proxy import ModuleProxy
from explorer.language.vocabulary import callbacks, devices, everyday
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday.type_names import Enum, IntEnum, StrEnum
from explorer.language.vocabulary.node_proxy import NodeProxy

_ITERABLES: tuple[Any, ...] = (
    [], (), {}, {}.keys(), {}.values(), {}.items(), set(), "a", "ä", range(1), range(2**70),
    deque(), OrderedDict(), OrderedDict().keys(), OrderedDict().values(), OrderedDict().items(),
    np.ones(1),
)  # fmt: skip
_REVERSIBLES: tuple[Any, ...] = ([], {}, {}.keys(), {}.values(), {}.items(), range(1), deque())

#: Every instance of exactly these classes is admitted.
KINDS: frozenset[type] = frozenset(
    [bool, int, float, complex, str, type(None), type(...), type(NotImplemented)]
    + [list, tuple, dict, set, frozenset, range, slice, deque, OrderedDict, Counter]
    + [type(iterable) for iterable in _ITERABLES]
    + [type(iter(iterable)) for iterable in _ITERABLES]
    + [type(reversed(reversible)) for reversible in _REVERSIBLES]
    + [type(iter(int, 0)), types.GeneratorType, map, filter, zip, enumerate, reversed]
    + [itertools.product, itertools.chain, itertools.combinations, itertools.permutations]
    + [itertools.accumulate, types.GenericAlias, types.UnionType]
    + [torch.Tensor, nn.Parameter, torch.Size, torch.dtype, torch.device, torch.layout]
    + [torch.memory_format, torch.finfo, torch.iinfo, torch.Generator]
    + [
        nn.modules.module._IncompatibleKeys,
        torch._functorch.autograd_function.VmapInfo,
        torch.utils.hooks.RemovableHandle,
        torch.autograd.graph._MultiHandle,
        torch.autograd.forward_ad.UnpackedDualTensor,
        np.ndarray,
        np.random.Generator,
    ]
    + [ModuleProxy, MissingImport, ClassProxy, NodeProxy, vocabulary.Annotation]
    + list(everyday.KINDS)
)
#: Instances of these classes and of classes derived from them are admitted.
BASES: tuple[type, ...] = (
    Exception, nn.Module, torch.optim.Optimizer, LRScheduler,
    torch.autograd.function.FunctionCtx, WrappedCtx, torch.utils.data.Dataset,
    torch.utils.data.DataLoader, torch.utils.data.Sampler,
    torch.distributions.Distribution,
    torch.utils.data.dataloader._BaseDataLoaderIter, np.number,
    np.bool_, np.str_, np.dtype, vocabulary.StandIn,
    Enum, IntEnum, StrEnum, ProgramExit,
)  # fmt: skip
_CONTEXT, _FUNC = "torch.utils._contextlib", "torch._functorch"
_AUTOCAST = "torch.amp.autocast_mode"
#: Functions that torch and the language make of a program's function: the module, the name in its
#: source, and its variable that holds the program's function (vjp calls no function).
WRAPPERS: dict[tuple[str, str], str | None] = {
    (_CONTEXT, "context_decorator.<locals>.decorate_context"): "func",
    (_CONTEXT, "_wrap_generator.<locals>.generator_context"): "func",
    (_AUTOCAST, "autocast_decorator.<locals>.decorate_autocast"): "func",
    (_AUTOCAST, "custom_fwd.<locals>.decorate_fwd"): "fwd",
    (_AUTOCAST, "custom_bwd.<locals>.decorate_bwd"): "bwd",
    ("torch.autograd.function", "once_differentiable.<locals>.wrapper"): "fn",
    (f"{_FUNC}.apis", "grad.<locals>.wrapper"): "func",
    (f"{_FUNC}.apis", "grad_and_value.<locals>.wrapper"): "func",
    (f"{_FUNC}.apis", "vmap.<locals>.wrapped"): "func",
    (f"{_FUNC}.eager_transforms", "jacrev.<locals>.wrapper_fn"): "func",
    (f"{_FUNC}.eager_transforms", "jacfwd.<locals>.wrapper_fn"): "func",
    (f"{_FUNC}.eager_transforms", "_vjp_with_argnums.<locals>.wrapper"): None,
    (callbacks.__name__, "as_function.<locals>.<lambda>"): "value",
}

#: How a target takes a value: None if as it is; for `a, b`, how many parts; for others, such as
#: `a, *b, (c, d)`, the patterns of the parts and the place of the starred one (or None).
Pattern = tuple[tuple[Any, ...], int | None] | int | None

METHODS = (types.MethodType, types.BuiltinMethodType)


class Values:
    """Admits values for one run. All methods raise OutsideLanguage for a value that may not arrive.

    `get` reads an attribute of a value for the program; `names` are the globals of its functions.
    """

    def __init__(
        self, classes: Classes, get: Callable[[Any, str], Any], names: dict[str, Any]
    ) -> None:
        self.kinds = kinds = set(KINDS)
        self._classes, self._get, self._names = classes, get, names
        decide = self._decide

        def admit(value: Any) -> Any:
            return value if type(value) in kinds else decide(value)

        self.admit = admit

    # -- where values arrive ----------------------------------------------------------------

    def are_arguments(self, *values: Any) -> bool:
        """Admit the arguments of a call of the program's own function; returns True."""
        kinds = self.kinds
        for value in values:
            if type(value) not in kinds:
                self._decide(value)
        return True

    def starred(self, items: Any) -> Any:
        """The items of `f(*items)`, as a tuple."""
        if _is_iterable(items):  # otherwise Python's own error message is the best
            items = tuple(items)
            self.are_arguments(*items)
        return items

    def double_starred(self, named: Any) -> Any:
        """The arguments of `f(**named)`."""
        if isinstance(named, dict):
            self.are_arguments(*named.values())
            return devices.named_on_cpu(named)
        return named

    def iterate(self, items: Iterable[Any], pattern: Pattern = None) -> Iterator[Any]:
        """The items of a `for`, unpacked if its target has a pattern. Not a generator: that would
        halve the depth to which a program's generators may be nested."""

        def take(item: Any) -> Any:
            return self.unpack(self.admit(item), pattern)

        return map(self.admit if pattern is None else take, items)

    def unpack(self, value: Any, pattern: Pattern) -> Any:
        """The items that a target such as `a, *b, (c, d)` takes from a value."""
        kind = type(value)
        if pattern is None or not _is_iterable(value):
            return value  # for what cannot be unpacked, Python's own error message is the best
        if isinstance(pattern, int):
            # one more than it takes, again for Python's own error
            items = value if kind is tuple else list(itertools.islice(value, pattern + 1))
            self.are_arguments(*items)
            return items
        parts, star = pattern
        if star is None:
            items = list(self.iterate(itertools.islice(value, len(parts) + 1)))
        else:
            items = list(self.iterate(value))
            end = max(star, len(items) - len(parts) + 1 + star)
            rest = self.unpack(items[star:end], parts[star])
            items[star:end] = rest
            parts = (*parts[:star], *[None] * len(rest), *parts[star + 1 :])
        return list(map(self.unpack, items, parts)) + items[len(parts) :]

    def unpack_for_each(self, value: Any, *patterns: Pattern) -> tuple[Any, ...]:
        """The value of `a = b, c = value` for each of the targets."""
        return tuple(self.unpack(value, pattern) for pattern in patterns)

    def decorator(self, decorate: Any) -> Callable[[Any], Any]:
        return lambda decorated: self.admit(decorate(decorated))

    # -- decisions --------------------------------------------------------------------------

    def _decide(self, value: Any) -> Any:
        kind = type(value)
        if not self._is_one_of_a_kind(kind, value):
            if not self._is_admitted_class(kind):
                raise OutsideLanguage(
                    f"A value of type {kind.__name__[:60]} is not supported here.",
                    "Programs work with numbers, text, containers, tensors and modules.",
                )
            self.kinds.add(kind)
        return value

    def _is_admitted_class(self, kind: type) -> bool:
        """Whether every instance of this class is admitted."""
        return kind not in _RULES and (
            kind in self._classes.own
            or kind in vocabulary.CLASSES
            or kind in vocabulary.CLASS_PROXIES
            or issubclass(kind, BASES)
            or (issubclass(kind, tuple) and kind.__module__ == "torch.return_types")
        )

    def _is_one_of_a_kind(self, kind: type, value: Any) -> bool:
        """Whether this function, method or class is admitted, others of its class may be not."""
        if id(value) in vocabulary.IDS or id(value) in self._builtins:
            return True
        if issubclass(kind, type):
            return self._classes.is_known(value)
        return kind in _RULES and _RULES[kind](self, value)

    def _are_admitted(self, *values: Any) -> bool:
        try:
            return self.are_arguments(*values)
        except OutsideLanguage:
            return False

    @functools.cached_property
    def _builtins(self) -> frozenset[int]:
        builtins = self._names["__builtins__"]
        return frozenset(id(value) for name, value in builtins.items() if name[:2] != "__")

    def is_own_function(self, function: types.FunctionType) -> bool:
        """Whether the program defined it."""
        return function.__globals__ is self._names

    def is_function(self, function: types.FunctionType) -> bool:
        """Whether it is the program's own, or was made for the program by the language or torch."""
        names, code = function.__globals__, function.__code__
        if names is self._names:
            return True
        key = (str(names.get("__name__")), code.co_qualname)
        if key in WRAPPERS:
            cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
            wrapped = WRAPPERS[key]
            return wrapped is None or self._are_admitted(cells[wrapped].cell_contents)
        return key[0].startswith("explorer.language.") and "<locals>" in key[1]

    def is_method(self, method: Any) -> bool:
        """Whether its function may reach the program too, or it may be read again."""
        owner = method.__self__
        if type(method) is types.MethodType and self._are_admitted(method.__func__, owner):
            return True
        own = (kind for kind in type(owner).__mro__ if kind in self._classes.own)
        receivers = (owner, *(super(kind, owner) for kind in own))
        return any(self._has(receiver, method) for receiver in receivers)

    def _has(self, receiver: Any, method: Any) -> bool:
        """Whether this method may be read of the receiver, an object or its `super()`."""
        try:
            value = self._get(receiver, getattr(method, "__name__", ""))
        except OutsideLanguage:
            return False
        return type(value) is type(method) and bool(value == method)


#: How an instance of these classes is admitted: by what it calls.
_RULES: dict[type, Callable[[Values, Any], bool]] = {
    types.FunctionType: Values.is_function,
    types.MethodType: Values.is_method,
    types.BuiltinMethodType: Values.is_method,
    defaultdict: lambda values, d: values._are_admitted(d.default_factory),
    functools.partial: lambda values, p: values._are_admitted(p.func),
    property: lambda values, p: values._are_admitted(p.fget, p.fset, p.fdel),
    staticmethod: lambda values, m: values._are_admitted(m.__func__),
    classmethod: lambda values, m: values._are_admitted(m.__func__),
    functools.cached_property: lambda values, p: values._are_admitted(p.func),
    super: lambda values, s: values._are_admitted(s.__self__, s.__thisclass__),
}


def _is_iterable(value: Any) -> bool:
    kind = type(value)
    return hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")
