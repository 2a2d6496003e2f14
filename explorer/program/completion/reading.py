"""Expressions of Python that are read in another way, because theirs cannot be meant.

`x^2` of a float is a power, `2(x + 1)` a product, `np.sin(x)` of an input torch's sine, and so on.
Only expressions that depend on inputs are changed, and those that could only fail.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

import torch

from explorer.program.completion.names import depends, module_names, names_in
from explorer.program.completion.text import Text

#: Modules whose functions autograd does not record.
_OUTSIDE = {"np", "numpy", "math"}
#: Their functions that have another name in torch.
_TORCH_NAMES = {"fabs": "abs", "power": "pow", "amax": "amax", "concatenate": "cat"}
#: Functions of torch that need a dimension, which those who type them leave out.
_OF_ONE_DIMENSION = {"softmax", "log_softmax", "softmin", "logsumexp", "cumsum", "cumprod"}
_DERIVATIVES = {"grad", "gradient", "derivative", "diff", "D"}
_TORCH = module_names("torch") or frozenset()
_MATH = module_names("math") or frozenset()


class Reader:
    """Finds what is to be changed in a tree, and changes the text. `free` are the names without a
    value, of which `derived` are inputs or computed from them, `bound` those that it defines."""

    def __init__(
        self, text: Text, tree: ast.Module, free: set[str], bound: set[str], derived: set[str]
    ) -> None:
        self.text, self.tree, self.free, self.bound, self.derived = text, tree, free, bound, derived
        self.notices: list[str] = []
        self.numbers = _plain_numbers(tree, free)

    def read(self) -> bool:
        """Make the changes; returns whether there are any."""
        for statement in self.tree.body:
            self.statement(statement)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                self.call(node)
            elif isinstance(node, ast.stmt):
                self.find_powers(node)
        return self.text.is_changed

    def say(self, node: ast.expr, read: str, why: str = "") -> None:
        self.notices.append(f"`{self.text.of(node)[:60]}` was read as `{read}`{why}.")

    # -- statements -------------------------------------------------------------------------

    def statement(self, statement: ast.stmt) -> None:
        if not isinstance(statement, ast.Expr):
            return
        value = statement.value
        if isinstance(value, ast.Lambda) and (names := _parameters(value.args)):
            self.text.replace(self.text.start(value), self.text.start(value), "(")
            self.text.replace(self.text.end(value), self.text.end(value), f")({', '.join(names)})")
            self.notices.append(f"The function was applied to {_inputs(names)}.")
        elif isinstance(value, ast.Call) and self.is_derivative(value):
            argument = value.args[0]
            self.text.replace(self.text.start(value), self.text.start(argument), "")
            self.text.replace(self.text.end(argument), self.text.end(value), "")
            self.notices.append(
                f"`{self.text.of(value)[:60]}`: backward computes the gradient of the expression."
            )

    def is_derivative(self, call: ast.Call) -> bool:
        """Whether this is grad(x**2), or diff(x**2, x): of an expression, not of a function."""
        name = getattr(call.func, "id", "")
        if name not in _DERIVATIVES & self.free or call.keywords or not call.args:
            return False
        others = call.args[1:]
        if len(others) > 1 or (others and name == "grad"):
            return False
        expression = call.args[0]
        is_value = isinstance(expression, ast.BinOp | ast.UnaryOp | ast.Call | ast.Subscript)
        return is_value and all(isinstance(n, ast.Name | ast.Constant) for n in others)

    def find_powers(self, statement: ast.stmt) -> None:
        """`^` of floats: Python's is only for integers. It binds less than `+`, so that all of a
        statement are read in the same way."""
        operations = [node for node in _expressions(statement) if _is_xor(node)]
        if not any(self.is_float(n.left) or self.is_float(n.right) for n in operations):  # type: ignore[attr-defined]
            return
        for node in operations:
            start, end = self.text.end(node.left), self.text.start(node.right)  # type: ignore[attr-defined]
            place = self.text.source.index("^", start, end)
            self.text.replace(place, place + 1, "**")
        meant = self.text.of(statement).split("\n")[0].replace("^", "**")
        self.notices.append(f"`^` was read as a power: `{meant[:60]}`.")

    def is_float(self, node: ast.expr) -> bool:
        return depends(node, self.derived) or any(
            isinstance(n, ast.Constant) and type(n.value) is float for n in ast.walk(node)
        )

    # -- calls ------------------------------------------------------------------------------

    def call(self, call: ast.Call) -> None:
        function = call.func
        if isinstance(function, ast.Constant | ast.BinOp):
            self.multiply(call)
        elif isinstance(function, ast.Attribute):
            self.outside_call(call, function)
        elif isinstance(function, ast.Name):
            name, is_free = function.id, function.id in self.free
            if name in ("max", "min") and name not in self.bound:
                self.extreme(call, name)
            elif name == "round" and _has_one_argument(call) and depends(call, self.derived):
                self.text.insert(function, "torch.")
                self.say(call, f"torch.{self.text.of(call)}")
            elif is_free and name in _OF_ONE_DIMENSION and _has_one_argument(call):
                self.text.replace(self.text.end(call) - 1, self.text.end(call) - 1, ", dim=-1")
                self.say(call, f"{self.text.of(call)[:-1]}, dim=-1)")
            elif is_free and name in _TORCH and name in _MATH and self.is_plain(call):
                self.text.insert(function, "math.")
                self.say(call, f"math.{self.text.of(call)}")

    def multiply(self, call: ast.Call) -> None:
        """A number cannot be called: 2(x + 1) and (x + 1)(x - 1) are products."""
        start = self.text.end(call.func)
        place = self.text.source.find("(", start, self.text.end(call))
        if len(call.args) == 1 and not call.keywords and place >= 0:
            self.text.replace(place, place, "*")
            argument = self.text.of(call.args[0])
            self.say(call, f"{self.text.source[self.text.start(call) : place]}*({argument})")

    def outside_call(self, call: ast.Call, function: ast.Attribute) -> None:
        """np.sin(x) of an input: as torch's."""
        module = function.value
        if not (isinstance(module, ast.Name) and module.id in _OUTSIDE):
            return
        if not any(depends(argument, self.derived) for argument in call.args):
            return
        if function.attr in ("maximum", "minimum"):
            self.extreme(call, function.attr[:3])
        else:
            name = _TORCH_NAMES.get(function.attr, function.attr)
            if name in _TORCH and callable(getattr(torch, name, None)):
                self.text.replace(
                    self.text.start(function), self.text.end(function), f"torch.{name}"
                )
                why = f", since autograd does not record what {module.id} computes"
                self.say(function, f"torch.{name}", why)

    def extreme(self, call: ast.Call, name: str) -> None:
        """max(0, x) and max(x, y): as functions of torch, which have a gradient everywhere."""
        arguments, text = call.args, self.text
        inputs = [a for a in arguments if depends(a, self.derived)]
        if len(arguments) != 2 or call.keywords or not inputs:
            return
        if len(inputs) == 2:
            text.replace(text.start(call.func), text.end(call.func), f"torch.{name}imum")
            self.say(call, f"torch.{name}imum{text.source[text.end(call.func) : text.end(call)]}")
            return
        limit = next(a for a in arguments if a is not inputs[0])
        opening = text.source.index("(", text.end(call.func))
        comma = text.source.index(",", text.end(arguments[0]))
        if not _is_number(limit) or ")" in text.source[text.end(limit) : text.end(call) - 1]:
            return
        option = f"{'min' if name == 'max' else 'max'}={text.of(limit)}"
        text.replace(text.start(call.func), text.end(call.func), "torch.clamp")
        if limit is arguments[0]:
            rest = text.source[comma + 1 :]
            text.replace(opening + 1, comma + 1 + len(rest) - len(rest.lstrip()), "")
            text.replace(text.end(call) - 1, text.end(call) - 1, f", {option}")
        else:
            text.replace(comma + 1, text.end(limit), f" {option}")
        self.say(call, f"torch.clamp({text.of(inputs[0])[:40]}, {option})")

    def is_plain(self, call: ast.Call) -> bool:
        """Whether a function is applied to plain numbers: torch's takes only tensors."""
        return bool(call.args) and all(_is_plain(a, self.numbers) for a in call.args)


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of the statements in it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        children = ast.iter_child_nodes(node)
        pending += (n for n in children if not isinstance(n, ast.stmt | ast.excepthandler))


