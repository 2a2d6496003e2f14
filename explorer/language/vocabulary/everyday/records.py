"""dataclasses, namedtuple and SimpleNamespace, written here: Python makes theirs by exec."""

from __future__ import annotations

import collections
import copy
import dataclasses
import keyword
import reprlib
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.everyday import checks
from explorer.language.vocabulary.everyday.per_run import PerRun, Run
from explorer.language.vocabulary.everyday.type_names import Annotation
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "Records"
_MISSING: Any = Annotation("dataclasses.MISSING")
#: The most fields of a class, and the most values that `asdict` copies.
_MOST_FIELDS, _MOST_VALUES = 1000, 100_000


def annotations_of(kind: type) -> dict[str, str]:
    """The annotated names of a program's class, each with the text of its annotation."""
    return dict(vars(kind).get("__annotations__", {}))


# -- dataclasses --------------------------------------------------------------------------------


class Field(StandIn):
    """A field of a dataclass."""

    def __init__(
        self, *, default: Any = _MISSING, default_factory: Any = _MISSING, init: bool = True,
        repr: bool = True, hash: Any = None, compare: bool = True, metadata: Any = None,
        kw_only: Any = _MISSING,
    ) -> None:  # fmt: skip
        if default is not _MISSING and default_factory is not _MISSING:
            raise ValueError("cannot specify both default and default_factory")
        self.name, self.type = "", ""
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.hash, self.compare = init, repr, hash, compare
        self.metadata, self.kw_only = metadata or {}, kw_only
        self._is_argument_only = False

    def _has_default(self) -> bool:
        return self.default is not _MISSING or self.default_factory is not _MISSING


