"""functools, operator, itertools, heapq, bisect and contextlib: functions of functions.

What calls a function for each item hands it only admitted items: it may be one of Python or torch.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import heapq
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday.checks import bounded, check_list_length
from explorer.language.vocabulary.everyday.per_run import PerRun, Run
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "Functions of functions"

# -- functools ----------------------------------------------------------------------------------


def _wraps(run: Run) -> Any:
    def wraps(wrapped: Any, assigned: Any = (), updated: Any = ()) -> Callable[[Any], Any]:
        """Give a function the name and the docstring of the one that it wraps."""

        def decorate(wrapper: Any) -> Any:
            if run.is_own_function(wrapper):
                for name in ("__name__", "__qualname__", "__doc__"):
                    value = getattr(wrapped, name, None)
                    if type(value) is str and len(value) <= 100_000:
                        setattr(wrapper, name, value)
                if run.is_own_function(wrapped):
                    wrapper.__dict__.update(wrapped.__dict__)
            return wrapper

        return decorate

    return wraps


class _Cached(StandIn):
    """A function that remembers its results."""

    def __init__(self, function: Any, maxsize: Any, typed: bool) -> None:
        self._function = function
        self._call = functools.lru_cache(maxsize, typed)(lambda *a, **k: function(*a, **k))

    def cache_info(self) -> Any:
        """How often it was called, and what it remembers."""
        return _CacheInfo(*self._call.cache_info())

    def cache_clear(self) -> None:
        """Forget the results."""
        self._call.cache_clear()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __repr__(self) -> str:
        return f"<functools._lru_cache_wrapper object {self._function.__name__}>"


class _CacheInfo(StandIn):
    """What `cache_info` returns."""

    def __init__(self, hits: int, misses: int, maxsize: int | None, currsize: int) -> None:
        self.hits, self.misses, self.maxsize, self.currsize = hits, misses, maxsize, currsize

    def __iter__(self) -> Iterator[Any]:
        return iter((self.hits, self.misses, self.maxsize, self.currsize))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"CacheInfo({fields})"


def _lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """Remember the results of a function, at most `maxsize` of them."""
    if callable(maxsize):
        return _Cached(maxsize, 128, False)
    if maxsize is not None and type(maxsize) is not int:
        raise TypeError("Expected first argument to be an integer, a callable, or None")
    return lambda function: _Cached(function, maxsize, bool(typed))


def _cache(function: Any) -> Any:
    """Remember the results of a function."""
    return _Cached(function, None, False)


def _cmp_to_key(run: Run) -> Any:
    def cmp_to_key(compare: Any) -> Any:
        """A key for `sorted` from a function that compares two values."""
        make = functools.cmp_to_key(run.admitting(compare))
        return lambda value: make(value)

    return cmp_to_key


def _cached_property(function: Any) -> Any:
    """A property that is computed once."""
    if type(function) is not types.FunctionType:
        raise TypeError("cached_property needs a function")
    return functools.cached_property(function)


def _total_ordering(run: Run) -> Any:
    def total_ordering(kind: Any) -> Any:
        """Add the comparisons that a class lacks."""
        if not run.is_own_class(kind):
            raise OutsideLanguage("total_ordering needs a class of your own.")
        return functools.total_ordering(kind)

    return total_ordering


# -- operator -----------------------------------------------------------------------------------

_SYMBOLS = {"mul": "*", "pow": "**", "lshift": "<<", "mod": "%", "add": "+", "matmul": "@"}
_SYMBOLS |= {"concat": "+"}
_PURE = """
    sub truediv floordiv rshift and_ or_ xor neg pos abs invert not_ truth is_ is_not
    lt le eq ne gt ge contains
