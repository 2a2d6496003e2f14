"""Observes gradient scalers (`torch.amp.GradScaler`), and whose gradients are scaled by how much.

https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from explorer import limits
from explorer.trace.recording.events import make_change, take_snapshot
from explorer.trace.recording.objects import quiet
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.run_log import RunLog
from explorer.trace.recording.torchviz_graph import leaves_of


class Scaling:
    """Makes the calls of scalers for the program and logs their effects. `handlers` has them by
    name."""

    def __init__(self, log: RunLog) -> None:
        self.log = log
        self.handlers: dict[str, Callable[..., Any]] = {
            "GradScaler.scale": self.scale,
            "GradScaler.unscale_": self.unscale,
            "GradScaler.skip": self.skip_step,
            "GradScaler.update": self.update_scale,
        }
        #: The line that divided gradients by the scale although they were not scaled, and these.
        self.unscaled: tuple[int, float, list[torch.Tensor]] | None = None
        #: By id of the node that scaled one of the latest losses: the node, and the scale.
        self._scaling: dict[int, tuple[Any, float]] = {}
        #: By id of a leaf whose `.grad` is scaled: the leaf, the scale, that gradient and its
        #: version.
        self._scaled: dict[int, tuple[torch.Tensor, float, torch.Tensor, int]] = {}

    def scale(self, scaler: Any, function: Callable[..., Any], loss: torch.Tensor) -> Any:
        """`scaler.scale(loss)`: mark what it returns."""
        result = function(loss)
        if scaler.is_enabled():
            with quiet():
                scale, node = scaler.get_scale(), result.grad_fn
                live = self.log.find(result)
                if live is not None:
                    live.note = _scaled(scale)
                if node is not None:
                    self._scaling[id(node)] = (node, scale)
                    if len(self._scaling) > limits.MOST_SCALED:
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
            before = [take_snapshot(leaf.grad) for leaf in leaves[: limits.MOST_CHANGES]]
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
                    live.note = live.note or f"gradient {_scaled(scale)}"
        if raw.call == "torch.autograd.grad" or not (scale or self._scaled):
            return
        for leaf in leaves_of(raw.functions):
            self._scaled.pop(id(leaf), None)
            if scale and leaf.grad is not None:
                self._scaled[id(leaf)] = (leaf, scale, leaf.grad, leaf.grad._version)

    def note_on(self, leaf: torch.Tensor) -> str:
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
