"""The learning-rate schedulers a session can have: torch's own, one `SchedulerSpec` each.

A session calls `scheduler.step()` after `optimizer.step()`. What torch's documentation calls an
epoch is one such call. https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.optim import lr_scheduler

from explorer.training.arguments import Argument, CallSpec, call_code, split_name
from explorer.training.history import copy_tensors

_DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler."


class SchedulerSpec(CallSpec):
    """A scheduler. In its formula η is the learning rate, t counts the calls of
    `scheduler.step()`."""

    #: Whether `step` takes the loss.
    needs_loss = False

    def validate_for(self, optimizer: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments, for an optimizer that has been made for nothing else. ValueError, with a
        sentence, also for those that torch refuses."""
        arguments = self.validate(given)
        if "cycle_momentum" in arguments:
            arguments["cycle_momentum"] &= not {"momentum", "betas"}.isdisjoint(optimizer.defaults)
        try:
            self.make(optimizer, arguments)
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"{self.name} does not accept this: {error}.") from None
        return arguments

    def make(self, optimizer: Any, arguments: Mapping[str, Any]) -> Any:
        """A real scheduler of this optimizer. ValueError where the first lr is no number."""
        # torch warns when `scheduler.step()` comes first; what a press does is said by `explain`.
        optimizer._opt_called = True
        scheduler = self._make(optimizer, arguments)
        check_rates(optimizer)
        return scheduler

    def _make(self, optimizer: Any, arguments: Mapping[str, Any]) -> Any:
        return self._class(optimizer, **arguments)

    def code(self, arguments: Mapping[str, Any]) -> str:
        """The lines that make it, where `optimizer` is defined."""
        return f"scheduler = {_call(self._class, arguments)}"

    @property
    def _class(self) -> Any:
        return getattr(lr_scheduler, self.name)


class _PlateauSpec(SchedulerSpec):
    needs_loss = True


class _WarmupSpec(SchedulerSpec):
    """LinearLR, then CosineAnnealingLR."""

    def _parts(self, s: Mapping[str, Any]) -> tuple[tuple[Any, dict[str, Any]], ...]:
        linear = {"start_factor": s["start_factor"], "total_iters": s["warmup"]}
        cosine = {"T_max": s["T_max"], "eta_min": s["eta_min"]}
        return (lr_scheduler.LinearLR, linear), (lr_scheduler.CosineAnnealingLR, cosine)

    def _make(self, optimizer: Any, arguments: Mapping[str, Any]) -> Any:
        parts = [make(optimizer, **arguments) for make, arguments in self._parts(arguments)]
        return lr_scheduler.SequentialLR(optimizer, parts, milestones=[arguments["warmup"]])

    def code(self, arguments: Mapping[str, Any]) -> str:
        parts = [f"        {_call(make, rest)},\n" for make, rest in self._parts(arguments)]
        return (
            "scheduler = torch.optim.lr_scheduler.SequentialLR(\n    optimizer,\n    [\n"
            f"{''.join(parts)}    ],\n    milestones=[{arguments['warmup']}],\n)"
        )


def _call(make: Any, arguments: Mapping[str, Any]) -> str:
    """The call of a constructor."""
    shown = {name: list(v) if isinstance(v, tuple) else v for name, v in arguments.items()}
    return f"torch.optim.lr_scheduler.{call_code(make, 'optimizer', shown)}"


_GAMMA = {"gamma": Argument("the factor that lr is multiplied by", 0.1)}
_ETA_MIN = {"eta_min": Argument("the lowest lr", 0.0)}
_COSINE = r"\eta_{min} + \tfrac12 (\eta_0 - \eta_{min})\left(1 + \cos\frac{t\,\pi}{T_{max}}\right)"

