"""Which attributes a program may read and write, decided by the receiver's type.

The vocabulary lists the readable names of a class. In addition, a program may read what is its own:
attributes of instances of its classes, and what it stores on its modules. No other attribute exists
for it.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from collections.abc import Callable
from itertools import islice
from typing import Any

import torch
from torch import nn
from torch._functorch.autograd_function import WrappedCtx
from torch.optim.lr_scheduler import LRScheduler

from explorer.language import vocabulary
from explorer.language.error_messages.attributes import hint_for
from explorer.language.errors import OutsideLanguage
from explorer.language.guard import formatting
from explorer.language.guard.checked_methods import CHECKED_METHODS, Getter
from explorer.language.guard.classes import Classes
from explorer.language.guard.values import METHODS, Values
from explorer.language.missing import MissingImport
from explorer.language.module_proxy import ModuleProxy
from explorer.language.syntax import SPECIAL_READS
from explorer.language.vocabulary import devices, gradient_edges, memory_safety, saved_hooks
from explorer.language.vocabulary.callbacks import with_functions
from explorer.language.vocabulary.checked_torch import OPTIMIZER_FIELDS, set_optimizer_field
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday.per_run import PerRun, Run
from explorer.language.vocabulary.node_proxy import NodeProxy
from explorer.language.vocabulary.parametrizations import is_parametrized_name
from explorer.language.watcher import Watcher

#: Where torch stores the parts of a module.
_STORES = ("_parameters", "_buffers", "_modules")


class Attributes:
    """Reads, writes and deletes attributes for one run. All raise OutsideLanguage.

    `names` are the globals of the program's functions.
    """

    def __init__(self, classes: Classes, watcher: Watcher, names: dict[str, Any]) -> None:
        self.classes = classes
        self.values = Values(classes, self.get, names)
        self._kinds = self.values.kinds
        self.watched = WatchedCalls(watcher, self.values)
        #: Names of modules that differ from run to run: functions, and settings.
        self._functions = self.watched.functions() | _applying(self.values)
        self._getters: dict[type, dict[str, Getter]] = {}
        self.watcher = watcher
        #: What the functions that are made for this run may use.
        self.run = Run(self)

    def get(self, receiver: Any, name: str) -> Any:
        """The value of `receiver.name`."""
        kind = type(receiver)
        if kind is ModuleProxy:
            place = receiver.path, name
            ours = self._functions
            value = ours[place] if place in ours else receiver.member(name)
            return self.run.made(value) if type(value) is PerRun else value
        if kind is NodeProxy:
            return self.get(receiver.node, name)
        if kind is MissingImport:
            return receiver.member(name)
        getter = (self._getters.get(kind) or self._getters_of(kind)).get(name)
        owner = receiver
        if getter is not None:
            value = getter(receiver, name)
        elif kind is super:
            owner, value = receiver.__self__, self._inherited(receiver, name)
        elif name == "__class__" and not isinstance(receiver, type):
            return self.classes.of(receiver)
        elif self._is_own(receiver, kind, name):
            value = self._safe(receiver, name, getattr(receiver, name))
        elif isinstance(receiver, type | ClassProxy) and vocabulary.class_member(receiver, name):
            return vocabulary.class_member(receiver, name)
        else:
            raise self._missing(receiver, kind, name)
        kind = type(value)
        if kind in self._kinds or (kind in METHODS and value.__self__ is owner):
            return value  # most often, and admit() would say the same
        return self.values.admit(value)

    def set(self, receiver: Any, name: str, value: Any) -> None:
        """Perform `receiver.name = value`."""
        self.values.admit(value)  # Python may have called setattr
        if type(receiver) is MissingImport:
            receiver.ignore_change()
            return
        self._check_writable(receiver, name)
        if name == "data" and isinstance(receiver, torch.Tensor):
            memory_safety.set_data(receiver, value)
        elif isinstance(receiver, torch.optim.Optimizer) and name in OPTIMIZER_FIELDS:
            set_optimizer_field(receiver, name, value)
        elif type(receiver) is ModuleProxy:
            self._functions[receiver.path, name] = value
        else:
            setattr(receiver, name, value)

    def delete(self, receiver: Any, name: str) -> None:
        """Perform `del receiver.name`."""
        if type(receiver) is MissingImport:
            receiver.ignore_change()
            return
        self._check_writable(receiver, name)
        delattr(receiver, name)

    def _getters_of(self, kind: type) -> dict[str, Getter]:
        """The readable names of a class, each with the function that reads it."""
        if kind in self._getters:
            return self._getters[kind]
        getters: dict[str, Getter] = dict.fromkeys(vocabulary.readable_names(kind), getattr)
        for (holder, name), getter in CHECKED_METHODS.items():
            if name in getters and issubclass(kind, holder):
                getters[name] = getter
        for holder, name in WATCHED_METHODS:
            if name in getters and issubclass(kind, holder):
                getters[name] = self.watched.method
        self._getters[kind] = getters
        return getters

    def names(self, value: Any) -> list[str]:
        """The public names that a program may read of a value, sorted: its `dir`."""
        kind = type(value)
        if kind is ModuleProxy:
            return sorted(vocabulary.module_members(value.path) or ())
        known = {*self._getters_of(kind), *getattr(value, "__dict__", ())}
        for base in value.__mro__ if isinstance(value, type) else kind.__mro__:
            known |= set(vars(base)) if base in self.classes.own else set()
        return sorted(name for name in known if type(name) is str and name[:1] != "_")

    def fields(self, value: Any) -> dict[str, Any]:
        """A copy of the attributes that the program gave an object: its `vars`."""
        names = [name for name in getattr(value, "__dict__", ()) if type(name) is str]
        if type(value) not in self.classes.own and not isinstance(value, vocabulary.StandIn):
            raise TypeError("vars() needs an object of one of your own classes here")
        is_module = isinstance(value, nn.Module)
        return {
            name: self.get(value, name)
            for name in names
            if name[:2] != "__"
            and not (name[:1] == "_" and is_module)
            and (type(value) in self.classes.own or name[:1] != "_")
        }

    # -- the program's own names ------------------------------------------------------------

    def _is_own(self, receiver: Any, kind: type, name: str) -> bool:
        """Whether the program itself put this name there."""
        if name.startswith("__"):
            return name in SPECIAL_READS and self._is_special(receiver, kind, name)
        if isinstance(receiver, nn.Module):
            return self._is_stored(receiver, kind, name)
        if kind in self.classes.own:
            stored = getattr(receiver, "__dict__", ())  # a named tuple stores nothing
            return name in stored or self.classes.defines(kind, name)
        if kind is types.FunctionType:
            return name in receiver.__dict__ and self._has_names(receiver, name)
        if isinstance(receiver, vocabulary.StandIn):
            return name[:1] != "_" and (name in receiver.__dict__ or receiver.provides(name))
        if isinstance(receiver, type):
            return self.classes.defines(receiver, name) or (
                name == "apply" and issubclass(receiver, torch.autograd.Function)
            )
        if isinstance(receiver, WrappedCtx):  # what vmap makes of the context of a Function
            return self._is_own(receiver._pt_inner_ctx, type(receiver._pt_inner_ctx), name)
        if isinstance(receiver, torch.autograd.function.FunctionCtx):
            return not name.startswith("_") and name in receiver.__dict__
        if issubclass(kind, torch.autograd.graph.Node):
            saved = name.removeprefix("_raw")
            return saved.startswith("_saved_") and not memory_safety.is_uninitialised(
                receiver, saved
            )
        if isinstance(receiver, tuple) and hasattr(kind, "n_sequence_fields"):
            # torch.return_types: the result of max(dim=…)
            return not name.startswith(("_", "n_")) and isinstance(
                inspect.getattr_static(kind, name, None), types.MemberDescriptorType
            )
        return False

    def _has_names(self, function: types.FunctionType, name: str) -> bool:
        """Whether the program may give this function an attribute: it is one of its own."""
        return name[:1] != "_" and self.values.is_own_function(function)

    def _is_stored(self, module: nn.Module, kind: type, name: str) -> bool:
        """Whether `module.name` was stored on this module, or defined by the program's class."""
        fields = module.__dict__
        if name in fields:
            return name[:1] != "_" or name not in vocabulary.private_names(kind)
        if any(name in vars(c) for c in kind.__mro__):
            return self.classes.defines(kind, name) or is_parametrized_name(kind, name)
        return any(name in fields.get(store, ()) for store in _STORES)

    def _inherited(self, receiver: Any, name: str) -> Any:
        """The value of `super().name`: as on the object itself, but only after a class of the
        program's own. `super(nn.LSTM, lstm)` would bypass the checks of that class."""
        owner, kind = receiver.__self__, receiver.__self_class__
        after = receiver.__thisclass__
        if owner is None or after not in self.classes.own:
            raise OutsideLanguage(
                "super() needs one of your own classes as its first argument.",
                "Use super() without arguments.",
            )
        if self.classes.defines(kind, name, after):
            return getattr(receiver, name)
        getter = _INHERITED.get(name) or self._getters_of(kind).get(name)
        if isinstance(owner, type) or getter is None:
            raise self._missing(owner, kind, name)
        return getter(receiver, name)

    def _safe(self, receiver: Any, name: str, value: Any) -> Any:
        """The value of `receiver.name`, or a safe substitute for it."""
        if name.startswith("_raw_saved_"):
            return saved_hooks.SavedTensor(receiver, name)
        if name.startswith("_saved_"):
            values = value if isinstance(value, tuple) else (value,)
            private = tuple(map(memory_safety.private_copy, values))
            return private if isinstance(value, tuple) else private[0]
        if name == "__init__" and self.classes.definer(receiver, name) not in self.classes.own:
            return memory_safety.with_zero_initialisation(value)
        return value

    def _is_special(self, receiver: Any, kind: type, name: str) -> bool:
        """Whether a name with two underscores may be read on this receiver."""
        if name == "__name__":
            functions = types.FunctionType | types.BuiltinFunctionType | types.MethodType
            return isinstance(receiver, type | ClassProxy | functions)
        if name == "__doc__":
            return isinstance(receiver, types.FunctionType) or kind in self.classes.own
        if name == "__class__":
            return False  # the class of a class; `get` handles everything else
        if isinstance(receiver, type):
            known = receiver in self.classes.own or receiver in vocabulary.BASES
            return known and name == "__init__"
        return kind in self.classes.own and self.classes.definer(kind, name) in self.classes.own

    # -- writing ----------------------------------------------------------------------------

    def _check_writable(self, receiver: Any, name: str) -> None:
        kind = type(receiver)
        if name.startswith("__") or not self._is_writable(receiver, kind, name):
            is_type = isinstance(receiver, type)
            what = vocabulary.class_name(receiver if is_type else kind)
            what = receiver.path if kind is ModuleProxy else what
            is_tensor = isinstance(receiver, torch.Tensor)
            hint = "Use a variable of its own instead." if is_tensor else ""
            raise OutsideLanguage(f"{what}.{name[:60]} cannot be assigned.", hint)

    def _is_writable(self, receiver: Any, kind: type, name: str) -> bool:
        if isinstance(receiver, torch.Tensor):
            return name in vocabulary.WRITABLE_TENSOR_NAMES
        if kind is ModuleProxy:
            return name in devices.SETTINGS.get(receiver.path, ())
        if isinstance(receiver, nn.Module):
            return name[:1] != "_" or name not in vocabulary.private_names(kind)
        if isinstance(receiver, WrappedCtx):
            inner = receiver._pt_inner_ctx
            return not hasattr(kind, name) and self._is_writable(inner, type(inner), name)
        if isinstance(receiver, torch.autograd.function.FunctionCtx):
            # torchviz and the recorder recognise the node of a leaf by its `variable`.
            return name[:1] != "_" and name != "variable" and not hasattr(kind, name)
        if isinstance(receiver, vocabulary.StandIn):
            return name in receiver.writable
        if kind is types.FunctionType:
            return self._has_names(receiver, name)
        if isinstance(receiver, torch.optim.Optimizer) and name in OPTIMIZER_FIELDS:
            return kind in self.classes.own  # `set` checks the value
        owner = receiver if isinstance(receiver, type) else kind
        return owner in self.classes.own and self.classes.is_free(owner, name)

    # -- errors -----------------------------------------------------------------------------

    def _missing(self, receiver: Any, kind: type, name: str) -> OutsideLanguage:
        """The error for a missing attribute, with a suggestion."""
        what = vocabulary.class_name(receiver if isinstance(receiver, type | ClassProxy) else kind)
        exists = inspect.getattr_static(receiver, name, None) is not None
        if name.startswith("__") or not exists:

            def find_hint() -> str:
                fields = islice(getattr(receiver, "__dict__", ()), 1000)
                known = {*self._getters_of(kind), *fields}
                closest = vocabulary.closest_name(name, known)
                if closest:
                    return f"Did you mean .{closest}?"
                if kind in self.classes.own and isinstance(receiver, nn.Module):
                    return f"Give it one in __init__: self.{name[:60]} = …"
                return hint_for(what, name)

            if receiver is None:
                return OutsideLanguage(f"The value before .{name[:60]} is None.", find_hint)
            return OutsideLanguage(f"{what} has no attribute {name[:60]}.", find_hint)
        hint = vocabulary.LEFT_OUT_NAMES.get(name, "The Glossary lists all supported names.")
        return OutsideLanguage(f"{what}.{name[:60]} is not supported here.", hint)


