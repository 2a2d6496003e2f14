"""What is not in the list of parameters that an optimizer was given, and what is in it in vain.

Asked at https://github.com/pytorch/pytorch/issues/666
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import nn

from explorer.trace.explain.cures import certain
from explorer.trace.explain.missing_leaves import Explained, Missing, names, owners, them, title
from explorer.trace.explain.repairs import Repair
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.events import OptimizerUse
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names


def instead(missing: list[Missing], analysis: RunAnalysis) -> Iterator[Explained]:
    """The optimizer was made before the recording, and holds others that no module has."""
    used = {id(p) for module in analysis.modules() for p in module.parameters(recurse=False)}
    found = [m for m in missing if id(m.leaf) in used]
    for use in analysis.recorder.events.optimizers.values():
        lost = [p for p in use.parameters() if id(p) not in used and id(p) not in analysis.reached]
        if not (found and lost) or analysis.made_here(use):
            continue
        shapes = join_names(dict.fromkeys(" × ".join(map(str, p.shape)) or "()" for p in lost))
        tensors = f"{len(lost)} tensor{'s' * (len(lost) > 1)}"
        text = (
            f"{join_names(names(found))} had a gradient, but no optimizer holds {them(found)}. "
            f"{use.name}, which stepped on line {use.stepped}, holds {tensors} that no "
            f"module used here has: of shape {shapes}."
        )
        answer = Answer(
            key="optimizer.replaced",
            title=title(found),
            text=text,
            cure="If a layer was replaced after the optimizer was made, make the optimizer after "
            "that.",
            line=use.stepped,
            names=names(found),
            glossary="optimizer",
            symptom=Symptom("still", names(found)),
        )
        yield found, answer
        return


def not_given(missing: list[Missing], analysis: RunAnalysis) -> Iterator[Explained]:
    """The list of parameters does not have them."""
    uses = list(analysis.recorder.events.optimizers.values())
    in_modules = any(isinstance(p, nn.Parameter) for use in uses for p, _ in use.given)
    found = [
        m
        for m in missing
        if in_modules == isinstance(m.leaf, nn.Parameter)  # others may be data on purpose
        and not _is_part(m, analysis)
        and not analysis.recorder.history.cuts_of(m.leaf)  # made anew to hide a cut
    ]
    if not found:
        return
    use = next((u for u in uses if not _reached(u, analysis)), found[0].use)
    if any(analysis.cuts_off(cut, p) for cut in analysis.cuts for p in use.parameters()):
        return  # what it holds was meant to get the gradient: that is another question
    found = [replace(m, use=use) for m in found]
    roots = list(dict.fromkeys(_root(m.name, m.leaf) for m in found))
    fixes = [_give(analysis, use, roots, as_group) for as_group in (False, True)]
    unused = "" if _reached(use, analysis) else _unused(use, analysis)
    why = f"line {use.line} did not give {them(found)} to {use.name}"
    if not analysis.made_here(use):
        why = f"no optimizer holds {them(found)}: {use.name} stepped on line {use.stepped}"
    answer = Answer(
        key="optimizer.not-held",
        title=title(found),
        text=f"{join_names(names(found))} had a gradient, but {why}.{unused} step() changes only "
        "what the optimizer was created with.",
        cure=f"Add {join_names(roots)} to the parameters of the optimizer.",
        line=use.line,
        names=names(found),
        glossary="optimizer",
        symptom=Symptom("still", names(found)),
    )
    yield found, certain(answer, *fixes)


def _unused(use: OptimizerUse, analysis: RunAnalysis) -> str:
    root = analysis.bindings.path_of(use.given[0][0]).partition(".")[0] if use.given else ""
    return f" It was given {root}, which no backward pass has reached." if root else ""


def _reached(use: OptimizerUse, analysis: RunAnalysis) -> bool:
    return any(id(p) in analysis.reached for p in use.parameters())


def _root(name: str, leaf: torch.Tensor) -> str:
    """What a reader would give to an optimizer: the variable of a tensor, or of its model."""
    return name.partition(".")[0] if isinstance(leaf, nn.Parameter) else name


def _is_part(m: Missing, analysis: RunAnalysis) -> bool:
    """Whether the optimizers were given other parts of the same model on purpose."""
    root = _root(m.name, m.leaf)
    if root == m.name:
        return False
    uses = analysis.recorder.events.optimizers.values()
    return any(
        analysis.bindings.path_of(p).partition(".")[0] == root for use in uses for p, _ in use.given
    )


def _give(analysis: RunAnalysis, use: OptimizerUse, roots: list[str], as_group: bool) -> str | None:
    """The program in which the optimizer gets these too, as tensors or as a group."""
    draft = analysis.draft()
    call = draft.call(use.line, use.name)
    if call is None:
        return None
    given = call.args[0] if call.args else next((k.value for k in call.keywords), None)
    if given is None:
        return None
    is_tensor = [isinstance(analysis.variables.get(root), torch.Tensor) for root in roots]
    if not _reached(use, analysis) and len(roots) == 1 and not is_tensor[0]:
        draft.replace(given, f"{roots[0]}.parameters()")
        return draft.changed()
    if as_group:
        new = [
            f'{{"params": {f"[{r}]" if t else f"{r}.parameters()"}}}'
            for r, t in zip(roots, is_tensor, strict=True)
        ]
    else:
        new = [r if t else f"*{r}.parameters()" for r, t in zip(roots, is_tensor, strict=True)]
    if isinstance(given, ast.List):
        items = [draft.of(item) for item in given.elts]
    else:
        items = [f"*{draft.of(given)}"]
    draft.replace(given, f"[{', '.join([*items, *new])}]")
    return draft.changed()


# -- held, but never reached ------------------------------------------------------------------


def skipped(analysis: RunAnalysis) -> Iterator[Answer]:
    """Parameters that no backward pass has reached, although others of the optimizer were."""
    for use in analysis.recorder.events.optimizers.values():
        if not use.skipped or not _reached(use, analysis):
            continue
        never = [
            p
            for p in use.parameters()
            if p.requires_grad
            and p.grad is None
            and id(p) not in analysis.reached
            and id(p) not in analysis.recorder.gradients.updated
            and _is_current(p, analysis)
            and not analysis.recorder.history.cuts_of(p)
        ]
        names = tuple(dict.fromkeys(analysis.name_of(p) for p in never))
        line = next((use.skipped[n] for n in names if n in use.skipped), None)
        if not names or line is None:
            continue
        one = len(names) == 1
        cuts = [cut for cut in analysis.cuts if any(analysis.cuts_off(cut, p) for p in never)]
        why = f"{join_names(names)} {'is' if one else 'are'} not part of the loss"
        cure = (
            f"Use {'it' if one else 'them'} in the loss, or do not give "
            f"{'it' if one else 'them'} to the optimizer."
        )
        if cuts:
            why = f"The path to {join_names(names)} was cut {analysis.where(cuts[0])}"
            cure = analysis.cure_of(cuts[0])
        yield certain(
            Answer(
                key="optimizer.skipped",
                title=f"Why did the step on line {line} not change {join_names(names)}?",
                text=f"{why}. No backward pass reached {'it' if one else 'them'}, and .grad is "
                "None. "
                "step() skips such a tensor: it applies neither momentum nor weight decay to it.",
                cure=cure,
                line=line,
                names=names,
                glossary="optimizer",
                symptom=Symptom("still", names),
            ),
            Repair(analysis.draft()).all(cuts),
        )


def _is_current(parameter: torch.Tensor, analysis: RunAnalysis) -> bool:
    """Whether a name of the parameter, and of all that it is in, still means it."""
    bindings = analysis.bindings
    return not any(bindings.successor(b) for b in owners(parameter, analysis) if not b.scope)
