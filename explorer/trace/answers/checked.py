"""What the numerical check found, as answers; the check itself runs on demand only."""

from __future__ import annotations

from explorer.trace.check import Check
from explorer.trace.records import Answer
from explorer.trace.text import number


def from_check(check: Check) -> tuple[Answer, ...]:
    """One answer for each leaf whose gradient differs from the measured slope."""
    answers = []
    for leaf in check.leaves:
        if leaf.verdict != "differs" or leaf.worst is None:
            continue
        worst = leaf.worst
        note = f" {leaf.note}" if leaf.note else ""
        place = f"[{', '.join(map(str, worst.index))}]" if worst.index else ""
        answers.append(
            Answer(
                "check.differs",
                f"Is the gradient of {leaf.name} right?",
                f"It is not the slope of the result. backward gives {number(worst.gradient)} for "
                f"{leaf.name}{place}; moving it a little changes the result by "
                f"{number(worst.numeric)} per unit.{note}",
                "If that is not meant, work out the derivative of forward again, and return it "
                "times the gradient that arrives.",
                leaf.line,
                (leaf.name,),
                "check",
            )
        )
    return tuple(answers)
