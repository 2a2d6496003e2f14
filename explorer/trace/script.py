"""A traced program as plain Python: as it was run, with the call of backward that was added, and as
a script that prints the same table of tensors.

In the script, the text of the program stays as it is. After each statement that assigned or changed
a tensor, a call is added that records it. The script imports nothing but torch.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from explorer.program import without_prompts
from explorer.program.completion import Completed, complete
from explorer.program.completion.text import Text
from explorer.program.parsing import parse_tree, tree_of
from explorer.trace.records import TensorRecord, Trace, Upstream

_ROOT = re.compile(r"[^\W\d]\w*")
#: Modules whose random generators are also seeded, if the program imports them, and the call.
_SEEDED = {"random": "random.seed({seed})", "numpy": "numpy.random.seed({seed})"}

#: A line, a column (in bytes, as in ast) and the text to insert there.
Edit = tuple[int, int, str]


def script(trace: Trace, *, upstream: Upstream = None) -> str:
    """Turn a traced program into a plain PyTorch script. `upstream` is the argument of `run`.

    The script prints the output of the program, then each named tensor of the trace with its
    line, value and gradient. A program that Python cannot parse is returned unchanged.
    """
    completed = complete(without_prompts(trace.source), trace.inputs)
    source = completed.code
    tree = tree_of(source)
    if tree is None:
        return source
    lines = [line.encode() for line in source.split("\n")]
    edits = list(_recording_calls(tree, lines, _recorded_variables(trace), completed))
    edits += [  # a __future__ import is allowed only at the top of a file
        (node.lineno, node.col_offset, "# ")
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    naming_edits, backward_lines = _added_backward(trace, tree, lines, upstream, completed)
    # From the end, so that an edit does not shift the next; edits at one position keep their order.
    ordered = sorted([*edits, *naming_edits], key=lambda edit: edit[:2])
    for line, column, text in ordered[::-1]:
        before, after = lines[line - 1][:column], lines[line - 1][column:]
        lines[line - 1] = before + text.encode() + after
    seeds = [call for name, call in _SEEDED.items() if _imports(tree, name)]
    head = _HEAD.format(
        seed=trace.seed,
        imports="".join(f"import {call.split('.')[0]}\n" for call in seeds),
        seeds="".join(call.format(seed=trace.seed % 2**32) + "\n" for call in seeds),
    )
    body = b"\n".join(lines).decode().rstrip()
    return head + body + "\n" + "".join(f"{line}\n" for line in backward_lines)


def _recorded_variables(trace: Trace) -> dict[tuple[int, str], set[str]]:
    """By line and function: the variables that hold the named tensors recorded there."""
    variables: dict[tuple[int, str], set[str]] = defaultdict(set)
    for record in trace.tensors:
        if record.named:
            name = record.name
            if record.origin.scope:  # "forward.h_2": the second call's h
                name = name.removeprefix(record.origin.scope.split(".")[-1] + ".")
                name = re.sub(r"_\d+$", "", name)
            if variable := _ROOT.match(name):
                variables[record.line or 0, record.origin.scope].add(variable[0])
    return variables


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


def _recording_calls(
    tree: ast.Module,
    lines: list[bytes],
    variables: dict[tuple[int, str], set[str]],
    completed: Completed,
) -> Iterator[Edit]:
    """The calls that record tensors, each after the statement that assigned or changed one."""
    for statement, scope in _statements(tree.body, ""):
        body = getattr(statement, "body", None)
        inner = f"{scope}.{statement.name}".lstrip(".") if _is_def(statement) else scope  # type: ignore[attr-defined]
        at = statement.iter if isinstance(statement, ast.For) else statement
        line = completed.line(at.lineno) or 0
        names = [n for n in sorted(variables.get((line, inner), ())) if _binds(statement, n)]
        where = f', "{inner}"' if inner else ""
        calls = [f'_record_variable("{name}", {line}, {name}{where})' for name in names]
        if _is_def(statement):
            calls.insert(0, f'_calls["{inner}"] += 1')
        if body:
            yield from _before(body[0], calls, lines)
            continue
        if _runs_backward(statement):
            yield from _before(statement, ["_record_leaves()"], lines)
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
    """Every statement, with the function or class around it."""
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
    names = (f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in called)
    return any(name in ("backward", "grad") for name in names)


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether the statement itself, not one inside it, assigns or changes this variable."""
    if isinstance(statement, ast.FunctionDef):
        parameters = [*statement.args.posonlyargs, *statement.args.args, *statement.args.kwonlyargs]
        return name in [argument.arg for argument in parameters]
    parts: list[ast.AST] = [statement]
    if isinstance(statement, ast.For):
        parts = [statement.target]
    elif isinstance(statement, ast.With):
        parts = [item.optional_vars for item in statement.items if item.optional_vars]
    elif hasattr(statement, "body"):
        return False
    nodes = (node for part in parts for node in ast.walk(part))
    return name in (node.id for node in nodes if isinstance(node, ast.Name))