def _is_xor(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _has_one_argument(call: ast.Call) -> bool:
    return len(call.args) == 1 and not call.keywords


def _is_plain(node: ast.expr, numbers: set[str]) -> bool:
    """Whether an expression is made of numbers and of names of numbers only."""
    known = numbers | {"math", "np", "π"} | _MATH
    return all(name in known for name in names_in(node)) and not any(
        isinstance(n, ast.List | ast.Tuple | ast.Dict | ast.Lambda) or _is_text(n)
        for n in ast.walk(node)
    )


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) not in (int, float)


def _plain_numbers(tree: ast.Module, free: set[str]) -> set[str]:
    """The names to which only plain numbers are assigned."""
    numbers: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_plain(node.value, numbers):
            numbers |= set(_stored(node))
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.For | ast.arg | ast.comprehension):
            others |= set(_stored(node))
    return numbers - others - free


def _stored(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.arg):
        yield node.arg
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in filter(None, targets):
        yield from names_in(target)


def _parameters(arguments: ast.arguments) -> list[str]:
    """The names of a function's parameters, up to the first that is no number by default; none if
    one of them cannot be an input."""
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        return []
    first = len(arguments.args) - len(arguments.defaults)
    count = first + len(list(takewhile(_is_number, arguments.defaults)))
    names = [argument.arg for argument in arguments.args[:count]]
    return [] if any(name.startswith("__") for name in names) else names


def _inputs(names: list[str]) -> str:
    plural = "s" if len(names) > 1 else ""
    return f"the input{plural} {', '.join(f'`{name}`' for name in names)}"


def uncalled_function(tree: ast.Module) -> tuple[str, list[str], int]:
    """The last function of a program that only defines functions, with its parameters and its
    line. The name is empty if there is none, or if it is called."""
    name, parameters, line = "", list[str](), 0
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
            name, parameters, line = statement.name, _parameters(statement.args), statement.lineno
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
            names = list(_stored(statement))
            name, parameters, line = names[0], _parameters(statement.value.args), statement.lineno
        elif isinstance(statement, ast.Assign):
            if not _is_number(statement.value):
                return "", [], 0
        elif not isinstance(statement, ast.Import | ast.ImportFrom):
            return "", [], 0
    called = (getattr(n.func, "id", "") for n in ast.walk(tree) if isinstance(n, ast.Call))
    return (name, parameters, line) if parameters and name not in called else ("", [], 0)
