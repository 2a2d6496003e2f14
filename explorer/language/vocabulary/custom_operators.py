"""`torch.library.custom_op` for one run: operators that live in Python, and nowhere else.

torch registers an operator for the whole process, under any name, from a schema that its C++ code
parses. Here an operator belongs to the program: it checks its arguments against a fixed table of
types, and calls the program's functions inside an `autograd.Function`, as torch does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch._library.autograd import supports_tensorlist

from explorer.language import notices
from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.stand_in import StandIn

_NAME = re.compile(r"[A-Za-z_]\w{0,60}")
#: What annotations and schemas call a type -> the type of a schema.
_PLAIN = {
    "Tensor": "Tensor", "torch.Tensor": "Tensor", "int": "int", "float": "float", "bool": "bool",
    "str": "str", "torch.dtype": "dtype", "dtype": "dtype", "torch.device": "device",
    "Number": "Scalar", "torch.types.Number": "Scalar", "Scalar": "Scalar", "SymInt": "int",
    "ScalarType": "dtype",
}  # fmt: skip
_KINDS: dict[str, type | tuple[type, ...]] = {
    "Tensor": torch.Tensor, "int": int, "float": (int, float), "bool": bool, "str": str,
    "dtype": torch.dtype, "device": torch.device, "Scalar": (int, float, bool, complex),
}  # fmt: skip
_LIST = re.compile(r"(?:typing\.)?(?:[Ll]ist|[Ss]equence)\[(.*)\]")
_OPTIONAL = re.compile(r"(?:typing\.)?Optional\[(.*)\]|(.*?)\s*\|\s*None|(.*)\?")
_ARGUMENT = re.compile(r"\s*([\w.]+(?:\(\w+!?\))?(?:\[\d*\])?\??)\s+(\w+)\s*(?:=[^,]*)?")


def _parse_type(text: str) -> str:
    """An annotation as "Tensor", "int?", "Tensor[]" and the like. Raises ValueError."""
    text = text.strip().strip("'\"").strip()
    if optional := _OPTIONAL.fullmatch(text):
        return _parse_type(next(filter(None, optional.groups()))) + "?"
    if text.endswith("]") and (items := re.fullmatch(r"(\w+)\[\d*\]", text)) and items[1] in _PLAIN:
        return _PLAIN[items[1]] + "[]"
    if items := _LIST.fullmatch(text):
        return _parse_type(items[1]) + "[]"
    if text in _PLAIN:
        return _PLAIN[text]
    raise ValueError(f"unsupported type {text[:60]}")


def _matches(value: Any, kind: str) -> bool:
    if kind.endswith("?"):
        return value is None or _matches(value, kind[:-1])
    if kind.endswith("[]"):
        is_list = isinstance(value, list | tuple)
        return is_list and all(_matches(item, kind[:-2]) for item in value)
    return isinstance(value, _KINDS[kind])


class _Schema:
    """The names, types and defaults of an operator's arguments, and how many tensors it returns."""

    def __init__(self, arguments: list[tuple[str, str, bool]], defaults: dict[str, Any]) -> None:
        #: (name, type, is keyword only)
        self.arguments, self.defaults = arguments, defaults

    @classmethod
    def of_function(cls, function: Any) -> _Schema:
        """From the annotations of a program's function, which its text gives as strings."""
        code = getattr(function, "__code__", None)
        if code is None:
            raise OutsideLanguage("custom_op needs a function.", "Write it with def.")
        annotations = function.__annotations__
        positional = code.co_varnames[: code.co_argcount]
        keywords = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        arguments = []
        for name in (*positional, *keywords):
            if name not in annotations:
                raise ValueError(
                    f"infer_schema(func): Parameter {name} must have a type annotation."
                )
            arguments.append((name, _parse_type(annotations[name]), name in keywords))
        values = function.__defaults__ or ()
        defaults = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
        return cls(arguments, defaults | (function.__kwdefaults__ or {}))

    @classmethod
    def of_text(cls, text: Any) -> _Schema:
        """From a schema such as "(Tensor x, int n) -> Tensor"."""
        found = re.fullmatch(r"\s*\w*\s*\(([^()]*(?:\(\w+!?\)[^()]*)*)\)\s*->\s*(.+)", str(text))
        if type(text) is not str or len(text) > 1000 or found is None:
            raise ValueError("A schema looks like (Tensor x, int n) -> Tensor")
        arguments, is_keyword = [], False
        for part in filter(str.strip, found[1].split(",")):
            if part.strip() == "*":
                is_keyword = True
                continue
            argument = _ARGUMENT.fullmatch(part)
            if argument is None:
                raise ValueError(f"This argument of the schema cannot be read: {part[:60]}")
            kind = re.sub(r"\(\w+!?\)", "", argument[1])
            arguments.append((argument[2], _parse_type(kind), is_keyword))
        return cls(arguments, {})

    def bind(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments in order. Raises TypeError and RuntimeError as torch's dispatcher does."""
        positional = [a for a in self.arguments if not a[2]]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{name}() expected at most {len(positional)} argument(s) but received {len(args)}"
            )
        given = {a[0]: value for a, value in zip(positional, args, strict=False)} | kwargs
        values = []
        for argument, kind, _ in self.arguments:
            if argument not in given and argument not in self.defaults:
                raise RuntimeError(f"{name}() is missing value for argument '{argument}'.")
            value = given.pop(argument, self.defaults.get(argument))
            if not _matches(value, kind):
                raise RuntimeError(
                    f"{name}() Expected a value of type '{kind}' for argument '{argument}' but "
                    f"instead found type '{type(value).__name__[:60]}'."
                )
            values.append(float(value) if kind == "float" else value)
        if given:
            raise RuntimeError(f"{name}() got an unexpected argument '{next(iter(given))[:60]}'")
        return values


