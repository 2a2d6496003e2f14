"""From text to a syntax tree that holds allowed syntax and allowed names only."""

from __future__ import annotations

import ast
import re
import warnings

from explorer.language.errors import ProgramError, ProgramRefused
from explorer.language.tree import tree_of

#: Longest program, in characters. Parsing 1 MB costs seconds and hundreds of megabytes.
MAX_SOURCE = 60_000
#: Longest number or string written out in a program, in characters.
MAX_LITERAL = 20_000
#: Most nodes in a program's tree.
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
#: Syntax the language has. What is not named here does not exist.
ALLOWED = {getattr(ast, name) for name in _SYNTAX.split()}

#: What to say of syntax that is left out; anything else gets the general sentence.
LEFT_OUT = {
    "Match": ("A match statement is not part of this language", "Use if and elif."),
    "AsyncFunctionDef": ("An async function is not part of this language", "Use def."),
    "Await": ("`await` is not part of this language", ""),
    "YieldFrom": ("`yield from` is not part of this language", "Use a for loop with yield."),
    "TryStar": ("`except*` is not part of this language", "Use except."),
}

_METHODS = """
    __init__ __call__ __repr__ __str__ __len__ __getitem__ __setitem__ __contains__ __iter__
    __next__ __enter__ __exit__ __bool__ __neg__ __pos__ __abs__ __invert__ __add__ __radd__
    __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__
    __itruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__
    __rmatmul__ __and__ __or__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __delitem__
    __reversed__
"""
#: Methods with two underscores a class may define; each is called by plain syntax. Conversions to
#: numbers are not among them: torch's C++ code would call them while it reads a list.
SPECIAL_METHODS = frozenset(_METHODS.split())
#: Names with two underscores that may be read as an attribute.
SPECIAL_READS = SPECIAL_METHODS | {"__name__", "__class__", "__doc__"}

_PROMPT = re.compile(r"^\s*(>>>|\.\.\.)( |$)")


