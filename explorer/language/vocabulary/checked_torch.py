"""Classes of torch whose C++ code lacks a check of its arguments, with that check.

Measured with torch 2.13: an LSTM whose weights were replaced by smaller ones reads beyond them, a
fused optimizer whose state was replaced writes beyond it, and ASGD makes a tensor of whatever its
settings and state contain (see `data_checks`). The checked values are the values used: everything
is read once, and no code of the program can run in between.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from typing import Any, cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.checked_functions import FUNCTIONS, POOLING, copy_index_results
from explorer.language.vocabulary.data_checks import find_non_number
from explorer.language.vocabulary.memory_safety import run_in_mode
from explorer.language.vocabulary.saved_hooks import keep_saved

#: The attributes that torch's LSTM reads, with their types.
_LSTM_FIELDS: dict[str, type] = {
    **dict.fromkeys(("input_size", "hidden_size", "num_layers", "proj_size"), int),
    **dict.fromkeys(("bias", "batch_first", "bidirectional", "training"), bool),
    "dropout": float,
}


class LSTM(nn.LSTM):
    # Checks first that weights, input and state have the declared sizes.
    __doc__, __module__ = nn.LSTM.__doc__, nn.LSTM.__module__

    def forward(self, input: Any, hx: Any = None) -> Any:
        self._update_flat_weights()
        plain = _plain_copy(self)
        state = () if hx is None else tuple(hx)
        weights: list[Any] = plain._flat_weights
        tensors = (*weights, input, *state)
        if not all(isinstance(t, torch.Tensor) and t.dtype == input.dtype for t in tensors):
            raise _mismatch()
        if len(state) not in (0, 2) or [tuple(w.shape) for w in weights] != _expected_shapes(plain):
            raise _mismatch()
        run = keep_saved(nn.LSTM.forward)
        return run(plain, input, state or None)  # compares input and state itself


def _plain_copy(lstm: nn.LSTM) -> nn.LSTM:
    """An LSTM of torch's own class with the same sizes and weights.

    It has none of the attributes that a program's class may have redefined, and which could give
    another value when they are read again.
    """
    plain = nn.LSTM.__new__(nn.LSTM)
    nn.Module.__init__(plain)
    fields = {name: kind(getattr(lstm, name)) for name, kind in _LSTM_FIELDS.items()}
    flat = {"_flat_weights": list(lstm._flat_weights), "_flat_weights_names": []}
    plain.__dict__.update(fields, mode="LSTM", _flat_weight_refs=[], **flat)
    return plain


def _expected_shapes(lstm: nn.LSTM) -> list[tuple[int, ...]]:
    """The shapes that its weights must have, in torch's order."""
    hidden, proj = lstm.hidden_size, lstm.proj_size
    directions, out = 2 if lstm.bidirectional else 1, proj or hidden
    if min(hidden, lstm.num_layers) < 1 or proj < 0:
        raise _mismatch()
    shapes: list[tuple[int, ...]] = []
    for number in range(lstm.num_layers * directions):
        width = lstm.input_size if number < directions else out * directions
        shapes += [(4 * hidden, width), (4 * hidden, out)]
        shapes += [(4 * hidden,)] * (2 * lstm.bias) + [(proj, hidden)] * bool(proj)
    return shapes


def _mismatch() -> RuntimeError:
    return RuntimeError("The weights, input and state of this LSTM do not match")


#: Where an optimizer keeps its settings, and of which classes they are.
OPTIMIZER_FIELDS: dict[str, tuple[type, ...]] = {
    "param_groups": (list,),
    "state": (dict, defaultdict),
    "defaults": (dict,),
}


