"""Classes of torch whose C++ code trusts the shapes it is given, each with the missing check.

Measured with torch 2.13: an LSTM whose weights were exchanged for smaller ones reads beyond
them, and a fused optimizer whose state was exchanged writes beyond it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from explorer.language.errors import OutsideLanguage


class LSTM(nn.LSTM):
    # Looks first whether weights, input and state have the sizes it says.
    __doc__, __module__ = nn.LSTM.__doc__, nn.LSTM.__module__

    def forward(self, input: Any, hx: Any = None) -> Any:
        self._update_flat_weights()
        waiting = list(self._flat_weights)
        size, hidden = input.size(-1), self.hidden_size
        ways, out = 2 if self.bidirectional else 1, self.proj_size or hidden
        for number in range(self.num_layers * ways):
            width = size if number < ways else out * ways
            shapes: list[tuple[int, ...]] = [(4 * hidden, width), (4 * hidden, out)]
            shapes += [(4 * hidden,)] * (2 * bool(self.bias))
            shapes += [(self.proj_size, hidden)] * bool(self.proj_size)
            taken, waiting = waiting[: len(shapes)], waiting[len(shapes) :]
            if [tuple(weight.shape) for weight in taken if weight is not None] != shapes:
                raise _mismatch()
        state = () if hx is None else hx
        if waiting or any(
            t is None or t.dtype != input.dtype for t in (*self._flat_weights, *state)
        ):
            raise _mismatch()
        if state and [t.size(-1) for t in state] != [out, hidden]:
            raise _mismatch()
        return super().forward(input, hx)


def _mismatch() -> RuntimeError:
    return RuntimeError("Weights, input and state of this LSTM do not fit together")


def without_fused(kind: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """The optimizer, whose step refuses `fused=True`."""

    def _init_group(self: Any, group: Any, *lists: Any) -> Any:
        found = kind._init_group(self, group, *lists)  # type: ignore[attr-defined]
        if type(group) is not dict or group.get("fused"):  # last thing before torch reads it
            raise OutsideLanguage(
                "Fused optimizers are not part of this language.", "Leave it out."
            )
        return found

    names = ("__module__", "__doc__", "__qualname__")
    taken = {name: getattr(kind, name) for name in names}
    return type(kind.__name__, (kind,), {**taken, "_init_group": _init_group})


CLASSES: dict[str, type] = {
    "torch.nn.LSTM": LSTM,
    **{
        f"torch.optim.{kind.__name__}": without_fused(kind)
        for kind in (
            torch.optim.SGD,
            torch.optim.Adam,
            torch.optim.AdamW,
            torch.optim.Adagrad,
        )
    },
}