_SPECS = (
    SchedulerSpec(
        "StepLR",
        "StepLR: multiply every few steps",
        {"step_size": Argument("steps between two changes of lr", 30, low=1), **_GAMMA},
        r"\eta_t = \eta_0\,\gamma^{\lfloor t / \mathrm{step\_size} \rfloor}",
        f"{_DOCS}StepLR.html",
    ),
    SchedulerSpec(
        "MultiStepLR",
        "MultiStepLR: multiply at chosen steps",
        {"milestones": Argument("the steps after which lr changes", (30, 80), low=1), **_GAMMA},
        r"\eta_t = \eta_0\,\gamma^{\,\text{milestones up to } t}",
        f"{_DOCS}MultiStepLR.html",
    ),
    SchedulerSpec(
        "ExponentialLR",
        "ExponentialLR: multiply at every step",
        {"gamma": Argument("the factor that lr is multiplied by", 0.95)},
        r"\eta_t = \eta_0\,\gamma^t",
        f"{_DOCS}ExponentialLR.html",
    ),
    SchedulerSpec(
        "LinearLR",
        "LinearLR: warm up in a straight line",
        {
            "start_factor": Argument("lr begins at this part of itself", 0.1, high=1.0, above=True),
            "end_factor": Argument("and ends at this part", 1.0, high=1.0),
            "total_iters": Argument("steps from the one to the other", 10, low=1),
        },
        r"\eta_t = \eta_0 \left(f_{start} + (f_{end} - f_{start})\,"
        r"\tfrac{\min(t, T)}{T}\right),\quad T = \mathrm{total\_iters}",
        f"{_DOCS}LinearLR.html",
    ),
    SchedulerSpec(
        "CosineAnnealingLR",
        "CosineAnnealingLR: half a cosine wave",
        {"T_max": Argument("steps down to the lowest lr", 100, low=1), **_ETA_MIN},
        rf"\eta_t = {_COSINE}",
        "https://arxiv.org/abs/1608.03983",
    ),
    SchedulerSpec(
        "CosineAnnealingWarmRestarts",
        "CosineAnnealingWarmRestarts: cosine, again and again",
        {
            "T_0": Argument("steps until the first restart", 25, low=1),
            "T_mult": Argument("how many times longer each next cycle is", 1, low=1),
            **_ETA_MIN,
        },
        r"\eta_t = \eta_{min} + \tfrac12 (\eta_0 - \eta_{min})"
        r"\left(1 + \cos\frac{T_{cur}\,\pi}{T_i}\right)",
        "https://arxiv.org/abs/1608.03983",
    ),
    SchedulerSpec(
        "OneCycleLR",
        "OneCycleLR: up, then far down",
        {
            "max_lr": Argument("the highest lr; the lr of the optimizer is not used", 0.1),
            "total_steps": Argument("steps in all; there can be no more", 100, low=1),
            "pct_start": Argument("the part of the steps in which lr rises", 0.3, high=1.0),
            "anneal_strategy": Argument("the shape of the curve", "cos", choices=("cos", "linear")),
            "cycle_momentum": Argument("momentum, or the first beta, falls as lr rises", True),
            "base_momentum": Argument("the lowest momentum", 0.85, high=0.9999, above=True),
            "max_momentum": Argument("the highest momentum", 0.95, high=0.9999, above=True),
            "div_factor": Argument("it starts at max_lr divided by this", 25.0, above=True),
            "final_div_factor": Argument(
                "it ends at the first lr divided by this", 1e4, above=True
            ),
            "three_phase": Argument("down as slowly as up, and only then far down", False),
        },
        r"\eta_t = b + \tfrac12 (a - b)\left(1 + \cos\frac{\pi t'}{T'}\right)"
        r"\text{ from } a \text{ to } b \text{ in each phase}",
        "https://arxiv.org/abs/1708.07120",
    ),
    _PlateauSpec(
        "ReduceLROnPlateau",
        "ReduceLROnPlateau: multiply when the loss no longer falls",
        {
            "mode": Argument(
                "whether the loss is to fall or to rise", "min", choices=("min", "max")
            ),
            "factor": Argument("the factor that lr is multiplied by", 0.1, high=1.0),
            "patience": Argument("steps without a better loss that are accepted", 10),
            "threshold": Argument("how much better a loss has to be", 1e-4),
            "threshold_mode": Argument(
                "threshold as a part of the loss, or as a difference", "rel", choices=("rel", "abs")
            ),
            "cooldown": Argument("steps after a change in which nothing is counted", 0),
            "min_lr": Argument("the lowest lr", 0.0),
            "eps": Argument("smaller changes of lr are left out", 1e-8),
        },
        r"\eta \leftarrow \max(\gamma\,\eta, \eta_{min})"
        r"\text{ after more than } \mathrm{patience} \text{ steps without a better loss}",
        f"{_DOCS}ReduceLROnPlateau.html",
    ),
    _WarmupSpec(
        "SequentialLR",
        "SequentialLR: warm up with LinearLR, then CosineAnnealingLR",
        {
            "warmup": Argument("steps of LinearLR", 10, low=1),
            "start_factor": Argument("lr begins at this part of itself", 0.1, high=1.0, above=True),
            "T_max": Argument("steps of the cosine after it", 90, low=1),
            **_ETA_MIN,
        },
        rf"t < \mathrm{{warmup}}:\ \eta_t = \eta_0 \left(f + (1 - f)\,"
        rf"\tfrac{{t}}{{\mathrm{{warmup}}}}\right);\quad \text{{then }} \eta_t = {_COSINE}",
        f"{_DOCS}SequentialLR.html",
    ),
)

