"""Reading what torch.save has written, in a child: see `explorer.vision.checkpoint`.

The app says which tensors its network has, with shapes and types. The child finds them in the file
and sends their values, so the app allocates what its own network needs and never what a file, or a
child that a file has taken over, says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from explorer import limits
from explorer.program import ProgramRefused
from explorer.sandbox import exit_reasons
from explorer.sandbox.calls import Call, WithData
from explorer.sandbox.client import Sandbox, app_sandbox
from explorer.vision.weights import (
    OPTIONAL,
    FittedWeights,
    WeightsError,
    with_classes,
)

#: Seconds that reading may take: the largest files need less than one.
TIMEOUT = 20.0
#: The most sentences about a file, and characters of each.
_NOTES, _CHARACTERS = 8, 1000


def read_weights(
    data: bytes,
    needed: Mapping[str, Tensor],
    sandbox: Sandbox = app_sandbox,
    *,
    any_classes: bool = False,
    **options: Any,
) -> FittedWeights:
    """The tensors that a network needs, from a file; `options` are those of `Sandbox.submit`. With
    `any_classes`, a classifier's last layer takes the file's number of classes.

    Raises WeightsError for a file that does not fit, and ProgramRefused if reading it failed.
    """
    return submit_weights(data, needed, sandbox, any_classes=any_classes, **options).result()


def submit_weights(
    data: bytes,
    needed: Mapping[str, Tensor],
    sandbox: Sandbox = app_sandbox,
    *,
    any_classes: bool = False,
    **options: Any,
) -> Call[FittedWeights]:
    """The same without waiting."""
    listed = [
        [name, list(t.shape), str(t.dtype).removeprefix("torch.")] for name, t in needed.items()
    ]
    largest = [needed, with_classes(needed, limits.MOST_CLASSES)] if any_classes else [needed]
    return sandbox.submit(
        "weights",
        {"needed": listed, "any_classes": any_classes},
        data=data,
        returns=max(1, *(sum(tensor.nbytes for tensor in like.values()) for like in largest)),
        read=partial(_read, dict(needed), any_classes=any_classes),
        **{"timeout": TIMEOUT} | options,
    )


def _read(
    needed: Mapping[str, Tensor], get: Callable[[], Any], *, any_classes: bool = False
) -> FittedWeights:
    try:
        answer: WithData = get()
    except ProgramRefused as refused:
        if exit_reasons.is_out_of_time(refused.error):
            raise WeightsError("Reading this file took too long, so it was stopped.") from None
        raise
    try:
        classes = _classes(answer.answer) if any_classes else 0
        needed = with_classes(needed, classes) if classes else needed
        error, notes, tensors = _parse(needed, *answer)
    except Exception:
        raise ProgramRefused(exit_reasons.unreadable_answer()) from None
    if error:
        raise WeightsError(error)
    return FittedWeights(tensors, notes, classes)


def _classes(answer: Any) -> int:
    """How many classes the file has, if not the network's number. Raises ValueError."""
    classes = answer.get("classes", 0)
    if type(classes) is not int or not 0 <= classes <= limits.MOST_CLASSES:
        raise ValueError("not a number of classes")
    return classes


def _parse(
    needed: Mapping[str, Tensor], answer: Any, data: bytearray
) -> tuple[str, tuple[str, ...], dict[str, Tensor]]:
    """The parts of an answer. Raises an exception if it is not one."""
    error, notes = answer.get("error", ""), answer.get("notes", [])
    present = answer.get("present", [])
    texts = [error, *notes]
    if len(notes) > _NOTES or any(type(t) is not str or len(t) > _CHARACTERS for t in texts):
        raise ValueError("not sentences")
    if error:
        return error, (), {}
    wanted = [name for name in needed if name in present or not name.endswith(OPTIONAL)]
    if present != wanted or len(data) != sum(needed[name].nbytes for name in wanted):
        raise ValueError("not the tensors that were asked for")
    tensors, at = {}, 0
    for name in wanted:
        like = needed[name]
        values = torch.empty(0, dtype=like.dtype)
        if like.numel():
            values = torch.frombuffer(data, dtype=like.dtype, count=like.numel(), offset=at)
        tensors[name] = values.reshape(like.shape)
        at += like.nbytes
    return "", tuple(notes), tensors