class CustomOperator(StandIn):
    """What `custom_op` returns: it is called like a function."""

    def __init__(self, name: str, schema: _Schema, mutated: frozenset[str]) -> None:
        self._name, self._schema, self._mutated = name, schema, mutated
        self._kernel: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._function = _make_function(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._kernel is None:
            raise NotImplementedError(f"{self._name} has no implementation for the CPU")
        values = self._schema.bind(self._name, args, kwargs)
        tensors = [t for value in values for t in (value if type(value) is list else [value])]
        needs_grad = any(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors)
        if torch.is_grad_enabled() and needs_grad:
            return self._function.apply(*values)
        with torch.no_grad():
            return self._run(values)

    def _run(self, values: list[Any]) -> Any:
        """Call the kernel, and refuse a result that torch would refuse."""
        named = {a[0]: v for a, v in zip(self._schema.arguments, values, strict=True) if a[2]}
        assert self._kernel is not None
        result = self._kernel(*values[: len(values) - len(named)], **named)
        inputs = [t for t in _tensors(values) if t.layout is torch.strided]
        for output in _tensors([result]):
            if any(output is t or _shares_memory(output, t) for t in inputs):
                raise RuntimeError(
                    f"{self._name} (with implementation in ???): The output of this custom "
                    "operator (1) must not also be an input to this custom operator and (2) may "
                    "not alias any inputs to this custom operator or other returns."
                )
        for (name, _, _), value in zip(self._schema.arguments, values, strict=True):
            if name in self._mutated and isinstance(value, torch.Tensor):
                torch.autograd.graph.increment_version(value)
        return result

    def register_kernel(self, device_types: Any, func: Any = None, /) -> Any:
        """An implementation for these devices; here only that for the CPU can run."""
        devices = device_types if isinstance(device_types, list | tuple) else [device_types]

        def register(function: Any) -> Any:
            if None in devices or "cpu" in devices:
                self._kernel = as_function(function)
            else:
                notices.notice("There is no GPU here: the kernel of a custom_op for it never runs.")
            return function

        return register if func is None else register(func)

    def register_fake(self, fn: Any, /) -> Any:
        """What the operator returns without data, for torch.compile; not used here."""
        as_function(fn)
        return fn

    def register_autograd(self, backward: Any, /, *, setup_context: Any = None) -> None:
        """How gradients go back through the operator."""
        if not callable(backward) or not (setup_context is None or callable(setup_context)):
            raise TypeError("register_autograd needs functions")
        if self._mutated:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self._name}."
            )
        self._backward = as_function(backward)
        self._setup = None if setup_context is None else as_function(setup_context)


