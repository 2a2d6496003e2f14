"""Names: those that installed modules have, and those that a program uses without defining them, of
which some are to be imported and others are inputs.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib
import importlib.util
import symtable
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import torch

from explorer.program.parsing import AST_LOCK

#: Modules that are loaded to know their names. Others are asked only if they are loaded anyway.
_LOADED = (
    "torch", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.optim", "torch.autograd",
    "torch.utils.data", "torch.func", "collections", "copy", "functools", "itertools", "math",
    "random", "time", "numpy",
)  # fmt: skip


def module_names(path: str) -> frozenset[str] | None:
    """The public names of a module; None if there is no such module here."""
    if path in _LOADED:
        return _names_of(path)
    module = sys.modules.get(path)
    if module is not None:
        return frozenset(name for name in dir(module) if name[:1] != "_")
    return frozenset() if _is_installed(path.split(".")[0]) else None


@cache
def _names_of(path: str) -> frozenset[str]:
    module = importlib.import_module(path)
    return frozenset(n for n in getattr(module, "__all__", dir(module)) if n[:1] != "_")


@cache
def _is_installed(top: str) -> bool:
    try:
        return bool(top) and importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def star_names(path: str) -> frozenset[str]:
    """The names that `from path import *` binds, of a module that is loaded."""
    listed = getattr(sys.modules.get(path), "__all__", None)
    names = module_names(path) or frozenset()
    return names if listed is None else frozenset(map(str, listed))


#: How similar a name must be to be that one, misspelt: torchdiffeq is not torchview.
SIMILAR = 0.75


def closest_name(name: str, known: Iterable[str], cutoff: float = SIMILAR) -> str:
    """The known name most similar to this one, or an empty string."""
    public = [k for k in known if k[:1] != "_"]
    if same := [k for k in public if k.lower() == name.lower()]:
        return same[0]
    matches = difflib.get_close_matches(name[:60], public, 1, cutoff)
    return matches[0] if matches else ""


BUILTINS = frozenset(name for name in dir(builtins) if name[:1] != "_")


# -- names that a program does not define ----------------------------------------------------------


#: Modules under the names by which they are known, and how each is imported.
MODULES = {
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "optim": "from torch import optim",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "plt": "import matplotlib.pyplot as plt",
    "torchvision": "import torchvision",
    "display": "from IPython.display import display",
    "tqdm": "from tqdm import tqdm",
    **{name: f"import {name}" for name in ("math", "random", "copy", "itertools", "functools")},
    **{name: f"import {name}" for name in ("collections", "time")},
}
#: Where functions and classes are looked for, in this order.
_HOMES = (
    "torch", "torch.nn.functional", "torch.nn", "torch.linalg", "torch.optim", "torch.autograd",
    "torch.utils.data", "torch.func", "collections", "copy", "functools", "itertools",
)  # fmt: skip
#: Numbers, unless a program defines or calls the name, and their names in the module math.
_CONSTANTS = {"e": "e", "pi": "pi", "π": "pi", "inf": "inf"}
#: Functions that have another name in torch.
_OTHER_NAMES = {"ln": "log", "tg": "tan", "arctg": "arctan"}

#: Functions that create tensors of plain numbers.
_CREATOR_NAMES = """
    tensor as_tensor from_numpy zeros ones full eye rand randn randint randperm arange linspace
    logspace normal Tensor FloatTensor DoubleTensor LongTensor Parameter Variable array asarray
    empty