# -- the added backward --------------------------------------------------------------------------


def _added_backward(
    trace: Trace, tree: ast.Module, lines: list[bytes], upstream: Upstream, completed: Completed
) -> tuple[list[Edit], list[str]]:
    """If backward was run for the program: edits that name its root, and the lines that call it."""
    if not trace.passes or not trace.passes[-1].ours:
        return [], []
    last_pass = trace.passes[-1]
    record = next((r for r in reversed(trace.tensors) if r.name == last_pass.root), None)
    root, edits = last_pass.root, []
    if record is not None and not record.named:
        edits = _name_result(tree, lines, record, completed)
        root = "_output" if edits else f"({root})"
    if not is_expression(root, is_name=record is not None and record.named):
        comment = "# The explorer ran backward from the last scalar; give it a name to do so here."
        return [], ["", comment]
    gradient = ""
    if upstream == "sum" or (upstream is None and trace.needs_upstream):
        gradient = f"torch.ones_like({root})"
    elif upstream == "mean":
        gradient = f"torch.ones_like({root}) / {root}.numel()"
    elif upstream is not None:
        gradient = f"torch.tensor({upstream!r}, dtype={root}.dtype)"
    comment = "# The program does not call backward; the explorer added this call."
    return edits, ["", comment, "_record_leaves()", f"{root}.backward({gradient})"]


def _name_result(
    tree: ast.Module, lines: list[bytes], record: TensorRecord, completed: Completed
) -> list[Edit]:
    """The edit that assigns the result of an expression statement to a name."""
    for node in tree.body:
        is_line = completed.line(node.lineno) == record.line and node.lineno == node.end_lineno
        if isinstance(node, ast.Expr) and is_line:
            text = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            if text.startswith(record.name):
                return [(node.lineno, node.col_offset, "_output = ")]
    return []


# -- the head of the script: it records tensors and prints the table ----------------------------

_HEAD = '''\
"""Runs the program below and prints every named tensor with its value and gradient."""

import atexit
import collections

import torch
{imports}
_rows, _calls, _variables = [], collections.Counter(), {{}}


def _record_value(name, line, value, scope="", moment=""):
    """Record a tensor, or the tensors in a module, list, dict or object, under their names."""
    if isinstance(value, torch.nn.Module):
        if name != "self":
            for label, parameter in value.named_parameters():
                _record_value(f"{{name}}.{{label}}", line, parameter, scope, moment)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value[:20]):
            _record_value(f"{{name}}[{{index}}]", line, item, scope, moment)
    elif isinstance(value, dict):
        for key, item in list(value.items())[:20]:
            _record_value(f"{{name}}[{{key!r}}]", line, item, scope, moment)
    elif isinstance(value, torch.Tensor):
        label = f"{{scope.split('.')[-1]}}.{{name}}_{{_calls[scope]}}" if scope else name
        _add_row((line, scope, name, moment), label, value)
    elif type(value).__module__ == "__main__" and isinstance(getattr(value, "__dict__", 0), dict):
        for field, item in list(vars(value).items())[:20]:
            _record_value(f"{{name}}.{{field}}", line, item, scope, moment)


def _record_variable(name, line, value, scope=""):
    """Record the value of a variable that the statement on this line assigned or changed."""
    if not scope:
        _variables[name] = line
    _record_value(name, line, value, scope)


def _record_leaves():
    """Before backward runs: add a row for each leaf that has changed since its last row."""
    for row in list({{id(row["tensor"]): row for row in _rows}}.values()):
        tensor = row["tensor"]
        if _history(tensor) == (True, None):
            line, scope, _, _ = row["place"]
            _add_row((line, scope, row["label"], "before backward"), row["label"], tensor)


def _history(tensor):
    try:
        return tensor.requires_grad, tensor.grad_fn
    except RuntimeError:  # a part of a leaf that was taken and changed under no_grad
        return False, None


def _add_row(place, label, tensor):
    """Add a row to the table, unless the last row of this tensor still describes it."""
    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        return  # of a lazy layer: it has no values yet
    values = tensor.detach().clone()
    history = _history(tensor)
    rows = [row for row in _rows if row["tensor"] is tensor]
    if place[3]:
        rows = [row for row in rows if row["label"] == label]
    if rows and rows[-1]["history"] == history and _equal(rows[-1]["values"], values):
        if rows[-1]["label"] == label or place[1]:
            return
    row = {{"place": place, "label": label, "tensor": tensor, "values": values}}
    row |= {{"history": history, "grad": None}}
    _rows.append(row)
    if history[1] is not None:
        # Receives the gradient after all hooks on the tensor; the last one is kept.
        number = tensor.output_nr
        tensor.grad_fn.register_prehook(lambda grads: row.update(grad=grads[number]))


def _equal(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _text(tensor):
    """The values of a small tensor as nested lists; of a large one, the mean and the norm."""
    if tensor is None:
        return "None"
    if tensor.numel() > 100:
        wide = tensor.detach().double()
        mean, norm = wide.mean().item(), wide.norm().item()
        return f"{{tuple(tensor.shape)}}, mean {{mean:.6g}}, norm {{norm:.6g}}"

    def write(item):
        if isinstance(item, list):
            return "[" + ", ".join(map(write, item)) + "]"
        return f"{{item:.6g}}" if isinstance(item, float) else str(item)

    try:
        return write(tensor.tolist())
    except RuntimeError:  # it belonged to a function transform, which has ended
        return "None"


def _print_table():
    """Print the first three tensors and the last one that each statement computed."""
    for name, line in list(_variables.items()):
        _record_value(name, line, globals().get(name), moment="at the end")
    places = collections.defaultdict(list)
    for row in _rows:
        places[row["place"]].append(row)
    for row in _rows:
        rows = places[row["place"]]
        if any(row is printed for printed in [*rows[:3], rows[-1]]):
            tensor = row["tensor"]
            own = _history(tensor) == (True, None) or tensor.retains_grad
            line = row["place"][0]
            print(f"{{row['label']}} ({{f'line {{line}}' if line else 'input'}})")
            print("  value", _text(row["values"]))
            print("  grad ", _text(tensor.grad if own else row["grad"]))


atexit.register(_print_table)  # at the end, even after an error
torch.manual_seed({seed})
{seeds}
# -- the program ---------------------------------------------------------------
'''