def _get_init(receiver: Any, name: str) -> Any:
    return memory_safety.with_zero_initialisation(receiver.__init__)


def _get_text_method(receiver: Any, name: str) -> Any:
    return lambda: formatting.to_text(receiver.__self__, lambda owner: getattr(receiver, name)())


#: What may be read of `super()`, besides what may be read of the object.
_INHERITED: dict[str, Getter] = {
    "__init__": _get_init,
    "__call__": getattr,
    "__len__": getattr,
    "__repr__": _get_text_method,
    "__str__": _get_text_method,
}


def _applying(values: Values) -> dict[tuple[str, str], Any]:
    """What calls a function for each item: the function, which may be one of Python or torch, gets
    only admitted items."""

    def reduce(function: Any, items: Any, *first: Any) -> Any:
        return functools.reduce(function, values.iterate(iter(items)), *first)

    def accumulate(items: Any, *function: Any, **options: Any) -> Any:
        return itertools.accumulate(values.iterate(iter(items)), *function, **options)

    proxy = ClassProxy(itertools.accumulate, accumulate)
    return {("functools", "reduce"): reduce, ("itertools", "accumulate"): proxy}


# -- calls that are reported to the watcher -----------------------------------------------------

#: Methods whose calls go through `Watcher.call`, by the class they belong to.
WATCHED_METHODS: tuple[tuple[type, str], ...] = (
    (torch.Tensor, "backward"),
    (torch.Tensor, "register_hook"),
    (torch.Tensor, "register_post_accumulate_grad_hook"),
    (torch.Tensor, "retain_grad"),
    (torch.optim.Optimizer, "step"),
    (torch.optim.Optimizer, "zero_grad"),
    (LRScheduler, "step"),
    (nn.Module, "zero_grad"),
    (nn.Module, "register_forward_hook"),
    (nn.Module, "register_forward_pre_hook"),
    (nn.Module, "register_full_backward_hook"),
    (nn.Module, "register_full_backward_pre_hook"),
    (nn.Module, "register_backward_hook"),
)
_GRAPH = vocabulary.module_members("torch.autograd.graph") or {}
#: The same for functions.
WATCHED_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch.autograd", "grad"): gradient_edges.with_edges(torch.autograd.grad),
    ("torch.autograd", "backward"): gradient_edges.with_edges(torch.autograd.backward),
    ("torch.nn.utils", "clip_grad_norm_"): nn.utils.clip_grad_norm_,
    ("torch.nn.utils", "clip_grad_value_"): nn.utils.clip_grad_value_,
    **{
        ("torch.autograd.graph", name): _GRAPH[name]
        for name in ("saved_tensors_hooks", "register_multi_grad_hook", "increment_version")
    },
}


