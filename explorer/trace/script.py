"""The same program as a plain PyTorch script that prints the same table.

The reader's text stays as it is; after each statement that gave a tensor a name stands one call
that notes it. The script needs torch alone.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from explorer.language import without_prompts
from explorer.language.thread_safe_ast import parse_tree
from explorer.trace.records import TensorRecord, Trace
from explorer.trace.running import Upstream
from explorer.trace.script_head import HEAD

_ROOT = re.compile(r"[^\W\d]\w*")
#: Modules whose random numbers are seeded too, with how.
_SEEDED = {"random": "random.seed({seed})", "numpy": "numpy.random.seed({seed})"}

#: Text to put in at a line and a column (in bytes, as ast counts).
Edit = tuple[int, int, str]


def script(trace: Trace, *, upstream: Upstream = None) -> str:
    """A plain PyTorch script for a traced program. `upstream` as it was given to `run`.

    Run by Python it prints, after the program's own output, each named tensor of the trace with
    its line, value and gradient. A program outside the language is returned without the calls.
    """
    source = without_prompts(trace.source)
    try:
        tree = parse_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    lines = [line.encode() for line in source.split("\n")]
    edits = list(_calls(tree, lines, _wanted(trace)))
    edits += [  # may stand only at the top of a file
        (node.lineno, node.col_offset, "# ")
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    named, last = _own_backward(trace, tree, lines, upstream)
    # From the end, so that places stay true; of several at one place the first comes first.
    placed = sorted([*edits, *named], key=lambda edit: edit[:2])
    for line, column, text in placed[::-1]:
        whole = lines[line - 1]
        lines[line - 1] = whole[:column] + text.encode() + whole[column:]
    seeds = [how for name, how in _SEEDED.items() if _imports(tree, name)]
    head = HEAD.format(
        seed=trace.seed,
        imports="".join(f"import {how.split('.')[0]}\n" for how in seeds),
        seeds="".join(how.format(seed=trace.seed % 2**32) + "\n" for how in seeds),
    )
    body = b"\n".join(lines).decode().rstrip()
    return head + body + "\n" + "".join(f"{line}\n" for line in last)


def _wanted(trace: Trace) -> dict[tuple[int, str], set[str]]:
    """By line and function: the variables through which named tensors were met there."""
    wanted: dict[tuple[int, str], set[str]] = defaultdict(set)
    for record in trace.tensors:
        if record.named:
            name = record.name
            if record.scope:  # "forward.h_2": the second call's h
                name = name.removeprefix(record.scope.split(".")[-1] + ".")
                name = re.sub(r"_\d+$", "", name)
            if found := _ROOT.match(name):
                wanted[record.line, record.scope].add(found[0])
    return wanted


def _imports(tree: ast.Module, name: str) -> bool:
    return any(
        (
            isinstance(node, ast.Import)
            and any(alias.name.split(".")[0] == name for alias in node.names)
        )
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == name)
        for node in ast.walk(tree)
    )


# -- where the calls go -------------------------------------------------------------------------


def _calls(
    tree: ast.Module, lines: list[bytes], wanted: dict[tuple[int, str], set[str]]
) -> Iterator[Edit]:
    """The calls that note tensors, each after the statement that named or changed one."""
    for statement, scope in _statements(tree.body, ""):
        body = getattr(statement, "body", None)
        inner = f"{scope}.{statement.name}".lstrip(".") if _is_def(statement) else scope  # type: ignore[attr-defined]
        line = statement.iter.lineno if isinstance(statement, ast.For) else statement.lineno
        names = [n for n in sorted(wanted.get((line, inner), ())) if _binds(statement, n)]
        where = f', "{inner}"' if inner else ""
        calls = [f'_see("{name}", {line}, {name}{where})' for name in names]
        if _is_def(statement):
            calls.insert(0, f'_calls["{inner}"] += 1')
        if body:
            yield from _before(body[0], calls, lines)
            continue
        if _runs_backward(statement):
            yield from _before(statement, ["_leaves()"], lines)
        yield from _after(statement, calls, lines)


def _before(statement: ast.stmt, calls: list[str], lines: list[bytes]) -> Iterator[Edit]:
    at = min([statement, *getattr(statement, "decorator_list", [])], key=lambda n: n.lineno)
    column = statement.col_offset
    first = lines[at.lineno - 1][:column]
    for call in calls:
        end = "; " if first.strip() else "\n" + first.decode()
        yield at.lineno, column, call + end


def _after(statement: ast.stmt, calls: list[str], lines: list[bytes]) -> Iterator[Edit]:
    line = statement.end_lineno or statement.lineno
    start = lines[statement.lineno - 1][: statement.col_offset]
    column = statement.end_col_offset or 0
    alone = not start.strip() and not lines[line - 1][column:].lstrip().startswith(b";")
    if calls and alone:
        text = "".join(f"\n{start.decode()}{call}" for call in calls)
        yield line, len(lines[line - 1]), text
    elif calls:
        yield line, column, "".join(f"; {call}" for call in calls)


def _is_def(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef)


def _statements(body: list[ast.stmt], scope: str) -> Iterator[tuple[ast.stmt, str]]:
    """Every statement with the function or class it stands in."""
    for statement in body:
        yield statement, scope
        named = isinstance(statement, ast.FunctionDef | ast.ClassDef)
        inner = f"{scope}.{statement.name}".lstrip(".") if named else scope  # type: ignore[attr-defined]
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, []), inner)
        for handler in getattr(statement, "handlers", []):
            yield from _statements(handler.body, inner)


def _runs_backward(statement: ast.stmt) -> bool:
    called = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    named = (f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in called)
    return any(name in ("backward", "grad") for name in named)


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether the statement itself, not one inside it, names or changes this variable."""
    if isinstance(statement, ast.FunctionDef):
        given = [*statement.args.posonlyargs, *statement.args.args, *statement.args.kwonlyargs]
        return name in [argument.arg for argument in given]
    parts: list[ast.AST] = [statement]
    if isinstance(statement, ast.For):
        parts = [statement.target]
    elif isinstance(statement, ast.With):
        parts = [item.optional_vars for item in statement.items if item.optional_vars]
    elif hasattr(statement, "body"):
        return False
    found = (node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name))
    return name in found


