"""What a reader chooses for a run (`history.Settings`): made, validated and changed.

The parameters of a group are stepped with hyperparameters of their own, as in the setting `groups`
[{"parameters": ["b"], "lr": 0.01}, …]; parameters that are not named there are in the first group,
which has the run's. Here a group is its position in the optimizer's `param_groups`, so that these
are the groups from 1 on. See
https://docs.pytorch.org/docs/stable/optim.html#per-parameter-options
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from explorer import limits
from explorer.trace.text import join_names
from explorer.training.clipping import validate_clip
from explorer.training.history import Settings
from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers import optimizer_spec
from explorer.training.schedulers import validate_scheduler


def make_settings(
    optimizer: str,
    hyper: Mapping[str, Any],
    start: Mapping[str, Any] | None = None,
    scheduler: Mapping[str, Any] | None = None,
    clip: Mapping[str, Any] | None = None,
    groups: Sequence[Mapping[str, Any]] | None = None,
) -> Settings:
    """Those of a new run, with all hyperparameters; ValueError, with a sentence, for what makes no
    sense."""
    spec = optimizer_spec(optimizer)
    settings: Settings = {"hyper": spec.validate(hyper)}

    def make() -> Any:
        return spec.make([torch.zeros(1, 1, requires_grad=True)], settings["hyper"])

    if start is not None:
        settings["start"] = to_start(start)
    if scheduler is not None:
        settings["scheduler"] = validate_scheduler(scheduler, make)
    if clip is not None:
        settings["clip"] = validate_clip(clip)
    if groups:
        settings["groups"] = validate_groups(spec, settings["hyper"], groups)
    return settings


def to_start(values: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors of these values; ValueError, with a sentence, for what is no number."""
    try:
        return {
            str(name): value.detach().clone() if torch.is_tensor(value) else torch.tensor(value)
            for name, value in values.items()
        }
    except (TypeError, ValueError, RuntimeError):
        raise ValueError("The start has to be numbers, by the names of the parameters.") from None


@dataclass(frozen=True)
class Group:
    """The parameters of a group, by name, and the hyperparameters that their next step uses."""

    parameters: tuple[str, ...]
    hyper: dict[str, Any]


def validate_groups(
    spec: OptimizerSpec, hyper: Mapping[str, Any], given: Any
) -> list[dict[str, Any]]:
    """The setting `groups`, its hyperparameters in their types. ValueError, with a sentence."""
    if not isinstance(given, list | tuple) or not all(isinstance(g, Mapping) for g in given):
        raise ValueError('Groups are given as [{"parameters": ["b"], "lr": 0.01}].')
    if given and spec.evaluates:
        raise ValueError(f"{spec.name} steps all parameters together, in one group.")
    if len(given) > limits.MOST_GROUPS:
        raise ValueError(f"There can be at most {limits.MOST_GROUPS} groups.")
    groups = []
    for number, group in enumerate(given, 1):
        own = dict(group)
        names = own.pop("parameters", None)
        if not isinstance(names, list | tuple) or not names:
            raise ValueError(f"Group {number} needs a list of the names of its parameters.")
        complete = spec.validate({**hyper, **own})
        groups.append({"parameters": list(map(str, names)), **{k: complete[k] for k in own}})
    return groups


def check_names(parameters: Mapping[str, Tensor], groups: Sequence[Mapping[str, Any]]) -> None:
    """ValueError, with a sentence, where the groups do not fit these parameters."""
    named = [name for group in groups for name in group["parameters"]]
    unknown = [name[:40] for name in named if name not in parameters]
    if unknown:
        raise ValueError(f"There is no parameter {join_names(unknown)} to put in a group.")
    if len({*named}) < len(named):
        raise ValueError("A parameter can be in one group only.")
    if groups and len(named) == len(parameters):
        raise ValueError("At least one parameter has to stay in the first group.")


def make_optimizer(
    spec: OptimizerSpec,
    parameters: Mapping[str, Tensor],
    hyper: Mapping[str, Any],
    groups: Sequence[Mapping[str, Any]],
) -> Any:
    """The real optimizer over these parameters, the first group without those named later."""
    if not groups:
        return spec.make(parameters.values(), hyper)
    named = {name for group in groups for name in group["parameters"]}
    first = {"params": [p for name, p in parameters.items() if name not in named]}
    others = [
        {"params": [parameters[name] for name in group["parameters"]], **_own(group)}
        for group in groups
    ]
    return spec.make([first, *others], hyper)


def read_groups(
    spec: OptimizerSpec, optimizer: Any, groups: Sequence[Mapping[str, Any]]
) -> tuple[Group, ...]:
    """The groups from 1 on as they are now; a scheduler may have changed them."""
    return tuple(
        Group(tuple(group["parameters"]), {name: now[name] for name in spec.hyper})
        for group, now in zip(groups, optimizer.param_groups[1:], strict=True)
    )


def validate_change(
    spec: OptimizerSpec, now: Sequence[Mapping[str, Any]], group: Any, hyper: Mapping[str, Any]
) -> dict[str, Any]:
    """What the action "set" does to a group; `now` are the hyperparameters of each. The new values
    in their types, with "group" if it is not the first. ValueError, with a sentence."""
    if type(group) is not int or not 0 <= group < len(now):
        raise ValueError(f"There is no group {group}.")
    new = spec.validate({**now[group], **hyper})
    return ({"group": group} if group else {}) | {name: new[name] for name in hyper}


def change_settings(settings: Settings, change: Mapping[str, Any]) -> Settings:
    """The settings after the action "set".

    Where it changes the first group, the other groups keep what they had from it: it becomes their
    own.
    """
    new = dict(change)
    group, hyper = new.pop("group", 0), settings["hyper"]
    kept = {name: hyper[name] for name in new}
    changed: Settings = {**settings, "hyper": hyper if group else {**hyper, **new}}
    if "groups" in settings:
        changed["groups"] = [
            {**own, **new} if place == group else {**kept, **own} if group == 0 else own
            for place, own in enumerate(settings["groups"], 1)
        ]
    return changed


def adapt_settings(settings: Mapping[str, Any], spec: OptimizerSpec) -> dict[str, Any]:
    """The settings besides `hyper`, for another optimizer: of the groups' hyperparameters, those
    that it has too."""
    adapted = {name: value for name, value in settings.items() if name != "hyper"}
    known = {"parameters", *spec.hyper}
    groups = adapted.pop("groups", None)
    if groups and not spec.evaluates:
        adapted["groups"] = [{k: v for k, v in group.items() if k in known} for group in groups]
    return adapted


def _own(group: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters of a group."""
    return {name: value for name, value in group.items() if name != "parameters"}
