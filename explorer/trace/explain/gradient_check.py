"""The gradient check's findings as answers. The check itself runs only when a reader asks for it.

A module of its own, because the package is imported by what the check imports.

Asked at https://github.com/pytorch/tutorials/issues/216
"""

from __future__ import annotations

from explorer.trace.check import Check
from explorer.trace.records import Answer
from explorer.trace.text import number


def explain_check(check: Check) -> tuple[Answer, ...]:
    """One answer for each leaf whose gradient differs from the measured slope."""
    answers = []
    for leaf in check.leaves:
        if leaf.verdict != "differs" or leaf.worst is None:
            continue
        worst = leaf.worst
        note = f" {leaf.note}" if leaf.note else ""
        index = f"[{', '.join(map(str, worst.index))}]" if worst.index else ""
        answers.append(
            Answer(
                key="check.differs",
                title=f"Is the gradient of {leaf.name} right?",
                text=f"No, it differs from the measured slope of the result. backward gives "
                f"{number(worst.gradient)} for {leaf.name}{index}, but a small change of "
                f"{leaf.name}{index} changes the result by {number(worst.numeric)} per unit.{note}",
                cure="If you did not intend this, work out the derivative of forward again. "
                "backward "
                "must return that derivative times the incoming gradient.",
                line=leaf.line,
                names=(leaf.name,),
                glossary="check",
            )
        )
    return tuple(answers)