class _Dataclasses:
    """The dataclasses of one run: a class and its fields."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.fields: dict[type, dict[str, Field]] = {}
        self.frozen: set[type] = set()
        self.functions = {
            "dataclass": self._dataclass(), "fields": self._get_fields(),
            "asdict": self._asdict(), "astuple": self._astuple(), "replace": self._replace(),
            "is_dataclass": self._is_dataclass(),
        }  # fmt: skip

    def _dataclass(self) -> Callable[..., Any]:
        def dataclass(cls: Any = None, /, **options: Any) -> Any:
            """Give a class an __init__, a __repr__ and an __eq__ made from its annotations."""
            for name in options.keys() - _OPTIONS.keys():
                raise TypeError(f"dataclass() got an unexpected keyword argument '{name[:60]}'")
            chosen = _OPTIONS | options
            decorate = lambda kind: self.process(kind, chosen)  # noqa: E731
            return decorate if cls is None else decorate(cls)

        return dataclass

    def process(self, kind: Any, options: dict[str, bool]) -> Any:
        if not self.run.is_own_class(kind):
            raise OutsideLanguage("dataclass needs a class of your own.")
        others = [c for c in kind.__mro__ if c not in self.run.classes.own and c is not object]
        if others and options["frozen"]:
            raise OutsideLanguage(f"A {others[0].__name__} cannot be a frozen dataclass.")
        if issubclass(kind, tuple):
            raise OutsideLanguage("A tuple cannot be a dataclass.")
        fields = self.collect(kind, options["kw_only"])
        self.fields[kind] = fields
        if options["frozen"]:
            self.frozen.add(kind)
        made: dict[str, Any] = {"__match_args__": tuple(
            f.name for f in fields.values() if f.init and not f.kw_only
        )}  # fmt: skip
        if options["init"]:
            made["__init__"] = _make_init(self, kind, list(fields.values()))
        own = [f for f in fields.values() if not f._is_argument_only]
        compared = [f.name for f in own if f.compare]
        if options["repr"]:
            made["__repr__"] = _make_repr([f.name for f in own if f.repr])
        if options["eq"]:
            made["__eq__"] = _make_comparison("__eq__", compared)
        defined = set(vars(kind))
        made = {
            name: value for name, value in made.items() if name not in defined or name == "__init__"
        }
        if options["order"]:
            if not options["eq"]:
                raise ValueError("eq must be true if order is true")
            for name in ("__lt__", "__le__", "__gt__", "__ge__"):
                if name in defined:
                    raise TypeError(
                        f"Cannot overwrite attribute {name} in class {kind.__name__}. "
                        "Consider using functools.total_ordering"
                    )
                made[name] = _make_comparison(name, compared)
        has_hash = vars(kind).get("__hash__") is not None
        hashed = [f.name for f in own if (f.compare if f.hash is None else f.hash)]
        if options["unsafe_hash"] or (options["eq"] and options["frozen"] and not has_hash):
            made["__hash__"] = lambda self: hash(tuple(getattr(self, name) for name in hashed))
        elif options["eq"] and not options["frozen"] and not has_hash:
            made["__hash__"] = None
        if options["frozen"]:
            made |= _make_frozen(kind, set(fields))
        for name, value in made.items():
            if isinstance(value, types.FunctionType):
                value.__name__, value.__qualname__ = name, f"{kind.__qualname__}.{name}"
                # A function of the language, which a program may get, is one inside another.
            setattr(kind, name, value)
        return kind

    def collect(self, kind: type, kw_only: bool) -> dict[str, Field]:
        """The fields of a class, those of its bases first."""
        fields: dict[str, Field] = {}
        for base in reversed(kind.__mro__[1:]):
            fields |= self.fields.get(base, {})
        annotated = annotations_of(kind)
        for name, text in annotated.items():
            short = text.strip("'\"").split("[")[0].split(".")[-1]
            if short == "ClassVar":
                continue
            if short == "KW_ONLY":
                kw_only = True
                continue
            default = next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), _MISSING)
            field = copy.copy(default) if isinstance(default, Field) else Field(default=default)
            field.name, field.type = name, text
            field.kw_only = kw_only if field.kw_only is _MISSING else bool(field.kw_only)
            field._is_argument_only = short == "InitVar"
            if isinstance(default, Field):
                if field.default is _MISSING:
                    delattr(kind, name) if name in vars(kind) else None
                else:
                    setattr(kind, name, field.default)
            if type(field.default).__hash__ is None:
                raise ValueError(
                    f"mutable default {type(field.default)} for field {name} is not allowed: "
                    "use default_factory"
                )
            fields[name] = field
        for name, value in vars(kind).items():
            if isinstance(value, Field) and name not in annotated:
                raise TypeError(f"{name!r} is a field but has no type annotation")
        checks.require_int(len(fields), "The number of fields", _MOST_FIELDS)
        seen_default = False
        for field in fields.values():
            if field.init and not field.kw_only:
                if not field._has_default() and seen_default:
                    raise TypeError(f"non-default argument {field.name!r} follows default argument")
                seen_default = seen_default or field._has_default()
        return fields

    def of(self, value: Any, what: str) -> list[Field]:
        """The fields of a dataclass or of its instance."""
        kind = value if isinstance(value, type) else type(value)
        for base in kind.__mro__:
            if base in self.fields:
                return [f for f in self.fields[base].values() if not f._is_argument_only]
        raise TypeError(what)

    def is_instance(self, value: Any) -> bool:
        return any(base in self.fields for base in type(value).__mro__)

    def _get_fields(self) -> Callable[..., Any]:
        def fields(class_or_instance: Any) -> tuple[Field, ...]:
            """The fields of a dataclass."""
            return tuple(
                self.of(class_or_instance, "must be called with a dataclass type or instance")
            )

        return fields

    def _is_dataclass(self) -> Callable[..., bool]:
        def is_dataclass(obj: Any) -> bool:
            """Whether this is a dataclass or an instance of one."""
            return self.is_instance(obj) or (
                isinstance(obj, type) and any(base in self.fields for base in obj.__mro__)
            )

        return is_dataclass

    def _convert(self, value: Any, make: Callable[[list[tuple[str, Any]]], Any]) -> Any:
        left = _MOST_VALUES

        def convert(value: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise OutsideLanguage("This value has too many parts.", "Convert a part of it.")
            if self.is_instance(value):
                return make([(f.name, convert(getattr(value, f.name))) for f in self.of(value, "")])
            if isinstance(value, tuple) and hasattr(value, "_fields"):
                return type(value)(*map(convert, value))
            if type(value) in (list, tuple):
                return type(value)(map(convert, value))
            if type(value) is dict:
                return {convert(key): convert(item) for key, item in value.items()}
            return copy.deepcopy(value)

        return convert(value)

    def _asdict(self) -> Callable[..., Any]:
        def asdict(obj: Any, *, dict_factory: Any = dict) -> Any:
            """The fields of an instance as a dictionary, those of its parts too."""
            if not self.is_instance(obj):
                raise TypeError("asdict() should be called on dataclass instances")
            return self._convert(obj, dict_factory)

        return asdict

    def _astuple(self) -> Callable[..., Any]:
        def astuple(obj: Any, *, tuple_factory: Any = tuple) -> Any:
            """The values of the fields of an instance as a tuple, those of its parts too."""
            if not self.is_instance(obj):
                raise TypeError("astuple() should be called on dataclass instances")
            return self._convert(obj, lambda pairs: tuple_factory([value for _, value in pairs]))

        return astuple

    def _replace(self) -> Callable[..., Any]:
        def replace(obj: Any, /, **changes: Any) -> Any:
            """A copy of an instance with other values of some fields."""
            if not self.is_instance(obj):
                raise TypeError("replace() should be called on dataclass instances")
            for field in self.of(obj, ""):
                if not field.init and field.name in changes:
                    raise ValueError(
                        f"field {field.name} is declared with init=False, "
                        "it cannot be specified with replace()"
                    )
                if field.init:
                    changes.setdefault(field.name, getattr(obj, field.name))
            return type(obj)(**changes)

        return replace


_OPTIONS = {
    "init": True, "repr": True, "eq": True, "order": False, "unsafe_hash": False, "frozen": False,
    "match_args": True, "kw_only": False, "slots": False, "weakref_slot": False,
}  # fmt: skip


def _make_init(of: _Dataclasses, kind: type, fields: list[Field]) -> Any:
    accepted = [f for f in fields if f.init]
    names = [f.name for f in accepted if not f.kw_only]
    required = [f.name for f in accepted if not f._has_default()]
    keywords = {f.name for f in accepted}
    optional = sum(f._has_default() for f in accepted if not f.kw_only)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        what = f"{kind.__qualname__}.__init__()"
        given = bind(what, names, keywords, required, optional, args, kwargs)
        arguments = []
        for field in fields:
            if field.init and field.name in given:
                value = given[field.name]
            elif field.default_factory is not _MISSING:
                value = field.default_factory()
            elif field.init and field.default is not _MISSING:
                value = field.default
            else:
                continue
            if field._is_argument_only:
                arguments.append(value)
            elif kind in of.frozen:
                object.__setattr__(self, field.name, value)
            else:
                of.run.set(self, field.name, value)
        if hasattr(kind, "__post_init__"):
            self.__post_init__(*arguments)

    return __init__


def bind(
    what: str, names: list[str], keywords: set[str], required: list[str], optional: int,
    args: tuple[Any, ...], kwargs: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The arguments of a call by name. Raises TypeError in the words of Python."""
    if len(args) > len(names):
        most, least = len(names) + 1, len(names) - optional + 1
        takes = str(most) if not optional else f"from {least} to {most}"
        plural = "" if takes == "1" else "s"
        raise TypeError(
            f"{what} takes {takes} positional argument{plural} but {len(args) + 1} were given"
        )
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in keywords:
            raise TypeError(f"{what} got an unexpected keyword argument '{name[:60]}'")
        if name in given:
            raise TypeError(f"{what} got multiple values for argument '{name}'")
        given[name] = value
    absent = [name for name in required if name not in given]
    if absent:
        kind = "positional" if absent[0] in names else "keyword-only"
        listed = [repr(name) for name in absent if (name in names) == (kind == "positional")]
        text = listed[0] if len(listed) == 1 else _listed(listed)
        plural = "" if len(listed) == 1 else "s"
        raise TypeError(f"{what} missing {len(listed)} required {kind} argument{plural}: {text}")
    return given


