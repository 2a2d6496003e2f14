"""All questions, by topic: a file of `programs` each.

Those held out were set aside while the explanations were written; nobody else saw them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.programs import programs_with_headers
from tests.questions.question import Question

_FOLDER = Path(__file__).with_name("programs")


def _topics(folder: Path) -> dict[str, tuple[Question, ...]]:
    return {
        path.stem: tuple(
            Question(url=url, program=program, **{k: _fixed(v) for k, v in expected.items()})
            for url, expected, program in programs_with_headers(path)
        )
        for path in sorted(folder.glob("*.py"))
    }


def _fixed(value: Any) -> Any:
    """Lists as tuples."""
    return tuple(map(_fixed, value)) if isinstance(value, list) else value


TOPICS = _topics(_FOLDER)
HELD_OUT = _topics(_FOLDER / "held_out")

QUESTIONS = tuple(question for topic in TOPICS.values() for question in topic)
SET_ASIDE = tuple(question for topic in HELD_OUT.values() for question in topic)
