"""Classes of torch whose C++ code trusts what it is given, each with the missing check.

Measured with torch 2.13: an LSTM whose weights were exchanged for smaller ones reads beyond
them, a fused optimizer whose state was exchanged writes beyond it, and ASGD makes a tensor of
whatever its settings and state hold (see `data`). What is checked is what is used: everything is
read once, and no code of the program's own can run in between.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.data import stranger

#: What torch's LSTM reads of itself, as what.
_FIELDS: dict[str, type] = {
    **dict.fromkeys(("input_size", "hidden_size", "num_layers", "proj_size"), int),
    **dict.fromkeys(("bias", "batch_first", "bidirectional", "training"), bool),
    "dropout": float,
}


class LSTM(nn.LSTM):
    # Looks first whether weights, input and state have the sizes it says.
    __doc__, __module__ = nn.LSTM.__doc__, nn.LSTM.__module__

    def forward(self, input: Any, hx: Any = None) -> Any:
        self._update_flat_weights()
        plain = _plain(self)
        state = () if hx is None else tuple(hx)
        weights: list[Any] = plain._flat_weights
        tensors = (*weights, input, *state)
        if not all(isinstance(t, torch.Tensor) and t.dtype == input.dtype for t in tensors):
            raise _mismatch()
        if len(state) not in (0, 2) or [tuple(w.shape) for w in weights] != _shapes(plain):
            raise _mismatch()
        return nn.LSTM.forward(plain, input, state or None)  # compares input and state itself


def _plain(lstm: nn.LSTM) -> nn.LSTM:
    """An LSTM with the same numbers and weights that is torch's alone.

    What a program's class redefined, and could answer differently the second time, stays behind.
    """
    plain = nn.LSTM.__new__(nn.LSTM)
    nn.Module.__init__(plain)
    fields = {name: kind(getattr(lstm, name)) for name, kind in _FIELDS.items()}
    flat = {"_flat_weights": list(lstm._flat_weights), "_flat_weights_names": []}
    plain.__dict__.update(fields, mode="LSTM", _flat_weight_refs=[], **flat)
    return plain


def _shapes(lstm: nn.LSTM) -> list[tuple[int, ...]]:
    """The shapes its weights must have, in torch's order."""
    hidden, proj = lstm.hidden_size, lstm.proj_size
    ways, out = 2 if lstm.bidirectional else 1, proj or hidden
    if min(hidden, lstm.num_layers) < 1 or proj < 0:
        raise _mismatch()
    shapes: list[tuple[int, ...]] = []
    for number in range(lstm.num_layers * ways):
        width = lstm.input_size if number < ways else out * ways
        shapes += [(4 * hidden, width), (4 * hidden, out)]
        shapes += [(4 * hidden,)] * (2 * lstm.bias) + [(proj, hidden)] * bool(proj)
    return shapes


def _mismatch() -> RuntimeError:
    return RuntimeError("Weights, input and state of this LSTM do not fit together")


def of_numbers_only(kind: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """The optimizer, which looks at its settings and state before every step."""

    def step(self: Any, closure: Any = None) -> Any:
        def closed() -> Any:
            loss = closure()
            _check(self)  # the closure may have changed them
            return loss

        _check(self)
        return kind.step(self, None if closure is None else closed)

    def load_state_dict(self: Any, state_dict: Any) -> None:
        _refuse(stranger(state_dict, dict))
        kind.load_state_dict(self, state_dict)

    names = ("__module__", "__doc__", "__qualname__")
    taken = {name: getattr(kind, name) for name in names}
    ours = {"step": step, "load_state_dict": load_state_dict}
    return type(kind.__name__, (kind,), {**taken, **ours})


def _check(optimizer: torch.optim.Optimizer) -> None:
    groups, state = optimizer.param_groups, optimizer.state
    # A key of a program's own could answer for another each time it is compared.
    _refuse(stranger([groups, *state, *state.values()], dict))
    for group in groups:
        fused = group.get("fused")
        if fused is not None and fused is not False:
            raise OutsideLanguage(
                "Fused optimizers are not part of this language.", "Leave it out."
            )


def _refuse(strange: Any) -> None:
    if strange is not None:
        raise OutsideLanguage(
            f"An optimizer cannot work with a {type(strange).__name__[:60]}.",
            "Put only numbers and tensors into its param_groups and its state.",
        )


def replacements(table: dict[str, Any]) -> dict[str, type]:
    """The classes of the table that have a check, by name."""
    optimizers = {
        name: of_numbers_only(kind)
        for name, kind in table.items()
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
    }
    return {"torch.nn.LSTM": LSTM, **optimizers}
