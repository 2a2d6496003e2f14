"""Says by mechanism whether a run explains a question: answered, partly, not, or wrong."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch

import explorer
from explorer.trace.records import Answer
from tests.questions.question import ERROR, Question

#: What an error says for which the app has no sentence of its own.
UNEXPLAINED = "This line failed."
#: How many answers a reader sees without opening anything.
OPEN = 3
#: From good to bad.
VERDICTS = ("answered", "partly", "not", "wrong")


@dataclass(frozen=True)
class Verdict:
    """What a run made of a question, and what is missing."""

    question: Question
    verdict: str
    missing: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a program does in plain Python: what it prints and warns, and the error it ends with."""

    printed: str
    error: str = ""

    @property
    def text(self) -> str:
        return f"{self.printed}\n{self.error}"


def run_plainly(program: str) -> Outcome:
    """Run a program without the app. Only programs of this package and changes of them are run."""
    printed = io.StringIO()

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        printed.write(f"{message}\n")

    state: dict[str, Any] = {"__name__": "__main__"}
    torch.manual_seed(0)
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        try:
            exec(compile(program, "<question>", "exec"), state)
        except Exception as error:
            return Outcome(printed.getvalue(), f"{type(error).__name__}: {error}")
    return Outcome(printed.getvalue())


def judge(question: Question) -> Verdict:
    """Run the program with the app and hold what is shown against what explains it."""
    # However slow the machine is: the programs are short.
    trace = explorer.prove(replace(explorer.run(question.program), seconds=0.0))
    shown = trace.answers[:OPEN]
    error = trace.error
    for offer in (*shown, *([error] if error else [])):
        if offer.fix is not None and (reason := refuted(question, offer.fix)):
            name = offer.key if isinstance(offer, Answer) else ERROR
            return Verdict(question, "wrong", f"the fix of {name}: {reason}")
    false = [words for words in question.never if any(words in a.text for a in shown)]
    if false:
        return Verdict(question, "wrong", f"says {', '.join(map(_listed, false))}")
    untried = [a.key for a in shown if a.fix is not None and not a.tried]
    if untried:
        return Verdict(question, "wrong", f"the fix of {', '.join(untried)} was not tried")
    stray = [a.key for a in shown if a.key not in (*question.answers, *question.also)]
    if stray:
        return Verdict(question, "wrong", f"shows {', '.join(stray)}")
    right = [a for a in shown if a.key in question.answers]
    explained = error is not None and error.message != UNEXPLAINED
    if not right and not (explained and ERROR in question.answers):
        return Verdict(question, "not", f"expected {' or '.join(question.answers)}")
    said = " ".join(f"{a.title} {a.text} {a.cure} {a.tried} line {a.line}" for a in right)
    if error is not None:
        said += f" {error.message} {error.hint} line {error.line}"
    absent = [words for words in question.says if not _says(said.lower(), words)]
    if absent:
        return Verdict(question, "partly", f"lacks {', '.join(map(_listed, absent))}")
    return Verdict(question, "answered")


def refuted(question: Question, fix: str) -> str:
    """Why a changed program is no cure, as plain Python sees it; "" if it may be one."""
    before, after = run_plainly(question.program), run_plainly(fix)
    if after.error and (not before.error or _kind(after.error) == _kind(before.error)):
        return f"the changed program raises {after.error.splitlines()[0][:80]}"
    if question.shows and not before.error and after == before:
        return "the changed program prints the same"
    return ""


def _kind(error: str) -> str:
    """An error without its numbers."""
    return "".join(c for c in error.splitlines()[0] if not c.isdigit())


def _says(said: str, words: str | tuple[str, ...]) -> bool:
    alternatives = (words,) if isinstance(words, str) else words
    return any(_pattern(word.lower()).search(said) for word in alternatives)


@functools.cache
def _pattern(word: str) -> re.Pattern[str]:
    """A whole word, perhaps in the plural; any that begins with it if it ends with an asterisk."""
    start = r"(?<!\w)" if word[0].isalnum() else ""
    if word.endswith("*"):
        return re.compile(start + re.escape(word[:-1]))
    end = r"s?(?!\w)" if word[-1].isalnum() else ""
    return re.compile(start + re.escape(word) + end)


def _listed(words: str | tuple[str, ...]) -> str:
    return repr(words) if isinstance(words, str) else " / ".join(map(repr, words))
