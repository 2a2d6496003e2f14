"""The presses of a run and its start as short texts, which a link can carry, and back.

    ~lr.0.2~r_zfbs_20i200~lr.0.4~zf

One letter is one press (`LETTERS`), `i200` one press of 200 iterations, `_zfbs_20` four presses
twenty times, `~lr.0.4~` a change of settings. Before an `r` stand the settings that the run began
with. A link need not encode any of these characters, and programs that recognise links in a text
leave none of them out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer import limits
from explorer.training.history import Action
from explorer.training.optimizers import optimizer_spec

#: One press of each: its letter in the text.
LETTERS: dict[str, Action] = {
    "z": ("zero_grad", True),
    "Z": ("zero_grad", False),
    "f": ("forward", None),
    "b": ("backward", None),
    "c": ("clip", None),
    "s": ("step", None),
    "a": ("schedule", None),
    "i": ("iteration", True),
    "I": ("iteration", False),
}
_LETTER = {action: letter for letter, action in LETTERS.items()}

#: The longest group of presses that is looked for to write repetitions as one.
_LONGEST = 40

#: What each press did, as `TrainingSession.presses` has it.
Presses = Sequence[Sequence[Action]]

_NAME = r"[A-Za-z][A-Za-z0-9_]{0,60}"
_NUMBER = r"-?\d{1,22}(?:\.\d{1,22})?(?:e-?\d{1,3})?"
_VALUE = rf"(?:{_NUMBER}(?:_{_NUMBER})*_?|{_NAME})"
_SETTINGS = rf"(?:~{_NAME}\.{_VALUE})+~"
_PRESS = rf"(?:{_SETTINGS}|[iI]\d{{0,6}}|[{''.join(sorted(set(LETTERS) - set('iI')))}])"
#: An `r` that does not begin the name of a setting, such as rho.
_START = re.compile(rf"({_SETTINGS})?r(?![A-Za-z0-9_]*\.)", re.ASCII)
_PART = re.compile(rf"_(?P<group>{_PRESS}+)_(?P<times>\d{{1,4}})|(?P<press>{_PRESS})", re.ASCII)
_EACH = re.compile(_PRESS, re.ASCII)


def write_presses(presses: Presses, first: Mapping[str, Any] | None = None) -> str:
    """The presses since a reset as a text. `first` are settings in force at the reset, where a link
    has others. ValueError, with a sentence, where a text cannot hold them all."""
    actions, iterations = _count(presses)
    if actions > limits.MOST_LINK_PRESSES or iterations > limits.MOST_LINK_ITERATIONS:
        raise ValueError("The run is too long to be repeated by a link, press by press.")
    tokens = [token for press in presses for token in _tokens(press)]
    text = f"{_settings(first) if first else ''}r" if first or not tokens else ""
    text += "".join(_groups(tokens))
    if len(text) > limits.LONGEST_WRITTEN_PRESSES:
        raise ValueError("The presses of this run are too many and too different for a link.")
    return text


def read_presses(
    text: str, optimizer: str, hyper: Mapping[str, Any]
) -> tuple[dict[str, Any], list[list[Action]]]:
    """The settings that the run began with, and what each press did. `hyper` are the settings of
    which the text does not say otherwise.

    The text may be anybody's: ValueError, with a sentence, for one that has no meaning, asks for
    more than a reader could press, or for settings that the optimizer does not accept.
    """
    if len(text) > limits.LONGEST_READ_PRESSES:
        raise ValueError(
            f"The list of presses is longer than {limits.LONGEST_READ_PRESSES:,} characters."
        )
    spec = optimizer_spec(optimizer)
    start = _START.match(text)
    first = now = spec.validate({**hyper, **_read_settings(start[1] or "")} if start else hyper)
    presses: list[list[Action]] = []
    for press in _read(text, start.end() if start else 0):
        name, argument = press[0]
        if name == "set":
            own = {key: value for key, value in argument.items() if key != "group"}
            new = spec.validate({**now, **own})
            now = now if "group" in argument else new
            press = [("set", {key: new.get(key, value) for key, value in argument.items()})]
        presses.append(press)
    return first, presses


def _read(text: str, position: int) -> Iterator[list[Action]]:
    """The presses from a position on. ValueError as soon as they are too many."""
    actions = iterations = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise ValueError(f"The list of presses has no meaning from {text[position:][:10]} on.")
        position = part.end()
        group = [_read_press(token) for token in _EACH.findall(part["group"] or part["press"])]
        times = int(part["times"] or 1)
        more = _count(group)
        actions, iterations = actions + more[0] * times, iterations + more[1] * times
        if actions > limits.MOST_LINK_PRESSES or iterations > limits.MOST_LINK_ITERATIONS:
            raise ValueError(
                f"A link can repeat at most {limits.MOST_LINK_PRESSES:,} presses and "
                f"{limits.MOST_LINK_ITERATIONS:,} iterations."
            )
        for _ in range(times):
            yield from map(list, group)


def _count(presses: Presses) -> tuple[int, int]:
    """The number of presses and that of iterations."""
    return len(presses), sum(len(press) for press in presses if press[0][0] == "iteration")


def _tokens(press: Sequence[Action]) -> Iterator[str]:
    """A press as a text: iterations that are one press as one, others one by one."""
    (name, argument), *_ = press
    if name == "iteration" and len(set(press)) == 1:
        yield _LETTER[name, argument] + (str(len(press)) if len(press) > 1 else "")
        return
    for name, argument in press:
        if name == "set":
            yield _settings(argument)
        elif (name, argument) in _LETTER:
            yield _LETTER[name, argument]
        else:
            raise ValueError(f"A link cannot hold the press {name}.")


def _groups(tokens: list[str]) -> Iterator[str]:
    """The tokens, with what is repeated written once wherever that is shorter."""
    position = 0
    while position < len(tokens):
        saved, best, end = 0, tokens[position], position + 1
        for length in range(1, min(_LONGEST, (len(tokens) - position) // 2) + 1):
            last = position + length
            while last < len(tokens) and tokens[last] == tokens[last - length]:
                last += 1
            times = (last - position) // length
            if times > 1:
                text = "".join(tokens[position : position + length])
                short = f"_{text}_{times}"
                if len(text) * times - len(short) > saved:
                    saved, best, end = (
                        len(text) * times - len(short),
                        short,
                        position + length * times,
                    )
        yield best
        position = end


def _read_press(token: str) -> list[Action]:
    if token.startswith("~"):
        return [("set", _read_settings(token))]
    count = int(token[1:] or 1)
    if not 1 <= count <= limits.MOST_LINK_ITERATIONS:
        raise ValueError(f"A press makes from 1 to {limits.MOST_LINK_ITERATIONS:,} iterations.")
    return [LETTERS[token[0]]] * count


# -- settings ------------------------------------------------------------------------------------


def _settings(settings: Mapping[str, Any]) -> str:
    """`~lr.0.2~momentum.0.9~`"""
    token = "".join(f"~{name}.{_value(value)}" for name, value in settings.items()) + "~"
    if not settings or not re.fullmatch(_SETTINGS, token, re.ASCII):
        raise ValueError(f"A link cannot hold the settings {', '.join(settings)}.")
    return token


def _value(value: Any) -> str:
    """A number in full precision, several joined by `_`, or a word."""
    if isinstance(value, tuple | list):
        return "_".join(map(_value, value)) + ("_" if len(value) == 1 else "")
    if not isinstance(value, int | float):
        word = str(value)
        return word if re.fullmatch(_NAME, word, re.ASCII) else "?"
    if not math.isfinite(value):
        raise ValueError(f"A link cannot hold the number {value}.")
    return repr(value).replace("+", "")


def _read_settings(token: str) -> dict[str, Any]:
    pairs = (pair.split(".", 1) for pair in token.split("~") if pair)
    return {name: _read_value(text) for name, text in pairs}


#: Words that are no texts.
_WORDS = {"True": True, "False": False, "None": None}


def _read_value(text: str) -> Any:
    if text[0].isalpha():
        return _WORDS.get(text, text)
    if "_" in text:
        return tuple(map(_read_number, filter(None, text.split("_"))))
    return _read_number(text)


def _read_number(text: str) -> float:
    number = float(text) if {".", "e"} & set(text) else int(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number.")
    return number


# -- the start -----------------------------------------------------------------------------------


def write_start(start: Mapping[str, np.ndarray]) -> str:
    """The values that parameters begin with, such as `a~1.5~w~0.5_-1.0`, to the last place.
    ValueError, with a sentence, where they are too many for a link."""
    numbers = [number for values in start.values() for number in np.ravel(values)]
    if len(numbers) > limits.MOST_LINK_NUMBERS:
        raise ValueError(
            f"The parameters were moved. They are {len(numbers):,} numbers; a link holds at most "
            f"{limits.MOST_LINK_NUMBERS}."
        )
    if any("~" in name or np.iscomplexobj(values) for name, values in start.items()):
        raise ValueError("A link cannot hold the values of these parameters.")
    return "~".join(
        f"{name}~{'_'.join(map(_shortest, np.ravel(values)))}" for name, values in start.items()
    )


def read_start(text: str) -> dict[str, Tensor]:
    """The reverse of `write_start`: flat tensors by name. The text may be anybody's: ValueError,
    with a sentence, for one that has no meaning."""
    parts = text.split("~") if len(text) <= limits.LONGEST_READ_PRESSES else []
    names, values = parts[::2], parts[1::2]
    numbers = [value.split("_") for value in values]
    plain = all(re.fullmatch(_NUMBER, number, re.ASCII) for row in numbers for number in row)
    unique = len({*names} - {""}) == len(names) == len(values) > 0
    if not (plain and unique and sum(map(len, numbers)) <= limits.MOST_LINK_NUMBERS):
        raise ValueError("A start has the names of parameters and their numbers, as in x~1.5.")
    return {
        name: torch.tensor([float(_read_number(number)) for number in row], dtype=torch.float64)
        for name, row in zip(names, numbers, strict=True)
    }


def _shortest(number: np.generic) -> str:
    """The shortest decimal that is read as this number again, in its own precision."""
    exact = number.item()
    short = str(number)
    same = number.dtype.type(float(short)) == number
    return _value(float(short) if same else float(exact))
