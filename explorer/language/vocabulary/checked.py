"""Classes of torch whose C++ code trusts what it is given, each with the missing check.

Measured with torch 2.13: an LSTM whose weights were exchanged for smaller ones reads beyond
them, a fused optimizer whose state was exchanged writes beyond it, and ASGD makes a tensor of
whatever its settings and state hold (see `data`). What is checked is what is used: everything is
read once, and no code of the program's own can run in between.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode, handle_torch_function

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.data import stranger
from explorer.language.vocabulary.memory import own_copy, within

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

    def state_dict(self: Any) -> Any:
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(isinstance(p, torch.Tensor) and id(p) not in known for p in self.state):
            raise OutsideLanguage(  # torch's own error holds the tensor's address
                "This optimizer's state has a key that is not one of its parameters.",
                "Use only its parameters as keys.",
            )
        return kind.state_dict(self)

    def load_state_dict(self: Any, state_dict: Any) -> None:
        _refuse(stranger(state_dict, dict))
        kind.load_state_dict(self, state_dict)

    return _derived(kind, step=step, state_dict=state_dict, load_state_dict=load_state_dict)


def _derived(kind: type, **methods: Any) -> Any:
    """A class derived from this one that goes by its name."""
    names = ("__module__", "__doc__", "__qualname__")
    return type(kind.__name__, (kind,), {n: getattr(kind, n) for n in names} | methods)


# -- schedulers: `state_dict` hands out the `__dict__` of what they call, if it is no function ---


def of_functions(kind: type, *names: str) -> type:
    """The scheduler, whose arguments of these names are functions whatever was given."""
    parameters = inspect.signature(kind)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = parameters.bind(*args, **kwargs).arguments
        given |= {name: _function(given[name]) for name in names if name in given}
        kind.__init__(self, **given)  # type: ignore[misc]

    return cast(type, _derived(kind, __init__=__init__))


def _function(call: Any) -> Any:
    if isinstance(call, list | tuple):
        return [_function(one) for one in call]
    return (lambda *args: call(*args)) if callable(call) else call


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


# -- indices that backward takes as they are (see `memory`) --------------------------------------


def copy_index_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which reads its integer tensors from memory of their own."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if torch._C._is_torch_function_mode_enabled():  # who watches sees what was given
            return handle_torch_function(call, args, *args, **kwargs)
        named = {name: own_copy(value) for name, value in kwargs.items()}
        return function(*map(own_copy, args), **named)

    return call


def copy_index_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose integer results lie in memory of their own."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        return tuple(map(own_copy, made)) if isinstance(made, tuple) else made

    return call


# -- what reads or returns memory that is not its own, as torch 2.13 has it ----------------------


def of_dense(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, on tensors that hold all their numbers: of an expanded one it would read, or
    write, beyond those that are there."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(dense, args), **{name: dense(v) for name, v in kwargs.items()})

    return call


def dense(value: Any) -> Any:
    """The tensor, copied if it repeats numbers without holding them."""
    is_expanded = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return value.contiguous() if is_expanded and 0 in value.stride() else value


def of_own_statistics(function: Callable[..., Any]) -> Callable[..., Any]:
    """Batch norm, which writes its running statistics: an expanded tensor has no room for them."""

    @functools.wraps(function)
    def call(input: Any, running_mean: Any, running_var: Any, *args: Any, **kwargs: Any) -> Any:
        if any(dense(value) is not value for value in (running_mean, running_var)):
            raise OutsideLanguage(
                "The running statistics are expanded: all channels share one number.",
                "Call .clone() on them first.",
            )
        return function(input, running_mean, running_var, *args, **kwargs)

    return call


def refuse_empty(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss that is what memory held where there are no samples."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(a, torch.Tensor) and not a.numel() for a in (*args, *kwargs.values())):
            raise OutsideLanguage(
                f"{function.__name__} needs at least one sample.", "Check the shape of the input."
            )
        return function(*args, **kwargs)

    return call


#: Functions of torch that layers call -> those with a check.
FUNCTIONS: dict[Any, Any] = {
    functional.embedding: copy_index_arguments(functional.embedding),
    functional.nll_loss: copy_index_arguments(functional.nll_loss),
    functional.cross_entropy: copy_index_arguments(functional.cross_entropy),
    functional.multi_margin_loss: refuse_empty(functional.multi_margin_loss),
    functional.batch_norm: of_own_statistics(of_dense(functional.batch_norm)),
}


class _Checked(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return FUNCTIONS.get(func, func)(*args, **kwargs or {})


#: Layers that call them.
_CALLING = """
    Embedding NLLLoss CrossEntropyLoss MultiMarginLoss BatchNorm1d BatchNorm2d BatchNorm3d
"""
_POOLING = {
    "MaxPool1d": "max_pool1d",
    "MaxPool2d": "max_pool2d",
    "MaxPool3d": "max_pool3d",
    "AdaptiveMaxPool1d": "adaptive_max_pool1d",
    "AdaptiveMaxPool2d": "adaptive_max_pool2d",
}

#: Layers of torch -> those a program has in their place.
LAYERS: dict[type, type] = {
    nn.LSTM: LSTM,
    **{
        kind: _derived(kind, forward=within(_Checked, kind.forward))
        for kind in (getattr(nn, name) for name in _CALLING.split())
    },
    **{
        kind: _derived(kind, forward=copy_index_results(kind.forward))
        for kind in (getattr(nn, name) for name in _POOLING)
    },
}


def use_checked_layers(model: nn.Module) -> nn.Module:
    """The model that torch's own code has built, with the layers a program has."""
    for module in model.modules():
        module.__class__ = LAYERS.get(type(module), type(module))
    return model


_SCHEDULERS = {
    "LambdaLR": ("lr_lambda",),
    "MultiplicativeLR": ("lr_lambda",),
    "CyclicLR": ("scale_fn",),
}


def replacements(table: dict[str, Any]) -> dict[str, Any]:
    """What of the table has a check, by name."""
    optimizers = {
        name: of_numbers_only(kind)
        for name, kind in table.items()
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
    }
    paths = {f"torch.optim.lr_scheduler.{name}": names for name, names in _SCHEDULERS.items()}
    schedulers = {path: of_functions(table[path], *names) for path, names in paths.items()}
    layers = {f"torch.nn.{kind.__name__}": ours for kind, ours in LAYERS.items()}
    functions = {f"torch.nn.functional.{f.__name__}": ours for f, ours in FUNCTIONS.items()}
    functions |= {path: of_dense(table[path]) for path in ("torch.median", "torch.nanmedian")}
    for name in _POOLING.values():
        path = f"torch.nn.functional.{name}"
        functions[path] = copy_index_results(table[path])
    return {**layers, **functions, **optimizers, **schedulers}