"""


def _operation(symbol: str) -> Callable[[Any, Any], Any]:
    def operate(a: Any, b: Any) -> Any:
        from explorer.language.guard import operators

        return operators.operate(symbol, a, b)

    return operate


def _augmented(symbol: str) -> Callable[[Any, Any], Any]:
    def augment(a: Any, b: Any) -> Any:
        from explorer.language.guard import operators

        return operators.augment(symbol, a, b)

    return augment


def _item(holder: Any, key: Any) -> Any:
    """`holder[key]`."""
    from explorer.language.guard import items

    return items.guard_items(holder)[key]


def _set_item(holder: Any, key: Any, value: Any) -> None:
    """`holder[key] = value`."""
    from explorer.language.guard import items

    items.guard_items(holder)[key] = value


def _itemgetter(run: Run) -> Any:
    def itemgetter(*keys: Any) -> Any:
        """A function that takes these items out of a value."""
        if not keys:
            raise TypeError("itemgetter expected 1 argument, got 0")
        if len(keys) == 1:
            return lambda holder: run.admit(_item(holder, keys[0]))
        return lambda holder: tuple(run.admit(_item(holder, key)) for key in keys)

    return itemgetter


def _attrgetter(run: Run) -> Any:
    def attribute(value: Any, path: str) -> Any:
        for name in path.split("."):
            value = run.get(value, name)
        return value

    def attrgetter(*paths: Any) -> Any:
        """A function that reads these attributes of a value."""
        if not paths:
            raise TypeError("attrgetter expected 1 argument, got 0")
        for path in paths:
            _require_names(path)
        if len(paths) == 1:
            return lambda value: attribute(value, paths[0])
        return lambda value: tuple(attribute(value, path) for path in paths)

    return attrgetter


def _methodcaller(run: Run) -> Any:
    def methodcaller(name: str, *args: Any, **kwargs: Any) -> Any:
        """A function that calls this method of a value."""
        _require_names(name)
        return lambda value: run.admit(run.get(value, name)(*args, **kwargs))

    return methodcaller


def _require_names(path: Any) -> None:
    if type(path) is not str:
        raise TypeError("attribute name must be a string")
    if any(part.startswith("__") for part in path.split(".")):
        raise OutsideLanguage("This attribute name is not supported here.")


# -- itertools, heapq, bisect -------------------------------------------------------------------


def _applying(kind: Any, function_first: bool = True) -> Callable[[Run], Any]:
    """A class of itertools that calls a function for each item."""

    def make(run: Run) -> Any:
        def first(function: Any, items: Any) -> Any:
            return kind(run.admitting(function), run.iterate(items))

        def second(items: Any, key: Any = None) -> Any:
            return kind(run.iterate(items), run.admitting(key))

        return ClassProxy(kind, first if function_first else second)

    return make


def _starmap(run: Run) -> Any:
    def starmap(function: Any, items: Any) -> Any:
        called = run.admitting(function)
        return itertools.starmap(called, run.iterate(items))

    return ClassProxy(itertools.starmap, starmap)


def _heap_function(name: str) -> Callable[..., Any]:
    function = getattr(heapq, name)

    def call(heap: Any, *item: Any) -> Any:
        if type(heap) is not list:
            raise TypeError(f"heap argument must be a list, not {type(heap).__name__[:60]}")
        check_list_length(len(heap) + 1)
        return function(heap, *item)

    call.__name__, call.__doc__ = name, function.__doc__
    return call


def _some_of(function: Any) -> Callable[[Run], Any]:
    def make(run: Run) -> Any:
        def call(n: int, iterable: Any, key: Any = None) -> Any:
            items = bounded(run.iterate(iterable))
            return function(n, items, key=run.admitting(key))

        call.__name__, call.__doc__ = function.__name__, function.__doc__
        return call

    return make


def _merge(run: Run) -> Any:
    def merge(*iterables: Any, key: Any = None, reverse: bool = False) -> Any:
        """Merge sorted inputs into one."""
        each = map(run.iterate, iterables)
        return heapq.merge(*each, key=run.admitting(key), reverse=bool(reverse))

    return merge


def _bisecting(name: str) -> Callable[[Run], Any]:
    function = getattr(bisect, name)

    def make(run: Run) -> Any:
        def call(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> Any:
            if type(a) not in (list, tuple, range, str):
                raise TypeError(f"{name} needs a list here")
            check_list_length(len(a) + 1)
            return function(a, x, lo, hi, key=run.admitting(key))

        call.__name__, call.__doc__ = name, function.__doc__
        return call

    return make


# -- contextlib ---------------------------------------------------------------------------------


class _Managed(contextlib._GeneratorContextManager, StandIn):
    """The context manager that a generator function makes."""

    def __call__(self, function: Any) -> Any:
        """As a decorator: every call runs inside a manager of its own."""
        again = (self.func, self.args, self.kwds)

        def inner(*args: Any, **kwargs: Any) -> Any:
            with _Managed(*again):
                return function(*args, **kwargs)

        return inner


def _contextmanager(run: Run) -> Any:
    def contextmanager(function: Any) -> Any:
        """Make a context manager of a generator function."""
        run.admit(function)

        def make(*args: Any, **kwargs: Any) -> Any:
            return _Managed(function, args, kwargs)

        make.__name__ = str(getattr(function, "__name__", "make"))
        make.__doc__ = getattr(function, "__doc__", None)
        return make

    return contextmanager


class _Null(StandIn):
    """`contextlib.nullcontext`."""

    def __init__(self, enter_result: Any = None) -> None:
        self.enter_result = enter_result

    def __enter__(self) -> Any:
        return self.enter_result

    def __exit__(self, *error: Any) -> None:
        pass


class _Suppress(StandIn):
    """`contextlib.suppress`."""

    def __init__(self, *kinds: Any) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return error is not None and isinstance(error, self._kinds)


def _redirect(run: Run) -> Any:
    class Redirect(StandIn):
        """`contextlib.redirect_stdout`: what is printed goes to a text."""

        def __init__(self, target: Any) -> None:
            self._target, self._old = target, None

        def __enter__(self) -> Any:
            self._old, run.target = run.target, self._target
            return self._target

        def __exit__(self, *error: Any) -> None:
            run.target = self._old

    return Redirect


def _get_source(run: Run) -> Any:
    def getsource(thing: Any) -> str:
        """The text of a function or class of the program."""
        run.admit(thing)
        lines = run.source.splitlines(keepends=True)
        if type(thing) is types.MethodType:
            thing = thing.__func__
        if type(thing) is types.FunctionType and thing.__code__.co_filename == "<program>":
            start = thing.__code__.co_firstlineno - 1
        elif run.is_own_class(thing):
            heads = (f"class {thing.__name__}{end}" for end in ("(", ":"))
            starts = tuple(heads)
            found = (i for i, line in enumerate(lines) if line.lstrip().startswith(starts))
            start = next(found, -1)
        else:
            start = -1
        if start < 0:
            raise TypeError("only the text of your own functions and classes is known")
        return "".join(inspect.getblock(lines[start:]))

    return getsource


_LAZY = """
    islice count cycle repeat zip_longest compress tee pairwise combinations_with_replacement
