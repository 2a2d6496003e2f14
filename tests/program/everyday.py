# ruff: noqa: E501
"""Small programs in the style of scripts, one for each theme."""

SCRIPTS = {
    "os.path": """
import os
import os.path as osp
from os import path
print(os.path.join("data", "train", "x.csv"), os.path.basename("/a/b.txt"), os.path.dirname("/a/b.txt"))
print(osp.splitext("model.pt"), path.split("/a/b"), osp.normpath("a//b/../c"), osp.isabs("/a"))
print(os.sep, os.name, osp.exists("no such file"), osp.isfile("no such file"), osp.isdir("no such file"))
print(os.environ.get("NO_SUCH_NAME"), os.getenv("NO_SUCH_NAME", "default"), "NO_SUCH_NAME" in os.environ)
try:
    os.environ["NO_SUCH_NAME"]
except KeyError as e:
    print("KeyError", e)
os.environ["NO_SUCH_NAME"] = "1"
print(os.environ["NO_SUCH_NAME"])
try:
    os.path.join(1, "a")
except TypeError as e:
    print(e)
del os.environ["NO_SUCH_NAME"]
""",
    "pathlib": """
from pathlib import Path
p = Path("data") / "images" / "cat.tar.gz"
print(p, p.name, p.stem, p.suffix, p.suffixes, p.parent, p.parts, p.parent.parent)
print(p.with_suffix(".png"), p.with_name("dog"), p.is_absolute(), p.as_posix(), repr(Path("a")))
print(Path("a", "b"), Path("a") == Path("a"), Path("x/y").exists(), str(Path("a//b")), "a" / Path("b"))
print(sorted([Path("b"), Path("a")]), {Path("a"): 1}[Path("a")], isinstance(p, Path), p.relative_to("data"))
for one in Path("a/b/c").parents:
    print(one)
try:
    Path("no such file").read_text()
except FileNotFoundError as e:
    print(type(e).__name__)
try:
    open("no such file")
except OSError as e:
    print(type(e).__name__)
""",
    "sys": """
import sys
sys.stdout.write("written\\n")
sys.stdout.flush()
print(sys.version_info >= (3, 8), sys.version_info.major, sys.version_info[0], sys.maxsize, sys.byteorder)
print(sys.float_info.epsilon, sys.float_info.max, type(sys.argv), len(sys.argv) > 0)
sys.path.append("..")
sys.path.insert(0, "x")
print(sys.path[0], sys.path[-1], "no_such_module" in sys.modules)
print("to stdout", file=sys.stdout)
print(sys.version.split()[0] == "%d.%d.%d" % sys.version_info[:3])
""",
    "time": """
import time
start = time.perf_counter()
time.sleep(0)
print(time.perf_counter() >= start, time.time() > 1e9, time.monotonic() >= 0, time.time_ns() > 0)
print(time.strftime("%Y", time.gmtime(0)), time.gmtime(0).tm_year, time.gmtime(86400)[2])
print(len(time.strftime("%Y-%m-%d %H:%M:%S")), time.process_time() >= 0, time.localtime().tm_year > 2000)
""",
    "datetime": """
import datetime
from datetime import datetime as dt, timedelta, date, timezone
d = dt(2024, 2, 28, 12, 30, 15)
print(d, repr(d), d.isoformat(), d.strftime("%Y-%m-%d %H:%M"), d + timedelta(days=2), d.year, d.weekday())
print(f"{d:%d.%m.%Y}", "{:%H:%M}".format(d), d.date(), d.time(), d.replace(year=2020))
print((dt(2024, 3, 1) - d), (dt(2024, 3, 1) - d).total_seconds(), timedelta(hours=5) * 2, timedelta(days=1) > timedelta(hours=1))
print(dt.strptime("2024-01-02", "%Y-%m-%d"), date(2024, 1, 2).isoformat(), date.fromisoformat("2024-05-06"))
print(datetime.date.today() <= dt.now().date(), dt(2024, 1, 1, tzinfo=timezone.utc).isoformat())
print(sorted([date(2024, 5, 1), date(2023, 5, 1)]), isinstance(d, datetime.datetime), date.min)
""",
    "warnings": """
import warnings
warnings.filterwarnings("ignore")
warnings.simplefilter("ignore", category=UserWarning)
warnings.warn("careful")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("first")
    warnings.warn("second", DeprecationWarning)
print(len(caught), caught[0].message, caught[1].category.__name__)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        warnings.warn("raised", RuntimeWarning)
    except RuntimeWarning as e:
        print("caught", e)
warnings.filterwarnings("ignore", message=".*deprecated.*", category=FutureWarning)
""",
    "logging": """
import logging
import sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s|%(name)s|%(message)s", force=True)
logger = logging.getLogger(__name__)
logger.info("epoch %d loss %.3f", 3, 0.25)
logger.debug("not shown")
logger.warning("careful: %s", [1, 2])
logging.error("root")
child = logging.getLogger("a.b")
child.setLevel(logging.ERROR)
child.warning("not shown")
child.error("%(x)s", {"x": 5})
print(child, logger.isEnabledFor(10), child.getEffectiveLevel(), logging.INFO)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("{message}!", style="{"))
own = logging.getLogger("own")
own.propagate = False
own.addHandler(handler)
own.warning("mine")
""",
    "json": """
import json
from io import StringIO
data = {"lr": 0.1, "layers": [1, 2, {"a": None}], "name": "n\\u00e9t", "ok": True, "nan": float("nan")}
print(json.dumps(data))
print(json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False))
print(json.dumps({1: "a", None: 2}), json.dumps((1, 2)), json.dumps("x", separators=(",", ":")))
print(json.loads('{"a": [1, 2.5, "x", null, true]}'), json.loads("[1]")[0])
f = StringIO()
json.dump([1, 2], f)
print(f.getvalue())
f.seek(0)
print(json.load(f))
try:
    json.loads("{bad")
except json.JSONDecodeError as e:
    print(e.msg, e.pos, e)
try:
    json.dumps({1, 2})
except TypeError as e:
    print(e)
print(json.dumps({"s": {1}}, default=lambda s: sorted(s)))
""",
    "pprint": """
from pprint import pprint, pformat
config = {"optimizer": {"name": "adam", "lr": 0.001, "betas": [0.9, 0.999]}, "layers": list(range(30)), "b": 1}
pprint(config)
print(pformat(config, width=40, indent=2))
pprint({"b": 1, "a": 2}, sort_dicts=False)
""",
    "dataclasses": """
from dataclasses import dataclass, field, asdict, astuple, replace, fields, is_dataclass
from typing import ClassVar, List, Optional
@dataclass
class Config:
    lr: float
    layers: List[int] = field(default_factory=list)
    name: str = "net"
    count: ClassVar[int] = 0
    hidden: Optional[int] = field(default=None, repr=False)
    total: int = field(init=False)
    def __post_init__(self):
        self.total = len(self.layers)
    def scaled(self, k):
        return replace(self, lr=self.lr * k)
a = Config(0.1, [1, 2])
b = Config(lr=0.1, layers=[1, 2])
print(a, a == b, a != b, a.total, a.scaled(2), asdict(a), astuple(b), Config.name)
print([f.name for f in fields(a)], is_dataclass(a), is_dataclass(Config), is_dataclass(3))
for bad in (lambda: Config(), lambda: Config(1, 2, 3, 4, 5, 6), lambda: Config(1, x=2), lambda: Config(1, lr=2)):
    try:
        bad()
    except TypeError as e:
        print(e)
@dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 0
p = Point(1, 2)
print(p < Point(1, 3), sorted([Point(2), Point(1)]), {p: "here"}[Point(1, 2)])
try:
    p.x = 5
except AttributeError as e:
    print(type(e).__name__, e)
@dataclass
class Point3(Point if False else object):
    z: int = 0
@dataclass
class Base:
    a: int = 1
@dataclass
class Derived(Base):
    b: int = 2
    inner: Base = field(default_factory=Base)
print(Derived(), Derived(5, b=6), asdict(Derived()), Point3())
try:
    @dataclass
    class Wrong:
        x: list = []
except ValueError as e:
    print(e)
try:
    @dataclass
    class Wrong2:
        x: int = 1
        y: int
except TypeError as e:
    print(e)
@dataclass
class Node:
    value: int
    next: "Node" = None
n = Node(1)
n.next = n
print(n)
print(Node(1).__class__.__name__)
""",
    "namedtuple": """
from collections import namedtuple
from typing import NamedTuple
Point = namedtuple("Point", ["x", "y"])
p = Point(1, y=2)
print(p, p.x, p[1], p._asdict(), p._replace(x=5), Point._fields, Point._make([3, 4]), p == (1, 2), len(p))
x, y = p
print(x + y, sum(p), isinstance(p, tuple), Point.__name__, max(p), [*p], p + (3,), hash(p) == hash((1, 2)))
Batch = namedtuple("Batch", "data labels weight", defaults=[1.0])
print(Batch("d", "l"), Batch._field_defaults)
class Transition(NamedTuple):
    state: int
    action: str = "left"
    def both(self):
        return f"{self.state}{self.action}"
t = Transition(3)
print(t, t.both(), t.action, t._replace(action="right"), Transition(state=1, action="a"))
class Sized(namedtuple("Sized", "w h")):
    @property
    def area(self):
        return self.w * self.h
print(Sized(2, 3).area, Sized(2, 3))
Pair = NamedTuple("Pair", [("a", int), ("b", int)])
print(Pair(1, 2))
for bad in (lambda: Point(1), lambda: Point(1, 2, 3), lambda: namedtuple("X", "a a"), lambda: namedtuple("X", "_a"), lambda: namedtuple("X", "class")):
    try:
        bad()
    except (TypeError, ValueError) as e:
        print(type(e).__name__, e)
try:
    p.x = 3
except AttributeError:
    print("cannot")
print(dict(zip(Point._fields, p)), sorted([Point(2, 1), Point(1, 2)]), "%s-%s" % p)
""",
    "enum": """
from enum import Enum, IntEnum, auto, unique
class Color(Enum):
    RED = 1
    GREEN = "g"
    ALIAS = 1
class Mode(Enum):
    TRAIN = auto()
    EVAL = auto()
    @property
    def short(self):
        return self.name[0]
    @classmethod
    def default(cls):
        return cls.TRAIN
    def __str__(self):
        return self.name.lower()
print(Color.RED, repr(Color.GREEN), Color.RED.name, Color.GREEN.value, Color(1), Color["GREEN"], list(Color), Color.ALIAS is Color.RED)
print(Mode.EVAL.value, Mode.TRAIN.short, Mode.default(), f"{Mode.EVAL}", [m.name for m in Mode], len(Mode), Mode.TRAIN in Mode)
class Level(IntEnum):
    LOW = 1
    HIGH = 5
print(Level.HIGH > Level.LOW, Level.HIGH + 1, Level(5), repr(Level.LOW), sorted([Level.HIGH, Level.LOW]), [10, 20][Level.LOW])
class Kind(str, Enum):
    A = "a"
    B = "b"
print(Kind.A == "a", Kind("b"), Kind.A.value, Kind.B.upper())
try:
    Color(7)
except ValueError as e:
    print(e)
try:
    Color["X"]
except KeyError as e:
    print(e)
class Planet(Enum):
    EARTH = (5.9, 6.3)
    MARS = (0.6, 3.3)
    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius
    @property
    def ratio(self):
        return self.mass / self.radius
print(Planet.EARTH.mass, Planet.MARS.ratio, {Color.RED: 1}[Color.RED], isinstance(Color.RED, Color), type(Color.RED).__name__)
try:
    @unique
    class Twice(Enum):
        A = 1
        B = 1
except ValueError as e:
    print(e)
if Color.RED is Color(1) and Color.RED != Color.GREEN:
    print("same")
""",
    "typing and abc": """
from __future__ import annotations
from abc import ABC, abstractmethod
from typing import (Any, Callable, Dict, Generic, List, Literal, Optional, Protocol, Sequence, Tuple,
    TypeVar, Union, cast, overload, TYPE_CHECKING, Final, NewType, Iterable)
from collections.abc import Mapping, Sequence as Seq
import torch
T = TypeVar("T")
UserId = NewType("UserId", int)
if TYPE_CHECKING:
    from somewhere import Something
class Stack(Generic[T]):
    def __init__(self) -> None:
        self.items: List[T] = []
    def push(self, item: T) -> None:
        self.items.append(item)
s = Stack()
s.push(1)
class Speaks(Protocol):
    def speak(self) -> str: ...
class Animal(ABC):
    @abstractmethod
    def sound(self) -> str:
        pass
    def twice(self):
        return self.sound() * 2
class Dog(Animal):
    def sound(self):
        return "wuff"
print(s.items, UserId(5), cast(int, "x"), Dog().twice(), isinstance(Dog(), Animal), issubclass(Dog, Animal))
try:
    Animal()
except TypeError as e:
    print("abstract")
class Net(torch.nn.Module, ABC):
    @abstractmethod
    def head(self): ...
class Real(Net):
    def head(self):
        return 1
print(Real().head(), isinstance({}, Mapping), isinstance([], Seq))
x: Union[int, str] = 3
Mode = Literal["a", "b"]
Pair = Tuple[int, int]
def f(a: Optional[int] = None, *, g: Callable[[int], int] | None = None) -> Dict[str, Any]:
    return {"a": a}
print(f(3), x)
""",
    "argparse": """
import argparse
parser = argparse.ArgumentParser(description="train")
parser.add_argument("--lr", type=float, default=0.1, metavar="LR", help="rate (default: %(default)s)")
parser.add_argument("--epochs", "-e", type=int, default="5")
parser.add_argument("--no-cuda", action="store_true", default=False)
parser.add_argument("--save", action="store_false")
parser.add_argument("--layers", nargs="+", type=int, default=[1, 2])
parser.add_argument("--mode", choices=["a", "b"], default="a")
group = parser.add_argument_group("more")
group.add_argument("--seed", type=int)
args = parser.parse_args([])
print(args, args.lr, args.no_cuda, vars(args)["epochs"], args.seed, "lr" in args)
args = parser.parse_args(["--lr", "0.5", "-e", "7", "--no-cuda", "--layers", "3", "4"])
print(args.lr, args.epochs, args.no_cuda, args.layers, sorted(vars(args)))
args.device = "cpu"
print(args.device, getattr(args, "missing", None), hasattr(args, "lr"))
known, rest = parser.parse_known_args(["--other", "1"])
print(known.lr, rest, argparse.Namespace(a=1))
""",
    "contextlib": """
from contextlib import contextmanager, nullcontext, suppress, redirect_stdout
import io
with nullcontext(5) as five:
    print(five)
with suppress(KeyError, ValueError):
    {}["x"]
out = io.StringIO()
with redirect_stdout(out):
    print("hidden")
print(out.getvalue().upper())
class Timer:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        print("done", error[0].__name__ if error[0] else None)
with Timer() as t:
    pass
try:
    with Timer():
        raise ValueError("x")
except ValueError:
    print("passed on")
@contextmanager
def tag(name):
    print("<", name)
    yield name.upper()
    print(">", name)
with tag("b") as name:
    print(name)
@tag("i")
def inside():
    return "text"
print(inside())
""",
    "functools": """
from functools import wraps, lru_cache, cache, cmp_to_key, cached_property, total_ordering, partial, reduce
calls = []
def logged(f):
    @wraps(f)
    def wrapper(*args, **kwargs):
        "inner"
        calls.append(f.__name__)
        wrapper.count += 1
        return f(*args, **kwargs)
    wrapper.count = 0
    return wrapper
@logged
def add(a, b):
    "Add."
    return a + b
print(add(1, 2), add.__name__, add.__doc__, calls, add.count)
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(80), fib.cache_info())
@cache
def square(x):
    calls.append(x)
    return x * x
square(2); square(2)
square.cache_clear()
square(2)
print(calls, sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)))
class Circle:
    def __init__(self, r):
        self.r = r
    @cached_property
    def area(self):
        print("computed")
        return self.r ** 2
    @lru_cache
    def power(self, n):
        return self.r ** n
c = Circle(3)
print(c.area, c.area, c.power(2), c.power(2))
@total_ordering
class Version:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return self.n == other.n
    def __lt__(self, other): return self.n < other.n
print(Version(1) <= Version(2), Version(3) > Version(2), Version(1) >= Version(1))
class Counter:
    def __init__(self, f): self.f, self.n = f, 0
    def __call__(self, *a):
        self.n += 1
        return self.f(*a)
@Counter
def h(x): return x
h(1); h(2)
print(h.n, reduce(lambda a, b: a + b, [1, 2, 3]), partial(pow, 2)(3))
""",
    "itertools": """
import itertools
from itertools import islice, count, cycle, repeat, zip_longest, groupby, starmap, tee, takewhile, dropwhile, pairwise, chain, compress, filterfalse
print(list(islice(count(3, 2), 4)), list(islice(cycle("ab"), 5)), list(repeat(1, 3)), list(zip_longest([1, 2], "a", fillvalue=0)))
print([(k, list(g)) for k, g in groupby([1, 1, 2, 3, 3])], [(k, len(list(g))) for k, g in groupby("aAb", key=str.lower if False else lambda s: s.lower())])
print(list(starmap(pow, [(2, 3), (3, 2)])), list(takewhile(lambda x: x < 3, count())), list(dropwhile(lambda x: x < 3, range(5))))
a, b = tee([1, 2])
print(list(a), list(b), list(pairwise("abc")), list(chain.from_iterable([[1], [2, 3]])), list(compress("abc", [1, 0, 1])))
print(list(filterfalse(None, [0, 1])), list(itertools.combinations_with_replacement("ab", 2)), dict.fromkeys("ab", 0))
for i, x in zip(count(), "xy"):
    print(i, x)
""",
    "operator": """
import operator
from operator import itemgetter, attrgetter, mul, methodcaller
from functools import reduce
pairs = [("b", 2), ("a", 3)]
print(sorted(pairs, key=itemgetter(1)), sorted(pairs, key=itemgetter(0)), itemgetter(0, 1)(pairs))
class P:
    def __init__(self, v): self.v = v
print([p.v for p in sorted([P(2), P(1)], key=attrgetter("v"))], reduce(mul, [1, 2, 3]), operator.add(1, 2))
print(operator.neg(3), operator.truediv(1, 2), operator.lt(1, 2), methodcaller("upper")("x"), operator.getitem([5], 0))
""",
    "re": """
import re
print(re.findall(r"\\d+", "a1b22"), re.sub(r"(\\w)-(\\w)", r"\\2-\\1", "a-b c-d"), re.split(r"[,; ]+", "a, b;c"))
m = re.match(r"(?P<name>\\w+)=(\\d+)", "lr=10 x")
print(m, m.group(), m.group(1), m["name"], m.groups(), m.groupdict(), m.span(), m.start(2), bool(re.search("z", "abc")))
p = re.compile(r"[a-z]+", re.IGNORECASE)
print(p.findall("Ab cD"), p.sub(lambda m: m.group().upper(), "ab1cd"), p.fullmatch("abc") is not None, p.pattern, [m.span() for m in p.finditer("a b")])
print(re.sub("a", "b", "aaa", count=2), re.subn("a", "x", "aba"), re.escape("a.b"), re.split("b", "abcb", 1))
try:
    re.compile("(")
except re.error as e:
    print("error", e)
if (m := re.search(r"epoch (\\d+)", "epoch 12")) is not None:
    print(int(m.group(1)))
print(re.findall(r"x", "aXx", flags=re.I | re.M), re.sub(r"\\s+", " ", "a   b\\n c"))
""",
    "texts": """
import string, textwrap, io
print(string.ascii_lowercase, string.digits, string.punctuation, string.capwords("ab cd"))
print(textwrap.fill("the quick brown fox jumps over the lazy dog", width=20))
print(textwrap.dedent('''
    a
      b
''').strip(), textwrap.indent("a\\nb", "> "), textwrap.wrap("a b c d", 3), textwrap.shorten("hello big world", width=12))
f = io.StringIO("one\\ntwo\\n")
print(f.readline(), f.read(), list(io.StringIO("a\\nb")), "x".upper(), "%5.1f|%-5s|" % (2.345, "ab"))
with io.StringIO() as g:
    g.write("abc")
    print("more", file=g)
    print(repr(g.getvalue()))
print(bin(5), oct(8), hex(255), ascii("é"), divmod(7, 3), "é".encode if False else 1)
""",
    "numbers": """
import statistics, math, heapq, bisect, random, numbers
from fractions import Fraction
from decimal import Decimal, getcontext, ROUND_HALF_UP
print(Fraction(1, 3) + Fraction(1, 6), Fraction("0.25"), Fraction(3, 4).numerator, float(Fraction(1, 8)), Fraction(1, 3) * 3 == 1)
print(repr(Fraction(2, 4)), -Fraction(1, 2), 2 * Fraction(1, 3), Fraction(1, 3) ** 2, Fraction(0.1).limit_denominator(), Fraction(7, 2) // 1, sum([Fraction(1, 2)] * 3))
print(Decimal("0.1") + Decimal("0.2"), Decimal(1) / Decimal(3), Decimal("2.675").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP), repr(Decimal("1.0")))
getcontext().prec = 10
print(Decimal(2).sqrt(), Decimal(1) / 7, int(Decimal("7.9")), Decimal("3") > 2)
print(statistics.mean([1, 2, 3, 4]), statistics.median([3, 1, 2]), statistics.stdev([1, 2, 3]), statistics.mode([1, 1, 2]), statistics.pvariance([1, 2]))
print(math.factorial(10), math.comb(5, 2), math.prod([1, 2, 3]), math.lcm(4, 6), math.isqrt(17), math.dist([0, 0], [3, 4]), math.gamma(5))
h = [5, 1, 4]
heapq.heapify(h)
heapq.heappush(h, 0)
print(heapq.heappop(h), heapq.nlargest(2, [1, 5, 3]), heapq.nsmallest(1, ["bb", "a"], key=len), list(heapq.merge([1, 3], [2])))
print(bisect.bisect([1, 3, 5], 3), bisect.bisect_left([1, 3, 5], 3))
xs = [1, 3]
bisect.insort(xs, 2)
r = random.Random(0)
print(xs, r.random(), r.randint(1, 6), r.choice("abc"), r.choices([1, 2], k=3), r.sample(range(10), 3), isinstance(3, numbers.Number))
random.seed(1)
print(random.choices("ab", weights=[1, 3], k=4), random.triangular(0, 1), random.getrandbits(8), random.expovariate(1.0))
""",
    "objects": """
from types import SimpleNamespace
import gc, inspect, copy
ns = SimpleNamespace(a=1, b=[2])
ns.c = 3
ns.a += 1
print(ns, ns.a, ns == SimpleNamespace(a=2, b=[2], c=3), vars(ns), hasattr(ns, "d"))
class A:
    kind = "a"
    def __init__(self):
        self.x, self._y = 1, 2
    def method(self):
        return 1
print(vars(A()), [n for n in dir(A()) if n[0] != "_"], [n for n in dir([]) if n == "append"])
def square(x):
    # the square
    return x ** 2
print(type(gc.collect()).__name__, "append" in dir([]))
try:
    {}["x"]
except KeyboardInterrupt if False else KeyError:
    print("key")
def outer():
    yield 1
print(frozenset([1]) | {2}, complex(1, 2).real, round(2.567, 1))
""",
    "a training script": '''
#!/usr/bin/env python
"""Trains a small network."""
from __future__ import annotations
import argparse
import json
import logging
import os
import random
import sys
import time
import warnings
from collections import defaultdict, namedtuple
from dataclasses import dataclass, asdict, field
from pathlib import Path
from typing import Dict, List, Optional, Tuple
import numpy as np
import torch
import torch.nn as nn
warnings.filterwarnings("ignore")
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout, force=True)
log = logging.getLogger("train")
@dataclass
class Config:
    lr: float = 0.1
    sizes: Tuple[int, ...] = (2, 4, 1)
    out: Path = Path("runs")
    extra: Dict[str, float] = field(default_factory=dict)
def set_seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=4)
    return p.parse_args([])
def main() -> int:
    args = parse()
    config = Config()
    set_seed(0)
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=config.lr)
    history: dict[str, list[float]] = defaultdict(list)
    x, y = torch.randn(args.batch_size, 2), torch.randn(args.batch_size, 1)
    start = time.time()
    for epoch in range(args.epochs):
        loss = ((net(x) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history["loss"].append(round(loss.item(), 4))
        log.info("epoch %d: %.4f", epoch, loss.item())
    print(json.dumps(history), time.time() - start >= 0, (config.out / "model.pt").suffix)
    return 0
if __name__ == "__main__":
    main()
''',
}