# -- our backward -------------------------------------------------------------------------------


def _own_backward(
    trace: Trace, tree: ast.Module, lines: list[bytes], upstream: Upstream
) -> tuple[list[Edit], list[str]]:
    """The backward that was run for a program without one, and the name its root needs."""
    if not trace.passes or not trace.passes[-1].ours:
        return [], []
    passed = trace.passes[-1]
    record = next((r for r in reversed(trace.tensors) if r.name == passed.root), None)
    root, edits = passed.root, []
    if record is not None and not record.named:
        edits = _named_result(tree, lines, record)
        root = "_output" if edits else f"({root})"
    try:
        parse_tree(root, mode="eval")
    except (SyntaxError, ValueError):  # part of an expression over several lines
        said = "# The page ran backward from the last scalar; give it a name to do so here."
        return [], ["", said]
    gradient = ""
    if upstream == "sum":
        gradient = f"torch.ones_like({root})"
    elif upstream == "mean":
        gradient = f"torch.ones_like({root}) / {root}.numel()"
    elif upstream is not None:
        gradient = f"torch.tensor({upstream!r}, dtype={root}.dtype)"
    said = "# The program calls no backward; this one was run for it."
    return edits, ["", said, "_leaves()", f"{root}.backward({gradient})"]


def _named_result(tree: ast.Module, lines: list[bytes], record: TensorRecord) -> list[Edit]:
    """Give the result of an expression statement a name, in its line."""
    for node in tree.body:
        if isinstance(node, ast.Expr) and node.lineno == node.end_lineno == record.line:
            text = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            if text.startswith(record.name):
                return [(node.lineno, node.col_offset, "_output = ")]
    return []
