"""Which syntax and which names a program may use.

What is outside the language does not stop a program: the statement that contains it is replaced by
one that says so when it is reached.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from typing import Any

from explorer.language.errors import ProgramError, ProgramRefused

#: The maximum length of a program, in characters. Parsing 1 MB takes seconds and hundreds of MB.
MAX_SOURCE = 150_000
#: The maximum length of a string literal, in characters.
MAX_LITERAL = 20_000
#: The maximum number of nodes in a program's tree.
MAX_NODES = 120_000

_SYNTAX = """
    Module Expr Assign AugAssign AnnAssign Delete Pass Break Continue Return Global Nonlocal
    For While If With withitem FunctionDef ClassDef Lambda arguments arg keyword
    Try ExceptHandler Raise Assert Import ImportFrom alias
    BoolOp And Or NamedExpr BinOp Add Sub Mult Div FloorDiv Mod Pow MatMult LShift RShift BitOr
    BitXor BitAnd UnaryOp Invert Not UAdd USub IfExp Compare Eq NotEq Lt LtE Gt GtE Is IsNot In
    NotIn Call Starred Attribute Subscript Slice Name Load Store Del Constant JoinedStr
    FormattedValue List Tuple Dict Set ListComp SetComp DictComp GeneratorExp comprehension Yield
    YieldFrom Match match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass
    MatchStar MatchAs MatchOr
"""
#: The syntax of the language. Nothing else is accepted.
ALLOWED = {getattr(ast, name) for name in _SYNTAX.split()}

#: (message, hint) for syntax that is left out; anything else gets a general message.
LEFT_OUT = {
    "AsyncFunctionDef": ("An async function is not supported here", "Use def."),
    "Await": ("`await` is not supported here", ""),
    "TryStar": ("`except*` is not supported here", "Use except."),
}

_METHODS = """
    __init__ __call__ __repr__ __str__ __len__ __getitem__ __setitem__ __contains__ __iter__
    __next__ __enter__ __exit__ __bool__ __neg__ __pos__ __abs__ __invert__ __add__ __radd__
    __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__
    __itruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__
    __rmatmul__ __and__ __or__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __delitem__
    __reversed__ __xor__ __rxor__ __rand__ __ror__ __ipow__ __imatmul__ __post_init__
