"""The parts of numpy that need more than a check of their arrays: printing, indexing and random
objects, functions of functions. `names` has the rest."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice, running
from explorer.language.vocabulary.callbacks import with_functions
from explorer.language.vocabulary.class_proxy import ClassProxy, unwrap
from explorer.language.vocabulary.data_checks import check_arrays, require_numbers
from explorer.language.vocabulary.everyday import checks
from explorer.language.vocabulary.python_names import NUMPY_RANDOM
from explorer.language.vocabulary.sizes import check_bytes, product
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "numpy"
_ITEM = 8

# -- printing -----------------------------------------------------------------------------------

#: The largest values for np.set_printoptions.
_MOST = {"precision": 30, "threshold": 10_000, "edgeitems": 50, "linewidth": 1_000}
_PRINT_OPTIONS = {*_MOST, "suppress", "sign", "floatmode", "nanstr", "infstr", "formatter"}
#: The longest text of one number.
_MOST_NUMBER = 200


def _checked_options(options: dict[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name not in _PRINT_OPTIONS:
            raise OutsideLanguage(f"The option {name[:60]} is not supported here.", "Leave it out.")
        if name in _MOST and value is not None:
            if not isinstance(value, int | float):
                raise TypeError(f"{name} must be a number")
            if value > _MOST[name]:
                notice(f"np.set_printoptions: {name} is at most {_MOST[name]:,} here.")
                value = _MOST[name]
            value = int(value)
        elif name == "formatter" and value is not None:
            value = {str(kind): _short(function) for kind, function in value.items()}
        elif isinstance(value, str):
            checks.require_text(value, name, 20)
        elif name != "formatter":
            value = bool(value)
        checked[name] = value
    return checked


def _short(function: Callable[[Any], Any]) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        return checks.require_text(function(value), "The text of a number", _MOST_NUMBER)

    return convert


def _set_printoptions(**options: Any) -> None:
    """How arrays are printed, until the end of the run."""
    np.set_printoptions(**_checked_options(options))


def _get_printoptions() -> dict[str, Any]:
    """How arrays are printed."""
    options: Any = np.get_printoptions()
    return {name: options[name] for name in sorted(_PRINT_OPTIONS - {"formatter"})}


class _Restoring(StandIn):
    """A context manager of numpy, which is not left after its run."""

    def __init__(self, real: Any) -> None:
        self._real, self._run = real, running()

    def __enter__(self) -> None:
        self._real.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self._run is running():
            self._real.__exit__(*error)


def _printoptions(**options: Any) -> _Restoring:
    """How arrays are printed in a block."""
    return _Restoring(np.printoptions(**_checked_options(options)))


def _array2string(a: Any, precision: Any = None, separator: str = " ", **options: Any) -> str:
    """The text of an array."""
    checks.require_text(separator, "separator", 20)
    checks.estimate_size(require_numbers(a))
    return np.array2string(np.asarray(a), precision=precision, separator=separator,
                           **_checked_options(options))  # fmt: skip


def _checked_modes(modes: dict[str, Any]) -> dict[str, Any]:
    for mode in modes.values():
        if mode not in ("ignore", "warn", "raise", None):
            raise OutsideLanguage('The modes are "ignore", "warn" and "raise" here.')
    return modes


def _seterr(**modes: Any) -> dict[str, Any]:
    """What happens when a result is not a number, until the end of the run."""
    return np.seterr(**_checked_modes(modes))  # type: ignore[return-value]


def _errstate(**modes: Any) -> _Restoring:
    """What happens when a result is not a number, in a block."""
    return _Restoring(np.errstate(**_checked_modes(modes)))


# -- indexing -----------------------------------------------------------------------------------


class _Indexing(StandIn):
    """`np.r_`, `np.mgrid` and the like, which take an index and make an array."""

    def __init__(self, name: str, multiplies: bool) -> None:
        self._real, self._multiplies = getattr(np, name), multiplies

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        sizes = [_length(part) for part in parts if isinstance(part, slice)]
        check_bytes(math.prod(sizes) * len(sizes) if self._multiplies else sum(sizes), _ITEM)
        for part in parts:
            if isinstance(part, str) and not re.fullmatch(r"-?\d+(,-?\d+){0,2}", part):
                raise OutsideLanguage("This index of np.r_ is not supported here.")
        return self._real[require_numbers(key)]


def _length(part: slice) -> float:
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return abs(step)
    start, stop = part.start or 0, part.stop if part.stop is not None else 0
    return abs((float(stop) - float(start)) / (float(step) or 1)) + 1


class _Slices(StandIn):
    """`np.s_`: an index as a value."""

    def __getitem__(self, key: Any) -> Any:
        return key


# -- functions of functions ---------------------------------------------------------------------


class _Vectorized(StandIn):
    """`np.vectorize`: a function that is called for each element."""

    def __init__(self, pyfunc: Any, otypes: Any = None, **options: Any) -> None:
        if not callable(pyfunc):
            raise TypeError("vectorize needs a function")
        for name in options.keys() - {"doc", "cache", "excluded"}:
            raise OutsideLanguage(f"The argument {name[:60]} of vectorize is not supported here.")
        self._function = pyfunc
        kinds = otypes if isinstance(otypes, str | list | tuple) else []
        self._dtype = np.dtype(unwrap(kinds[0])) if len(kinds) == 1 else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays = np.broadcast_arrays(*(np.asarray(require_numbers(a)) for a in args))
        shape, size = arrays[0].shape, arrays[0].size
        checks.check_list_length(size)
        flat = zip(*(array.ravel() for array in arrays), strict=True)
        rows = [self._function(*row, **kwargs) for row in flat]
        if rows and isinstance(rows[0], tuple):
            return tuple(self._make(column, shape) for column in zip(*rows, strict=True))
        return self._make(rows, shape)

    def _make(self, items: Any, shape: tuple[int, ...]) -> Any:
        return _checked_array(list(items), dtype=self._dtype).reshape(shape)


_checked_array = check_arrays(lambda items, dtype=None: np.array(require_numbers(items), dtype))


def _apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function with every row along an axis."""
    array = np.moveaxis(np.asarray(require_numbers(arr)), axis, -1)
    rows = array.reshape(-1, array.shape[-1])
    checks.check_list_length(len(rows))
    results = [np.asarray(require_numbers(func1d(row, *args, **kwargs))) for row in rows]
    check_bytes(sum(result.size for result in results), _ITEM)
    made = _checked_array(results)
    made = made.reshape(array.shape[:-1] + results[0].shape)
    for place in range(results[0].ndim):
        made = np.moveaxis(made, array.ndim - 1 + place, (axis % array.ndim) + place)
    return made


