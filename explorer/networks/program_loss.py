"""The loss that a program computes from the output of its network, to be computed again."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.passes import scalar_loss
from explorer.networks.program_model import LossUse, NetworkWatcher
from explorer.program import Program, Run
from explorer.program.completion import Completed
from explorer.program.parsing import tree_of
from explorer.training.split import statements_before

#: The name of the network's output in the code of a loss.
OUTPUT = "model_output"
#: Calls that are no part of a loss.
_ACTIONS = frozenset({"backward", "step", "zero_grad"})
_DEFINITIONS = ast.FunctionDef | ast.ClassDef
_LOOPS = ast.For | ast.While | _DEFINITIONS


@dataclass(frozen=True)
class LossText:
    """Statements of a program: as they were written, and as code that begins with the output of the
    network. `line` is where the result is computed, `reads` are the variables they need. `setup` is
    what comes before them, if they are outside of functions."""

    text: str
    code: str
    line: int
    reads: frozenset[str]
    setup: str = ""


class ProgramLoss:
    """Computes the loss of the network's output with the variables the program had then."""

    def __init__(self, run: Run[NetworkWatcher], loss: LossText, values: Mapping[str, Any]) -> None:
        self._run, self._program = run, Program(loss.code)
        self.text = loss
        self.values = {name: _without_graph(values[name]) for name in loss.reads if name in values}

    def __call__(self, output: Any, values: Mapping[str, Any] | None = None) -> Tensor:
        names, watcher = self._run.names, self._run.watcher
        before, locations = dict(names), watcher.locations
        names.update(self.values if values is None else values)
        names[OUTPUT] = output
        watcher.scalar = watcher.number = None
        try:
            self._run.execute(self._program)
        finally:
            names.clear()
            names.update(before)
            watcher.locations = locations
        found = watcher.scalar
        if found is None and not torch.is_grad_enabled():
            found = watcher.number  # nothing has a graph then
        if found is None:
            raise ValueError("the loss of the program does not depend on the network")
        return found

    def of_samples(self, output: Any, part: Tensor, samples: int) -> Tensor:
        """The loss of some samples, by their numbers: tensors with one row for each are cut."""
        values = {
            name: v[part] if isinstance(v, Tensor) and v.dim() and len(v) == samples else v
            for name, v in self.values.items()
        }
        return self(output, values)


def _without_graph(value: Any) -> Any:
    """A result of the program's own graph, which its backward may have freed, as a value."""
    if isinstance(value, Tensor) and not value.is_leaf and value.requires_grad:
        return value.detach()
    return value


def find_loss(
    completed: Completed,
    model: nn.Module,
    variables: Mapping[str, Mapping[str, Any]],
    call_line: int,
    use: LossUse | None,
) -> tuple[LossText, dict[str, Any]] | None:
    """The statements from the call of `model` to the backward `use`, or without one to the last
    that gives a scalar a name, and the variables there; None where they are not in one block, or
    call it more than once. `variables` are those of each function."""
    tree = tree_of(completed.code)
    if tree is None:
        return None
    for block, scope in _blocks(tree, ""):
        start = next((i for i, s in enumerate(block) if _spans(completed, s, call_line)), None)
        if start is None or isinstance(block[start], _LOOPS):
            continue
        known = {**variables.get("", {}), **variables.get(scope, {})}
        end = (
            next((i for i, s in enumerate(block) if _is_backward(completed, s, use.line)), None)
            if use
            else _last_scalar(block, known)
        )
        if end is not None and end >= start:
            names = {name for name, value in known.items() if value is model}
            text = _make_text(completed, block[start : end + 1], names, use)
            if text is None:
                return None
            setup = statements_before(completed.code, tree.body, block, start)
            return replace(text, setup=setup), known
    return None


