"""Our own functions in place of those of torch, numpy and torchvision that could do too much."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import report
from explorer.language.vocabulary import (
    anomaly,
    callbacks,
    checked_functions,
    checked_torch,
    checkpointing,
    custom_operators,
    data,
    devices,
    everyday,
    forward_mode,
    gradient_checks,
    gradient_edges,
    lazy_layers,
    memory_safety,
    mixed_precision,
    model_tables,
    module_hooks,
    more_torch,
    notebook,
    parametrizations,
    plotting,
    polynomials,
    profiling,
    progress_bars,
    saved,
    saved_hooks,
    sklearn_data,
    sklearn_names,
    tensorboard,
    transforms,
    vision,
)
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.data_checks import (
    check_arrays,
    is_plain,
    require_numbers,
)
from explorer.language.vocabulary.out_argument import copies_to_out
from explorer.language.vocabulary.python_names import NUMPY_RANDOM, RANDOM
from explorer.language.vocabulary.sizes import SIZES, check_bytes, limit_size, product
from explorer.language.vocabulary.vision.weights import load_from_hub, say_random

#: The largest values for torch.set_printoptions.
PRINT_LIMITS = {"precision": 30, "threshold": 10_000, "edgeitems": 50, "linewidth": 1_000}


# -- creating ----------------------------------------------------------------------------------


def _require_number_data(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def make(data: Any, *args: Any, **kwargs: Any) -> Any:
        return function(require_numbers(data), *args, **kwargs)

    return make


TENSOR_TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


def make_tensor_constructor(
    given: torch.dtype | None, name: str = "Tensor"
) -> Callable[..., torch.Tensor]:
    """`torch.Tensor(2, 3)` is uninitialised memory in torch; here it is zeros."""

    def make(*args: Any) -> torch.Tensor:
        dtype = torch.get_default_dtype() if given is None else given
        itemsize = dtype.itemsize
        if args and all(isinstance(a, int) for a in args):
            check_bytes(product(*args), itemsize)
            return torch.zeros(*args, dtype=dtype)
        if len(args) == 1 and isinstance(args[0], torch.Size):
            check_bytes(product(args[0]), itemsize)
            return torch.zeros(args[0], dtype=dtype)
        if len(args) == 1 and isinstance(args[0], list | tuple | torch.Tensor | np.ndarray):
            return torch.as_tensor(require_numbers(args[0]), dtype=dtype)
        if not args:
            return torch.zeros(0, dtype=dtype)
        raise OutsideLanguage(
            f"torch.{name} takes sizes or one list of numbers.", "Use torch.tensor."
        )

    make.__name__ = name
    return make


@functools.wraps(RANDOM.seed)
def _seed_random(a: Any = None) -> None:
    """`random.seed`. Of other objects, and of NaN, it would take the hash, which is an address."""
    if not is_plain(a) or a != a or isinstance(a, list | tuple):
        raise OutsideLanguage("A seed is a whole number or a string.", "Use random.seed(0).")
    RANDOM.seed(a)


def _make_generator(seed: int | None = None) -> np.random.Generator:
    """A numpy generator; without a seed it is seeded from the run's own."""
    require_numbers(seed)
    return np.random.default_rng(NUMPY_RANDOM.randint(2**31) if seed is None else seed)


# -- networks of torchvision, untrained -----------------------------------------------------------

_NETWORKS = """
    AlexNet alexnet vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn
    resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d wide_resnet50_2
    squeezenet1_0 squeezenet1_1 densenet121 densenet161 densenet169 densenet201
    mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet0_5 mnasnet1_0
    shufflenet_v2_x0_5 shufflenet_v2_x1_0 efficientnet_b0 efficientnet_b1 efficientnet_v2_s
    regnet_x_400mf regnet_y_400mf convnext_tiny vit_b_16 vit_b_32 swin_t
"""


def _make_constructor(name: str) -> Callable[..., Any]:
    """The function `torchvision.models.<name>` of a program: random weights only."""

    def build(pretrained: Any = False, *, weights: Any = None, **options: Any) -> Any:
        say_random(pretrained, weights, options)
        for option, value in options.items():
            if not is_plain(value):  # torchvision would call it with classes of its own
                raise OutsideLanguage(
                    f"{name} takes only numbers and strings; {option[:60]} is neither.",
                    "Leave it out, and change the layers of the finished network.",
                )
        from explorer.torchvision_guard import torchvision  # costs a second, so only now

        options.pop("progress", None)
        return checked_torch.use_checked_layers(getattr(torchvision.models, name)(**options))

    build.__name__ = name
    build.__doc__ = f"The {name} architecture with random weights."
    return build


NETWORKS: dict[str, Any] = {
    f"torchvision.models.{name}": _make_constructor(name) for name in _NETWORKS.split()
}
NETWORKS["torchvision.models.AlexNet"] = NETWORKS["torchvision.models.alexnet"]


# -- the rest ----------------------------------------------------------------------------------


def _set_printoptions(**options: Any) -> None:
    for name, value in options.items():
        is_text = name == "profile" and type(value) is str
        if not is_text and type(value) not in (int, float, bool, type(None)):
            raise OutsideLanguage(f"{name[:60]} must be a number.", "Write the number itself.")
        limit = PRINT_LIMITS.get(name)
        if limit is not None and value is not None and value > limit:
            raise OutsideLanguage(f"{name} may be at most {limit:,}.", "Use a smaller value.")
    torch.set_printoptions(**options)


