"""fractions, decimal, statistics and the rest of math and random: numbers of limited size."""

from __future__ import annotations

import decimal
import fractions
import math
import random
import re
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.data_checks import is_plain
from explorer.language.vocabulary.everyday import checks
from explorer.language.vocabulary.python_names import RANDOM
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "Numbers"

# -- fractions ----------------------------------------------------------------------------------


class Fraction(fractions.Fraction):
    """`fractions.Fraction` whose numerator and denominator are of limited size."""

    def __new__(cls, numerator: Any = 0, denominator: Any = None) -> Fraction:
        for part in (numerator, denominator):
            exponent = re.search(r"[eE][-+]?0*(\d+)", part) if type(part) is str else None
            if type(part) is str and (len(part) > 1000 or (exponent and len(exponent[1]) > 3)):
                raise OutsideLanguage("This text is too long for a fraction.")
            if isinstance(part, decimal.Decimal) and abs(part.adjusted()) > 1000:
                raise OutsideLanguage("This number is too large for a fraction.")
        return _limited(super().__new__(cls, numerator, denominator))

    def limit_denominator(self, max_denominator: int = 1_000_000) -> Fraction:
        """The closest fraction with a denominator that is not larger."""
        return _wrap(super().limit_denominator(max_denominator))


def _limited(value: Any) -> Any:
    checks.check_bits(max(value.numerator.bit_length(), value.denominator.bit_length()))
    return value


def _wrap(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_wrap, value))
    if isinstance(value, fractions.Fraction) and type(value) is not Fraction:
        return Fraction(value.numerator, value.denominator)
    return value


def _wrapping(name: str) -> Any:
    method = getattr(fractions.Fraction, name)

    def call(self: Any, *others: Any) -> Any:
        return _wrap(method(self, *others))

    return call


def _power(self: Any, exponent: Any, *modulus: Any) -> Any:
    if isinstance(exponent, int | fractions.Fraction) and exponent == int(exponent):
        size = max(self.numerator.bit_length(), self.denominator.bit_length())
        checks.check_bits((size - 1) * abs(int(exponent)))
    return _wrap(fractions.Fraction.__pow__(self, exponent))


_ARITHMETIC = "add sub mul truediv floordiv mod divmod"
for _name in _ARITHMETIC.split():
    for _side in ("", "r"):
        setattr(Fraction, f"__{_side}{_name}__", _wrapping(f"__{_side}{_name}__"))
for _name in ("__neg__", "__pos__", "__abs__", "__round__"):
    setattr(Fraction, _name, _wrapping(_name))
Fraction.__pow__ = _power  # type: ignore[method-assign]

# -- decimal ------------------------------------------------------------------------------------

_MOST_DIGITS = 1000


def _make_decimal(value: Any = "0", context: Any = None) -> decimal.Decimal:
    """A decimal number."""
    if type(value) is str and len(value) > _MOST_DIGITS:
        raise OutsideLanguage("This number has too many digits.")
    if isinstance(value, int) and value.bit_length() > 4 * _MOST_DIGITS:
        raise OutsideLanguage("This number has too many digits.")
    made = decimal.Decimal(value)
    if made.is_finite() and abs(made.adjusted()) > _MOST_DIGITS:
        raise OutsideLanguage(f"The exponent may be at most {_MOST_DIGITS:,} here.")
    return made


class _Context(StandIn):
    """The precision of decimal numbers."""

    writable = frozenset({"prec", "rounding"})

    def __init__(self, real: decimal.Context) -> None:
        self._real = real

    prec = property(
        lambda self: self._real.prec, lambda self, digits: setattr(
            self._real, "prec", checks.require_int(digits, "prec", _MOST_DIGITS, 1)
        ),
    )  # fmt: skip
    rounding = property(
        lambda self: self._real.rounding,
        lambda self, rounding: setattr(self._real, "rounding", rounding),
    )


class _LocalContext(StandIn):
    """`decimal.localcontext`: the precision of a block."""

    def __init__(self, ctx: Any = None) -> None:
        self._context = decimal.getcontext()

    def __enter__(self) -> _Context:
        self._context = decimal.getcontext()
        decimal.setcontext(self._context.copy())
        return _Context(decimal.getcontext())

    def __exit__(self, *error: Any) -> None:
        decimal.setcontext(self._context)


# -- statistics ---------------------------------------------------------------------------------

_STATISTICS = """
    mean fmean geometric_mean harmonic_mean median median_low median_high mode multimode pstdev
    pvariance stdev variance quantiles correlation covariance
"""


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*data: Any, **options: Any) -> Any:
        lists = [list(checks.bounded(d)) if hasattr(d, "__iter__") else d for d in data]
        kinds = (int, float, str, fractions.Fraction, decimal.Decimal, np.generic)
        for items in lists:
            for item in items if isinstance(items, list) else ():
                if not isinstance(item, kinds):
                    raise TypeError(f"can't convert type '{type(item).__name__[:60]}' to numbers")
        if "n" in options:
            checks.require_int(options["n"], "n", 1_000_000, 1)
        return _wrap(function(*lists, **options))

    call.__doc__, call.__name__ = function.__doc__, function.__name__
    return call


