"""All programs that the tests know, by name: those whose behaviour is kept (tests/behaviour)."""

from __future__ import annotations

from explorer.trace.examples import EXAMPLES
from tests.healthy.corpus import PROGRAMS as HEALTHY
from tests.program.everyday import SCRIPTS
from tests.program.forms import FORMS
from tests.program.modern_training import PROGRAMS as MODERN
from tests.program.programs import PROGRAMS as TUTORIALS
from tests.questions.corpus import QUESTIONS, SET_ASIDE
from tests.trace.programs import PROGRAMS as OPERATIONS

GROUPS: dict[str, dict[str, str]] = {
    "example": {example.key: example.source for example in EXAMPLES},
    "question": {question.name: question.program for question in (*QUESTIONS, *SET_ASIDE)},
    "healthy": HEALTHY,
    "tutorial": {**TUTORIALS, **MODERN, **SCRIPTS, **FORMS},
    "operation": OPERATIONS,
}

#: Of these, what they say depends on when they run.
_CLOCKS = {"tutorial: time"}

PROGRAMS: dict[str, str] = {
    f"{group}: {name}": source
    for group, programs in GROUPS.items()
    for name, source in programs.items()
    if f"{group}: {name}" not in _CLOCKS
}
