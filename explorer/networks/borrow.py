"""Use a model, and give it back exactly as it was.

Two locks keep users apart. Every model has its own, so that readers who share a model take turns.
`explorer.program.TORCH_LOCK` guards the random numbers, which torch keeps once per process. Code
that needs both takes TORCH_LOCK first, as `borrow_seeded` does.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

from explorer.program import TORCH_LOCK
from explorer.training.problem import random_stream

_locks: weakref.WeakKeyDictionary[nn.Module, threading.RLock] = weakref.WeakKeyDictionary()
_locks_lock = threading.Lock()


def model_lock(model: nn.Module) -> threading.RLock:
    """The lock that whoever uses or changes this model holds."""
    with _locks_lock:
        return _locks.setdefault(model, threading.RLock())


class Loan:
    """What belongs to one loan of a model.

    Hook handles passed to `keep` are removed at its end. Run a model that may write to its
    parameters, or whose operations are to be counted, inside `operations`.
    """

    def __init__(self, model: nn.Module) -> None:
        self.operations = OperationWatch(model.parameters())
        self._handles: list[Any] = []

    def keep(self, *handles: Any) -> None:
        """Remember what registering hooks returned."""
        self._handles += handles

    def end(self) -> None:
        """Remove the hooks, then put back parameters that were written to."""
        for handle in self._handles:
            handle.remove()
        self.operations.restore()


@contextmanager
def borrow(model: nn.Module) -> Iterator[Loan]:
    """Use `model` alone; on leaving, also after an error, everything about it is as before.

    That is: gradients, `requires_grad`, train or eval mode, buffers such as batch-norm statistics,
    hooks given to the loan, and parameter values that changed inside `loan.operations`.
    """
    with model_lock(model):
        # torch notes on the module which kind of backward hook it has had, and refuses the other.
        modes = [(m, m.training, m._is_full_backward_hook) for m in model.modules()]
        parameters = [(p, p.requires_grad, p.grad) for p in model.parameters()]
        buffers = [
            (module, name, buffer, buffer.clone())
            for module in model.modules()
            for name, buffer in module._buffers.items()
            if buffer is not None
        ]
        loan = Loan(model)
        try:
            yield loan
        finally:
            loan.end()
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


@contextmanager
def borrow_seeded(model: nn.Module, seed: int | None = None) -> Iterator[Loan]:
    """Borrow `model` to train it: gradients start at None.

    Random numbers come from `seed`, or else continue the present stream; afterwards torch's random
    state is as before. Other users of the random state wait.
    """
    with TORCH_LOCK:
        start = torch.default_generator.get_state() if seed is None else seed
        with random_stream(start), borrow(model) as loan:
            for parameter in model.parameters():
                parameter.grad = None
            yield loan


@contextmanager
def borrow_frozen(model: nn.Module, grad: bool = False) -> Iterator[Loan]:
    """Borrow `model` to look at it: in evaluation mode, with its parameters frozen.

    `grad` says whether gradients with respect to inputs and activations can be taken inside.
    """
    with borrow(model) as loan, torch.set_grad_enabled(grad):
        model.eval().requires_grad_(False)
        yield loan


def copy_on(model: nn.Module, device: str) -> nn.Module:
    """A copy of the model, in evaluation mode and frozen, on one of `explorer.networks.devices()`.

    Raises RuntimeError where there is no room for it.
    """
    with borrow_frozen(model):
        return copy.deepcopy(model).to(device)


def _attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any, **more: Any) -> int:
    return sdpa_flop_count(query.shape, key.shape, value.shape)


def _lstm(sequence: Tensor, weight: Tensor, recurrent: Tensor, *rest: Any, **more: Any) -> int:
    """Each vector of the sequence, (steps, batch, features), is multiplied with both matrices."""
    steps, batch = sequence.shape[:2]
    return 2 * steps * batch * (weight.numel() + recurrent.numel())


#: torch's own formulas (those of `FlopCounterMode`: 2 per multiply-add, no biases), and what its
#: table leaves out: the fused attention and LSTM of the CPU. `FlopCounterMode` itself sets
#: process-wide module hooks, which would fire for every other reader's model too.
_FLOPS: dict[Any, Callable[..., int]] = {
    **flop_registry,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten.mkldnn_rnn_layer: _lstm,
}


class OperationWatch(TorchDispatchMode):
    """Counts the floating-point operations done inside, and can undo writes to parameters.

    Models rarely write to a parameter in forward (`nn.Embedding(max_norm=…)` does), so one is
    copied only when an operation is about to.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__()
        self.flops = 0
        self._unwritten = {p.untyped_storage()._cdata: p for p in parameters}
        self._copies: list[tuple[nn.Parameter, Tensor]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            for position, argument in enumerate(func._schema.arguments):
                if argument.is_write:
                    positional = position < len(args)
                    self._copy(args[position] if positional else kwargs.get(argument.name))
        result = func(*args, **kwargs)
        formula = _FLOPS.get(func._overloadpacket)
        if formula is not None:
            self.flops += formula(*args, **kwargs, out_val=result)
        return result

    def _copy(self, target: Any) -> None:
        if isinstance(target, Tensor):
            parameter = self._unwritten.pop(target.untyped_storage()._cdata, None)
            if parameter is not None:
                self._copies.append((parameter, parameter.detach().clone()))

    def restore(self) -> None:
        """Put back every parameter that was written to."""
        with torch.no_grad():
            for parameter, value in self._copies:
                parameter.copy_(value)
