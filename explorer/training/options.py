"""What a session begins with besides its hyperparameters: start, scheduler, clipping, groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from explorer.training.clipping import validate_clip
from explorer.training.groups import validate_groups
from explorer.training.optimizers import optimizer_spec
from explorer.training.schedulers import validate_scheduler


def to_options(
    optimizer: str,
    hyper: Mapping[str, Any],
    start: Mapping[str, Any] | None = None,
    scheduler: Mapping[str, Any] | None = None,
    clip: Mapping[str, Any] | None = None,
    groups: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The options of a reset; ValueError, with a sentence, for those that make no sense."""

    def make() -> Any:
        return optimizer_spec(optimizer).make([torch.zeros(1, 1, requires_grad=True)], hyper)

    options: dict[str, Any] = {} if start is None else {"start": to_start(start)}
    if scheduler is not None:
        options["scheduler"] = validate_scheduler(scheduler, make)
    if clip is not None:
        options["clip"] = validate_clip(clip)
    if groups:
        options["groups"] = validate_groups(optimizer_spec(optimizer), hyper, groups)
    return options


def to_start(values: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors of these values; ValueError, with a sentence, for what is no number."""
    try:
        return {
            str(name): value.detach().clone() if torch.is_tensor(value) else torch.tensor(value)
            for name, value in values.items()
        }
    except (TypeError, ValueError, RuntimeError):
        raise ValueError("The start has to be numbers, by the names of the parameters.") from None