#: By name, in the order they are offered.
SCHEDULERS = {spec.name: spec for spec in _SPECS}


def scheduler_spec(name: Any) -> SchedulerSpec:
    """The record of this scheduler; ValueError, with a sentence, where there is none."""
    if not isinstance(name, str) or name not in SCHEDULERS:
        raise ValueError(f"There is no such scheduler here; choose {', '.join(SCHEDULERS)}.")
    return SCHEDULERS[name]


def validate_scheduler(given: Any, make_optimizer: Callable[[], Any]) -> dict[str, Any]:
    """The scheduler of a session, {"name": "StepLR", "step_size": 30, …}, with all arguments.

    `make_optimizer` makes one of the session's kind. ValueError, with a sentence.
    """
    if not isinstance(given, Mapping):
        raise ValueError('A scheduler is given as {"name": "StepLR", "step_size": 30}.')
    name, arguments = split_name(given)
    spec = scheduler_spec(name)
    return {"name": spec.name, **spec.validate_for(make_optimizer(), arguments)}


class Schedule:
    """A real scheduler on a real optimizer, with a state that can be kept and put back."""

    def __init__(self, optimizer: Any, call: Mapping[str, Any]) -> None:
        name, arguments = split_name(call)
        self.spec = scheduler_spec(name)
        self.optimizer = optimizer
        self.scheduler = self.spec.make(optimizer, arguments)

    def step(self, loss: float | None = None) -> None:
        """`scheduler.step()`. ValueError, with torch's words, where it refuses."""
        try:
            self.scheduler.step(loss) if self.spec.needs_loss else self.scheduler.step()
        except (ValueError, ArithmeticError) as error:
            raise ValueError(str(error)) from None
        check_rates(self.optimizer)

    def state(self) -> dict[str, Any]:
        """What it remembers, and the settings of each group of parameters, as plain data."""
        groups = [
            {name: value for name, value in group.items() if name != "params"}
            for group in self.optimizer.param_groups
        ]
        return {"scheduler": copy_tensors(self.scheduler.state_dict()), "groups": groups}

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.scheduler.load_state_dict(copy_tensors(state["scheduler"]))
        for group, settings in zip(self.optimizer.param_groups, state["groups"], strict=True):
            group.update(settings)

    def next_lr(self, loss: float | None = None, group: int = 0) -> float:
        """The learning rate of a group after a `step`, which is taken back."""
        before = self.state()
        try:
            self.step(loss)
            return float(self.optimizer.param_groups[group]["lr"])
        finally:
            self.restore(before)


def check_rates(optimizer: Any) -> None:
    """ValueError where a scheduler has made a learning rate that no step can use."""
    for group in optimizer.param_groups:
        if not (math.isfinite(group["lr"]) and group["lr"] >= 0):
            raise ValueError(f"lr would become {group['lr']:.6g}")


def curve(
    call: Mapping[str, Any], lr: float, steps: int, losses: Sequence[float] = ()
) -> np.ndarray:
    """The learning rate of each of the first `steps` steps, from torch's own scheduler.

    Shorter where the scheduler ends before. ReduceLROnPlateau sees these `losses`, the last one
    again and again.
    """

    def make() -> torch.optim.Optimizer:
        return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr, momentum=0.9)

    optimizer = make()
    schedule = Schedule(optimizer, validate_scheduler(call, make))
    seen = [*losses] or [1.0]
    rates: list[float] = []
    for i in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        try:
            schedule.step(seen[min(i, len(seen) - 1)])
        except ValueError:
            break
    return np.array(rates)