"""
_CREATORS = set(_CREATOR_NAMES.split())
#: Arguments that are no tensors.
_OPTIONS = {"dim", "axis", "keepdim", "dtype", "device", "size", "shape", "lr", "requires_grad"}
#: Functions of counts, and of functions.
_OF_OTHERS = {"range", "grad", "vmap", "jacrev", "jacfwd", "hessian", "map", "filter", "reduce"}


@dataclass(frozen=True)
class Use:
    """A place where a name is read, and the node around it."""

    node: ast.Name
    parent: ast.AST

    @property
    def is_call(self) -> bool:
        """Whether the name is called, as a decorator is, or is the base of a class."""
        parent = self.parent
        if isinstance(parent, ast.Call):
            return parent.func is self.node
        return isinstance(parent, ast.ClassDef | ast.FunctionDef | ast.arg)

    @property
    def is_number(self) -> bool:
        """Whether a tensor could be used here: not as a count, a key or an option, nor alone."""
        parent = self.parent
        if isinstance(parent, ast.Attribute):
            return parent.attr in _TENSOR_NAMES or bool(closest_name(parent.attr, _TENSOR_NAMES))
        if isinstance(parent, ast.Subscript) and parent.value is self.node:
            index = parent.slice
            return not (isinstance(index, ast.Constant) and isinstance(index.value, str))
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
            return parent.func.id not in _OF_OTHERS
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div):
            return not (_is_differential(parent.left) and _is_differential(parent.right))
        is_option = isinstance(parent, ast.keyword) and parent.arg in _OPTIONS
        return not (is_option or isinstance(parent, ast.Expr))


def _is_differential(node: ast.expr) -> bool:
    """Whether this is dy or dx, of which dy/dx is not a quotient."""
    return isinstance(node, ast.Name) and node.id[0] in "d∂" and len(node.id) > 1


_TENSOR_NAMES = frozenset(name for name in dir(torch.Tensor) if name[:1] != "_")
_TORCH, _MATH = module_names("torch") or frozenset(), module_names("math") or frozenset()


def global_names(code: str) -> tuple[set[str], set[str]]:
    """The names that a program reads and nowhere defines, and those it defines outside functions.
    Raises SyntaxError or RecursionError."""
    with AST_LOCK:
        pending = [symtable.symtable(code, "<program>", "exec")]
    used, bound = set(), set()
    while pending:
        scope = pending.pop()
        pending += scope.get_children()
        is_module = scope.get_type() == "module"
        for symbol in scope.get_symbols():
            if is_module or symbol.is_global():
                if symbol.is_assigned() or symbol.is_imported():
                    bound.add(symbol.get_name())
                if symbol.is_referenced():
                    used.add(symbol.get_name())
    free = {n for n in used - bound if not hasattr(builtins, n) and not n.startswith("__")}
    return free, bound


def starred_names(tree: ast.Module) -> tuple[set[str], bool]:
    """The names that `import *` binds, and whether it may bind others: of a module that is not
    known, nobody knows."""
    names: set[str] = set()
    is_certain = True
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            path = "." * node.level + (node.module or "")
            names.update(star_names(path))
            is_certain &= module_names(path) is not None
    return names, is_certain


def uses_of(tree: ast.AST, names: set[str]) -> dict[str, list[Use]]:
    """Where each of these names is read, both in order of appearance."""
    uses = [
        Use(child, parent)
        for parent in ast.walk(tree)
        for child in ast.iter_child_nodes(parent)
        if isinstance(child, ast.Name) and child.id in names
    ]
    by_name: dict[str, list[Use]] = {}
    for use in sorted(uses, key=lambda use: (use.node.lineno, use.node.col_offset)):
        by_name.setdefault(use.node.id, []).append(use)
    return by_name


def find_import(name: str, uses: list[Use]) -> str:
    """The statement that imports a name which is used like this; empty if there is none."""
    if name in MODULES and any(isinstance(use.parent, ast.Attribute) for use in uses):
        line = MODULES[name]
        return line if _exists(line) else ""
    if any(use.is_call for use in uses):
        real = _OTHER_NAMES.get(name, name)
        if name == "grad" and all(_takes_function(use) for use in uses):
            return "from torch.func import grad"
        for home in _HOMES:
            if real in (module_names(home) or frozenset()):
                return f"from {home} import {_renamed(real, name)}"
    elif name in _CONSTANTS:
        return f"from math import {_renamed(_CONSTANTS[name], name)}"
    return ""


def _takes_function(use: Use) -> bool:
    """Whether this is grad(f): torch has another one, grad(y, x)."""
    return isinstance(use.parent, ast.Call) and len(use.parent.args) == 1


def _renamed(real: str, name: str) -> str:
    return real if real == name else f"{real} as {name}"


def _exists(line: str) -> bool:
    """Whether the module that this line imports is there."""
    words = line.split()
    path = f"{words[1]}.{words[3]}" if words[0] == "from" else words[1]
    return module_names(path) is not None


def find_inputs(uses: Mapping[str, list[Use]], defined: set[str]) -> list[str]:
    """Which of these names can be inputs: numbers, not functions and not misspelt names."""
    return [
        name
        for name, places in uses.items()
        if name not in MODULES
        and not (name in _TORCH and name in _MATH)  # sin^2(x)
        and not any(use.is_call for use in places)
        and any(use.is_number for use in places)
        and not (_is_object(places) and closest_name(name, MODULES))
        and not _is_misspelt(name, defined)
    ]


def _is_object(uses: list[Use]) -> bool:
    return all(isinstance(use.parent, ast.Attribute) for use in uses)


def _is_misspelt(name: str, defined: set[str]) -> bool:
    """Whether a name looks like one of these, and not like another in the same series: w1, w2."""
    similar = closest_name(name, (d for d in defined if len(d) > 3))
    return len(name) > 3 and bool(similar) and _letters(name) != _letters(similar)


def _letters(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdigit())


def makes_tensors(tree: ast.Module) -> bool:
    """Whether a program makes tensors of its own: then a name without a value is a mistake."""
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            return True
        if not isinstance(statement, ast.Expr) and any(map(_creates, ast.walk(statement))):
            return True
    return False


def _creates(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        is_layer = isinstance(function.value, ast.Name) and function.value.id == "nn"
        return is_layer or function.attr in _CREATORS
    return isinstance(function, ast.Name) and function.id in _CREATORS


def derived_names(tree: ast.Module, inputs: set[str]) -> set[str]:
    """The inputs, and the names whose values are computed from them: variables, and parameters of
    functions that are called with them."""
    functions: dict[str, list[str]] = {}
    steps: list[tuple[ast.expr, list[str]]] = []
    calls: list[ast.Call] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = [argument.arg for argument in node.args.args]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.append(node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [name for target in targets for name in names_in(target)]
            steps.append((node.value, names))
            if isinstance(node.value, ast.Lambda):
                parameters = [argument.arg for argument in node.value.args.args]
                functions |= dict.fromkeys(names, parameters)
    steps += [(call, functions.get(call.func.id, [])) for call in calls]  # type: ignore[attr-defined]
    steps.sort(key=lambda step: step[0].lineno)
    derived = set(inputs)
    for value, names in [*steps, *steps[:200]]:  # again: a loop may use what a later line sets
        if depends(value, derived):
            derived.update(names)
    return derived


def depends(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression reads one of these names."""
    return any(name in names for name in names_in(node))


def names_in(node: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name))