class WatchedCalls:
    """Wraps watched methods and functions so that their calls are reported to the watcher."""

    def __init__(self, watcher: Watcher, values: Values) -> None:
        self.watcher, self.values = watcher, values

    def functions(self) -> dict[tuple[str, str], Any]:
        """The wrapped functions, by module and name."""
        return {
            (path, name): self.wrap(f"{path}.{name}", None, function)
            for (path, name), function in WATCHED_FUNCTIONS.items()
        }

    def method(self, receiver: Any, name: str) -> Callable[..., Any]:
        """The wrapped method, or `super().method`, under the name of its class in
        WATCHED_METHODS."""
        owner = getattr(receiver, "__self__", receiver)  # of super()
        holder = next(h for h, n in WATCHED_METHODS if n == name and isinstance(owner, h))
        method = getattr(receiver, name)
        if name.startswith("register_"):
            method = with_functions(method)
        if name == "backward":
            method = gradient_edges.with_edges(method)
        return self.wrap(f"{holder.__name__}.{name}", owner, method)

    def wrap(self, call: str, receiver: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, so that its calls go through `Watcher.call`."""

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self.values.are_arguments(*args, *kwargs.values())  # Python may be the caller
            return self.watcher.call(call, receiver, function, *args, **kwargs)

        wrapper.__name__ = call.rpartition(".")[2]
        return wrapper