def check_optimizer(kind: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """The optimizer class, with a check of its settings and state before every step."""

    def step(self: Any, closure: Any = None) -> Any:
        def checked_closure() -> Any:
            loss = closure()
            _check_settings(self)  # the closure may have changed them
            return loss

        _check_settings(self)
        step: Any = kind.step
        if getattr(step, "hooked", False):  # torch wraps the class that was used first
            step = step.__wrapped__
        return step(self, None if closure is None else checked_closure)

    def state_dict(self: Any) -> Any:
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(isinstance(p, torch.Tensor) and id(p) not in known for p in self.state):
            raise OutsideLanguage(  # torch's own error contains the tensor's address
                "The optimizer's state has a key that is not one of its parameters.",
                "Use only its parameters as keys.",
            )
        return kind.state_dict(self)

    def load_state_dict(self: Any, state_dict: Any) -> None:
        _refuse(find_non_number(state_dict, dict))
        kind.load_state_dict(self, state_dict)

    own = {} if kind is torch.optim.Optimizer else {"step": step}
    return _derived(kind, state_dict=state_dict, load_state_dict=load_state_dict, **own)


def set_optimizer_field(optimizer: Any, name: str, value: Any) -> None:
    """Perform `optimizer.name = value` for an optimizer of the program's own class."""
    if type(value) not in OPTIMIZER_FIELDS[name]:
        kind = OPTIMIZER_FIELDS[name][0].__name__
        raise OutsideLanguage(f"{name} of an optimizer must be a {kind}.", f"Assign a {kind}.")
    setattr(optimizer, name, value)


def _derived(kind: type, **methods: Any) -> Any:
    """A derived class with the same name."""
    names = ("__module__", "__doc__", "__qualname__")
    return type(kind.__name__, (kind,), {n: getattr(kind, n) for n in names} | methods)


# -- schedulers: `state_dict` returns the `__dict__` of a callable that is not a function ----------


def check_scheduler(kind: type, *names: str) -> type:
    """The scheduler class, whose arguments of these names are wrapped in functions."""
    signature = inspect.signature(kind)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        given |= {name: _functions(given[name]) for name in names if name in given}
        kind.__init__(self, **given)  # type: ignore[misc]

    return cast(type, _derived(kind, __init__=__init__))


def _functions(value: Any) -> Any:
    """A function, or a list of them, in place of what can be called."""
    if isinstance(value, list | tuple):
        return [_functions(part) for part in value]
    return as_function(value)


def _check_settings(optimizer: torch.optim.Optimizer) -> None:
    groups, state = optimizer.param_groups, optimizer.state
    # A key of the program's own class could compare differently each time.
    _refuse(find_non_number([groups, *state, *state.values()], dict))
    for group in groups:
        fused = group.get("fused")
        if fused is not None and fused is not False:
            raise OutsideLanguage("Fused optimizers are not supported here.", "Leave fused= out.")


def _refuse(other: Any) -> None:
    if other is not None:
        raise OutsideLanguage(
            f"An optimizer cannot work with a {type(other).__name__[:60]}.",
            "Use only numbers and tensors in its param_groups and its state.",
        )


# -- layers that call checked functions -----------------------------------------------------------


class _Checked(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return FUNCTIONS.get(func, func)(*args, **kwargs or {})


#: Layers that call them.
_CALLERS = """
    Embedding NLLLoss CrossEntropyLoss MultiMarginLoss BatchNorm1d BatchNorm2d BatchNorm3d
    MaxPool1d RReLU ReplicationPad1d ReplicationPad2d ReplicationPad3d ReflectionPad1d
    ReflectionPad2d ReflectionPad3d
"""
#: Layers of torch -> the checked ones that a program gets.
LAYERS: dict[type, type] = {
    nn.LSTM: LSTM,
    **{
        kind: _derived(kind, forward=run_in_mode(_Checked, kind.forward))
        for kind in (getattr(nn, name) for name in _CALLERS.split())
    },
    **{
        kind: _derived(kind, forward=copy_index_results(kind.forward))
        for kind in (getattr(nn, name) for name in POOLING)
    },
}


def _embedding_of(weight: Any, freeze: bool = True, **options: Any) -> nn.Module:
    """`Embedding.from_pretrained`."""
    if not isinstance(weight, torch.Tensor):
        raise TypeError("from_pretrained needs a tensor")
    kind: Any = LAYERS[nn.Embedding]
    return cast(nn.Module, kind.from_pretrained(weight, bool(freeze), **options))


def _causal_mask(size: Any) -> torch.Tensor:
    """`Transformer.generate_square_subsequent_mask`."""
    if type(size) is not int or not 0 <= size <= 4096:
        raise ValueError("generate_square_subsequent_mask takes a whole number up to 4096 here")
    return torch.full((size, size), -torch.inf).triu(1)


#: What may be read of these classes themselves.
CLASS_MEMBERS: dict[type, dict[str, Any]] = {
    LAYERS[nn.Embedding]: {"from_pretrained": _embedding_of},
    nn.Transformer: {"generate_square_subsequent_mask": _causal_mask},
}


def use_checked_layers(model: nn.Module) -> nn.Module:
    """Replace the layers of a model built by torchvision by the checked ones. Returns the model."""
    for module in model.modules():
        module.__class__ = LAYERS.get(type(module), type(module))
    return model


_SCHEDULERS = {
    "LambdaLR": ("lr_lambda",),
    "MultiplicativeLR": ("lr_lambda",),
    "CyclicLR": ("scale_fn",),
}


def make_replacements(table: dict[str, Any]) -> dict[str, Any]:
    """The checked replacements of the table's objects, by name."""
    optimizers = {
        name: check_optimizer(kind)
        for name, kind in table.items()
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
    }
    paths = {f"torch.optim.lr_scheduler.{name}": names for name, names in _SCHEDULERS.items()}
    schedulers = {path: check_scheduler(table[path], *names) for path, names in paths.items()}
    layers = {f"torch.nn.{kind.__name__}": ours for kind, ours in LAYERS.items()}
    return {**layers, **optimizers, **schedulers}