# -- math and random ----------------------------------------------------------------------------


def _small(function: Callable[..., Any], most: int) -> Callable[..., Any]:
    """A function of whole numbers, whose result is of limited size for small ones."""

    def call(*numbers: Any) -> Any:
        for number in numbers:
            if isinstance(number, int) and abs(number) > most:
                raise OutsideLanguage(f"{function.__name__} takes numbers up to {most:,} here.")
        return function(*numbers)

    call.__doc__, call.__name__ = function.__doc__, function.__name__
    return call


def _prod(iterable: Any, *, start: Any = 1) -> Any:
    """The product of the items."""
    from explorer.language.guard.operators import operate

    for item in checks.bounded(iterable):
        start = operate("*", start, item)
    return start


def _lcm(*numbers: int) -> int:
    """The least common multiple."""
    result = 1
    for number in numbers:
        result = math.lcm(result, number)
        checks.check_bits(result.bit_length())
    return result


def _make_random(x: Any = None) -> random.Random:
    """A generator of random numbers."""
    if not is_plain(x) or x != x or isinstance(x, list | tuple):
        raise OutsideLanguage("A seed is a whole number or a string.", "Use random.Random(0).")
    return random.Random(RANDOM.getrandbits(64) if x is None else x)


def get_choices(receiver: random.Random, name: str) -> Any:
    """How `choices` and `sample` of a generator are read."""
    return _limiting_k(getattr(receiver, name))


def _limiting_k(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(population: Any, *args: Any, k: Any = 1, **options: Any) -> Any:
        if function.__name__ == "sample" and args:
            k, *args = args  # type: ignore[assignment]
        checks.check_list_length(checks.require_int(k, "k", 2**62))
        return function(population, *args, k=k, **options)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def get_bits(receiver: random.Random, name: str) -> Any:
    """How `getrandbits` of a generator is read."""

    def getrandbits(k: int) -> int:
        checks.check_bits(k)
        return receiver.getrandbits(k)

    return getrandbits


def get_seed(receiver: random.Random, name: str) -> Any:
    """How `seed` of a generator is read."""

    def seed(a: Any = None) -> None:
        if not is_plain(a) or a != a or isinstance(a, list | tuple):
            raise OutsideLanguage("A seed is a whole number or a string.", "Use a number.")
        receiver.seed(a)

    return seed


_RANDOM = """
    random uniform randint randrange gauss normalvariate choice choices shuffle sample seed
    triangular betavariate expovariate gammavariate lognormvariate paretovariate weibullvariate
    vonmisesvariate getrandbits
"""
_MORE_RANDOM = """
    triangular betavariate expovariate gammavariate lognormvariate paretovariate weibullvariate
    vonmisesvariate
"""
_MATH = """
    acosh asinh atanh cbrt dist erfc exp2 fmod frexp gamma isqrt ldexp lgamma modf nextafter
    remainder ulp
"""
_ROUNDING = "ROUND_HALF_UP ROUND_HALF_EVEN ROUND_HALF_DOWN ROUND_UP ROUND_DOWN ROUND_CEILING"
ADDED: dict[str, tuple[str, Any]] = {
    path: (TITLE, thing)
    for path, thing in {
        "fractions.Fraction": Fraction,
        "decimal.Decimal": ClassProxy(decimal.Decimal, _make_decimal),
        "decimal.getcontext": lambda: _Context(decimal.getcontext()),
        "decimal.localcontext": _LocalContext,
        "decimal.InvalidOperation": decimal.InvalidOperation,
        **{f"decimal.{name}": name for name in [*_ROUNDING.split(), "ROUND_FLOOR"]},
        **{f"statistics.{n}": _of_numbers(getattr(statistics, n)) for n in _STATISTICS.split()},
        "statistics.StatisticsError": statistics.StatisticsError,
        **{f"math.{name}": getattr(math, name) for name in _MATH.split() if hasattr(math, name)},
        "math.factorial": _small(math.factorial, 500),
        "math.comb": _small(math.comb, 4000),
        "math.perm": _small(math.perm, 500),
        "math.prod": _prod,
        "math.lcm": _lcm,
        "random.Random": ClassProxy(random.Random, _make_random),
        "random.choices": _limiting_k(RANDOM.choices),
        "random.getrandbits": get_bits(RANDOM, "getrandbits"),
        **{f"random.{name}": getattr(RANDOM, name) for name in _MORE_RANDOM.split()},
    }.items()
}
KINDS = (Fraction, decimal.Decimal, random.Random)
MEMBERS: dict[type, str] = {
    fractions.Fraction: "numerator denominator limit_denominator",
    decimal.Decimal: """quantize sqrt exp ln log10 normalize to_integral_value is_nan is_infinite
        is_finite is_zero is_signed copy_abs compare max min adjusted""",
    random.Random: _RANDOM,
}
CLASS_MEMBERS: dict[type, dict[str, Any]] = {
    Fraction: {"from_float": lambda value: _wrap(fractions.Fraction.from_float(value))},
}
