"""Observes what runs or copies something again: checkpoints, which compute again during backward,
gradcheck, which calls a function many times, parametrizations, and averaged models.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from explorer import limits
from explorer.trace.recording.objects import named_parameters, quiet
from explorer.trace.recording.run_log import RunLog

RECOMPUTED = "computed again in backward, by checkpoint"
CHECKED = "computed by "
FIRST_RUN = "not kept: checkpoint computes it again in backward"


class Repetitions:
    """Makes these calls for the program and logs their effects. `handlers` has them by name."""

    def __init__(self, log: RunLog) -> None:
        self.log = log
        self.handlers: dict[str, Callable[..., Any]] = {
            "checkpoint.forward": self.run_checkpointed,
            "checkpoint.forward_without_graph": self.run_without_graph,
            "checkpoint.recompute": self.recompute,
            "Tensor.wrapped": self.wrap,
            "register_parametrization": self.parametrize,
            "gradcheck": self.check_gradients,
            "AveragedModel.update": self.update_average,
        }
        #: By a checkpointed function: how often each function had been called, and each line had
        #: run, when it first ran.
        self._before: WeakKeyDictionary[Any, tuple[dict[str, int], dict[int, int]]] = (
            WeakKeyDictionary()
        )
        #: By id: the parameters of averaged models.
        self.averaged: dict[int, torch.Tensor] = {}

    def run_checkpointed(
        self, run: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """The function runs, for the first time or again."""
        return self._run_marked("", run, function, *args, **kwargs)

    def run_without_graph(
        self, run: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """The same in the reentrant variant, which keeps no graph of the first time."""
        return self._run_marked(FIRST_RUN, run, function, *args, **kwargs)

    def _run_marked(
        self, mark: str, run: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        log, outer = self.log, self.log.mark
        if run not in self._before:
            self._before[run] = dict(log.call_counts), dict(log.run_counts)
            log.mark = outer or mark
        try:
            return function(*args, **kwargs)
        finally:
            log.mark = outer

    def recompute(
        self, run: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """The function runs again: its calls and lines do not count twice."""
        log, (calls, counts) = self.log, self._before[run]
        again: list[int] = []
        try:
            with self._uncounted(RECOMPUTED, calls, counts):
                log.follows_gradients = True
                try:
                    return function(*args, **kwargs)
                finally:
                    again = sorted(n for n, c in log.run_counts.items() if c != counts.get(n, 0))
        finally:
            what = f"{run.__name__} ran again in backward"
            log.add_event("recompute", f"{what}: {_lines(again)}" if again else what, run.__name__)

    @contextmanager
    def _uncounted(
        self, mark: str, calls: Mapping[str, int], counts: Mapping[int, int]
    ) -> Iterator[None]:
        """Count calls and lines from these numbers on, for a while; mark what is recorded."""
        log = self.log
        outer = log.line, log.mark, log.follows_gradients, log.call_counts, log.run_counts
        log.call_counts, log.run_counts = defaultdict(int, calls), defaultdict(int, counts)
        log.mark = mark
        try:
            yield
        finally:
            log.line, log.mark, log.follows_gradients, log.call_counts, log.run_counts = outer

    def wrap(
        self, kind: str, function: Callable[..., Any], data: Any, /, *args: Any, **kwargs: Any
    ) -> Any:
        """nn.Parameter(x), or Variable(x): a new leaf with the numbers of x."""
        result = function(data, *args, **kwargs)
        if isinstance(data, torch.Tensor) and self.log.recording:
            with quiet():
                self.log.history.add_copy(data, result, kind, self.log.line, self.log.name_of(data))
        return result

    def parametrize(
        self,
        receiver: None,
        function: Callable[..., Any],
        module: nn.Module,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """`register_parametrization`, which gives the parameter its own values again."""
        before = {id(p): p._version for _, p in named_parameters(module)}
        result = function(module, *args, **kwargs)
        for _, parameter in named_parameters(module):
            live = self.log.find(parameter)
            if live is not None and live.version == before.get(id(parameter)):
                live.version = parameter._version
        return result

    # -- checks and averages ------------------------------------------------------------------

    def check_gradients(
        self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """`gradcheck` calls the program's function many times, with inputs that it changes."""
        mark, log = f"{CHECKED}{name}", self.log
        with self._uncounted(mark, log.call_counts, log.run_counts), quiet():
            result = function(*args, **kwargs)
        outcome = "agrees with" if result else "differs from"
        self.log.add_event("check", f"{name}: the gradient {outcome} the measured slopes")
        return result

    def update_average(self, average: nn.Module, function: Callable[..., Any], net: Any) -> Any:
        """`average.update_parameters(net)`: its weights are not meant to have gradients."""
        for _, parameter in islice(named_parameters(average), limits.MAX_PARAMETERS):
            self.averaged[id(parameter)] = parameter
        return function(net)


def _lines(numbers: list[int]) -> str:
    """ "line 5", "lines 5 and 6", or "lines 5–9" for the first and the last of more."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    return f"lines {numbers[0]}{' and ' if len(numbers) == 2 else '–'}{numbers[-1]}"