def _of_tensor(kind: Any) -> ClassProxy:
    """A class of torch that sets attributes on what it is given, for tensors only."""

    def make(data: Any = None, *args: Any, **kwargs: Any) -> Any:
        if data is not None and not isinstance(data, torch.Tensor):
            raise OutsideLanguage(
                f"{kind.__name__} needs a tensor, not a {type(data).__name__[:60]}.",
                "Create a tensor first, for example with torch.tensor.",
            )
        return report("Tensor.wrapped", kind.__name__, kind, data, *args, **kwargs)

    return ClassProxy(kind, make)


_PARAMETER, _BUFFER = _of_tensor(nn.Parameter), _of_tensor(nn.Buffer)
_OF_TENSOR: dict[str, Any] = {
    "torch.nn.Parameter": _PARAMETER,
    "torch.nn.parameter.Parameter": _PARAMETER,
    "torch.nn.Buffer": _BUFFER,
    "torch.autograd.Variable": _of_tensor(torch.autograd.Variable),
}


@functools.wraps(copy.copy)
def _copy(x: Any) -> Any:
    # Python would look a bound method up again, by the name of its function.
    return x if isinstance(x, types.MethodType) else copy.copy(x)


@functools.wraps(copy.deepcopy)
def _deepcopy(x: Any, memo: Any = None) -> Any:
    if memo is not None:
        raise OutsideLanguage(
            "The memo argument of deepcopy is not supported here.", "Leave it out."
        )
    return copy.deepcopy(x)


#: Names in no group of the table: full name -> (title, object).
ADDED: dict[str, tuple[str, Any]] = {
    "torch.Tensor": (
        "Creating tensors",
        ClassProxy(torch.Tensor, make_tensor_constructor(None)),
    ),
    **{
        f"{module.__name__}.{name}": (
            "Creating tensors",
            ClassProxy(getattr(module, name), make_tensor_constructor(dtype, name)),
        )
        for module in (torch, torch.cuda)
        for name, dtype in TENSOR_TYPES.items()
    },
    "torch.empty": ("Creating tensors", torch.zeros),
    "torch.empty_like": ("Creating tensors", torch.zeros_like),
    "torch.set_printoptions": ("Autograd", _set_printoptions),
    "numpy.ndarray": ("numpy", ClassProxy(np.ndarray)),
    "numpy.random.default_rng": ("numpy", _make_generator),
}


#: Modules that add names: each has `ADDED`, like the one above, of which these are a part.
ADDITIONS: tuple[types.ModuleType, ...] = (
    anomaly,
    checkpointing,
    custom_operators,
    data,
    devices,
    everyday,
    forward_mode,
    gradient_checks,
    gradient_edges,
    lazy_layers,
    mixed_precision,
    model_tables,
    module_hooks,
    more_torch,
    notebook,
    parametrizations,
    plotting,
    polynomials,
    profiling,
    progress_bars,
    saved_hooks,
    saved,
    sklearn_data,
    sklearn_names,
    tensorboard,
    transforms,
    vision,
)
for _module in ADDITIONS:
    ADDED |= _module.ADDED
ADDED["torch.hub.load"] = "Networks of torchvision, untrained", load_from_hub(NETWORKS)


def _takes_where(function: Any) -> bool:
    """Whether `where=` selects the results to compute; in sums it selects the terms."""
    return isinstance(function, np.ufunc) or function is np.clip


def make_replacements(table: dict[str, Any]) -> dict[str, Any]:
    """The entries of the table that replace the libraries' own functions, or are added to them."""
    replaced = {name: limit_size(table[name], size) for name, size in SIZES.items()}
    for name in ("torch.tensor", "torch.as_tensor"):
        replaced[name] = _require_number_data(table[name])
    for name, thing in table.items():
        if name.startswith("numpy.") and callable(thing) and not isinstance(thing, type):
            replaced[name] = check_arrays(replaced.get(name, thing), fills=not _takes_where(thing))
    for module in (checked_torch, checked_functions, callbacks):
        replaced |= module.make_replacements(table)
    replaced |= _OF_TENSOR | {"random.seed": _seed_random}
    replaced |= {"copy.copy": _copy, "copy.deepcopy": _deepcopy}
    # `guard.attributes` has the one that a program may call.
    replaced["itertools.accumulate"] = ClassProxy(table["itertools.accumulate"])
    vector = "torch.nn.utils.vector_to_parameters"
    replaced[vector] = memory_safety.with_new_version(table[vector])
    for vjp in ("torch.func.vjp", "functorch.vjp"):
        replaced[vjp] = memory_safety.check_captured_layouts(replaced[vjp])
    for name, thing in (table | replaced).items():
        if name.startswith("torch.") and callable(thing) and not isinstance(thing, type):
            replaced[name] = copies_to_out(thing)
    replaced |= {name: thing for name, (_, thing) in ADDED.items()}
    replaced["torch.empty"], replaced["torch.empty_like"] = (
        replaced["torch.zeros"],
        table["torch.zeros_like"],
    )
    replaced["numpy.empty"], replaced["numpy.empty_like"] = (
        replaced["numpy.zeros"],
        replaced["numpy.zeros_like"],
    )
    return replaced