def _listed(names: list[str]) -> str:
    if len(names) == 2:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def _make_repr(names: list[str]) -> Any:
    @reprlib.recursive_repr()
    def text(self: Any) -> str:
        parts, length = [], 0
        for name in names:
            part = f"{name}={checks.to_text(getattr(self, name), repr)}"
            length += len(part)
            checks.check_printable(length)
            parts.append(part)
        return f"{type(self).__qualname__}({', '.join(parts)})"

    return lambda self: text(self)


def _make_comparison(name: str, names: list[str]) -> Any:
    def compare(self: Any, other: Any) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        left, right = (tuple(getattr(one, n) for n in names) for one in (self, other))
        return getattr(left, name)(right)

    return compare


def _make_frozen(kind: type, names: set[str]) -> dict[str, Any]:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)  # type: ignore[arg-type]

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)  # type: ignore[arg-type]

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


# -- named tuples -------------------------------------------------------------------------------

#: What a class derived from a named tuple may not define: Python and torch read the items of a
#: tuple directly.
NOT_OF_TUPLES = frozenset(
    [
        "__iter__",
        "__len__",
        "__getitem__",
        "__contains__",
        "__reversed__",
        "__next__",
        "__setitem__",
        "__delitem__",
        "__call__",
        "__new__",
        "__bool__",
    ]
)


