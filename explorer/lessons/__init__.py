"""Lessons: text files whose steps run on the real pages, and exercises checked by a trace.

A lesson is a TOML file beside this one (`lesson`); what counts as done is a table of conditions
(`conditions`); what a wrong number would be right for is worked out of the run (`exercises`).
"""

from explorer.lessons.conditions import Seen, is_done
from explorer.lessons.exercises import Exercise, factor_exercise, gradient_exercise, parse_answer
from explorer.lessons.lesson import (
    Lesson,
    LessonError,
    Onward,
    Step,
    find_lesson,
    lessons,
    pack,
    parse_lesson,
    to_toml,
    unpack,
)

__all__ = [
    "Exercise",
    "Lesson",
    "LessonError",
    "Onward",
    "Seen",
    "Step",
    "factor_exercise",
    "find_lesson",
    "gradient_exercise",
    "is_done",
    "lessons",
    "pack",
    "parse_answer",
    "parse_lesson",
    "to_toml",
    "unpack",
]
