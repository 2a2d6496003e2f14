"""Changes of a program that a reader may want, offered with an error or an answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from explorer import limits
from explorer.program.completion.names import MODULES, find_inputs, module_names, names_in, uses_of
from explorer.program.completion.notation import Unreadable, read_notation
from explorer.program.completion.text import Text, input_line, opening
from explorer.program.errors import ProgramError
from explorer.program.parsing import tree_of

_SUGGESTED = re.compile(r"Did you mean ([\w.]+)\?")
_XOR = re.compile(r"bitwise_xor|for \^=?:")
_NUMBER_USED = re.compile(
    r"\b(int|float) has no attribute (backward|grad|requires_grad|sum|mean|item)\b"
    r"|must be Tensor, not (int|float)"
)
#: The derivative f'(x).
_PRIME = re.compile(r"\b([^\W\d]\w*)['’′](?=\()")
_WORD_OF_PYTHON = re.compile(r"\b(lambda|in|is|as|del|from|class|def|pass|with)\b")


#: Letters that are rather numbers than functions, in x(x + 1).
_FACTORS = set("abckmnrtuvwxyzαβγθλμ")


@dataclass(frozen=True)
class Change:
    """A changed program, and the line and the names that it concerns."""

    fix: str
    line: int
    names: tuple[str, ...] = ()
    text: str = ""


def fix_unreadable(error: ProgramError, source: str) -> ProgramError:
    """The error of a text that Python cannot parse, with a spelling that it can."""
    if len(source) > limits.MAX_COMPLETED or tree_of(source, limits.MAX_COMPLETED) is not None:
        return error
    for word in (match[0] for match in _WORD_OF_PYTHON.finditer(error.text)):
        fix = re.sub(rf"\b{word}\b", f"{word}_", source)
        if tree_of(fix, limits.MAX_COMPLETED) is not None:
            hint = f"The word {word} has a meaning in Python. Use another name, such as {word}_."
            return replace(error, hint=hint, fix=fix)
    if "\\" in error.text:
        return replace(error, hint="Write a formula without LaTeX: x**2, sqrt(x), sin(x), a/b.")
    try:
        notation = read_notation(_PRIME.sub(r"\1", source), bold=True)
    except (Unreadable, RecursionError):
        return error
    if notation.text == source or tree_of(notation.text, limits.MAX_COMPLETED) is None:
        return error
    leaves = [input_line(name, value) for name, value in notation.values.items()]
    changed = next(new for new in notation.text.split("\n") if new.strip())
    for new, old in zip(notation.text.split("\n"), source.split("\n"), strict=False):
        if new != old:
            changed = new
            break
    hint = f"In Python it could be written as {changed.strip()[:100]}"
    return replace(error, hint=hint, fix="\n".join([*leaves, notation.text]))


def fix_failed(error: ProgramError, missing: str | None, source: str) -> ProgramError:
    """The error of a program that failed, with a change that may help. `missing` is the name that
    is not defined, if that is the reason."""
    tree = tree_of(source, limits.MAX_COMPLETED)
    if tree is None:
        return error
    if missing is not None:
        return _fix_name(error, missing, source, tree)
    said = f"{error.message} {error.detail}"
    if _XOR.search(said) and error.line is not None:
        return replace(error, fix=_with_powers(source, tree, error.line))
    if _NUMBER_USED.search(said):
        leaves = numbers_to_leaves(source)
        if leaves is not None:
            name = leaves.names[0]
            hint = f"{name} is a plain number, which autograd does not record. Make it a tensor."
            return replace(error, hint=hint, fix=leaves.fix)
    if "floating" in error.message and error.line is not None:
        return replace(error, fix=_with_floats(source, tree, error.line))
    return error


def _fix_name(error: ProgramError, name: str, source: str, tree: ast.Module) -> ProgramError:
    if name in MODULES:
        return error
    uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.func in uses]
    text = Text(source)
    suggested = _SUGGESTED.search(error.hint)
    if suggested and not calls and suggested[1] in (module_names("torch") or frozenset()):
        suggested = None
        error = replace(error, hint="Give it a value on a line above this one.")
    if suggested:
        for use in uses:
            text.replace(text.start(use), text.end(use), suggested[1])
    elif name[0] == "d" and any(map(_is_derivative, ast.walk(tree))):
        hint = "A derivative is the gradient of a leaf: call y.backward(), then read x.grad."
        return replace(error, hint=hint)
    elif calls:
        if name not in _FACTORS and len(uses) == len(calls):
            return error
        for call in calls:
            place = text.source.index("(", text.end(call.func))
            text.replace(place, place, "*")
        return replace(error, hint=f"For a product, write {name}*(…).", fix=text.changed())
    elif _is_alone(tree, name):
        hint = f"Use it in an expression, such as {name}**2."
        return replace(error, hint=hint, fix=f"{name}**2")
    elif find_inputs(uses_of(tree, {name}), set()):
        start = opening(tree)
        lines = source.split("\n")
        lines.insert(start[-1].end_lineno or 0 if start else 0, input_line(name, 2.0))
        return replace(error, fix="\n".join(lines))
    return replace(error, fix=text.changed() if text.is_changed else None)


def _is_alone(tree: ast.Module, name: str) -> bool:
    """Whether a name is the whole program."""
    value = getattr(tree.body[0], "value", None)
    return len(tree.body) == 1 and isinstance(value, ast.Name) and value.id == name


def _is_derivative(node: ast.AST) -> bool:
    """Whether this is dy/dx."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and all(isinstance(n, ast.Name) and n.id[0] == "d" for n in (node.left, node.right))
    )


