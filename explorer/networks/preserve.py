"""Running a model without leaving a trace on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from explorer.language import PROCESS
from explorer.networks.watch import Watch
from explorer.training.problem import random_stream


@contextmanager
def preserved(model: nn.Module, seed: int | None = None) -> Iterator[Watch]:
    """Put everything about `model` back as it was, also after an error.

    That is: parameter values, gradients, `requires_grad`, train or eval mode, buffers such as
    batch-norm statistics, and torch's random state. Inside, gradients start at None, and random
    numbers come from `seed`, or else continue the present stream.

    Run the model inside the yielded `Watch`, which keeps parameters it writes to. Nobody else may
    use the model meanwhile. Other users of the random state wait.
    """
    # torch notes on the module which kind of backward hook it has had, and refuses the other one.
    modes = [(m, m.training, m._is_full_backward_hook) for m in model.modules()]
    parameters = [(p, p.requires_grad, p.grad) for p in model.parameters()]
    buffers = [
        (module, name, buffer, buffer.clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]
    watch = Watch(p for p, _, _ in parameters)
    with PROCESS, random_stream(torch.default_generator.get_state() if seed is None else seed):
        try:
            for parameter, _, _ in parameters:
                parameter.grad = None
            yield watch
        finally:
            for parameter, requires_grad, grad in parameters:
                parameter.requires_grad_(requires_grad).grad = grad
            for module, training, full in modes:
                module.training = training
                module._is_full_backward_hook = full
            with torch.no_grad():
                for module, name, buffer, value in buffers:
                    module._buffers[name] = buffer
                    if not (buffer.is_meta or torch.equal(buffer, value)):
                        buffer.copy_(value)
            watch.restore()


@contextmanager
def removing() -> Iterator[list[Any]]:
    """A list for hook handles; all that are in it at the end are removed, also after an error."""
    handles: list[Any] = []
    try:
        yield handles
    finally:
        for handle in handles:
            handle.remove()
