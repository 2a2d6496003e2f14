"""Runs to compare: other settings from the same start, which do what a session does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from time import perf_counter
from typing import Any

from explorer import limits
from explorer.program import ProgramError
from explorer.trace.codec import to_plain
from explorer.training.history import Action, to_data
from explorer.training.optimizers import optimizer_spec
from explorer.training.session import TrainingSession

#: Most actions in one go; a run that has more to catch up with does so in several.
_AT_ONCE = 1000
_FORGETS = "without zero_grad"
_ITEM = re.compile(r"(?P<name>\w+)=(?P<value>[^\s;=]+)", re.ASCII)


@dataclass(frozen=True)
class RunSetting:
    """How a run differs: optimizer, hyperparameters, and whether it clears gradients.

    `hyper` has lr and what differs from the optimizer's defaults; others may be given. ValueError,
    with a sentence, for what the optimizer does not accept. As text: "SGD lr=0.4 momentum=0.9",
    "Adam lr=0.05 betas=0.8,0.99 without zero_grad".
    """

    optimizer: str
    hyper: Mapping[str, Any] = field(default_factory=dict)
    zero_grad: bool = True

    def __post_init__(self) -> None:
        spec = optimizer_spec(self.optimizer)
        usual, hyper = spec.defaults(), spec.validate(self.hyper)
        changed = {k: v for k, v in hyper.items() if k == "lr" or v != usual[k]}
        object.__setattr__(self, "hyper", changed)

    @classmethod
    def of(cls, session: TrainingSession, *, zero_grad: bool = True, **hyper: Any) -> RunSetting:
        """The settings a session has now, with changes."""
        return cls(session.optimizer, {**session.hyper, **hyper}, zero_grad)

    @classmethod
    def parse(cls, text: str) -> RunSetting:
        """The reverse of `str`. ValueError, with a sentence, for any other text."""
        words = text[: limits.LONGEST_RUN + 1].strip().removesuffix(_FORGETS)
        optimizer, *items = words.split() or [""]
        found = [_ITEM.fullmatch(item) for item in items]
        hyper = {match["name"]: _value(match["value"]) for match in found if match}
        if len(text) > limits.LONGEST_RUN or len(hyper) < len(items):
            shown = text if len(text) <= 60 else f"{text[:60]}…"
            raise ValueError(f"{shown!r} is not a setting. Write it as in SGD lr=0.4 momentum=0.9.")
        return cls(optimizer, hyper, not text.strip().endswith(_FORGETS))

    def __str__(self) -> str:
        items = (f"{name}={_text(value)}" for name, value in self.hyper.items())
        return " ".join([self.optimizer, *items, *([] if self.zero_grad else [_FORGETS])])


def parse_runs(text: str) -> tuple[RunSetting, ...]:
    """Settings separated by semicolons, as `format_runs` writes them; ValueError as for one."""
    parts = [
        part
        for part in text[: (limits.MOST_RUNS + 1) * limits.LONGEST_RUN].split(";")
        if part.strip()
    ]
    if len(parts) > limits.MOST_RUNS:
        raise ValueError(f"At most {limits.MOST_RUNS} runs can be compared with yours.")
    return tuple(RunSetting.parse(part.strip()) for part in parts)


def format_runs(settings: Sequence[RunSetting]) -> str:
    return "; ".join(map(str, settings))


class Follower:
    """A second run with a setting of its own, which follows a session.

    It begins where the session began (seed and start), and does the same calls; changes of the
    session's hyperparameters do not reach it. It is kept from press to press, so that only what is
    new is done. `error` says why it could not follow to the end, `behind` how many of the session's
    actions it has not done.
    """

    def __init__(self, setting: RunSetting) -> None:
        self.setting = setting
        self.error: ProgramError | None = None
        self.behind = 0
        self._second: TrainingSession | None = None
        #: What has been followed of the session's actions, its reset first.
        self._followed: list[Action] = []

    def follow(self, session: TrainingSession, seconds: float = float("inf")) -> TrainingSession:
        """Do what the session has done since its reset, and undo what it has undone; returns the
        second run.

        After `seconds` it stops; the next call goes on. Raises what starting a session does.
        """
        end, actions = perf_counter() + seconds, session.actions
        same = sum(1 for _ in takewhile(_same, zip(self._followed, actions, strict=False)))
        second = self._second
        if second is not None and 0 < same < len(self._followed):
            done = sum(self._adapt(action) is not None for action in self._followed[1:same])
            if second.return_to(done).ok:
                self._followed = self._followed[:same]
            else:  # a child that does not answer
                same = 0
        if second is None or same == 0:
            second = session.new_session(self.setting.optimizer, self.setting.hyper)
            self._second, self._followed = second, [actions[0]]
        self.error = None
        while self.error is None and len(self._followed) < len(actions):
            first = len(self._followed)
            self._do(second, actions[first : first + _AT_ONCE], end - perf_counter())
            if perf_counter() > end:
                break
        self.behind = len(actions) - len(self._followed)
        return second

    def _do(self, second: TrainingSession, actions: Sequence[Action], seconds: float) -> None:
        """Do what corresponds to these, as far as there is time."""
        own = [(place, self._adapt(action)) for place, action in enumerate(actions)]
        todo = [(place, action) for place, action in own if action is not None]
        done = 0
        if todo:
            before = len(second.actions)
            event = second.perform([action for _, action in todo], seconds=max(0.0, seconds))
            done, self.error = len(second.actions) - before, event.error
        self._followed += actions[: todo[done][0] if done < len(todo) else len(actions)]

    def _adapt(self, action: Action) -> Action | None:
        """What the second run does where the session did `action`."""
        name, _ = action
        if name == "set" or (name == "zero_grad" and not self.setting.zero_grad):
            return None
        return (name, False) if name == "iteration" and not self.setting.zero_grad else action


def _same(pair: tuple[Action, Action]) -> bool:
    """Whether two actions are equal; their arguments may have tensors."""
    one, other = pair
    return one is other or to_plain(to_data(one)) == to_plain(to_data(other))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _value(text: str) -> Any:
    """A number, True, False, None or a word; with commas, several."""
    if "," in text:
        return tuple(_value(part) for part in text.split(","))
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        return float(text)
    except ValueError:
        return text
