"""The values of inputs: the shape that an expression asks for, and numbers to begin with."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Any

from explorer import limits
from explorer.program.completion.names import MODULES

#: Values of scalars by their place; positive ones first, for logarithms and roots.
SCALARS = (2.0, 3.0, 0.5, -1.0, 1.5, 4.0, -2.0, 2.5)
#: Values of the elements of vectors and matrices, likewise.
ELEMENTS = (1.0, 2.0, 3.0, 0.5, 1.5, -1.0, 2.5, -0.5)
#: Values of scalars in functions that are flat for large ones, such as tanh.
SMALL = (0.5, 2.0, -0.5, 1.0, 0.25, -1.0)
#: Values where the function has no others, as in acos(x) and sqrt(1 - x**2).
FRACTIONS = (0.5, 0.25, 0.75, 0.125)

_VECTOR, _MATRIX, _CERTAIN_MATRIX = 1, 2, 3
_VECTOR_NAMES = """
    sum mean prod norm max min amax amin argmax argmin std var median logsumexp softmax log_softmax
    cumsum cumprod dot inner outer cross vdot sort topk flip roll len list tuple zip enumerate
    sorted unbind vector_norm numel dist cosine_similarity cross_entropy kl_div
"""
_MATRIX_NAMES = """
    det logdet slogdet inverse inv pinverse pinv trace t T mT transpose mm cholesky matrix_exp
    matrix_power eigvalsh eigvals eigh svd svdvals tril triu matrix_norm
