"""What was kept of an earlier state, and changes with the training, because it is no copy.

Asked at https://github.com/zhangj111/astnn/issues/8
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch
from torch import nn

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.objects import fields_of, is_own_object, named_parameters
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names

#: Words of names that are meant to keep an earlier state.
EARLIER = re.compile(
    r"(?:^|_)(best|old|before|prev|previous|initial|init|backup|saved|snapshot|original|orig|"
    r"copy|earlier)(?:_|$|\d)"
)
#: Words of names of a network that is meant to be another one than the network that is trained.
SECOND = re.compile(r"(?:^|_)(target|teacher|ema|frozen|reference|ref)(?:_|$|\d)")
#: Methods of a module that return the module itself.
RETURNING_SELF = frozenset(["to", "cpu", "cuda", "eval", "train", "float", "double", "half"])
#: Methods that give the same memory under another object.
SAME_MEMORY = frozenset(["detach", "view", "reshape", "flatten", "squeeze"])


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Names that say "before", and mean the same memory as what is trained."""
    if analysis.error is not None:
        return
    draft = analysis.as_typed
    for assignment in draft.nodes(ast.Assign):
        ran = analysis.recorder.run_counts.get(assignment.lineno)
        for name, value in _pairs(assignment) if ran else ():
            kept = analysis.variables.get(name)
            if EARLIER.search(name.lower()) or _is_loaded(draft, name):
                yield from _alive(name, value, kept, assignment.lineno, analysis)
        if ran and _is_call(assignment.value, "state_dict"):
            yield from _kept_in_attribute(assignment, analysis)
    yield from _same_networks(analysis)


def _kept_in_attribute(assignment: ast.Assign, analysis: RunAnalysis) -> Iterator[Answer]:
    """`self.best_state = model.state_dict()` where the loss is better: not to be saved at once."""
    draft, target = analysis.as_typed, assignment.targets[0]
    is_conditional = any(isinstance(node, ast.If) for node in draft.path_to(assignment))
    if not isinstance(target, ast.Attribute) or not is_conditional:
        return
    for owner in analysis.variables.values():
        if is_own_object(owner) and target.attr in fields_of(owner):
            kept = fields_of(owner)[target.attr]
            name, line = draft.of(target), assignment.lineno
            yield from _alive(name, assignment.value, kept, line, analysis)
            return


def _same_networks(analysis: RunAnalysis) -> Iterator[Answer]:
    """A target network that is the trained network itself, under another name."""
    trained, bindings = _trained(analysis), analysis.bindings
    for binding in list(bindings):
        module = binding.value
        if not isinstance(module, nn.Module) or not SECOND.search(binding.name.lower()):
            continue
        draft = analysis.draft()
        statement = draft.statement(binding.line)
        if not isinstance(statement, ast.Assign) or bindings.successor(binding):
            continue
        name, value = draft.of(statement.targets[0]), statement.value
        is_given = name.rpartition(".")[2] == binding.name and _is_same_module(value)
        if not is_given:
            continue
        names = [b for b in bindings.names_of(module) if bindings.successor(b) is None]
        others = [bindings.path(b) for b in names if not SECOND.search(b.name.lower())]
        is_trained = any(_address(p) in trained for _, p in named_parameters(module))
        if not (others and is_trained and _changed_later(binding.line, analysis)):
            continue
        text, returned = draft.of(value), ""
        if isinstance(value, ast.Call):
            returned = f" {called_name(value)}() returns the network itself."
        _make_copy(draft, value)
        yield Answer(
            key="state.alive",
            title=f"Is {name} another network than {others[-1]}?",
            text=f"No: line {binding.line} gives the same network another name.{returned} "
            f"{join_names([name, *others])} are one object, so every step changes {name} too.",
            cure=f"Make a copy: {name} = copy.deepcopy({text}).",
            line=binding.line,
            names=(name,),
            glossary="optimizer",
            fix=draft.changed(),
            symptom=Symptom("remark", (name,)),
        )
        return


def _is_same_module(value: ast.expr) -> bool:
    """`net`, `self.net`, `net.to(device)`"""
    if isinstance(value, ast.Call) and called_name(value) in RETURNING_SELF:
        value = getattr(value.func, "value", value)
    return isinstance(value, ast.Name | ast.Attribute)


def _make_copy(draft: Draft, value: ast.expr) -> None:
    draft.replace(value, f"copy.deepcopy({draft.of(value)})")
    if not _imports_copy(draft):
        draft.insert_before(draft.tree.body[0], "import copy")


