"""A question that somebody asked in public, and what a good explanation of it must say."""

from __future__ import annotations

from dataclasses import dataclass

#: The key that stands for the error's own sentence, where that is the explanation.
ERROR = "error"


@dataclass(frozen=True)
class Question:
    """One question, a program of our own with the same cause, and what explains it.

    `url` is the thread, `asked` and `accepted` its question and answer in our words. `program` runs
    in plain PyTorch; `shows` is a part of what it prints, warns or raises there, if anything.
    `answers` are the keys of the explanations that are right, any of them; `also` of others that
    are true too. `says` are whole words that a right explanation has, regardless of case; of a
    tuple, any one, and "add*" stands for all words that begin so. `never` are false claims.
    """

    url: str
    asked: str
    program: str
    accepted: str
    answers: tuple[str, ...]
    says: tuple[str | tuple[str, ...], ...]
    shows: str = ""
    also: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The end of the address: the repository and number, or the title of the thread."""
        *_, repository, kind, number = self.url.removesuffix("/").split("/")
        if kind in ("issues", "pull"):
            return f"{repository}#{number}"
        return kind[:40]
