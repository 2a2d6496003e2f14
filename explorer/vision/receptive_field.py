"""Receptive fields: which pixels of the image can affect each position of a layer.

The model runs once; `field_rules` says for each operation what becomes of the field.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakTensorKeyDictionary

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import Inputs, Of, first_tensor, to_arguments
from explorer.vision.field_axes import Axis, Field, ReceptiveField
from explorer.vision.field_rules import Tracked, field_after, join_tracked, tensors_in

__all__ = ["Axis", "Field", "ReceptiveField", "receptive_fields"]


def receptive_fields(
    model: nn.Module, inputs: Inputs, *, of: Of = "output"
) -> dict[str, tuple[Field, ...]]:
    """The receptive fields of the output (or input) of every layer and block, by its name; one for
    each call.

    Runs the model once on `inputs`. Layers that did not run are left out.
    """
    fields: defaultdict[str, list[Field]] = defaultdict(list)
    with borrow_frozen(model) as loan, _FieldTracker() as tracker:

        def record(name: str) -> Callable[..., None]:
            return lambda module, *values: fields[name].append(tracker.field(values[-1]))

        for name, module in model.named_modules():
            if of == "input":
                loan.keep(module.register_forward_pre_hook(record(name)))
            else:
                loan.keep(module.register_forward_hook(record(name)))
        model(*(tracker.start(tensor) for tensor in to_arguments(inputs)))
    return {name: tuple(calls) for name, calls in fields.items()}


class _FieldTracker(TorchFunctionMode):
    """Computes the receptive field of each operation's result from those of its inputs, in this
    thread."""

    def __init__(self) -> None:
        super().__init__()
        self._tracked = WeakTensorKeyDictionary()

    def start(self, tensor: Tensor) -> Tensor:
        """An input of the model: the receptive field of each pixel is the pixel itself."""
        tensor = tensor.detach()
        if tensor.dim() > 2:
            rows, columns = (Axis(tuple((i, i) for i in range(n))) for n in tensor.shape[-2:])
            self._tracked[tensor] = Tracked(ReceptiveField(rows, columns))
        return tensor

    def field(self, values: Any) -> Field:
        tensor = first_tensor(values)
        tracked = None if tensor is None else self._tracked.get(tensor)
        return tracked.field if tracked and tracked.dims == (-2, -1) else None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        # Looked up before the call: an in-place operation changes its own input's field.
        sources = [self._tracked[t] for t in tensors_in((args, kwargs)) if t in self._tracked]
        before = [tuple(t.shape) for t in tensors_in((args, kwargs))][:1]
        result = func(*args, **kwargs)
        if sources:
            joined = join_tracked(sources)
            for tensor in tensors_in(result):
                self._tracked[tensor] = joined and field_after(
                    joined, func, args, kwargs, before[0], tensor
                )
        return result
