"""Observes checkpoints, which compute again during backward, and gradient scalers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from explorer.trace.recording.events import MOST_CHANGES, make_change, take_snapshot
from explorer.trace.recording.objects import named_parameters, quiet
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.run_log import RunLog
from explorer.trace.recording.tensor_registry import MAX_PARAMETERS
from explorer.trace.recording.torchviz_graph import leaves_of

RECOMPUTED = "computed again in backward, by checkpoint"
CHECKED = "computed by "
FIRST_RUN = "not kept: checkpoint computes it again in backward"
#: Most losses that a GradScaler has scaled whose nodes are remembered.
MOST_SCALED = 100


class ModernCalls:
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
            "GradScaler.scale": self.scale,
            "GradScaler.unscale_": self.unscale,
            "GradScaler.skip": self.skip_step,
            "GradScaler.update": self.update_scale,
        }
        #: By a checkpointed function: how often each function had been called, and each line had
        #: run, when it first ran.
        self._before: WeakKeyDictionary[Any, tuple[dict[str, int], dict[int, int]]] = (
            WeakKeyDictionary()
        )
        #: By id: the parameters of averaged models.
        self.averaged: dict[int, torch.Tensor] = {}
        #: The line that divided gradients by the scale although they were not scaled, and these.
        self.unscaled: tuple[int, float, list[torch.Tensor]] | None = None
        #: By id of the node that scaled a loss: the node, and the scale. Of the latest losses.
        self._scaling: dict[int, tuple[Any, float]] = {}
        #: By id of a leaf whose `.grad` is scaled: the leaf, the scale, that gradient and its
        #: version.
        self._scaled: dict[int, tuple[torch.Tensor, float, torch.Tensor, int]] = {}

    # -- checkpoints --------------------------------------------------------------------------

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
        for _, parameter in islice(named_parameters(average), MAX_PARAMETERS):
            self.averaged[id(parameter)] = parameter
        return function(net)

    # -- gradient scalers ---------------------------------------------------------------------

    def scale(self, scaler: Any, function: Callable[..., Any], loss: torch.Tensor) -> Any:
        """`scaler.scale(loss)`: mark what it returns."""
        result = function(loss)
        if scaler.is_enabled():
            with quiet():
                scale, node = scaler.get_scale(), result.grad_fn
                live = self.log.find(result)
                if live is not None:
                    live.remark = _scaled(scale)
                if node is not None:
                    self._scaling[id(node)] = (node, scale)
                    if len(self._scaling) > MOST_SCALED:
                        del self._scaling[next(iter(self._scaling))]
                name = self.log.name_of(loss) or "the loss"
                self.log.add_event("scale", f"{name} was {_scaled(scale)}", name)
        return result

    def unscale(self, scaler: Any, function: Callable[..., Any], optimizer: Any) -> Any:
        """`scaler.unscale_(optimizer)`: its gradients are divided by the scale."""
        if not scaler.is_enabled():
            return function(optimizer)
        with quiet():
            groups = [group["params"] for group in optimizer.param_groups]
            leaves = [p for group in groups for p in group if isinstance(p, torch.Tensor)]
            leaves = [leaf for leaf in leaves if leaf.grad is not None]
            before = [take_snapshot(leaf.grad) for leaf in leaves[:MOST_CHANGES]]
            scale = scaler.get_scale()
            if self.log.recording and leaves and not any(id(p) in self._scaled for p in leaves):
                self.unscaled = self.unscaled or (self.log.line, scale, leaves)
        result = function(optimizer)
        with quiet():
            for leaf in leaves:
                self._scaled.pop(id(leaf), None)
            changes = [
                make_change(f"{self.log.name_of(leaf)}.grad", old, take_snapshot(leaf.grad))
                for leaf, old in zip(leaves, before, strict=False)
            ]
            self.log.add_event("scale", f"gradients were divided by {scale:g}", "", changes)
        return result

    def skip_step(self, scaler: Any, function: Callable[..., Any], optimizer: Any) -> Any:
        """The scaler found inf or NaN: the optimizer does not step."""
        name = f"{type(optimizer).__name__}.step()"
        use = self.log.events.optimizers.get(id(optimizer))
        if use is not None:
            use.skips += 1
            use.skipped_at = use.skipped_at or self.log.line
        self.log.add_event("skip", f"{name} was skipped: a gradient is inf or NaN")
        return function(optimizer)

    def update_scale(
        self, scaler: Any, function: Callable[..., Any], *new: Any, **named: Any
    ) -> Any:
        """`scaler.update()`, which may change the scale."""
        if not scaler.is_enabled():
            return function(*new, **named)
        with quiet():
            before = scaler.get_scale()
        result = function(*new, **named)
        with quiet():
            after = scaler.get_scale()
        if before != after:
            self.log.add_event("scale", f"the scale became {after:g}; it was {before:g}")
        return result

    def log_pass(self, raw: RawPass) -> None:
        """Mark the gradients of a pass that started from a scaled loss."""
        scales = [self._scaling[id(n)][1] for n in raw.functions if id(n) in self._scaling]
        scale = scales[0] if scales else 0.0
        if scale:
            for step in raw.steps:
                for live in self.log.by_output.get((id(raw.functions[step.function]), 0), ()):
                    live.remark = live.remark or f"gradient {_scaled(scale)}"
        if raw.call == "torch.autograd.grad" or not (scale or self._scaled):
            return
        for leaf in leaves_of(raw.functions):
            self._scaled.pop(id(leaf), None)
            if scale and leaf.grad is not None:
                self._scaled[id(leaf)] = (leaf, scale, leaf.grad, leaf.grad._version)

    def remark_on(self, leaf: torch.Tensor) -> str:
        """What there is to say about the gradient of a leaf."""
        scale = self.scale_of(leaf)
        return f"gradient {_scaled(scale)}" if scale else ""

    def scale_of(self, leaf: torch.Tensor) -> float:
        """By how much the gradient of a leaf is scaled; 0 if it is not, or once it was changed."""
        _, scale, grad, version = self._scaled.get(id(leaf), (None, 0.0, None, 0))
        is_same = grad is not None and leaf.grad is grad and grad._version == version
        return scale if is_same else 0.0


def _scaled(scale: float) -> str:
    return f"scaled by {scale:g}"


def _lines(numbers: list[int]) -> str:
    """ "line 5", "lines 5 and 6", or "lines 5–9" for the first and the last of more."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    return f"lines {numbers[0]}{' and ' if len(numbers) == 2 else '–'}{numbers[-1]}"
