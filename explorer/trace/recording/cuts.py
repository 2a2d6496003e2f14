"""Records where values are cut from the graph, and why, and which tensors are changed in place.

A cut is stored with the value it produced (a tensor, a number or an array) and passed on to
everything computed from that value, so that a missing gradient can be traced to its line.
"""

from __future__ import annotations

import ast
import re
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from explorer import limits
from explorer.program.parsing import tree_of
from explorer.trace.recording.objects import is_a


@dataclass(frozen=True, eq=False)
class Cut:
    """An operation whose result has no path back to `tensor`.

    `cause` is a key of `CUT_CAUSES`. `callers` are the lines of the program that were running, the
    innermost first, and `rebuilt` the later calls that made a tensor of plain values again: their
    lines and functions.
    """

    line: int
    cause: str
    function: str
    tensor: torch.Tensor
    name: str
    callers: tuple[int, ...] = ()
    rebuilt: list[tuple[int, str]] = field(default_factory=list)

    def add_rebuilt(self, line: int, function: str) -> None:
        if len(self.rebuilt) < limits.MOST_REBUILT and (line, function) not in self.rebuilt:
            self.rebuilt.append((line, function))


@dataclass(frozen=True, eq=False)
class Write:
    """A change in place. `order` is the number of tensors recorded before it."""

    order: int
    line: int
    function: str
    storage: int
    name: str


class History:
    """Follows values that have been cut from the graph."""

    def __init__(self) -> None:
        self.values: dict[int, tuple[Callable[[], Any], tuple[Cut, ...]]] = {}
        self.names: dict[str, tuple[Cut, ...]] = {}
        self.writes: deque[Write] = deque(maxlen=limits.MOST_WRITES)
        #: By line and function: the values stored for them, each by its id with its entry.
        self._stored: dict[tuple[int, str], deque[tuple[int, Any]]] = {}
        #: The last line that read a plain value out of a tensor, and that value's cuts.
        self._last_read: tuple[int, tuple[Cut, ...]] = (0, ())

    @property
    def active(self) -> bool:
        """Whether any value has been cut from the graph so far."""
        return bool(self.values or self.names or self._last_read[0])

    def cuts_of(self, value: Any) -> tuple[Cut, ...]:
        """The cuts behind this object itself; an equal one does not count."""
        entry = self.values.get(id(value))
        return entry[1] if entry is not None and entry[0]() is value else ()

    def cuts_of_any(self, values: Iterable[Any]) -> tuple[Cut, ...]:
        """The cuts behind several objects, each cut once."""
        if not self.values:
            return ()
        return _unique_cuts(cut for value in values for cut in self.cuts_of(value))

    def add_cuts(self, value: Any, cuts: tuple[Cut, ...], line: int, function: str) -> None:
        """Store the cuts behind `value`, which `function` returned on this line."""
        stored = self._stored.setdefault((line, function), deque())
        if len(stored) >= limits.MOST_CUT_VALUES:
            key, old = stored.popleft()
            if self.values.get(key) is old:  # a later value may have the id of one that is gone
                del self.values[key]
        entry = (_reference(value), cuts)
        stored.append((id(value), entry))
        self.values[id(value)] = entry

    def add_copy(
        self, source: torch.Tensor, copy: torch.Tensor, function: str, line: int, name: str
    ) -> None:
        """Store that `function` made a tensor with the numbers of another one."""
        cuts = self.cuts_of(source)
        if source.requires_grad:
            cuts = (Cut(line, function, function, source, name), *cuts)
        for cut in cuts:
            cut.add_rebuilt(line, function)
        if cuts:
            self.add_cuts(copy, cuts, line, function)

    def add_plain_value(self, value: Any, cut: Cut) -> None:
        """Store that a plain value was read out of a tensor.

        Integers are not stored by id: Python shares one object among all small equal integers.
        """
        if is_a(value, float | np.ndarray | list):
            self.add_cuts(value, (cut,), cut.line, cut.function)
        earlier = self._last_read[1] if self._last_read[0] == cut.line else ()
        if not any((c.name, c.function) == (cut.name, cut.function) for c in earlier):
            self._last_read = (cut.line, _unique_cuts((*earlier, cut)))

    def note_assignment(self, line: int, text: str, name: str, value: Any) -> None:
        """Store the cuts behind `name`, to which the statement `text` assigned `value`.

        Arithmetic on plain numbers creates new objects, so the origin of such a value is taken
        from the names that the statement reads.
        """
        if is_a(value, float | int | np.generic | np.ndarray | list | tuple | dict):
            cuts = self.cuts_of(value) or self.cuts_read_by(line, text)
            if cuts:
                self.names[name] = cuts
            else:
                self.names.pop(name, None)

    def cuts_read_by(self, line: int, text: str) -> tuple[Cut, ...]:
        """The cuts behind the plain numbers that the statement `text` on this line reads."""
        from_line = self._last_read[1] if self._last_read[0] == line else ()
        if not self.names:
            return from_line
        from_names = (self.names.get(name, ()) for name in names_read(text))
        return _unique_cuts((*from_line, *(cut for cuts in from_names for cut in cuts)))