"""
#: What functions and methods are applied to.
_DIMENSIONS = dict.fromkeys(_VECTOR_NAMES.split(), _VECTOR)
_DIMENSIONS |= dict.fromkeys(_MATRIX_NAMES.split(), _CERTAIN_MATRIX)
#: Functions defined for positive numbers only, and for those between 0 and 1.
_OF_POSITIVES = {"log", "log2", "log10", "ln", "sqrt", "rsqrt", "lgamma", "digamma"}
_OF_FRACTIONS = {
    "asin", "acos", "arcsin", "arccos", "atanh", "arctanh", "erfinv", "logit",
    "binary_cross_entropy",
}  # fmt: skip
#: Functions that are flat for large numbers.
_FLAT = {"tanh", "sigmoid", "erf", "softsign", "hardtanh", "hardsigmoid"}


def default_values(tree: ast.Module, names: list[str]) -> dict[str, Any]:
    """A value for each of these names, in a shape that fits how the program uses it."""
    needs = _Needs(tree, set(names))
    values: dict[str, Any] = {}
    scalars = others = fractions = 0
    for name in names:
        row: tuple[float, ...]
        dimensions = needs.dimensions(name)
        if name in needs.fractions:
            row, start = FRACTIONS, fractions
            fractions += 1
        elif dimensions:
            row, start = ELEMENTS, 3 * others
            others += 1
        else:
            row, start = SMALL if needs.small else SCALARS, scalars
            scalars += 1
        if needs.positive:
            row = tuple(needs.above[name] + abs(value) for value in row)
        values[name] = _fill(row, start, needs.length, dimensions)
    return values


def _fill(row: tuple[float, ...], start: int, length: int, dimensions: int) -> Any:
    if not dimensions:
        return row[start % len(row)]
    step = length ** (dimensions - 1)
    return [_fill(row, start + step * i, length, dimensions - 1) for i in range(length)]


class _Needs:
    """How a program uses its inputs."""

    def __init__(self, tree: ast.Module, names: set[str]) -> None:
        self.names = names
        self.votes: dict[str, set[int]] = defaultdict(set)
        self.fractions: set[str] = set()
        #: What must be below an input, as in log(x - 3).
        self.above: dict[str, float] = defaultdict(float)
        self.positive = self.small = False
        self.indices: list[int] = []
        self.is_cross = False
        self._walk(tree)
        has_matrix = any(self.dimensions(name) == 2 for name in names)
        is_indexed = any(index < limits.MAX_VECTOR for index in self.indices)
        shortest = 3 if self.is_cross or not (has_matrix or is_indexed) else 2
        #: That of every vector, and of every side of a matrix: so that all fit together.
        self.length = max([shortest, *(i + 1 for i in self.indices if i < limits.MAX_VECTOR)])

    def dimensions(self, name: str) -> int:
        votes = self.votes.get(name, ())
        if _CERTAIN_MATRIX in votes:
            return 2
        return _VECTOR if _VECTOR in votes else _MATRIX if votes else 0

    def _walk(self, tree: ast.AST) -> None:
        """Visit each node once, with what is asked of the names in it: (dimensions, fraction)."""
        pending: list[tuple[ast.AST, int, bool]] = [(tree, 0, False)]
        while pending:
            node, wanted, is_fraction = pending.pop()
            if isinstance(node, ast.Name):
                if node.id in self.names:
                    self.votes[node.id] |= {wanted} - {0}
                    if is_fraction:
                        self.fractions.add(node.id)
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                left, right = _bare(node.left), _bare(node.right)
                pending.append((left, _side(left, right, _MATRIX), False))
                pending.append((right, _side(right, left, _VECTOR), False))
            elif isinstance(node, ast.BinOp):
                if isinstance(node.op, ast.Pow) and _is_fraction(node.right):
                    self.positive = True
                pending += [(node.left, wanted, is_fraction), (node.right, wanted, is_fraction)]
            elif isinstance(node, ast.UnaryOp):
                pending.append((node.operand, wanted, is_fraction))
            elif isinstance(node, ast.Call):
                pending += self._arguments(node, wanted, is_fraction)
            elif isinstance(node, ast.Attribute):
                pending.append((node.value, _DIMENSIONS.get(node.attr, wanted), is_fraction))
            elif isinstance(node, ast.Subscript):
                pending += [(node.value, self._indexed(node), False), (node.slice, 0, False)]
            elif isinstance(node, ast.For | ast.comprehension):
                children = ast.iter_child_nodes(node)
                pending += [(n, _VECTOR if n is node.iter else 0, False) for n in children]
            else:
                pending += [(child, 0, False) for child in ast.iter_child_nodes(node)]

    def _arguments(
        self, call: ast.Call, wanted: int, is_fraction: bool
    ) -> list[tuple[ast.AST, int, bool]]:
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        self.is_cross |= name == "cross"
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        is_method = isinstance(function, ast.Attribute) and not _is_module(function.value)
        receiver = [function.value] if is_method else []  # type: ignore[attr-defined]
        if name in ("max", "min") and len(call.args) == 2 - len(receiver):
            kind = wanted  # of two values, not of the elements of one
        elif name in ("matmul", "mv") and len(call.args) == 2 - len(receiver):
            left, right = (_bare(node) for node in (*receiver, *call.args))
            left_kind, right_kind = _side(left, right, _MATRIX), _side(right, left, _VECTOR)
            return [(left, left_kind, False), (right, right_kind, False)]
        else:
            kind = _DIMENSIONS.get(name, wanted)
        if isinstance(function, ast.Call):  # Linear(2, 1)(x)
            kind = _VECTOR
            self.indices += [
                n.value - 1
                for n in function.args[:1]
                if isinstance(n, ast.Constant) and type(n.value) is int
            ]
        if name in _OF_POSITIVES:
            self.positive = True
            for argument in (*receiver, *arguments):
                self._find_limit(argument)
        self.small |= name in _FLAT
        bounded = name in _OF_FRACTIONS or (
            name in _OF_POSITIVES and any(map(_subtracts_from_number, arguments + receiver))
        )
        parts: list[tuple[ast.AST, int, bool]] = [
            (node, kind, is_fraction or bounded) for node in (*receiver, *arguments)
        ]
        return parts if is_method else [*parts, (function, 0, False)]

    def _find_limit(self, node: ast.AST) -> None:
        """In `x - 3`, x is to be more than 3."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            name, number = node.left, node.right
            is_limit = isinstance(number, ast.Constant) and type(number.value) in (int, float)
            if isinstance(name, ast.Name) and is_limit:
                self.above[name.id] = max(self.above[name.id], float(number.value))  # type: ignore

    def _indexed(self, node: ast.Subscript) -> int:
        """The dimensions of what is indexed like this."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for index in indices:
            is_negative = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
            number = index.operand if is_negative else index  # type: ignore[attr-defined]
            if isinstance(number, ast.Constant) and type(number.value) is int:
                self.indices.append(number.value - is_negative)
        inner = isinstance(node.value, ast.Subscript)
        return _CERTAIN_MATRIX if len(indices) == 2 or inner else _VECTOR


def _is_module(node: ast.expr) -> bool:
    """Whether this is `torch`, or `torch.linalg`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in MODULES


def _bare(node: ast.expr) -> ast.expr:
    """x, for an operand such as x.T or x.t()."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func if node.func.attr == "t" else node
    is_turned = isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "t")
    return node.value if is_turned else node  # type: ignore[attr-defined]


def _side(node: ast.expr, other: ast.expr, otherwise: int) -> int:
    """The dimensions of an operand of `@`: a capital letter is a matrix, and what it is multiplied
    with is a vector; of two small letters, the left one is a matrix."""
    if not isinstance(node, ast.Name):
        return _VECTOR
    if node.id[0].isupper():
        return _CERTAIN_MATRIX
    if isinstance(other, ast.Name) and (other.id[0].isupper() or other.id == node.id):
        return _VECTOR
    return otherwise


def _is_fraction(node: ast.expr) -> bool:
    """Whether an exponent is no whole number: then the base is positive."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and not node.value.is_integer()
    return True


def _subtracts_from_number(node: ast.AST) -> bool:
    """Whether this is `1 - x`, or `1 - x - y`."""
    is_difference = False
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        node, is_difference = node.left, True
    return is_difference and isinstance(node, ast.Constant)
