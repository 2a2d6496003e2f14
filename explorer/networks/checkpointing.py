"""Activation checkpointing of any model: which blocks, and running it with them checkpointed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from torch import nn
from torch.utils._pytree import tree_map
from torch.utils.checkpoint import checkpoint

from explorer.networks.passes import tensors_in

#: Containers of blocks that run one after another, or almost.
_LISTS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
#: A sequence of more single layers than this is divided.
_LONG = 6


def choose_blocks(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """The blocks to checkpoint, with their names.

    They are the members of the model's lists of blocks (a ResNet's `layer1.0`, a transformer's
    layers) and other blocks that the model holds itself. Without any, they are its sequences of
    single layers; `checkpointed` divides long ones. A single layer is no block: all it would save
    is its output, which is the next layer's input.
    """
    if isinstance(model, _LISTS):
        blocks = list(_members("", model))
    else:
        blocks = [block for name, child in _containers("", model) for block in _blocks(name, child)]
    sequences = [(n, m) for n, m in model.named_modules() if _is_sequence(m)]
    return blocks or [(name, module) for name, module in sequences if len(module._modules) > 2]


def _containers(prefix: str, module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The children that have children themselves, by full name."""
    start = f"{prefix}." if prefix else ""
    return [(start + name, child) for name, child in module.named_children() if child._modules]


def _blocks(name: str, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    if isinstance(module, _LISTS):
        yield from _members(name, module)
        return
    # A list that holds most of a block's parameters is the block: `encoder.layers`.
    whole = _size(module)
    for inner, child in _containers(name, module):
        if isinstance(child, _LISTS) and _containers(inner, child) and 2 * _size(child) > whole:
            yield from _members(inner, child)
            return
    yield name, module


def _members(name: str, module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for inner, child in _containers(name, module):
        if isinstance(child, _LISTS) and _containers(inner, child):
            yield from _members(inner, child)
        else:
            yield inner, child


def _is_sequence(module: nn.Module) -> bool:
    """Whether this is a sequence of single layers."""
    return type(module).forward is nn.Sequential.forward and not _containers("", module)


def _size(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@contextmanager
def checkpointed(
    model: nn.Module, around: Callable[[], AbstractContextManager[Any]]
) -> Iterator[None]:
    """Inside, the model's blocks keep their inputs alone and run again in backward.

    Every run of a block, the first and the second, is inside `around()`.
    """
    with ExitStack() as stack:
        for _, block in choose_blocks(model):
            long = _is_sequence(block) and len(block._modules) > _LONG
            forward = _in_segments(block, around) if long else _whole(block.forward, around)
            stack.enter_context(_replaced(block, forward))
        yield


@contextmanager
def _replaced(module: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    own = module.__dict__.get("forward")
    module.__dict__["forward"] = forward
    try:
        yield
    finally:
        del module.__dict__["forward"]
        if own is not None:
            module.__dict__["forward"] = own


def _whole(forward: Callable[..., Any], around: Callable[[], Any]) -> Callable[..., Any]:
    def checkpointed_forward(*args: Any, **kwargs: Any) -> Any:
        versions: list[int] = []

        def run(*args: Any, **kwargs: Any) -> Any:
            # torch checks this itself unless hooks for saved tensors are set around it.
            now = [tensor._version for tensor in tensors_in((args, kwargs))]
            if versions and now != versions:
                raise ValueError(
                    "a checkpointed block's input was changed in place, so the block cannot be "
                    "computed again"
                )
            versions[:] = now
            with around():
                return forward(*args, **kwargs)

        # Lists are copied: a DenseNet adds to the one that it passes to every layer.
        kept, named = tree_map(lambda value: value, (args, kwargs))
        return checkpoint(run, *kept, use_reentrant=False, **named)

    return checkpointed_forward


def _in_segments(block: nn.Module, around: Callable[[], Any]) -> Callable[[Any], Any]:
    """As `torch.utils.checkpoint.checkpoint_sequential` does: about √n segments of n layers keep
    their inputs, and the last, whose backward comes first, keeps everything. None starts with a
    layer that would change the input that is kept."""
    layers = list(block.children())
    length = math.ceil(len(layers) / round(math.sqrt(len(layers))))
    segments: list[list[nn.Module]] = [[]]
    for layer in layers:
        if len(segments[-1]) >= length and not getattr(layer, "inplace", False):
            segments.append([])
        segments[-1].append(layer)

    def forward(value: Any) -> Any:
        for segment in segments[:-1]:
            value = _whole(nn.Sequential(*segment), around)(value)
        for layer in segments[-1]:
            value = layer(value)
        return value

    return forward