@lru_cache(maxsize=512)
def names_read(statement: str) -> frozenset[str]:
    """The names a statement reads; of a compound statement, those on its first line."""
    loads = (
        node
        for node in ast.walk(_tree(statement))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )
    return frozenset(node.id for node in loads)


@lru_cache(maxsize=512)
def numbers_in(statement: str) -> frozenset[float]:
    """The numbers that are written in a statement."""
    return frozenset(
        node.value
        for node in ast.walk(_tree(statement))
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    )


def _tree(statement: str) -> ast.AST:
    whole = statement if not statement.endswith(":") else f"{statement} pass"
    return tree_of(whole) or ast.Module([], [])


def _reference(value: Any) -> Callable[[], Any]:
    """A function that returns the value: weakly held where possible (tensors and arrays)."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _unique_cuts(cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    """The first `limits.MOST_CUTS` cuts, each once."""
    return tuple({id(cut): cut for cut in cuts}.values())[: limits.MOST_CUTS]


# -- what cuts a value from the graph, and what to write instead -----------------------------------


@dataclass(frozen=True)
class CutCause:
    """Why a result has no history, as the end of "… on line 4: ", and the cure; `{name}` is the
    tensor. `is_deliberate`: this is also how programs cut on purpose."""

    why: str
    cure: str
    is_deliberate: bool = False


_POSITION = "Use softmax, which is smooth; for classes, a loss of the scores, as F.cross_entropy."

#: By `Cut.cause`, which is the name of a function or one of the other causes below.
CUT_CAUSES: dict[str, CutCause] = {
    "detach": CutCause(
        "detach() gives the same values without their history",
        "Use {name} itself, without detach(), where the gradient must flow.",
        is_deliberate=True,
    ),
    "inside": CutCause(
        "the function called here gives the values without their history",
        "Use {name} itself.",
        is_deliberate=True,
    ),
    "detach_": CutCause("detach_() removes the history", "Leave out detach_().", True),
    "data": CutCause(
        ".data gives the same values without their history",
        "Use {name} itself, without .data.",
        is_deliberate=True,
    ),
    "item": CutCause(
        "item() gives a plain Python number, which has no history",
        "Use {name} itself, without item(), where the gradient must flow.",
    ),
    "__float__": CutCause(
        "float() gives a plain Python number, which has no history",
        "Use {name} itself, and torch functions in place of those of math.",
    ),
    "__int__": CutCause(
        "int() gives a plain Python number, which has no history",
        "Use {name} itself, without int(), where the gradient must flow.",
    ),
    "tolist": CutCause(
        "tolist() gives plain Python numbers, which have no history",
        "Compute with {name} itself, without tolist().",
    ),
    "numpy": CutCause(
        "numpy() gives an array, and autograd does not record what numpy computes",
        "Use torch's functions of the same names, on {name} itself.",
    ),
    "__array__": CutCause(
        "autograd does not record what numpy computes",
        "Use torch's functions of the same names, on {name} itself.",
    ),
    "tensor": CutCause(
        "torch.tensor(t) copies only the numbers, not their history",
        "Use {name} itself, without torch.tensor.",
    ),
    "as_tensor": CutCause("only the numbers are copied, not their history", "Use {name} itself."),
    "list": CutCause(
        "torch.tensor([…]) copies only the numbers of the tensors in the list, not their history",
        "Join them with torch.stack([…]), or torch.cat.",
    ),
    "Parameter": CutCause(
        "nn.Parameter makes a new leaf, with the values of {name} but not its history",
        "Use {name} itself; a Parameter is only for what an optimizer changes.",
        is_deliberate=True,
    ),
    "Variable": CutCause(
        "Variable makes a new tensor, with the values of {name} but not its history",
        "Use {name} itself; every tensor is a Variable today.",
    ),
    "Buffer": CutCause(
        "nn.Buffer keeps the values of {name}, not its history", "Use {name} itself."
    ),
    "checkpoint": CutCause(
        "checkpoint(…, use_reentrant=True) records nothing unless one of its inputs requires grad",
        "Pass use_reentrant=False.",
    ),
    "without_graph": CutCause("the gradient of {name} has no graph", ""),
    "constant": CutCause(
        "{name} is a linear function, so its gradient is a constant, which has no graph",
        "The derivative of a constant is 0: there is nothing to compute.",
    ),
    "__deepcopy__": CutCause(
        "copy.deepcopy makes a new leaf, with the values of {name} but not its history",
        "Use {name}.clone(), which autograd records.",
        is_deliberate=True,
    ),
    "argmax": CutCause(
        "argmax gives a position, an integer, which has no derivative",
        _POSITION,
    ),
    "argmin": CutCause(
        "argmin gives a position, an integer, which has no derivative",
        "Use a weighted mean with softmax(-{name}), a smooth argmin.",
    ),
    "argsort": CutCause(
        "argsort gives positions, integers, which have no derivative",
        "Use the sorted values of torch.sort; they have gradients.",
    ),
    "no_grad": CutCause(
        "nothing is recorded inside torch.no_grad()",
        "Compute it outside torch.no_grad().",
        is_deliberate=True,
    ),
    "inference_mode": CutCause(
        "nothing is recorded inside torch.inference_mode()",
        "Compute it outside torch.inference_mode().",
        is_deliberate=True,
    ),
    "set_grad_enabled": CutCause(
        "recording is switched off by torch.set_grad_enabled(False)",
        "Switch it on again before you compute the loss; with torch.no_grad(): does so by itself.",
    ),
    "bool": CutCause(
        "a comparison gives True or False, which has no derivative",
        "Use a smooth function such as sigmoid instead of the comparison.",
    ),
    "integer": CutCause(
        "integers have no gradient", "Keep floating-point numbers where the gradient must flow."
    ),
    "indices": CutCause(
        "the second result is a position, an integer, which has no derivative",
        _POSITION,
    ),
    "sample": CutCause(
        "sample() draws without recording how the result depends on the parameters",
        "Use the log-probability of the sample, dist.log_prob(…), in the loss.",
    ),
    "reparameterized": CutCause(
        "sample() draws without recording how the result depends on the parameters",
        "Use rsample(), which computes the sample from the parameters.",
    ),
    "multinomial": CutCause(
        "multinomial draws positions, integers, which have no derivative",
        "Use the log-probability of what was drawn in the loss.",
    ),
    "grad": CutCause(
        "torch.autograd.grad without create_graph gives plain numbers",
        "Pass create_graph=True to torch.autograd.grad.",
    ),
    "other": CutCause("this function has no derivative", "Use a function that has a derivative."),
}


#: Operations that are linear, and those that are if only one of their inputs has a graph.
_LINEAR = re.compile(
    r"(AccumulateGrad|(Add|Sub|Rsub|Neg|Sum|Mean|View|UnsafeView|Clone|T|Transpose)Backward\d)$"
).match
_PRODUCTS = re.compile(r"(Mul|Mm|Mv|Dot)Backward\d$").match


def is_linear(nodes: Iterable[Any]) -> bool:
    """Whether a graph of these nodes is certain to compute a linear function."""
    for node in nodes:
        name, sources = type(node).__name__, [source for source, _ in node.next_functions]
        is_product = _PRODUCTS(name) and None in sources
        is_quotient = name == "DivBackward0" and sources[-1] is None
        if not (_LINEAR(name) or is_product or is_quotient):
            return False
    return True


def find_cause(function: str, result: torch.Tensor, recording: bool) -> str:
    """The key in `CUT_CAUSES` of the reason why a result has no history."""
    if function in CUT_CAUSES:
        return function
    if not recording:
        return "inference_mode" if torch.is_inference_mode_enabled() else "no_grad"
    if not result.is_floating_point() and not result.is_complex():
        if function in ("max", "min", "sort", "topk", "median", "mode", "kthvalue"):
            return "indices"
        return "bool" if result.dtype == torch.bool else "integer"
    return "other"