# -- the program as it was run ---------------------------------------------------------------------


#: What the name of a tensor consists of: "y", "net.0.weight", "d['x']".
_NAME_PARTS = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Load)
#: Texts of expressions are cut to this length in their records.
_WHOLE = 120


def completed_code(completed: Completed, trace: Trace, gradient: object) -> str:
    """The code of the program, which computes the gradients of the trace in plain Python.

    `gradient` is the one that backward started from: "sum", "mean", numbers, or None. If the root
    cannot be written as an expression, the call is left out.
    """
    code, last = completed.code, trace.passes[-1] if trace.passes else None
    if last is None or not last.ours:
        return code
    record = next((r for r in reversed(trace.tensors) if r.name == last.root), None)
    if record is None:
        return code
    root = last.root
    if not record.named:
        named = _with_name(completed, record)
        is_text = len(root) < _WHOLE and not root.isidentifier()
        if named is None and not is_text:
            return code
        code, root = named or (code, f"({root})")
    if not is_expression(root, is_name=record.named):
        return code
    if gradient in ("sum", "mean"):
        call = f"{root}.{gradient}().backward()"
    elif gradient is None:
        call = f"{root}.backward()"
    else:
        call = f"{root}.backward({root}.new_tensor({gradient!r}))"
    return f"{code if code.endswith(chr(10)) else code + chr(10)}{call}\n"


def _with_name(completed: Completed, record: TensorRecord) -> tuple[str, str] | None:
    """The code in which the bare expression that computed a tensor has a name, and that name."""
    tree, text = parse_tree(completed.code), Text(completed.code)
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for statement in reversed(tree.body):
        if isinstance(statement, ast.Expr) and completed.line(statement.lineno) == record.line:
            is_whole = text.of(statement)[:_WHOLE] == record.name or record.name.isidentifier()
            if is_whole and not _is_print(statement.value):
                name = "out"
                while name in taken:
                    name += "_"
                text.insert(statement, f"{name} = ")
                return text.changed(), name
    return None


def _is_print(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") == "print"


def is_expression(text: str, is_name: bool) -> bool:
    """Whether Python can evaluate it; of a name, whether it only looks a tensor up: attributes and
    keys may be any text, such as code. Part of an expression over several lines is none."""
    try:
        tree = parse_tree(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    is_one_line = "\n" not in text and "#" not in text
    return not is_name or (
        is_one_line and all(isinstance(node, _NAME_PARTS) for node in ast.walk(tree.body))
    )