"""
#: Methods with two underscores that a class may define; each is called by ordinary syntax.
#: Conversions to numbers are left out: torch's C++ code would call them while it reads a list.
SPECIAL_METHODS = frozenset(_METHODS.split())
#: Names with two underscores that may be read as an attribute.
SPECIAL_READS = SPECIAL_METHODS | {"__name__", "__class__", "__doc__", "__version__"}
#: Names with two underscores that the file of a program has, and may be read.
FILE_NAMES = frozenset({"__name__", "__file__", "__doc__"})
#: Those that are variables as any other, and those of a class: they are kept under another name.
PLAIN_NAMES = frozenset(
    ["__all__", "__version__", "__author__", "__date__", "__email__", "__license__", "__credits__"]
)
CLASS_NAMES = frozenset({"__slots__", "__match_args__"})
#: Metaclasses that change nothing of what a program computes.
_PLAIN_METACLASSES = frozenset({"ABCMeta", "abc.ABCMeta", "type"})
#: What to do without methods that are often defined.
_LEFT_OUT_NAMES = {
    "__new__": "Use __init__, or a function that makes the object.",
    "__del__": "Python calls it at an uncertain time. Use a method or a with statement.",
    "__init_subclass__": "Call a function after each class.",
    "__torch_function__": "Operations cannot be redefined. Write a function of your own.",
    "__torch_dispatch__": "Operations cannot be redefined. Write a function of your own.",
    "__getattr__": "Define the attributes, or a method that takes the name.",
    "__index__": "Write a method with a name of its own, and call it.",
    "__int__": "Write a method with a name of its own, and call it.",
    "__float__": "Write a method with a name of its own, and call it.",
}


class Refused(ast.Pass):
    """Stands for a statement outside the language; `error` is raised when it is reached."""

    def __init__(self, error: ProgramError) -> None:
        super().__init__()
        self.error = error


class _Refusal(Exception):
    """Raised at the first node of a statement that is outside the language."""

    def __init__(self, node: ast.AST, message: str, hint: str) -> None:
        super().__init__(message)
        self.node, self.message, self.hint = node, message, hint


class Checker:
    """Replaces each statement that is outside the language by a `Refused`, the innermost one that
    contains what is refused; `refused` lists their errors.

    Names that are private to a class, `self.__x`, are replaced as Python replaces them.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.refused: list[ProgramError] = []
        #: The names of the classes around the statement, with those of functions as None.
        self.scopes: list[str | None] = []

    def run(self, tree: ast.Module) -> None:
        """Check a tree, and change it in place. Raises ProgramRefused if it is too large."""
        for count, _ in enumerate(ast.walk(tree)):
            if count > MAX_NODES:
                raise ProgramRefused(
                    ProgramError(
                        "The program is too long.",
                        hint="Keep only the part you are interested in.",
                    )
                )
        self.check_block(tree.body)

    def check_block(self, body: list[ast.stmt]) -> None:
        body[:] = [self.checked(statement) for statement in body]

    def checked(self, statement: ast.stmt) -> ast.stmt:
        """The statement, or what stands for it."""
        blocks: list[list[ast.stmt]] = []
        try:
            for node in _own_nodes(statement, blocks):
                self.check(node)
        except _Refusal as refusal:
            return self.refusal(refusal, statement)
        scope = isinstance(statement, ast.ClassDef | ast.FunctionDef)
        if scope:
            self.scopes.append(statement.name if isinstance(statement, ast.ClassDef) else None)
        for block in blocks:
            self.check_block(block)
        if scope:
            self.scopes.pop()
        return statement

    def refusal(self, refusal: _Refusal, statement: ast.stmt) -> ast.stmt:
        at: Any = refusal.node if hasattr(refusal.node, "lineno") else statement
        line, column = at.lineno, at.col_offset
        text = self.lines[line - 1][:200] if line <= len(self.lines) else ""
        error = ProgramError(refusal.message, line, column, text, refusal.hint)
        self.refused.append(error)
        return ast.copy_location(Refused(error), statement)

    def check(self, node: ast.AST) -> None:
        if type(node) not in ALLOWED:
            message, hint = LEFT_OUT.get(
                type(node).__name__, ("This kind of statement is not supported here", "")
            )
            raise _Refusal(node, f"{message}.", hint)
        check = getattr(self, f"check_{type(node).__name__}", None)
        if check is not None:
            check(node)

    # -- names ------------------------------------------------------------------------------

    def identifier(self, node: ast.AST, name: str) -> str:
        """The name, as Python calls it inside a class. Raises _Refusal if it is not allowed."""
        if name.startswith("__") and not name.endswith("__"):
            owner = next((scope for scope in reversed(self.scopes) if scope), "").lstrip("_")
            name = f"_{owner}{name}" if owner else name
        if name.startswith("__"):
            hint = _LEFT_OUT_NAMES.get(name, "Choose a name without leading underscores.")
            raise _Refusal(
                node,
                f"Names that begin with two underscores are not supported here: {name[:60]}",
                hint,
            )
        if len(name) > 200:
            raise _Refusal(node, "This name is too long.", "Choose a shorter one.")
        return name

    def check_Name(self, node: ast.Name) -> None:
        is_read = isinstance(node.ctx, ast.Load)
        if is_read and node.id in FILE_NAMES:
            return
        if node.id in SPECIAL_METHODS:  # `__radd__ = __add__` in a class
            return
        if node.id in PLAIN_NAMES or (node.id in CLASS_NAMES and self.is_in_class()):
            node.id = f".{node.id}"  # without a meaning for Python
            return
        node.id = self.identifier(node, node.id)

    def is_in_class(self) -> bool:
        return bool(self.scopes) and self.scopes[-1] is not None

    def check_Attribute(self, node: ast.Attribute) -> None:
        if node.attr not in SPECIAL_READS or not isinstance(node.ctx, ast.Load):
            node.attr = self.identifier(node, node.attr)

    def check_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in SPECIAL_METHODS:
            node.name = self.identifier(node, node.name)

    def check_ClassDef(self, node: ast.ClassDef) -> None:
        node.name = self.identifier(node, node.name)
        for keyword in node.keywords:
            if keyword.arg != "metaclass" or ast.unparse(keyword.value) not in _PLAIN_METACLASSES:
                raise _Refusal(node, "Class keywords are not supported here.", "Leave them out.")
        node.keywords = []

    def check_arg(self, node: ast.arg) -> None:
        node.arg = self.identifier(node, node.arg)

    def check_keyword(self, node: ast.keyword) -> None:
        if node.arg is not None:
            node.arg = self.identifier(node, node.arg)

    def check_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            node.name = self.identifier(node, node.name)

    def check_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        node.names = [self.identifier(node, name) for name in node.names]

    check_Nonlocal = check_Global

    def check_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name is not None:
            node.name = self.identifier(node, node.name)

    check_MatchStar = check_MatchAs

    def check_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest is not None:
            node.rest = self.identifier(node, node.rest)

    def check_MatchClass(self, node: ast.MatchClass) -> None:
        node.kwd_attrs = [self.identifier(node, name) for name in node.kwd_attrs]

    # -- imports and literals ---------------------------------------------------------------

    def check_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            path = alias.name.split(".") if alias.name != "__future__" else []
            for part in [*path, alias.asname or "_"]:
                self.check_imported(node, part)

    def check_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == "__future__":
            return
        for part in (node.module or "").split("."):
            self.check_imported(node, part)
        for alias in node.names:
            if alias.name == "*" and self.scopes:
                raise _Refusal(
                    node, "`import *` is possible only outside of functions.", "Import each name."
                )
            self.check_imported(node, alias.name)
            self.check_imported(node, alias.asname or "")

    def check_imported(self, node: ast.AST, name: str) -> None:
        if self.identifier(node, name) != name:
            raise _Refusal(node, "A private name of a class cannot be imported.", "")

    def check_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bytes):
            raise _Refusal(node, "Bytes are not supported here.", "Use a string.")
        if (isinstance(value, str) and len(value) > MAX_LITERAL) or (
            isinstance(value, int) and value.bit_length() > 1024
        ):
            raise _Refusal(node, "This literal is too long.", "Write a shorter one.")


def line_of(text: str, line: int | None) -> str:
    """The text of line `line` (from 1), at most 200 characters; empty when there is none."""
    lines = text.split("\n")
    return lines[line - 1][:200] if line is not None and 0 < line <= len(lines) else ""


def _own_nodes(statement: ast.stmt, blocks: list[list[ast.stmt]]) -> Iterator[ast.AST]:
    """The nodes of a statement without those of the statements in it, whose blocks are added to
    `blocks`."""
    pending: deque[ast.AST] = deque([statement])
    while pending:
        node = pending.popleft()
        yield node
        for _, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                pending.append(value)
            elif isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    blocks.append(value)
                else:
                    pending.extend(part for part in value if isinstance(part, ast.AST))
