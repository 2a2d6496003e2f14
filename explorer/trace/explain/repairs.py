"""Changes of a program that let the gradient pass where it was cut."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import torch

from explorer.program.draft import Draft, called_name, own_nodes
from explorer.trace.explain.recording_off import context_line, context_of
from explorer.trace.explain.updates import CONSTRUCTORS, in_place, is_update, updates_around
from explorer.trace.recording.cuts import Cut

#: Methods that give values without their history, and functions that take them from their argument.
_METHODS = {
    "detach": {"detach", "clone", "requires_grad_", "cpu"},
    "numpy": {"numpy", "detach", "cpu"},
    "__array__": {"numpy", "detach", "cpu"},
    "item": {"item", "detach", "cpu"},
    "tolist": {"tolist", "detach", "cpu"},
    "integer": {"long", "int", "short", "byte"},
}
_CONVERSIONS = {"__float__": "float", "__int__": "int"}
_GRAD = {"torch.autograd.grad", "autograd.grad", "grad"}
_ARRAYS = {"array", "asarray", "stack"}
#: Functions whose derivative is 0 everywhere: torch's would not help.
_FLAT = {"floor", "ceil", "round", "sign", "trunc", "rint"}


class Repair:
    """Changes a draft so that some cuts are gone."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self._done: set[int] = set()
        #: The cuts that are gone, by their places.
        self._places: set[tuple[object, ...]] = set()

    def all(self, cuts: Iterable[Cut]) -> str | None:
        """The program without these cuts; None where that is no change of its text."""
        for cut in cuts:
            self.one(cut)
        return self.draft.changed()

    def one(self, cut: Cut) -> None:
        place = (cut.line, cut.cause, cut.function, cut.name)
        if place not in self._places:
            self._places.add(place)
            statement = self.draft.statement(cut.line)
            if statement is None or self._updates_in_place(statement):
                return
            self._undo(cut, statement)
            inner = self.draft.statement(cut.callers[0]) if cut.callers else None
            if inner is not None and inner is not statement:  # a lambda of another line
                self._undo(cut, inner)
        for line, function in cut.rebuilt:
            if (line, function) not in self._places:
                self._places.add((line, function))
                self._again(cut, line, function)

    def _again(self, cut: Cut, line: int, function: str) -> None:
        """Leave out what would cut the value again, or copy it."""
        statement = self.draft.statement(line)
        if statement is None:
            return
        if function in _METHODS or function in ("data", "__float__", "__int__"):
            later = replace(cut, line=line, cause=function, function=function, name="")
            self._undo(later, statement)
        else:
            self._use_directly(statement, function == "list")

    def _undo(self, cut: Cut, statement: ast.stmt) -> None:
        """Leave out what cuts in a statement."""
        if cut.cause in _NO_GRAD_CAUSES:
            self._record(cut)
        elif cut.cause in _REPAIRS:
            _REPAIRS[cut.cause](self, cut, statement)
        else:
            self._unwrap_methods(cut, statement, _METHODS.get(cut.cause, {cut.cause}))

    def line(self, line: int | None) -> None:
        """Write the update on a line in place."""
        statement = self.draft.statement(line)
        if statement is not None:
            self._updates_in_place(statement)

    def store_gradients(self) -> None:
        """`y.backward()` for a call of torch.autograd.grad whose result nothing uses."""
        for statement in self.draft.nodes(ast.Expr):
            call = statement.value
            if isinstance(call, ast.Call) and self.draft.of(call.func) in _GRAD and call.args:
                self.draft.replace(call, f"{self.draft.operand(call.args[0])}.backward()")

    def _is_new(self, node: ast.AST) -> bool:
        """Whether nothing has been done about this node yet."""
        new = id(node) not in self._done
        self._done.add(id(node))
        return new

    # -- values without their history -----------------------------------------------------------

    def _unwrap_methods(self, cut: Cut, statement: ast.stmt, names: set[str]) -> None:
        """Leave out `.detach()` and the like, if possible only on the cut's own tensor."""
        calls = [
            call
            for call in own_nodes(statement, ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr in names
        ]
        ends = [call for call in calls if called_name(call) in (cut.function, cut.cause)]
        own = [call for call in ends if self._is_named(_receiver(call, names), cut)]
        if cut.cause == "detach_" and isinstance(statement, ast.Expr) and statement.value in ends:
            if self._is_new(statement):
                self.draft.delete(statement)
            return
        for call in own or ends:
            # From the outermost of `x.clone().detach().requires_grad_()` to x.
            outer = self._outermost(call, calls)
            inner = _receiver(outer, names)
            if self._is_new(outer):
                self.draft.unwrap(outer, inner)
        if cut.cause in ("numpy", "__array__"):
            self._use_torch(statement, {"np", "numpy"})

    def _outermost(self, call: ast.Call, calls: list[ast.Call]) -> ast.Call:
        around = next((c for c in calls if getattr(c.func, "value", None) is call), None)
        return call if around is None else self._outermost(around, calls)

    def _is_named(self, node: ast.expr, cut: Cut) -> bool:
        text = self.draft.of(node)
        return bool(text) and (text == cut.name or cut.name.endswith(f".{text}"))

    def _data(self, cut: Cut, statement: ast.stmt) -> None:
        reads = [a for a in own_nodes(statement, ast.Attribute) if a.attr == "data"]
        own = [read for read in reads if self._is_named(read.value, cut)]
        for read in own or reads:
            if self._is_new(read):
                self.draft.unwrap(read, read.value)

    def _convert(self, cut: Cut, statement: ast.stmt) -> None:
        """`float(x)` becomes x, `math.sin(x)` becomes torch.sin(x)."""
        name = _CONVERSIONS[cut.cause]
        for call in own_nodes(statement, ast.Call):
            if called_name(call) == name and len(call.args) == 1 and self._is_new(call):
                self.draft.unwrap(call, call.args[0])
        self._use_torch(statement, {"math"})

    def _use_torch(self, statement: ast.stmt, modules: set[str]) -> None:
        """torch's function of the same name in place of that of math or numpy."""
        for call in own_nodes(statement, ast.Call):
            function = call.func
            name = called_name(call)
            is_module = isinstance(function, ast.Attribute) and (
                isinstance(function.value, ast.Name) and function.value.id in modules
            )
            is_imported = (
                isinstance(function, ast.Name) and hasattr(math, name) and "math" in modules
            )
            known = {"fabs": "abs", "power": "pow"}.get(name, name)
            is_known = isinstance(getattr(torch, known, None), type(torch.sin))
            is_ours = is_module or (is_imported and hasattr(math, name))
            if is_ours and is_known and name not in _ARRAYS | _FLAT and self._is_new(call):
                self.draft.replace(function, f"torch.{known}")

    # -- copies -----------------------------------------------------------------------------------

    def _copy(self, cut: Cut, statement: ast.stmt) -> None:
        self._use_directly(statement, cut.cause == "list", cut)

    def _use_directly(self, statement: ast.stmt, is_list: bool, cut: Cut | None = None) -> None:
        """`torch.tensor(x)` becomes x, `torch.tensor([a, b])` torch.stack([a, b])."""
        for call in own_nodes(statement, ast.Call):
            if called_name(call) not in CONSTRUCTORS or not call.args or not self._is_new(call):
                continue
            part = call.args[0]
            while isinstance(part, ast.Call) and called_name(part) in _ARRAYS and part.args:
                part = part.args[0]
            if is_list or isinstance(part, ast.List | ast.ListComp | ast.Tuple):
                join = "cat" if cut is not None and cut.tensor.dim() == 1 else "stack"
                self.draft.unwrap(call, part)
                self._join(part, join)
            elif _is_same(statement, call, part):
                self.draft.delete(statement)
            else:
                self.draft.unwrap(call, part)

    def _join(self, part: ast.expr, function: str) -> None:
        """A list as the argument of torch.stack or torch.cat, and the lists in it too."""
        self.draft.surround(part, f"torch.{function}(", ")")
        for item in part.elts if isinstance(part, ast.List | ast.Tuple) else []:
            if isinstance(item, ast.List | ast.Tuple):
                self._join(item, "stack")
            elif _is_number(item):
                self.draft.surround(item, "torch.tensor(float(", "))")

    def _deepcopy(self, cut: Cut, statement: ast.stmt) -> None:
        for call in own_nodes(statement, ast.Call):
            if called_name(call) == "deepcopy" and call.args and self._is_new(call):
                self.draft.unwrap(call, call.args[0])
                self.draft.surround(call, "", ".clone()")

    # -- functions without a derivative -----------------------------------------------------------

    def _compare(self, cut: Cut, statement: ast.stmt) -> None:
        """`(x > a).float()` becomes a sigmoid, which is smooth; a probability stays as it is."""
        for call in own_nodes(statement, ast.Call):
            compared = _receiver(call, {"float", "double"})
            if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
                continue
            if not isinstance(compared.ops[0], ast.Gt | ast.GtE) or not self._is_new(call):
                continue
            left, right = compared.left, self.draft.operand(compared.comparators[0])
            is_probability = isinstance(left, ast.Call) and called_name(left) == "sigmoid"
            text = self.draft.of(left)
            difference = text if right in ("0", "0.0", "0.") else f"{text} - {right}"
            self.draft.replace(call, text if is_probability else f"torch.sigmoid({difference})")

    def _one_hot(self, cut: Cut, statement: ast.stmt) -> None:
        """`F.one_hot(x.argmax(dim=1), n).float()` becomes softmax(x), which is smooth."""
        for call in own_nodes(statement, ast.Call):
            if called_name(call) != "one_hot" or not call.args:
                continue
            position = call.args[0]
            if not isinstance(position, ast.Call) or called_name(position) != "argmax":
                continue
            function = position.func
            given = list(position.args)
            of = function.value if isinstance(function, ast.Attribute) else None
            is_method = of is not None and self.draft.of(of) != "torch"
            scores = of if is_method else given.pop(0) if given else None
            around = next(
                (c for c in own_nodes(statement, ast.Call) if _receiver(c, {"float"}) is call), call
            )
            if scores is not None and self._is_new(around):
                self.draft.replace(around, f"torch.softmax({self.draft.of(scores)}, dim=-1)")

    def _sample(self, cut: Cut, statement: ast.stmt) -> None:
        for call in own_nodes(statement, ast.Call):
            function = call.func
            is_sample = isinstance(function, ast.Attribute) and function.attr == "sample"
            if isinstance(function, ast.Attribute) and is_sample and self._is_new(call):
                self.draft.replace(function, f"{self.draft.of(function.value)}.rsample")

    def _not_reentrant(self, cut: Cut, statement: ast.stmt) -> None:
        for call in own_nodes(statement, ast.Call):
            for keyword in call.keywords:
                if keyword.arg == "use_reentrant" and self._is_new(call):
                    self.draft.replace(keyword, "use_reentrant=False")

    def _create_graph(self, cut: Cut, statement: ast.stmt) -> None:
        for call in own_nodes(statement, ast.Call):
            if called_name(call) == "grad" and call.args and self._is_new(call):
                given = {keyword.arg: keyword for keyword in call.keywords}
                kept = given.get("create_graph") or given.get("retain_graph")
                if kept is not None:
                    self.draft.replace(kept, "create_graph=True")
                else:
                    last = max((*call.args, *(k.value for k in call.keywords)), key=_position)
                    self.draft.surround(last, "", ", create_graph=True")

    # -- blocks in which nothing is recorded ------------------------------------------------------

    def _record(self, cut: Cut) -> None:
        """Leave out the block or decorator around the cut in which nothing is recorded."""
        context = context_of(self.draft, cut)
        if context is None or not self._is_new(context):
            return
        if isinstance(context, ast.With):
            self.draft.unindent(context)
        elif isinstance(context, ast.Expr):
            self._limit_switch(context)
        elif isinstance(context, ast.expr):
            self.draft.delete_line(context.lineno)

    def _limit_switch(self, switch: ast.Expr) -> None:
        """A block for the rest of the function in which recording was switched off for good."""
        functions = [
            node
            for node in self.draft.path_to(switch)
            if isinstance(node, ast.FunctionDef) and switch in node.body
        ]
        rest = functions[0].body[functions[0].body.index(switch) + 1 :] if functions else []
        self.draft.delete(switch)
        if rest and not any(map(_goes_back, rest)):
            self.draft.put_under(rest, "with torch.no_grad():")

    # -- updates ----------------------------------------------------------------------------------

    def _updates_in_place(self, statement: ast.stmt) -> bool:
        """Write `w -= …` for `w = w - …` with w.grad in it; True if this is such an update."""
        if not is_update(self.draft, statement):
            return False
        run = [s for s in updates_around(self.draft, statement) if is_update(self.draft, s)]
        is_recorded = all(context_line(node) is None for node in self.draft.path_to(statement))
        for update in run:
            if self._is_new(update):
                self.draft.replace(update, in_place(self.draft, update))
        if self._is_new(run[0].targets[0]):  # type: ignore[attr-defined]
            if is_recorded:
                self.draft.put_under(run, "with torch.no_grad():")
            self._clear_before_backward(run)
        return True

    def _clear_before_backward(self, updates: list[ast.stmt]) -> None:
        """A leaf that stays the same adds up the gradients of all passes, unless they are cleared:
        before backward, so that the last one can be read."""
        if _CLEARS(self.draft.source):
            return
        first = updates[0]
        path = self.draft.path_to(first)
        loop = next((p for p in reversed(path) if isinstance(p, ast.For | ast.While)), None)
        calls = [
            statement
            for statement in self.draft.nodes(ast.Expr)
            if isinstance(statement.value, ast.Call)
            and called_name(statement.value) == "backward"
            and (loop in self.draft.path_to(statement) if loop else statement.lineno > first.lineno)
        ]
        if calls:
            names = [self.draft.of(update.targets[0]) for update in updates]  # type: ignore[attr-defined]
            self.draft.insert_before(calls[0], *(f"{name}.grad = None" for name in names))


#: Finds what clears a gradient.
_CLEARS = re.compile(r"\.grad\s*=\s*None|zero_grad\(|\.grad\.(data\.)?zero_\(").search
_NO_GRAD_CAUSES = {"no_grad", "inference_mode", "set_grad_enabled"}
_REPAIRS: dict[str, Callable[[Repair, Cut, ast.stmt], None]] = {
    "data": Repair._data,
    "__float__": Repair._convert,
    "__int__": Repair._convert,
    "tensor": Repair._copy,
    "as_tensor": Repair._copy,
    "list": Repair._copy,
    "Parameter": Repair._copy,
    "Variable": Repair._copy,
    "checkpoint": Repair._not_reentrant,
    "__deepcopy__": Repair._deepcopy,
    "bool": Repair._compare,
    "argmax": Repair._one_hot,
    "reparameterized": Repair._sample,
    "grad": Repair._create_graph,
}


# -- what is written ----------------------------------------------------------------------------


def _receiver(node: ast.expr, names: set[str]) -> ast.expr:
    """x of `x.clone().detach()`: what these methods are called on."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
    ):
        node = node.func.value
    return node


def _goes_back(statement: ast.stmt) -> bool:
    """Whether a statement calls backward."""
    return any(called_name(call) == "backward" for call in own_nodes(statement, ast.Call))


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant)


def _is_same(statement: ast.stmt, call: ast.Call, part: ast.expr) -> bool:
    """Whether only `x = x` would be left."""
    return (
        isinstance(statement, ast.Assign)
        and statement.value is call
        and isinstance(part, ast.Name)
        and [getattr(target, "id", None) for target in statement.targets] == [part.id]
    )


def _position(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0
