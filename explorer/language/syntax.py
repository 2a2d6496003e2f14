"""From text to a syntax tree that contains only allowed syntax and allowed names."""

from __future__ import annotations

import ast
import re
import warnings

from explorer.language.errors import ProgramError, ProgramRefused
from explorer.language.thread_safe_ast import parse_tree

#: The maximum length of a program, in characters. Parsing 1 MB takes seconds and hundreds of MB.
MAX_SOURCE = 60_000
#: The maximum length of a string literal, in characters.
MAX_LITERAL = 20_000
#: The maximum number of nodes in a program's tree.
MAX_NODES = 50_000

_SYNTAX = """
    Module Expr Assign AugAssign AnnAssign Delete Pass Break Continue Return Global Nonlocal
    For While If With withitem FunctionDef ClassDef Lambda arguments arg keyword
    Try ExceptHandler Raise Assert Import ImportFrom alias
    BoolOp And Or NamedExpr BinOp Add Sub Mult Div FloorDiv Mod Pow MatMult LShift RShift BitOr
    BitXor BitAnd UnaryOp Invert Not UAdd USub IfExp Compare Eq NotEq Lt LtE Gt GtE Is IsNot In
    NotIn Call Starred Attribute Subscript Slice Name Load Store Del Constant JoinedStr
    FormattedValue List Tuple Dict Set ListComp SetComp DictComp GeneratorExp comprehension Yield
"""
#: The syntax of the language. Nothing else is accepted.
ALLOWED = {getattr(ast, name) for name in _SYNTAX.split()}

#: (message, hint) for syntax that is left out; anything else gets a general message.
LEFT_OUT = {
    "Match": ("A match statement is not supported here", "Use if and elif."),
    "AsyncFunctionDef": ("An async function is not supported here", "Use def."),
    "Await": ("`await` is not supported here", ""),
    "YieldFrom": ("`yield from` is not supported here", "Use a for loop with yield."),
    "TryStar": ("`except*` is not supported here", "Use except."),
}

_METHODS = """
    __init__ __call__ __repr__ __str__ __len__ __getitem__ __setitem__ __contains__ __iter__
    __next__ __enter__ __exit__ __bool__ __neg__ __pos__ __abs__ __invert__ __add__ __radd__
    __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__
    __itruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__
    __rmatmul__ __and__ __or__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __delitem__
    __reversed__
"""
#: Methods with two underscores that a class may define; each is called by ordinary syntax.
#: Conversions to numbers are left out: torch's C++ code would call them while it reads a list.
SPECIAL_METHODS = frozenset(_METHODS.split())
#: Names with two underscores that may be read as an attribute.
SPECIAL_READS = SPECIAL_METHODS | {"__name__", "__class__", "__doc__"}

_PROMPT = re.compile(r"^\s*(>>>|\.\.\.)( |$)")


