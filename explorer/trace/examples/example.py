"""What an example is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A program to learn from. `question` is answered by running it, `answer` in words.

    `explains` is the key of the `Answer` it calls for; `fails` says that it ends with an error,
    which is then what the question is about.
    """

    key: str
    title: str
    group: str
    question: str
    answer: str
    source: str
    explains: str = ""
    fails: bool = False