def find_call(
    completed: Completed,
    model: nn.Module,
    variables: Mapping[str, Mapping[str, Any]],
    line: int,
) -> str:
    """The call of `model` on this line of the top level, as it was written; "" without one."""
    tree = tree_of(completed.code) or ast.Module([], [])
    names = {name for name, value in variables.get("", {}).items() if value is model}
    for statement in tree.body:
        if _spans(completed, statement, line) and not isinstance(statement, _DEFINITIONS):
            calls = (n for n in ast.walk(statement) if isinstance(n, ast.Call))
            for call in calls:
                if isinstance(call.func, ast.Name) and call.func.id in names:
                    return ast.unparse(call)
    return ""


def _make_text(
    completed: Completed, statements: list[ast.stmt], names: set[str], use: LossUse | None
) -> LossText | None:
    *before, last = statements
    # A bare call (print, append, zero_grad) changes no loss.
    kept = [s for s in before if not (isinstance(s, ast.Expr) or _called(s) & _ACTIONS)]
    lines = completed.code.split("\n")
    if use is None:
        kept.append(last)
    written = ["\n".join(lines[s.lineno - 1 : s.end_lineno]).strip() for s in kept]
    at = last.lineno
    if use is not None:
        start = _root_of_backward(last)
        if start is None:
            return None
        if isinstance(start, ast.Name) and kept:
            at = kept[-1].lineno
        if not (isinstance(start, ast.Name) and start.id == "loss"):
            written.append(f"loss = {ast.unparse(start)}")
        kept.append(ast.Assign([ast.Name("loss", ast.Store())], start))
    swap = _SwapCall(names)
    module = ast.fix_missing_locations(swap.visit(ast.Module(kept, [])))
    if swap.calls != 1:
        return None
    reads = {n.id for n in ast.walk(module) if isinstance(n, ast.Name)} - {OUTPUT}
    code = ast.unparse(module)
    return LossText("\n".join(written), code, completed.line(at) or 0, frozenset(reads))


class _SwapCall(ast.NodeTransformer):
    """Puts the output in the place of the call of the network."""

    def __init__(self, names: set[str]) -> None:
        self.names, self.calls = names, 0

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in self.names:
            self.calls += 1
            return ast.Name(OUTPUT, ast.Load())
        self.generic_visit(node)
        return node


def _blocks(tree: ast.AST, scope: str) -> Iterator[tuple[list[ast.stmt], str]]:
    """All lists of statements, inner ones first, each with the function it is in."""
    inner = f"{scope}.{tree.name}".lstrip(".") if isinstance(tree, _DEFINITIONS) else scope
    for node in ast.iter_child_nodes(tree):
        yield from _blocks(node, inner)
    for part in ("body", "orelse", "finalbody"):
        block = getattr(tree, part, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block, inner


def _spans(completed: Completed, statement: ast.stmt, line: int) -> bool:
    first = completed.line(statement.lineno)
    last = completed.line(statement.end_lineno or statement.lineno)
    return first is not None and last is not None and first <= line <= last


def _is_backward(completed: Completed, statement: ast.stmt, line: int) -> bool:
    return _spans(completed, statement, line) and "backward" in _called(statement)


def _last_scalar(block: list[ast.stmt], variables: Mapping[str, Any]) -> int | None:
    """The last statement that gives a name to a scalar with a graph."""
    for i in range(len(block) - 1, -1, -1):
        statement = block[i]
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = variables.get(statement.targets[0].id)
            if isinstance(value, Tensor) and value.dim() == 0 and value.grad_fn is not None:
                return i
    return None


def _root_of_backward(statement: ast.stmt) -> ast.expr | None:
    """What `E.backward()` starts from: the expression E."""
    for node in ast.walk(statement):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr == "backward":
            return function.value
    return None


def _called(statement: ast.stmt) -> set[str]:
    functions = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    return {f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in functions}


def loss_in_output(output: Any) -> Tensor | None:
    """The loss that a network returns itself, as `output["loss"]` or `output.loss`."""
    loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if isinstance(loss, Tensor) and loss.dim() == 0 and loss.requires_grad:
        return loss
    return None


def default_loss(output: Any) -> Tensor:
    """The loss that the network returns, or the sum of all floating-point elements it returns."""
    loss = loss_in_output(output)
    return scalar_loss(output, None) if loss is None else loss