def _changed(
    source: str, nodes: Iterable[ast.AST], change: Callable[[Text, ast.AST], None]
) -> str | None:
    text = Text(source)
    for node in nodes:
        change(text, node)
    fix = text.changed()
    return fix if text.is_changed and tree_of(fix, limits.MAX_COMPLETED) is not None else None


def _with_powers(source: str, tree: ast.Module, line: int) -> str | None:
    """The program with every `^` on this line as a power."""

    def change(text: Text, node: ast.AST) -> None:
        is_xor = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor)
        if is_xor and node.lineno <= line <= (node.end_lineno or 0):  # type: ignore[attr-defined]
            place = text.source.index("^", text.end(node.left), text.start(node.right))  # type: ignore[attr-defined]
            text.replace(place, place + 1, "**")

    return _changed(source, ast.walk(tree), change)


def _with_floats(source: str, tree: ast.Module, line: int) -> str | None:
    """The program with the integers of the tensors that this line creates as floats."""

    def change(text: Text, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or 0):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("tensor", "full") and node.args:
                for number in ast.walk(node.args[-1 if name == "full" else 0]):
                    if isinstance(number, ast.Constant) and type(number.value) is int:
                        text.replace(text.end(number), text.end(number), ".0")

    return _changed(source, ast.walk(tree), change)


def numbers_to_leaves(source: str) -> Change | None:
    """Make leaves of the plain numbers with which a program calculates."""
    tree = tree_of(source, limits.MAX_COMPLETED)
    if tree is None:
        with suppress(Unreadable):
            source = read_notation(source).text
            tree = tree_of(source, limits.MAX_COMPLETED)
    if tree is None:
        return None
    numbers = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Name) and _number(value) is not None:
                numbers[target.id] = value
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.UnaryOp):
            used |= {n.id for n in ast.iter_child_nodes(node) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.Call):
            # range(n) and math.sin(x) take no tensors that require grad
            names = {name for argument in node.args for name in names_in(argument)}
            if not _takes_tensors(node.func):
                numbers = {n: value for n, value in numbers.items() if n not in names}
            used |= names
    changed = [name for name in numbers if name in used]
    if not changed:
        return _arguments_to_leaves(source, tree)
    text = Text(source)
    for name in changed:
        node = numbers[name]
        leaf = input_line(name, float(_number(node) or 0)).partition(" = ")[2]
        text.replace(text.start(node), text.end(node), leaf)
    return Change(text.changed(), numbers[changed[0]].lineno, tuple(changed))


def _arguments_to_leaves(source: str, tree: ast.Module) -> Change | None:
    """Make a leaf of each number with which a function of the program is called last: f(3)."""
    last = tree.body[-1] if tree.body else None
    call = last.value if isinstance(last, ast.Expr | ast.Assign) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)) or call.keywords:
        return None
    name, parameters = call.func.id, list[str]()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            parameters = [argument.arg for argument in node.args.args]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            arguments = [argument.arg for argument in node.value.args.args]
            parameters = arguments if name in names else parameters
    values = [_number(argument) for argument in call.args]
    if not values or None in values or len(values) != len(parameters):
        return None
    text = Text(source)
    text.replace(text.start(call), text.end(call), f"{name}({', '.join(parameters)})")
    leaves = [input_line(p, float(v or 0)) for p, v in zip(parameters, values, strict=True)]
    start = text.offset(call.lineno, 0)
    text.replace(start, start, "".join(f"{leaf}\n" for leaf in leaves))
    shown = tuple(text.of(argument) for argument in call.args)
    return Change(text.changed(), call.lineno, shown)


def _takes_tensors(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id in ("torch", "F")
    return isinstance(function, ast.Name) and function.id != "range"


def _number(node: ast.expr) -> float | None:
    """The value of a literal number, as it is or after a minus."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        value: float = node.value  # type: ignore[assignment]
        return sign * value if abs(value) < 1e30 else None
    return None


def integer_xor(source: str) -> Change | None:
    """The first `^` between integers that are written in the program, as a power."""
    tree = tree_of(source, limits.MAX_COMPLETED)
    if tree is None:
        return None
    integers: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and type(_number(statement.value)) is int:
            integers |= {t.id for t in statement.targets if isinstance(t, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
            values = {type(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant)}
            if values <= {int} and integers.issuperset(names_in(node)):
                fix = _with_powers(source, tree, node.lineno)
                return Change(fix, node.lineno, (), Text(source).of(node)) if fix else None
    return None