def _make_function(operator: CustomOperator) -> Any:
    """The `autograd.Function` of an operator; its node is named as torch names it."""

    def forward(ctx: Any, *values: Any) -> Any:
        result = operator._run(list(values))
        if operator._setup is not None:
            keywords = {
                a[0]: v for a, v in zip(operator._schema.arguments, values, strict=True) if a[2]
            }
            inputs = tuple(values[: len(values) - len(keywords)])
            options = {"keyword_only_inputs": keywords} if keywords else {}
            operator._setup(ctx=ctx, inputs=inputs, output=result, **options)
        return result

    def backward(ctx: Any, *gradients: Any) -> Any:
        if operator._backward is None:
            dotted = operator._name.replace("::", ".")
            raise RuntimeError(
                f"Trying to backward through {dotted}.default but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        return operator._backward(ctx, *gradients)

    name = f"GeneratedBackwardFor_{operator._name.replace('::', '_')}_default"
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    function = type(name, (torch.autograd.Function,), members)
    if any(kind == "Tensor[]" for _, kind, _ in operator._schema.arguments):
        function = supports_tensorlist(function)
    return function


def _tensors(values: Any) -> list[torch.Tensor]:
    parts = (item for v in values for item in (v if isinstance(v, list | tuple) else [v]))
    return [part for part in parts if isinstance(part, torch.Tensor)]


def _shares_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.layout is not torch.strided or not a.numel():
        return False
    return a.untyped_storage()._cdata == b.untyped_storage()._cdata


# -- the operators of a run -------------------------------------------------------------------

#: By the watcher of a run: its operators by "namespace::name".
_of_run: WeakKeyDictionary[Any, dict[str, CustomOperator]] = WeakKeyDictionary()
_outside: dict[str, CustomOperator] = {}


def _operators() -> dict[str, CustomOperator]:
    running = notices.running()
    return _outside if running is None else _of_run.setdefault(running, {})


def _check_name(name: Any) -> str:
    parts = name.split("::") if type(name) is str else []
    if len(parts) != 2 or not all(map(_NAME.fullmatch, parts)):
        raise ValueError('The name of an operator looks like "mylib::add"')
    if parts[0] in ("aten", "prim", "prims") or parts[0].startswith("_"):
        raise OutsideLanguage(
            f"The namespace {parts[0][:60]} belongs to torch.", 'Use one of your own: "mylib::add".'
        )
    return str(name)


def _define(name: Any, schema: _Schema, mutates_args: Any) -> CustomOperator:
    names = [argument for argument, _, _ in schema.arguments]
    mutated = names if mutates_args == "unknown" else list(mutates_args)
    if any(argument not in names for argument in mutated):
        raise ValueError("mutates_args names an argument that the operator does not have")
    operator = CustomOperator(_check_name(name), schema, frozenset(mutated))
    if len(_operators()) >= 200:
        raise OutsideLanguage("A program may define at most 200 operators.", "Define fewer.")
    _operators()[name] = operator
    return operator


def _custom_op(
    name: Any,
    fn: Any = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: Any = None,
    tags: Any = None,
) -> Any:
    """`torch.library.custom_op`, as a decorator or called with a function."""

    def make(function: Any) -> CustomOperator:
        parsed = _Schema.of_function(function) if schema is None else _Schema.of_text(schema)
        operator = _define(name, parsed, mutates_args)
        operator.register_kernel(device_types, function)
        return operator

    return make if fn is None else make(fn)


def _find(operator: Any) -> CustomOperator:
    if isinstance(operator, CustomOperator):
        return operator
    found = _operators().get(operator) if type(operator) is str else None
    if found is None:
        raise RuntimeError("There is no operator of this name; define it with custom_op first")
    return found


def _define_by_text(name: Any, schema: Any, *, tags: Any = ()) -> None:
    """`torch.library.define`."""
    _define(name, _Schema.of_text(schema), ())


def _impl(name: Any, types: Any, func: Any = None) -> Any:
    """`torch.library.impl`."""
    devices = [str(t).lower() for t in (types if isinstance(types, list | tuple) else [types])]
    general = ("default", "compositeexplicitautograd")
    return _find(name).register_kernel(
        None if any(d in general for d in devices) else devices, *([] if func is None else [func])
    )


def _register_kernel(op: Any, device_types: Any, func: Any = None) -> Any:
    """`torch.library.register_kernel`."""
    return _find(op).register_kernel(device_types, *([] if func is None else [func]))


def _register_fake(op: Any, func: Any = None) -> Any:
    """`torch.library.register_fake`."""
    operator = _find(op)
    return operator.register_fake if func is None else operator.register_fake(func)


def _register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None) -> None:
    """`torch.library.register_autograd`."""
    _find(op).register_autograd(backward, setup_context=setup_context)


class Namespace(StandIn):
    """`torch.ops.mylib`: the operators of one namespace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def provides(self, name: str) -> bool:
        return f"{self._name}::{name}" in _operators()

    def __getattr__(self, name: str) -> Any:
        operator = _operators().get(f"{self._name}::{name}")
        if operator is None:
            raise AttributeError(name)
        return operator


class Operators(StandIn):
    """`torch.ops`: the namespaces of the program's own operators."""

    def provides(self, name: str) -> bool:
        return any(full.startswith(f"{name}::") for full in _operators())

    def __getattr__(self, name: str) -> Any:
        if not self.provides(name):
            raise AttributeError(name)
        return Namespace(name)


_TITLE = "Operators of your own"
ADDED: dict[str, tuple[str, Any]] = {
    "torch.library.custom_op": (_TITLE, _custom_op),
    "torch.library.define": (_TITLE, _define_by_text),
    "torch.library.impl": (_TITLE, _impl),
    "torch.library.register_kernel": (_TITLE, _register_kernel),
    "torch.library.register_fake": (_TITLE, _register_fake),
    "torch.library.register_autograd": (_TITLE, _register_autograd),
    "torch.ops": (_TITLE, Operators()),
}