def _pairs(assignment: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """The names of an assignment with what each gets."""
    for target in assignment.targets:
        if isinstance(target, ast.Name):
            yield target.id, assignment.value
        elif isinstance(target, ast.Tuple) and isinstance(assignment.value, ast.Tuple):
            pairs = zip(target.elts, assignment.value.elts, strict=False)
            yield from ((t.id, v) for t, v in pairs if isinstance(t, ast.Name))


def _is_loaded(draft: Draft, name: str) -> bool:
    """Whether a state with this name is loaded, and nothing is written into it."""
    is_loaded = any(
        called_name(call) == "load_state_dict"
        and any(isinstance(a, ast.Name) and a.id == name for a in call.args)
        for call in draft.nodes(ast.Call)
    )
    parts = [node.value for node in draft.nodes(ast.Subscript)]
    parts += [node.value for node in draft.nodes(ast.Attribute)]
    return is_loaded and not any(isinstance(p, ast.Name) and p.id == name for p in parts)


def _alive(
    name: str, value: ast.expr, kept: object, line: int, analysis: RunAnalysis
) -> Iterator[Answer]:
    trained = _trained(analysis)
    draft = analysis.draft()
    text = draft.of(value)
    if isinstance(kept, nn.Module) and isinstance(value, ast.Name):
        parameters = [p for _, p in named_parameters(kept)]
        if value.id == name or analysis.variables.get(value.id) is not kept:
            return
        if not any(_address(p) in trained for p in parameters):
            return
        same, new = f"{name} and {value.id} are one object", f"copy.deepcopy({text})"
    elif isinstance(kept, dict) and _is_call(value, "state_dict"):
        items = [v for v in list(kept.values())[:100] if isinstance(v, torch.Tensor)]
        if not any(_address(v) in trained for v in items):
            return
        same = "its tensors share their memory with the parameters"
        new = f"copy.deepcopy({text})"
    elif isinstance(kept, torch.Tensor) and _same_memory(value):
        if _address(kept) not in trained:
            return
        base = re.split(rf"\.(?:data|{'|'.join(SAME_MEMORY)})\b", text)[0]
        same = f"{name} shares its memory with {base}"
        new = f"{text}.clone()" if not isinstance(value, ast.Name) else f"{text}.detach().clone()"
    elif isinstance(kept, list) and _is_list_of_tensors(value):
        tensors = [v for v in kept[:100] if isinstance(v, torch.Tensor)]
        if not any(_address(v) in trained for v in tensors):
            return
        same = "its items are the parameters themselves"
        inner = draft.of(value.args[0]) if isinstance(value, ast.Call) else ""
        new = f"[p.detach().clone() for p in {inner}]"
        if isinstance(value, ast.ListComp):
            new = text.replace(draft.of(value.elt), f"{draft.of(value.elt)}.detach().clone()", 1)
    else:
        return
    if not _changed_later(line, analysis):
        return
    found = next(
        node
        for node in draft.nodes(ast.expr, line)
        if draft.of(node) == text and type(node) is type(value)
    )
    if new.startswith("copy."):
        _make_copy(draft, found)
    else:
        draft.replace(found, new)
    yield Answer(
        key="state.alive",
        title=f"Does {name} keep the values of line {line}?",
        text=f"No, it is no copy: {same}. So every step changes {name} too.",
        cure=f"Make a copy: {name} = {new}.",
        line=line,
        names=(name,),
        glossary="data",
        fix=draft.changed(),
        symptom=Symptom("value", (name,)),
    )


def _trained(analysis: RunAnalysis) -> set[int]:
    """The addresses of the parameters that an optimizer has changed."""
    uses = analysis.recorder.events.optimizers.values()
    return {_address(p) for use in uses if use.steps for p in use.parameters()} - {0}


def _address(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


def _changed_later(line: int, analysis: RunAnalysis) -> bool:
    """Whether an optimizer stepped below this line, or in a loop around it."""
    draft = analysis.as_typed
    events = analysis.recorder.events.all_events()
    steps = [event.line or 0 for event in events if event.kind == "step"]
    loops = [n for kind in (ast.For, ast.While) for n in draft.nodes(kind, line)]
    ends = [line, *(loop.end_lineno or 0 for loop in loops)]
    calls = {line for step in steps for line in _calls_of_function(draft, step)}
    return any(place > line or (loops and place <= max(ends)) for place in [*steps, *calls])


def _calls_of_function(draft: Draft, line: int) -> Iterator[int]:
    """The lines that call the function around a line."""
    names = {function.name for function in draft.nodes(ast.FunctionDef, line)}
    return (call.lineno for call in draft.nodes(ast.Call) if called_name(call) in names)


def _same_memory(value: ast.expr) -> bool:
    """`w`, `w.data`, `w.detach()`, `net.weight.data.view(-1)`."""
    while True:
        if isinstance(value, ast.Call):
            if called_name(value) not in SAME_MEMORY:
                return False
            value = value.func
        elif isinstance(value, ast.Attribute):
            value = value.value
        else:
            return isinstance(value, ast.Name | ast.Subscript)


def _is_list_of_tensors(value: ast.expr) -> bool:
    if isinstance(value, ast.ListComp):
        return _same_memory(value.elt)
    return _is_call(value, "list") and any(
        _is_call(a, "parameters") for a in getattr(value, "args", [])
    )


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and called_name(node) == name


def _imports_copy(draft: Draft) -> bool:
    return any(alias.name == "copy" for node in draft.nodes(ast.Import) for alias in node.names)
