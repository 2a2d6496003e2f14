# ruff: noqa: E501
"""Small programs, one for each form of Python; `programs` holds longer ones."""

FORMS = {
    "assign_chain_and_tuple": """
a = b = [1, 2]
c, (d, e) = 1, (2, 3)
f, *g, h = range(6)
[i, j] = "xy"
print(a is b, c, d, e, f, g, h, i, j)
""",
    "assign_to_items_and_attributes": """
import torch
class Box:
    pass
box = Box()
box.a = box.b = 3
box.a, box.c = 1, [0, 0]
box.c[0], box.c[1] = 5, 6
for box.k in range(3):
    pass
print(box.a, box.b, box.c, box.k)
x = torch.zeros(3, 3)
x[0] = 1.
x[1, 2] = 7
x[x > 5] = -1
x[:, 0] += 2
x[[0, 2], [1, 1]] *= 3
rows = [0, 2]
x[rows] -= 1
x[torch.tensor([1]), ...] = 4
print(x)
del box.a, box.c[0]
print(hasattr(box, "a"), box.c)
""",
    "augmented": """
import torch
n = 7
n += 1; n -= 2; n *= 3; n //= 2; n **= 2; n %= 50; n <<= 2; n >>= 1; n |= 1; n &= 63; n ^= 5
m = 9
m /= 4
s = "a"
s += "b"
s *= 3
items = [1]
same = items
items += [2, 3]
items *= 2
print(n, m, s, items, same is items)
x = torch.ones(2)
y = x
x += 1
x *= torch.tensor([2., 3.])
x @= torch.eye(2)
x **= 2
print(x, y is x)
d = {"k": 1}
d["k"] += 5
class C:
    v = 1
c = C()
c.v += 1
print(d, c.v, C.v)
""",
    "augmented_order": """
log = []
class Cell:
    def __init__(self):
        self.v = 1
    def take(self, name, value):
        log.append(name)
        self.v = 100
        return value
cell = Cell()
cell.v += cell.take("right", 5)
items = [1, 2]
def place():
    log.append("index")
    return 0
def amount():
    log.append("amount")
    items[0] = 50
    return 1
items[place()] += amount()
print(cell.v, items, log)
""",
    "order_of_evaluation": """
log = []
def tell(name, value):
    log.append(name)
    return value
class Thing:
    pass
thing = Thing()
tell("receiver", thing).field = tell("value", 1)
data = {}
tell("holder", data)[tell("key", "k")] = tell("item", 2)
r = tell("left", 2) * tell("right", 3) + tell("third", 4) ** tell("power", 1)
t = tell("a", 1) < tell("b", 2) < tell("c", 1) < tell("never", 0)
q = tell("x", 0) and tell("no", 1) or tell("y", 5)
f = "%s %s" % (tell("f1", 1), tell("f2", 2))
print(log, r, t, q, f)
""",
    "annotations": """
from typing import Callable, List, Optional
import torch
count: int = 3
later: "no such name"
def f(x: torch.Tensor, g: Optional[Callable[[int], str]] = None, *rest: int) -> List[int]:
    total: float = 0.5
    return [count, total]
class Typed:
    size: int = 4
    name: str
Vector = List[float]
print(f(torch.ones(1)), Typed.size)
""",
    "comprehensions": """
import torch
rows = [[i * j for j in range(3)] for i in range(3) if i != 1]
flat = [v for row in rows for v in row if v]
table = {k: v for k, v in zip("abc", range(3))}
odd = {n % 3 for n in range(10)}
i = "outer"
total = sum(i * 2 for i in range(4))
x = torch.stack([torch.tensor([float(k), k + 1.]) for k in range(2)])
names = [f"w{k}" for k in range(2)]
last = [y := k for k in range(3)]
lazy = (v for v in [1, 2])
print(rows, flat, table, sorted(odd), i, total, x, names, y, next(lazy), list(lazy))
print([a for a, *b in [(1, 2, 3)]], [n for n in range(9) if n % 2 if n > 3])
""",
    "class_scope": """
x = "module"
class Outer:
    x = "class"
    y = x + "!"
    items = [1, 2, 3]
    first = [v for v in items]
    def get(self):
        return x
    class Inner:
        z = x
    if y:
        flag = True
    for k in range(2):
        total = k
    def __neg__(self):
        return "neg"
    __pos__ = __neg__
print(Outer().get(), Outer.y, Outer.first, Outer.Inner.z, Outer.flag, Outer.total, +Outer())
""",
    "loops": """
out = []
for i in range(10):
    if i == 2:
        continue
    if i == 5:
        break
    out.append(i)
else:
    out.append("no")
while True:
    if len(out) > 6:
        break
    out.append("w")
else:
    out.append("no")
n = 3
while n:
    n -= 1
else:
    out.append("end")
for a, (b, c) in [(1, (2, 3))]:
    out.append(a + b + c)
for key, value in sorted({"q": 1, "p": 2}.items()):
    out.append(key)
print(out)
""",
    "functions": """
def f(a, b=2, /, c=3, *args, d, e=5, **kwargs):
    "A line of text."
    return a, b, c, args, d, e, kwargs
print(f(1, d=4), f(1, 9, 8, 7, 6, d=0, z=1), f(*[1, 2], **{"d": 3}))
print(f.__name__, f.__doc__)
def no_default(items=[]):
    items.append(len(items))
    return items
no_default()
print(no_default())
adders = [lambda v, k=k: v + k for k in range(3)]
print([g(10) for g in adders])
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(12))
def outer():
    count = 0
    def inner():
        nonlocal count
        count += 1
        return count
    inner()
    return inner
counter = outer()
print(counter(), counter())
total = 0
def change():
    global total, fresh
    total += 5
    fresh = "new"
change()
print(total, fresh)
print((lambda *a, **k: (a, k))(1, b=2))
""",
    "decorators": """
import torch
import functools
def twice(f):
    def through(*args, **kwargs):
        return f(*args, **kwargs) * 2
    return through
@twice
def g(x):
    return x + 1
@twice
@twice
def h(x):
    return x
@torch.no_grad()
def cut(x):
    return x * 2
def times(k):
    return lambda f: lambda x: f(x) * k
@times(3)
def p(x):
    return x
x = torch.ones(2, requires_grad=True)
print(g(1), h(1), cut(x).requires_grad, p(2), functools.reduce(lambda a, b: a * b, [1, 2, 3]))
half = functools.partial(torch.mul, 0.5)
print(half(x))
""",
    "exceptions": """
class Mine(ValueError):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code
def risky(n):
    if n == 0:
        raise Mine(42)
    if n == 1:
        return {}["k"]
    return 10 / (n - 2)
for n in range(4):
    try:
        r = risky(n)
    except Mine as e:
        print("mine", e.code, e, type(e).__name__, e.args)
    except (KeyError, ZeroDivisionError) as e:
        print(type(e).__name__, str(e), e.__class__.__name__)
    else:
        print("fine", r)
    finally:
        print("done", n)
try:
    try:
        assert 1 > 2, "order"
    except AssertionError as e:
        raise RuntimeError("again") from e
except RuntimeError as e:
    print(e)
try:
    undefined
except:
    print("caught")
def last():
    for i in range(3):
        try:
            continue
        finally:
            print("f", i)
    return "end"
print(last())
""",
    "formatting": """
import torch
x = torch.tensor([1.5, -2.25])
t = torch.tensor(3.14159)
w, p = 10, 3
print(f"{t:.2f}|{t.item():>{w}.{p}f}|{x}|{x!r}|{w=}|{'q':*^5}|{{}}|{1_000_000:,}")
print("{} {1}".replace("1", "").format(1, 2), "{0}-{0:>4}-{k!r}".format(7, k="v"))
print("{:{}}|{:>{w}}".format(1, 5, 2, w=4))
print("%d %5.2f %s %r %% %-5s| %x %e" % (3, 2.5, x, "s", "l", 255, 1234.5))
print("%(a)s and %(b)03d" % {"a": 1, "b": 2})
print("epoch 100000: %.4f after 20000 steps" % 0.25)
print(str(x), repr(t), format(2.5, ".1f"), format(t, ".3f"), sep="|", end="!\\n")
print(None, True, 1e-07, 1e22, [t, x], {"k": t}, (1,), {1}, sep=", ")
print(f"{x.mean():.4f} {x.shape} {x.dtype} {list(x.shape)}", f'{"nested"!s:>8}')
print("a,b , c".split(","), "-".join(["x", "y"]), " s ".strip(), "abc"[::-1], "Ab".lower())
""",
    "generators": """
import random
def data_iter(batch_size, features, labels):
    indices = list(range(len(features)))
    random.shuffle(indices)
    for i in range(0, len(indices), batch_size):
        picked = indices[i:min(i + batch_size, len(indices))]
        yield [features[k] for k in picked], [labels[k] for k in picked]
for X, y in data_iter(2, list(range(5)), "abcde"):
    print(X, y)
def echo():
    got = None
    while got != "stop":
        got = yield got
e = echo()
next(e)
print(e.send("a"), e.send("b"))
e.close()
""",
    "with": """
import torch
class Guard:
    def __init__(self, swallow):
        self.swallow, self.log = swallow, []
    def __enter__(self):
        self.log.append("in")
        return self
    def __exit__(self, kind, error, trace):
        self.log.append(kind.__name__ if kind else "out")
        return self.swallow
with Guard(True) as g, Guard(False) as h:
    raise ValueError("x")
print(g.log, h.log)
x = torch.ones(1, requires_grad=True)
with torch.no_grad():
    a = x * 2
with torch.set_grad_enabled(True), torch.enable_grad():
    b = x * 2
with torch.inference_mode():
    c = x * 2
print(a.requires_grad, b.requires_grad, c.is_inference(), torch.is_grad_enabled())
""",
    "operators_on_own_classes": """
class V:
    def __init__(self, v): self.v = v
    def __add__(self, o): return V(self.v + (o.v if isinstance(o, V) else o))
    def __radd__(self, o): return self + o
    def __mul__(self, o): return V(self.v * (o.v if isinstance(o, V) else o))
    __rmul__ = __mul__
    def __pow__(self, n): return V(self.v ** n)
    def __neg__(self): return V(-self.v)
    def __sub__(self, o): return self + (-o)
    def __rsub__(self, o): return (-self) + o
    def __truediv__(self, o): return V(self.v / o.v)
    def __matmul__(self, o): return "mat"
    def __mod__(self, o): return "mod"
    def __iadd__(self, o):
        self.v += 100
        return self
    def __eq__(self, o): return self.v == o.v
    def __lt__(self, o): return self.v < o.v
    def __hash__(self): return hash(self.v)
    def __bool__(self): return self.v != 0
    def __len__(self): return 3
    def __getitem__(self, k): return ("item", k)
    def __setitem__(self, k, v): self.v = v
    def __contains__(self, k): return k == self.v
    def __iter__(self): return iter([1, 2])
    def __call__(self, *a): return a
    def __abs__(self): return "abs"
    def __repr__(self): return f"V({self.v})"
a, b = V(2), V(3)
print(a + b, 1 + a, a * 2, 2 * a, a ** 2, -a, a - b, 5 - a, a / b, a @ b, a % b, a == V(2), a < b)
print(sorted([b, a]), {a: 1}[V(2)], bool(V(0)), len(a), a[1], a[1:2], a[1, ::2], 2 in a, list(a))
print(a(1, 2), abs(a), sum([a, b]), [a, b], str(a), f"{a}", "%s" % a)
a += 1
a["k"] = 7
print(a)
""",
    "properties_and_methods": """
class T:
    shared = []
    def __init__(self, c): self._c = c
    @property
    def f(self): return self._c * 9 / 5 + 32
    @f.setter
    def f(self, v): self._c = (v - 32) * 5 / 9
    @staticmethod
    def unit(): return "C"
    @classmethod
    def zero(cls): return cls(0)
    def method(self): return self._c
class U(T):
    def method(self): return ("U", super().method())
t = T(100)
t.f = 50
m = t.method
print(t._c, t.f, T.unit(), T.zero().f, m(), U(1).method(), T.method(t), U.zero().unit())
print(isinstance(U(1), T), issubclass(U, T), U.__name__, type(t) is T, t.__class__ is T)
setattr(t, "x", 5)
print(getattr(t, "x"), getattr(t, "y", "none"), hasattr(t, "x"), hasattr(t, "_c"), callable(m))
T.added = lambda self: "added"
print(t.added())
T.shared.append(1)
print(U.shared)
""",
    "builtins": """
print(abs(-2), all([1, 0]), any([0, 1]), bool(""), chr(97), complex(1, 2), divmod(7, 3))
print(list(enumerate("ab", 1)), list(filter(None, [0, 1])), float("2.5"), frozenset([1]), int("7"))
print(list(map(lambda a, b: a + b, [1, 2], [3, 4])), max(1, 5), max([3, 9], key=lambda v: -v))
print(min("b", "a"), ord("a"), pow(2, 5), pow(2, 5, 7), list(reversed([1, 2])), round(2.567, 2))
print(sorted("bca", reverse=True), sum([1, 2], 10), tuple("ab"), list(zip([1], [2])), set([1, 1]))
print(hash("a") == hash("a"), id(print) == id(print), isinstance(True, int), isinstance(1, (str, int)))
print(isinstance([], list), isinstance((), (list, tuple)), isinstance(1.0, int | float), type(1) == int)
print(type([]) is list, type("") in (str, int), str(5) + repr("x"), list(range(5, 0, -2)), slice(1, 2))
print([*range(3), *"ab"], {**{"a": 1}, "b": 2}, (1, *[2]), next(iter([]), "default"), len(range(10)))
print(type(3).__name__, type([1]).__name__, type(None).__name__, type(print).__name__ != "")
print(dict(a=1), dict([("k", 2)]), dict(zip("ab", [1, 2])), int(2.9), float(3), str(None))
""",
    "collections_and_copy": """
from collections import Counter, OrderedDict, defaultdict, deque
import collections, copy, itertools, math
d = defaultdict(list)
d["a"].append(1)
n = defaultdict(lambda: 5)
o = OrderedDict([("x", 1), ("y", 2)])
o.move_to_end("x")
q = deque([1, 2], maxlen=2)
q.append(3)
print(dict(d), n["k"], list(o), q, Counter("aab").most_common(1))
a = [[1], 2]
b, c = copy.copy(a), copy.deepcopy(a)
a[0].append(9)
print(b, c)
print(list(itertools.product([1, 2], "a")), list(itertools.chain([1], [2])), math.sqrt(2), math.pi)
print(collections.OrderedDict(a=1), math.inf > 1, math.isnan(math.nan), math.exp(1), math.log(2))
""",
    "semicolons_main_and_future": """
from __future__ import annotations
import torch; x = torch.ones(1); y = x + 1
def main():
    print("main", y)
if __name__ == "__main__":
    main()
pass; ...
"a string statement"
""",
    "conditional_expressions": """
a = 1 if [] else 2
b = a == 2 and "yes" or "no"
c = not a
d = 1 < a <= 2 != 3
e = a is not None
f = 3 not in [1, 2]
if (n := a + 5) > 6 and not c:
    print(n)
elif n:
    print("elif")
print(a, b, c, d, e, f, -a, ~a, +a, 7 // 2, -7 % 3, 2 ** -1, 1 << 3, 6 & 3, 6 | 1, 6 ^ 3, 5 / 2)
""",
    "recursion_and_closures_in_loops": """
hooks = []
for name in ["a", "b"]:
    def hook(v, name=name):
        return name + str(v)
    hooks.append(hook)
print([h(1) for h in hooks])
def walk(tree):
    return tree if not isinstance(tree, list) else sum(walk(t) for t in tree)
print(walk([1, [2, [3]]]))
""",
    "unicode_names": """
α = 0.1
ﬁt = 2
naïve = "ü"
print(α, fit, naïve)
""",
}