"""
ADDED: dict[str, tuple[str, Any]] = {
    path: (TITLE, thing)
    for path, thing in {
        "functools.wraps": PerRun(_wraps, functools.wraps),
        "functools.lru_cache": _lru_cache,
        "functools.cache": _cache,
        "functools.cmp_to_key": PerRun(_cmp_to_key, functools.cmp_to_key),
        "functools.cached_property": _cached_property,
        "functools.total_ordering": PerRun(_total_ordering, functools.total_ordering),
        **{f"operator.{name}": getattr(operator, name) for name in _PURE.split()},
        **{f"operator.{name}": _operation(symbol) for name, symbol in _SYMBOLS.items()},
        **{
            f"operator.i{name}": _augmented(symbol)
            for name, symbol in _SYMBOLS.items()
            if name != "concat"
        },
        "operator.isub": _augmented("-"),
        "operator.itruediv": _augmented("/"),
        "operator.getitem": _item,
        "operator.setitem": _set_item,
        "operator.itemgetter": PerRun(_itemgetter, operator.itemgetter),
        "operator.attrgetter": PerRun(_attrgetter, operator.attrgetter),
        "operator.methodcaller": PerRun(_methodcaller, operator.methodcaller),
        **{f"itertools.{name}": getattr(itertools, name) for name in _LAZY.split()},
        **{
            f"itertools.{name}": PerRun(
                _applying(getattr(itertools, name)), getattr(itertools, name)
            )
            for name in ("takewhile", "dropwhile", "filterfalse")
        },
        "itertools.groupby": PerRun(_applying(itertools.groupby, False), itertools.groupby),
        "itertools.starmap": PerRun(_starmap, itertools.starmap),
        **{
            f"heapq.{name}": _heap_function(name)
            for name in ("heappush", "heappop", "heapify", "heappushpop", "heapreplace")
        },
        "heapq.nlargest": PerRun(_some_of(heapq.nlargest), heapq.nlargest),
        "heapq.nsmallest": PerRun(_some_of(heapq.nsmallest), heapq.nsmallest),
        "heapq.merge": PerRun(_merge, heapq.merge),
        **{
            f"bisect.{name}": PerRun(_bisecting(name), getattr(bisect, name))
            for name in [
                "bisect",
                "bisect_left",
                "bisect_right",
                "insort",
                "insort_left",
                "insort_right",
            ]
        },
        "contextlib.contextmanager": PerRun(_contextmanager, contextlib.contextmanager),
        "contextlib.nullcontext": _Null,
        "contextlib.suppress": _Suppress,
        "contextlib.redirect_stdout": PerRun(_redirect, contextlib.redirect_stdout),
        "inspect.getsource": PerRun(_get_source, inspect.getsource),
    }.items()
}
_MADE_BY = (itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.groupby)
KINDS: tuple[type, ...] = (*_MADE_BY, itertools.starmap, type(itertools.tee(())[0]), type(next(iter(
    itertools.groupby("a")))[1]))  # fmt: skip
CLASS_MEMBERS: dict[type, dict[str, Any]] = {
    itertools.chain: {"from_iterable": itertools.chain.from_iterable},
    dict: {"fromkeys": lambda keys, value=None: dict.fromkeys(bounded(keys), value)},
}