def parse(source: str) -> ast.Module:
    """Parse and check a program.

    Raises ProgramRefused with the line and a hint for text that is too long, is not Python, or
    uses syntax or names outside the language.
    """
    if len(source) > MAX_SOURCE:
        raise ProgramRefused(
            ProgramError(
                f"The program is too long: {len(source):,} characters.",
                hint=f"The limit is {MAX_SOURCE:,}. Keep only the part you are interested in.",
            )
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parse_tree(source, "<program>")
    except SyntaxError as error:
        raise ProgramRefused(_syntax_error(error, source)) from None
    except (RecursionError, MemoryError):
        raise ProgramRefused(nested_too_deeply()) from None
    except (UnicodeError, ValueError) as error:
        raise ProgramRefused(
            ProgramError(
                "The program contains a character or a number that Python cannot read.",
                hint="Remove unusual characters, and write numbers with fewer digits.",
                detail=str(error),
            )
        ) from None
    _Checker(source).run(tree)
    return tree


def without_prompts(source: str) -> str:
    """Remove the prompts `>>> ` and `... ` of a pasted session, and its output.

    Line numbers stay the same. Text that does not begin with a prompt is returned unchanged.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    if not source.lstrip().startswith(">>>"):
        return source
    lines = source.split("\n")
    return "\n".join(_PROMPT.sub("", line) if _PROMPT.match(line) else "" for line in lines)


def nested_too_deeply() -> ProgramError:
    """The error for too many levels of expressions."""
    return ProgramError(
        "The program is nested too deeply.", hint="Assign parts of the expression to variables."
    )


def line_of(text: str, line: int | None) -> str:
    """The text of line `line` (from 1), at most 200 characters; empty when there is none."""
    lines = text.split("\n")
    return lines[line - 1][:200] if line is not None and 0 < line <= len(lines) else ""


def _contains_yield(node: ast.AST) -> bool:
    """Whether `node` contains a yield outside inner functions and `with` statements, which are
    checked separately."""
    waiting = [node]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.Yield):
                return True
            if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.With):
                waiting.append(child)
    return False


def _syntax_error(error: SyntaxError, text: str) -> ProgramError:
    line = error.lineno
    column = error.offset - 1 if error.offset else None
    hint = "Check brackets, colons and quotes on this line and the one before."
    reason = error.msg or "invalid syntax"
    if isinstance(error, IndentationError):
        hint = "Indent all lines of a block equally, with spaces only."
    elif "invalid character" in reason or "non-printable" in reason:
        hint = "Type this character again: it may come from a formatted page."
    elif (error.text or "").lstrip().startswith(("%", "!")):
        hint = "Remove the notebook command."
    elif "'=='" in reason or "assign" in reason:
        hint = "Use = to give a name to a value and == to compare."
    return ProgramError(
        "This line is not valid Python.", line, column, line_of(text, line), hint, f"{reason[:300]}"
    )


class _Checker:
    """Walks the tree once; raises ProgramRefused at the first node outside the language."""

    def __init__(self, text: str) -> None:
        self.text = text

    def run(self, tree: ast.Module) -> None:
        for count, node in enumerate(ast.walk(tree)):
            if count > MAX_NODES:
                self.refuse(
                    tree, "The program is too long.", "Keep only the part you are interested in."
                )
            if type(node) not in ALLOWED:
                message, hint = LEFT_OUT.get(
                    type(node).__name__, ("This kind of statement is not supported here", "")
                )
                self.refuse(node, f"{message}.", hint)
            check = getattr(self, f"check_{type(node).__name__}", None)
            if check is not None:
                check(node)

    def refuse(self, node: ast.AST, message: str, hint: str = "") -> None:
        line = getattr(node, "lineno", None)
        column = getattr(node, "col_offset", None)
        raise ProgramRefused(ProgramError(message, line, column, line_of(self.text, line), hint))

    def check_identifier(self, node: ast.AST, name: str) -> None:
        if name.startswith("__"):
            self.refuse(
                node,
                f"Names that begin with two underscores are not supported here: {name[:60]}",
                "Choose a name without leading underscores.",
            )
        if len(name) > 200:
            self.refuse(node, "This name is too long.", "Choose a shorter one.")

    def check_Name(self, node: ast.Name) -> None:
        reads_name = node.id == "__name__" and isinstance(node.ctx, ast.Load)
        if not reads_name and node.id not in SPECIAL_METHODS:  # `__radd__ = __add__` in a class
            self.check_identifier(node, node.id)

    def check_Attribute(self, node: ast.Attribute) -> None:
        if node.attr not in SPECIAL_READS or not isinstance(node.ctx, ast.Load):
            self.check_identifier(node, node.attr)

    def check_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in SPECIAL_METHODS:
            self.check_identifier(node, node.name)

    def check_ClassDef(self, node: ast.ClassDef) -> None:
        self.check_identifier(node, node.name)
        if node.keywords:
            self.refuse(node, "Class keywords are not supported here.", "Leave them out.")

    def check_arg(self, node: ast.arg) -> None:
        self.check_identifier(node, node.arg)

    def check_keyword(self, node: ast.keyword) -> None:
        if node.arg is not None:
            self.check_identifier(node, node.arg)

    def check_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.check_identifier(node, node.name)

    def check_With(self, node: ast.With | ast.Try) -> None:
        """Python may resume a suspended generator to close it at any time, even after the run."""
        if _contains_yield(node):
            statement = "with" if isinstance(node, ast.With) else "try with a finally"
            self.refuse(
                node,
                f"yield inside a {statement} is not supported here.",
                "Move the yield out of it, or collect the values in a list.",
            )

    def check_Try(self, node: ast.Try) -> None:
        if node.finalbody:
            self.check_With(node)

    def check_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            self.check_identifier(node, name)

    check_Nonlocal = check_Global

    def check_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name != "__future__":
                for part in [*alias.name.split("."), alias.asname or ""]:
                    self.check_identifier(node, part)

    def check_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            self.refuse(node, "Relative imports are not supported here.")
        if node.module == "__future__":
            return
        for part in (node.module or "").split("."):
            self.check_identifier(node, part)
        for alias in node.names:
            if alias.name == "*":
                self.refuse(
                    node,
                    "`import *` is not supported here.",
                    "Import each name, or the module.",
                )
            self.check_identifier(node, alias.name)
            self.check_identifier(node, alias.asname or "")

    def check_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bytes):
            self.refuse(node, "Bytes are not supported here.", "Use a string.")
        if (isinstance(value, str) and len(value) > MAX_LITERAL) or (
            isinstance(value, int) and value.bit_length() > 1024
        ):
            self.refuse(node, "This literal is too long.", "Write a shorter one.")
