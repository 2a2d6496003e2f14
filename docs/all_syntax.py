"""All syntax that the language supports, in one program.

`docs/language.md` shows it; a test runs it in the language and as plain Python.
"""

import torch
import torch.nn.functional as F
from torch import nn

# Values, assignment, indexing, deletion
a = b = [1, 2.5, 1e-3, True, None, ..., "text", f"{3.14159:.2f}"]
first, *rest = a
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
size: int = 2
size += 1
size *= 2  # also -= /= //= %= **= @= <<= >>= |= &= ^=
table = {"w": 1, **{"b": 2}}
names, pair = {"w", "b"}, (1, *rest)
row, column, block = x[0], x[:, 1], x[..., ::2]
del table["w"]

# Expressions
y = -x + 2 * x / 3 - x @ x**2 // 1 % 5
bits = ~(1 | 2) & 7 ^ (1 << 2) >> 1
close = +size < 9 <= 10 != 11 == 11 > 3 >= 1
known = ("w" in names and "q" not in names) or not close
same = a is b if a is not None else False
positive = (x > 0) & ~(x > 3)

# Control flow
for i in range(5):
    if i == 1:
        continue
    elif i == 3:
        break
    else:
        pass
else:
    print("not reached: break skips it")
while (size := size - 1) > 0:
    assert size < 10, "a message"

# Comprehensions, functions, closures
squares = [n**2 for n in range(4) if n]
index = {word: len(word) for word in ("leaf", "node")}
letters = {letter for word in index for letter in word}
total = sum(n for n in squares)


def scaled(x: torch.Tensor, by: float = 2.0, *more: float, **options: float) -> torch.Tensor:
    """A docstring."""
    return x * by


def counter():
    count = 0

    def one_more():
        nonlocal count
        count += 1
        return count

    return one_more


def batches(items):
    for item in items:
        yield item, item**2


def remember():
    global total
    total = total + 1


longest = max(index, key=lambda word: index[word])


# Classes: custom functions and modules
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def forward(self, x):
        return F.relu(self.fc(x))


# Exceptions and context managers
try:
    raise ValueError("no")
except (ValueError, TypeError) as error:
    print(type(error).__name__, error)
finally:
    remember()
with torch.no_grad() as _:
    frozen = x * 2


# Generators that end with something to do
def managed(items):
    with torch.no_grad():
        try:
            yield from items
        finally:
            remember()


# Patterns
def describe(value):
    match value:
        case None | True:
            return "constant"
        case [first, *rest] if rest:
            return f"{first} and {len(rest)} more"
        case {"lr": lr, **others}:
            return f"lr {lr}, {others}"
        case nn.Linear(in_features=size):
            return f"layer of {size}"
        case "sgd" | "adam" as name:
            return name
        case _:
            return "something else"


print([describe(v) for v in (None, [1, 2], {"lr": 0.1}, nn.Linear(3, 1), "sgd", 2)])
print(list(managed([1, 2])))
loss = Net()(scaled(Square.apply(x), by=0.5)).sum()
loss.backward()
print(x.grad.shape, next(batches(squares)), counter()())
