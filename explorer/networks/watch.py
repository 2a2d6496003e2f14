"""What can be seen below the modules: every operation torch carries out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count


def _attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any, **more: Any) -> int:
    return sdpa_flop_count(query.shape, key.shape, value.shape)


#: torch's own formulas (those of `FlopCounterMode`: 2 per multiply-add, no biases), and the fused
#: attention of the CPU, which its table leaves out. `FlopCounterMode` itself sets process-wide
#: module hooks, which would fire for every other reader's model too.
_FLOPS: dict[Any, Callable[..., int]] = {
    **flop_registry,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
}


class Watch(TorchDispatchMode):
    """Counts the floating-point operations done inside, and undoes what is written to parameters.

    Models rarely write to a parameter in forward (`nn.Embedding(max_norm=…)` does), so one is
    copied only when an operation is about to.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__()
        self.flops = 0
        self._unwritten = {p.untyped_storage()._cdata: p for p in parameters}
        self._kept: list[tuple[nn.Parameter, Tensor]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func._schema.is_mutable:
            for position, argument in enumerate(func._schema.arguments):
                if argument.is_write:
                    positional = position < len(args)
                    self._keep(args[position] if positional else kwargs.get(argument.name))
        result = func(*args, **kwargs)
        formula = _FLOPS.get(func._overloadpacket)
        if formula is not None:
            self.flops += formula(*args, **kwargs, out_val=result)
        return result

    def _keep(self, target: Any) -> None:
        if isinstance(target, Tensor):
            parameter = self._unwritten.pop(target.untyped_storage()._cdata, None)
            if parameter is not None:
                self._kept.append((parameter, parameter.detach().clone()))

    def restore(self) -> None:
        with torch.no_grad():
            for parameter, value in self._kept:
                parameter.copy_(value)