def make_named_tuple(
    run: Run, typename: Any, fields: Iterable[str], defaults: Iterable[Any], more: Any = ()
) -> type:
    """A class of tuples whose items have names."""
    names, given = list(fields), list(defaults)
    checks.require_int(len(names), "The number of fields", _MOST_FIELDS)
    for name in (typename, *names):
        if type(name) is not str:
            raise TypeError("Type names and field names must be strings")
        if not name.isidentifier() or len(name) > 200:
            raise ValueError(f"Type names and field names must be valid identifiers: {name[:60]!r}")
        if keyword.iskeyword(name):
            raise ValueError(f"Type names and field names cannot be a keyword: {name!r}")
        if name.startswith("__"):
            raise OutsideLanguage("A name cannot begin with two underscores here.")
    for place, name in enumerate(names):
        if name.startswith("_"):
            raise ValueError(f"Field names cannot start with an underscore: {name!r}")
        if name in names[:place]:
            raise ValueError(f"Encountered duplicate field name: {name!r}")
    if len(given) > len(names):
        raise TypeError("Got more default values than field names")
    by_name = dict(zip(names[len(names) - len(given) :], given, strict=True))
    required = [name for name in names if name not in by_name]

    def __new__(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        what = f"{typename}.__new__()"
        bound = bind(what, names, set(names), required, len(given), args, kwargs)
        return tuple.__new__(cls, [bound[n] if n in bound else by_name[n] for n in names])

    def _make(cls: Any, iterable: Any) -> Any:
        items = list(checks.bounded(iterable))
        if len(items) != len(names):
            raise TypeError(f"Expected {len(names)} arguments, got {len(items)}")
        return tuple.__new__(cls, items)

    def _replace(self: Any, /, **changes: Any) -> Any:
        items = [changes.pop(name, item) for name, item in zip(names, self, strict=True)]
        if changes:
            raise ValueError(f"Got unexpected field names: {list(changes)!r}")
        return tuple.__new__(type(self), items)

    def _asdict(self: Any) -> dict[str, Any]:
        return dict(zip(names, self, strict=True))

    def __repr__(self: Any) -> str:
        parts = (f"{name}={item!r}" for name, item in zip(names, self, strict=True))
        return f"{type(self).__name__}({', '.join(parts)})"

    def item(place: int) -> Any:
        return property(lambda self: tuple.__getitem__(self, place))

    namespace: dict[str, Any] = {
        "__slots__": (), "__module__": "__main__", "_fields": tuple(names),
        "__match_args__": tuple(names), "_field_defaults": by_name, "__new__": __new__,
        "_make": classmethod(_make), "_replace": _replace, "_asdict": _asdict,
        "__repr__": __repr__, "__doc__": f"{typename}({', '.join(names)})",
    }  # fmt: skip
    namespace |= {name: item(place) for place, name in enumerate(names)} | dict(more)
    kind = type(typename, (tuple,), namespace)
    run.classes.own.add(kind)
    return kind


def _namedtuple(run: Run) -> Any:
    def namedtuple(
        typename: str, field_names: Any, *, rename: bool = False, defaults: Any = None,
        module: Any = None,
    ) -> Any:  # fmt: skip
        """A class of tuples whose items have names."""
        if type(field_names) is str:
            field_names = field_names.replace(",", " ").split()
        names = list(checks.bounded(field_names))
        if rename:
            for place, name in enumerate(names):
                valid = type(name) is str and name.isidentifier() and name[:1] != "_"
                if not valid or keyword.iskeyword(name) or name in names[:place]:
                    names[place] = f"_{place}"
        if any(type(name) is str and name[:1] == "_" for name in names) and rename:
            raise OutsideLanguage("rename= is not supported for these names.", "Choose names.")
        return make_named_tuple(run, typename, names, checks.bounded(defaults or ()))

    return namedtuple


class TypedTuple(StandIn):
    """`typing.NamedTuple`, as a base of a class and as a function."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, typename: str, fields: Any = (), /, **more: Any) -> Any:
        names = [name for name, _ in checks.bounded(fields)]
        return make_named_tuple(self._run, typename, [*names, *more], ())

    def derive(self, kind: type) -> type:
        """The named tuple that a class statement describes."""
        names, body = list(annotations_of(kind)), dict(vars(kind))
        with_default = [name for name in names if name in body]
        if names[len(names) - len(with_default) :] != with_default:
            raise TypeError("non-default namedtuple field cannot follow default field")
        defaults = [body.pop(name) for name in with_default]
        hidden = {"__dict__", "__weakref__", "__module__", "__array__"}
        if body.get("__doc__", "") is None:
            hidden.add("__doc__")
        for name in body.keys() & NOT_OF_TUPLES:
            raise OutsideLanguage(f"A named tuple cannot define {name} here.")
        methods = {name: value for name, value in body.items() if name not in hidden}
        made = make_named_tuple(self._run, kind.__name__, names, defaults, methods)
        made.__qualname__ = kind.__qualname__
        return made


# -- namespaces ---------------------------------------------------------------------------------


class _PublicNames(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name[:1] != "_"


class Namespace(StandIn):
    """An object with the attributes that it is given: `types.SimpleNamespace`."""

    writable = _PublicNames()
    _title = "namespace"

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            if name[:1] == "_":
                raise OutsideLanguage("A name cannot begin with an underscore here.")
            vars(self)[name] = value

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Namespace) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, name: object) -> bool:
        return name in vars(self)

    def __repr__(self) -> str:
        return _make_namespace_text(self)


@reprlib.recursive_repr("namespace(...)")
def _make_namespace_text(value: Namespace) -> str:
    parts, length = [], 0
    for name, item in vars(value).items():
        parts.append(f"{name}={checks.to_text(item, repr)}")
        length += len(parts[-1])
        checks.check_printable(length)
    return f"{value._title}({', '.join(parts)})"


_DATACLASSES = "dataclass fields asdict astuple replace is_dataclass"
ADDED: dict[str, tuple[str, Any]] = {
    path: (TITLE, thing)
    for path, thing in {
        **{
            f"dataclasses.{name}": PerRun(
                lambda run, name=name: run.shared(_Dataclasses).functions[name],  # type: ignore[misc]
                getattr(dataclasses, name),
            )
            for name in _DATACLASSES.split()
        },
        "dataclasses.field": Field,
        "dataclasses.MISSING": _MISSING,
        "dataclasses.KW_ONLY": Annotation("dataclasses.KW_ONLY"),
        "dataclasses.InitVar": Annotation("dataclasses.InitVar"),
        "dataclasses.FrozenInstanceError": dataclasses.FrozenInstanceError,
        "collections.namedtuple": PerRun(_namedtuple, collections.namedtuple),
        "typing.NamedTuple": PerRun(TypedTuple, typing.NamedTuple),
        "types.SimpleNamespace": Namespace,
    }.items()
}
