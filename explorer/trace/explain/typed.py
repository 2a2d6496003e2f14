"""What was typed is Python, but perhaps not what was meant: plain numbers, and `^`."""

from __future__ import annotations

from collections.abc import Iterator

from explorer.program import without_prompts
from explorer.program.completion.fixes import integer_xor, numbers_to_leaves
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Only for a program that ran and has no tensors."""
    if analysis.error is not None or analysis.records:
        return
    source = without_prompts(analysis.source)
    power = integer_xor(source)
    if power is not None:
        yield Answer(
            key="typed.xor",
            title=f"Why is {power.text} not a power?",
            text="In Python, ^ is exclusive or, which compares the bits of two whole numbers. "
            "A power is written **.",
            cure=f"Write {power.text.replace('^', '**')}.",
            line=power.line,
            fix=power.fix,
            symptom=Symptom("value"),
        )
        return
    leaves = numbers_to_leaves(source)
    if leaves is not None:
        names, several = join_names(leaves.names), len(leaves.names) > 1
        yield Answer(
            key="typed.number",
            title="Why is there no gradient?",
            text=f"{names} {'are plain numbers' if several else 'is a plain number'}. "
            "Autograd records only what is computed from tensors that require grad.",
            cure=f"Make {'each of them' if several else 'it'} a leaf: "
            "torch.tensor(…, requires_grad=True).",
            line=leaves.line,
            names=leaves.names,
            glossary="leaf",
            fix=leaves.fix,
            symptom=Symptom("none", tuple(leaves.names)),
        )