def _from_function(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Call a function with the indices of all elements."""
    sizes = [int(n) for n in (shape if isinstance(shape, list | tuple) else (shape,))]
    check_bytes(math.prod(map(float, sizes)) * max(len(sizes), 1), _ITEM)
    return function(*np.indices(sizes, dtype=_to_dtype(dtype)), **kwargs)


# -- shapes that are computed -------------------------------------------------------------------


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """Add elements around an array."""
    if type(mode) is not str:
        raise OutsideLanguage("np.pad takes the name of a mode here, not a function.")
    array = np.asarray(require_numbers(array))
    if isinstance(pad_width, dict):
        raise OutsideLanguage("np.pad takes numbers here, not a dictionary.")
    widths = np.broadcast_to(np.asarray(require_numbers(pad_width)), (array.ndim, 2))
    sizes = zip(array.shape, widths, strict=True)
    check_bytes(math.prod(float(size) + float(width.sum()) for size, width in sizes), _ITEM)
    padded: Any = np.pad  # its types allow only some of the modes
    return padded(array, pad_width, mode, **options)


def _einsum(subscripts: str, *operands: Any, optimize: Any = False, **options: Any) -> Any:
    """Sums of products of elements, as a formula of indices says."""
    checks.require_text(subscripts, "The formula", 200)
    arrays = [np.asarray(require_numbers(operand)) for operand in operands]
    sizes: dict[str, int] = {}
    terms, arrow, result = subscripts.replace(" ", "").partition("->")
    for term, array in zip(terms.split(","), arrays, strict=False):
        if "." in term:
            sizes["."] = sizes.get(".", 1) * array.size
        elif len(term) == array.ndim:
            sizes |= dict(zip(term, array.shape, strict=True))
    if not arrow:
        result = "".join(c for c in sizes if c == "." or terms.count(c) == 1)
    check_bytes(math.prod(float(sizes.get(label, 1)) for label in set(result)), _ITEM)
    return np.einsum(subscripts, *arrays, **options)


# -- types --------------------------------------------------------------------------------------


def _to_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of numbers. Raises OutsideLanguage for others."""
    made = np.dtype(unwrap(dtype))
    if made.kind not in "biufcU" or made.char in "gG":
        raise OutsideLanguage("This type of array is not supported here.", "Use numbers.")
    return made


def _is_subtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is of a kind."""
    return bool(np.issubdtype(unwrap(arg1), unwrap(arg2)))


def _info_of(kind: Any) -> ClassProxy:
    return ClassProxy(kind, lambda dtype: kind(unwrap(dtype)))


# -- random -------------------------------------------------------------------------------------

#: How many arguments precede the size.
_SIZE_AFTER = {
    0: "random_sample standard_normal standard_cauchy standard_exponential",
    1: """chisquare exponential geometric poisson power rayleigh standard_gamma standard_t weibull
        pareto dirichlet""",
    2: """beta binomial f gamma gumbel laplace logistic lognormal multinomial negative_binomial
        vonmises wald multivariate_normal""",
    3: "triangular",
}
_MORE_RANDOM = " ".join(_SIZE_AFTER.values())
_RANDOM = "seed rand randn randint uniform normal choice permutation shuffle random " + _MORE_RANDOM


def _sized(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    checked = check_arrays(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        size = kwargs.get("size", args[place] if len(args) > place else None)
        if size is not None:
            items = max((float(np.size(a)) for a in args[:place]), default=1.0)
            check_bytes(product(size) * (items if function.__name__[:1] == "m" else 1), _ITEM)
        return checked(*map(require_numbers, args), **kwargs)

    return call


def _make_random_state(seed: Any = None) -> np.random.RandomState:
    """A generator of random numbers of its own."""
    require_numbers(seed)
    return np.random.RandomState(NUMPY_RANDOM.randint(2**31) if seed is None else seed)


def get_random(receiver: np.random.RandomState, name: str) -> Any:
    """How a method of a RandomState is read."""
    return check_arrays(getattr(receiver, name))


# -- comparing ----------------------------------------------------------------------------------


def _assertion(name: str) -> Callable[..., None]:
    function = getattr(np.testing, name)

    def check(actual: Any, desired: Any, *args: Any, **options: Any) -> None:
        require_numbers([actual, desired, *args])
        checks.estimate_size([actual, desired])
        function(actual, desired, *args, **options)

    check.__doc__, check.__name__ = function.__doc__, name
    return check


_ASSERTIONS = """
    assert_allclose assert_array_almost_equal assert_almost_equal assert_array_equal assert_equal
"""
_ABSTRACT = "generic number integer signedinteger unsignedinteger inexact floating complexfloating"
ADDED: dict[str, tuple[str, Any]] = {
    path: (TITLE, thing)
    for path, thing in {
        "numpy.set_printoptions": _set_printoptions,
        "numpy.get_printoptions": _get_printoptions,
        "numpy.printoptions": _printoptions,
        "numpy.array2string": _array2string,
        "numpy.seterr": _seterr,
        "numpy.errstate": _errstate,
        "numpy.c_": _Indexing("c_", False),
        "numpy.r_": _Indexing("r_", False),
        "numpy.mgrid": _Indexing("mgrid", True),
        "numpy.ogrid": _Indexing("ogrid", False),
        "numpy.s_": _Slices(),
        "numpy.index_exp": _Slices(),
        "numpy.vectorize": _Vectorized,
        "numpy.apply_along_axis": _apply_along_axis,
        "numpy.fromfunction": _from_function,
        "numpy.piecewise": check_arrays(with_functions(np.piecewise)),
        "numpy.pad": check_arrays(_pad),
        "numpy.einsum": check_arrays(_einsum),
        "numpy.dtype": ClassProxy(np.dtype, _to_dtype),
        "numpy.issubdtype": _is_subtype,
        "numpy.finfo": _info_of(np.finfo),
        "numpy.iinfo": _info_of(np.iinfo),
        **{f"numpy.{name}": ClassProxy(getattr(np, name)) for name in _ABSTRACT.split()},
        "numpy.random.RandomState": ClassProxy(np.random.RandomState, _make_random_state),
        "numpy.random.Generator": ClassProxy(np.random.Generator),
        **{
            f"numpy.random.{name}": _sized(getattr(NUMPY_RANDOM, name), place)
            for place, names in _SIZE_AFTER.items()
            for name in names.split()
        },
        **{f"numpy.testing.{name}": _assertion(name) for name in _ASSERTIONS.split()},
        "numpy.linalg.LinAlgError": np.linalg.LinAlgError,
    }.items()
}
_RESULTS: dict[Any, str] = {
    np.linalg.eig: "eigenvalues eigenvectors",
    np.linalg.eigh: "eigenvalues eigenvectors",
    np.linalg.svd: "U S Vh",
    np.linalg.qr: "Q R",
    np.linalg.slogdet: "sign logabsdet",
}
_RESULT_KINDS = {type(function(np.eye(1))): names for function, names in _RESULTS.items()}
KINDS = (*_RESULT_KINDS, np.finfo, np.iinfo, np.random.RandomState)
MEMBERS: dict[type, str] = {
    **_RESULT_KINDS,
    np.finfo: "eps max min tiny smallest_normal resolution bits dtype",
    np.iinfo: "max min bits dtype",
    np.random.RandomState: _RANDOM,
}


@contextlib.contextmanager
def numpy_options() -> Any:
    """Restore how numpy prints and what it does about errors."""
    with np.printoptions(), np.errstate():
        yield