def parse(source: str) -> ast.Module:
    """Parse and check a program.

    Raises ProgramRefused with the line, and what to do, for text that is too long, is not
    Python, or uses syntax or names outside the language.
    """
    if len(source) > MAX_SOURCE:
        raise ProgramRefused(
            ProgramError(
                f"The program is too long: {len(source):,} characters.",
                hint=f"At most {MAX_SOURCE:,} characters are read. Keep the part you ask about.",
            )
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = tree_of(source, "<program>")
    except SyntaxError as error:
        raise ProgramRefused(_syntax_error(error, source)) from None
    except (RecursionError, MemoryError):
        raise ProgramRefused(too_deep()) from None
    except (UnicodeError, ValueError) as error:
        raise ProgramRefused(
            ProgramError(
                "The program holds a character or a number that Python cannot read.",
                hint="Remove unusual characters, and write numbers with fewer digits.",
                detail=str(error),
            )
        ) from None
    _Check(source).run(tree)
    return tree


def without_prompts(source: str) -> str:
    """Strip the `>>> ` and `... ` of a pasted session and blank out what it printed.

    Line numbers stay. Text that does not begin with a prompt is returned as it is.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    if not source.lstrip().startswith(">>>"):
        return source
    lines = source.split("\n")
    return "\n".join(_PROMPT.sub("", line) if _PROMPT.match(line) else "" for line in lines)


def too_deep() -> ProgramError:
    """What is said of expressions inside expressions without an end."""
    return ProgramError(
        "The program is nested too deeply.", hint="Give parts of the expression names of their own."
    )


def line_of(text: str, line: int | None) -> str:
    """The text of line `line` (from 1), at most 200 characters; empty when there is none."""
    lines = text.split("\n")
    return lines[line - 1][:200] if line is not None and 0 < line <= len(lines) else ""


def _yields(node: ast.AST) -> bool:
    """Whether a yield stands in `node`, but in no function or `with` inside: those are checked
    for themselves."""
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
    words = error.msg or "invalid syntax"
    if isinstance(error, IndentationError):
        hint = "Indent the lines of one block alike, with spaces only."
    elif "invalid character" in words or "non-printable" in words:
        hint = "Type this character again: it may have been pasted from a formatted page."
    elif (error.text or "").lstrip().startswith(("%", "!")):
        hint = "Leave out the notebook's own commands."
    elif "'=='" in words or "assign" in words:
        hint = "Use = to give a name to a value and == to compare."
    return ProgramError(
        "This line is not Python.", line, column, line_of(text, line), hint, f"{words[:300]}"
    )


class _Check:
    """Walks the tree once; raises at the first thing outside the language."""

    def __init__(self, text: str) -> None:
        self.text = text

    def run(self, tree: ast.Module) -> None:
        for count, node in enumerate(ast.walk(tree)):
            if count > MAX_NODES:
                self.refuse(tree, "The program is too long.", "Keep the part you ask about.")
            if type(node) not in ALLOWED:
                message, hint = LEFT_OUT.get(
                    type(node).__name__, ("This kind of statement is not part of this language", "")
                )
                self.refuse(node, f"{message}.", hint)
            check = getattr(self, f"check_{type(node).__name__}", None)
            if check is not None:
                check(node)

    def refuse(self, node: ast.AST, message: str, hint: str = "") -> None:
        line = getattr(node, "lineno", None)
        column = getattr(node, "col_offset", None)
        raise ProgramRefused(ProgramError(message, line, column, line_of(self.text, line), hint))

    def name(self, node: ast.AST, name: str) -> None:
        if name.startswith("__"):
            self.refuse(
                node,
                f"Names that begin with two underscores are not part of this language: {name[:60]}",
                "Choose a name without leading underscores.",
            )
        if len(name) > 200:
            self.refuse(node, "This name is too long.", "Choose a shorter one.")

    def check_Name(self, node: ast.Name) -> None:
        read = node.id == "__name__" and isinstance(node.ctx, ast.Load)
        if not read and node.id not in SPECIAL_METHODS:  # `__radd__ = __add__` in a class
            self.name(node, node.id)

    def check_Attribute(self, node: ast.Attribute) -> None:
        if node.attr not in SPECIAL_READS or not isinstance(node.ctx, ast.Load):
            self.name(node, node.attr)

    def check_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in SPECIAL_METHODS:
            self.name(node, node.name)

    def check_ClassDef(self, node: ast.ClassDef) -> None:
        self.name(node, node.name)
        if node.keywords:
            self.refuse(node, "Class keywords are not part of this language.", "Leave them out.")

    def check_arg(self, node: ast.arg) -> None:
        self.name(node, node.arg)

    def check_keyword(self, node: ast.keyword) -> None:
        if node.arg is not None:
            self.name(node, node.arg)

    def check_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.name(node, node.name)

    def check_With(self, node: ast.With | ast.Try) -> None:
        """Python ends a suspended generator whenever it likes, also after the run."""
        if _yields(node):
            where = "with" if isinstance(node, ast.With) else "try with a finally"
            self.refuse(
                node,
                f"yield inside a {where} is not part of this language.",
                "Move the yield out of it, or collect the values in a list.",
            )

    def check_Try(self, node: ast.Try) -> None:
        if node.finalbody:
            self.check_With(node)

    def check_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            self.name(node, name)

    check_Nonlocal = check_Global

    def check_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name != "__future__":
                for part in [*alias.name.split("."), alias.asname or ""]:
                    self.name(node, part)

    def check_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            self.refuse(node, "Relative imports are not part of this language.")
        if node.module == "__future__":
            return
        for part in (node.module or "").split("."):
            self.name(node, part)
        for alias in node.names:
            if alias.name == "*":
                self.refuse(
                    node,
                    "`import *` is not part of this language.",
                    "Name what you import, or import the module.",
                )
            self.name(node, alias.name)
            self.name(node, alias.asname or "")

    def check_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bytes):
            self.refuse(node, "Bytes are not part of this language.", "Use a string.")
        if (isinstance(value, str) and len(value) > MAX_LITERAL) or (
            isinstance(value, int) and value.bit_length() > 1024
        ):
            self.refuse(node, "This literal is too long.", "Write a shorter one.")
