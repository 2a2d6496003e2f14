"""Changes in place that torch refuses: of a leaf, of a part of one, and of one of several views.

Asked at https://github.com/pytorch/pytorch/issues/727
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.cures import first_of
from explorer.trace.explain.loops import block_of
from explorer.trace.explain.out_of_place import rewrites
from explorer.trace.explain.overwritten import shown
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.run_log import FailedOperation
from explorer.trace.records import Answer, Symptom

LEAF = "a leaf Variable that requires grad is being used"
VIEW = "a view of a leaf Variable that requires grad"
SEVERAL = "function that returns multiple views"
HOOKED = "Output 0 of BackwardHookFunction"
#: Methods that set values instead of computing with them.
SETTERS = ("fill_", "zero_", "copy_", "normal_", "uniform_", "clamp_", "mul_", "div_", "sub_")


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """The error, with a cure for an update of the tensor or for a computation with it."""
    failed = analysis.recorder.failed_operation
    if failed is None or not failed.tensors:
        return
    if analysis.error_contains(LEAF) or analysis.error_contains(VIEW):
        yield from _on_leaf(analysis, failed)
    elif analysis.error_contains(SEVERAL):
        yield from _on_view(analysis, failed)
    elif analysis.error_contains(HOOKED):
        yield from _behind_hook(analysis, failed)


# -- a leaf ---------------------------------------------------------------------------------------


def _on_leaf(analysis: RunAnalysis, failed: FailedOperation) -> Iterator[Answer]:
    target, line = failed.tensors[0], failed.line
    is_view = analysis.error_contains(VIEW)
    leaf = target._base if is_view and target._base is not None else target
    name = analysis.name_of(leaf)
    changed = f"a part of {name}" if is_view else name
    text = (
        f"Line {line} changes {changed} in place ({shown(failed, analysis)}). {name} is a leaf "
        "that requires grad: its gradient belongs to the value it has in the computation, so "
        "autograd does not let that value be overwritten."
    )
    answers = []
    for cure, fix in _leaf_cures(analysis, line, name):
        answers.append(
            Answer(
                key="inplace.view" if is_view else "inplace.leaf",
                title=f"Why can {changed} not be changed in place?",
                text=text,
                cure=cure,
                line=line,
                names=(name,),
                glossary="in-place",
                fix=fix,
                symptom=Symptom("error", (name,)),
            )
        )
    last = replace(answers[-1], fix=None, symptom=None)
    yield first_of([*answers, last])


def _leaf_cures(analysis: RunAnalysis, line: int, name: str) -> Iterator[tuple[str, str | None]]:
    draft = analysis.draft()
    statement = draft.statement(line)
    update = f"Put it inside `with torch.no_grad():`, as it sets the value of {name}."
    compute = f"Give the result a new name, which leaves {name} as it is."
    if statement is None:
        yield f"To update {name}, put the change inside `with torch.no_grad():`.", None
        return
    if _is_update(draft, statement, name):
        yield update, without_grad(draft, statement)
        return
    renamed = _under_new_name(draft, statement, name)
    if renamed:
        yield f"{compute} Here it is {renamed}.", draft.changed()
    for written, fix in rewrites(analysis, line):
        yield f"Write {written}. To set the value of {name} instead: `with torch.no_grad():`.", fix
    draft = analysis.draft()
    again = draft.statement(line)
    yield update, without_grad(draft, again) if again is not None else None


def _is_update(draft: Draft, statement: ast.stmt, name: str) -> bool:
    """Whether a statement sets the value of a leaf: by its gradient, by a constant, or as that of
    a parameter of a layer."""
    text = draft.of(statement)
    if ".grad" in text or "." in name:
        return True
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Constant | ast.UnaryOp)
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "attr", "") in SETTERS


def without_grad(draft: Draft, statement: ast.stmt) -> str | None:
    """The program with a statement, and those after it that also change in place, in no_grad; or
    the whole loop, if it does nothing else."""
    block = block_of(draft, statement)
    group = [statement]
    for following in block[block.index(statement) + 1 :]:
        if not _changes_in_place(following):
            break
        group.append(following)
    around = draft.path_to(statement)
    if group == block and around and isinstance(around[-1], ast.For):
        group = [around[-1]]
    draft.put_under(group, "with torch.no_grad():")
    return draft.changed()


def _changes_in_place(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AugAssign):
        return True
    if isinstance(statement, ast.Assign):
        return isinstance(statement.targets[0], ast.Subscript)
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and str(getattr(call.func, "attr", "")).endswith("_")


def _under_new_name(draft: Draft, statement: ast.stmt, name: str) -> str:
    """`w += 1` as `w_new = w + 1`, and that name wherever the program goes on with it."""
    target: ast.expr | None = None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        target = statement.targets[0].value
    if not isinstance(target, ast.Name) or target.id != name or draft.path_to(statement):
        return ""
    new, used = f"{name}_new", {node.id for node in draft.nodes(ast.Name)}
    if new in used:
        return ""
    if isinstance(statement, ast.AugAssign):
        sign = draft.of(statement)[len(name) :].split("=")[0].strip()
        draft.replace(statement, f"{new} = {name} {sign} {_operand(draft, statement.value)}")
    else:
        draft.insert_before(statement, f"{new} = {name}.clone()")
        draft.replace(target, new)
    kept = {
        id(node.value) for node in draft.nodes(ast.Attribute) if node.attr in ("grad", "is_leaf")
    }
    for node in draft.nodes(ast.Name):
        is_later = node.lineno > (statement.end_lineno or statement.lineno)
        if node.id == name and is_later and id(node) not in kept:
            draft.replace(node, new)
    return new


def _operand(draft: Draft, value: ast.expr) -> str:
    text = draft.of(value)
    loose = ast.BinOp | ast.IfExp | ast.Lambda | ast.Compare | ast.BoolOp
    return f"({text})" if isinstance(value, loose) else text


# -- one of several views -------------------------------------------------------------------------


def _on_view(analysis: RunAnalysis, failed: FailedOperation) -> Iterator[Answer]:
    target, line = failed.tensors[0], failed.line
    name = analysis.name_of(target)
    base = analysis.name_of(target._base) if target._base is not None else "the tensor"
    maker = "split" if analysis.error_contains("of Split") else "unbind"
    how = "A loop over a tensor, and `a, b = t`, call unbind." if maker == "unbind" else ""
    text = (
        f"{name} is a view of {base}, one of several that {maker} made at once. {how} Autograd "
        f"cannot follow a change of one of them in place ({shown(failed, analysis)} on line "
        f"{line})."
    ).replace("  ", " ")
    answers = [
        Answer(
            key="inplace.views",
            title=f"Why can {name} not be changed in place?",
            text=text,
            cure=f"Write {written}: a new tensor, which leaves {base} as it is. To change {base} "
            f"itself, use an index, as in {base}[0].",
            line=line,
            names=(name,),
            glossary="in-place",
            fix=fix,
            symptom=Symptom("error"),
        )
        for written, fix in rewrites(analysis, line)
    ]
    if answers:
        yield first_of(answers)


def _behind_hook(analysis: RunAnalysis, failed: FailedOperation) -> Iterator[Answer]:
    """A layer that changes its input in place, and has a full backward hook."""
    draft = analysis.as_typed
    calls = [c for c in draft.nodes(ast.Call) if called_name(c) == "register_full_backward_hook"]
    line = f" (line {calls[0].lineno})" if calls else ""
    for written, fix in rewrites(analysis, failed.line):
        yield Answer(
            key="inplace.views",
            title="Why can a layer with a backward hook not work in place?",
            text=f"register_full_backward_hook{line} lets the hook see the gradient of the layer's "
            "input. For that, torch gives the layer a view of its input, and a view made in this "
            f"way must not be changed in place ({shown(failed, analysis)} on line {failed.line}).",
            cure=f"Write {written}.",
            line=failed.line,
            names=(),
            glossary="in-place",
            fix=fix,
            symptom=Symptom("error"),
        )
        return
