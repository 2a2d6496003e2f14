"""Methods that a program gets in a checked form, by class and name."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.guard import formatting, generators
from explorer.language.guard.limits import bounded, check_list_length, check_text_length
from explorer.language.vocabulary import devices, everyday, memory_safety, more_torch
from explorer.language.vocabulary.callbacks import with_functions
from explorer.language.vocabulary.checked_functions import divide_without_trap, to_dense
from explorer.language.vocabulary.data_checks import check_arrays, require_numbers
from explorer.language.vocabulary.module_parts import ModuleParts
from explorer.language.vocabulary.node_proxy import proxy_of
from explorer.language.vocabulary.replacements import make_tensor_constructor
from explorer.language.vocabulary.storages import Storage

#: How an attribute is read, given the receiver and the name.
Getter = Callable[[Any, str], Any]

_CONVERSIONS = "to float double half bfloat16 type"

# -- modules and exceptions ----------------------------------------------------------------------


def _get_conversion(receiver: nn.Module, name: str) -> Any:
    convert = memory_safety.with_new_version(getattr(receiver, name))
    if name == "type":
        return devices.convert_to_type(convert)
    return devices.convert_on_cpu(convert) if name == "to" else convert


def _get_cuda(receiver: Any, name: str) -> Any:
    return devices.staying(getattr(receiver, "__self__", receiver))  # of super()


def _get_parts(receiver: nn.Module, name: str) -> ModuleParts:
    return ModuleParts(receiver)


def _get_caller(receiver: Any, name: str) -> Any:
    return with_functions(getattr(receiver, name))


def _get_extra_repr(receiver: nn.Module, name: str) -> Any:
    return lambda: formatting.without_addresses(receiver.extra_repr())


def _get_buffer(receiver: nn.Module, name: str) -> Any:
    def get_buffer(target: str) -> torch.Tensor:
        buffer = receiver.get_buffer(target)
        if not isinstance(buffer, torch.Tensor):  # the program may define get_submodule itself
            raise AttributeError(f"{target[:60]} is not a buffer")
        return buffer

    return get_buffer


def _get_new(receiver: torch.Tensor, name: str) -> Any:
    """`x.new(numbers)`: a copy of these numbers in the dtype of x."""
    make = make_tensor_constructor(receiver.dtype)

    def new(*args: Any) -> torch.Tensor:
        if any(not isinstance(a, list | tuple | torch.Tensor | np.ndarray) for a in args):
            raise OutsideLanguage("Tensor.new takes only numbers here.", "Use new_zeros.")
        return make(*args).detach().clone()

    return new


def _get_exception_args(receiver: BaseException, name: str) -> Any:
    return _checked_argument(receiver.args, {})


def _checked_argument(value: Any, checked: dict[int, Any]) -> Any:
    """`checked` holds the results for tuples by id: a tuple may contain another many times."""
    if isinstance(value, str):
        return formatting.without_addresses(value)
    if isinstance(value, tuple):
        if id(value) not in checked:
            checked[id(value)] = tuple(_checked_argument(item, checked) for item in value)
        return checked[id(value)]
    kind = value if isinstance(value, type) else type(value)
    is_own = kind.__module__ == "__main__"
    return value if is_own or isinstance(value, _ARGUMENTS) else formatting.to_text(value, repr)


#: What a program may read from an exception, besides its own objects and strings. Of anything else
#: that torch, numpy or Python put there (numpy: a function of its own) it gets the repr.
_ARGUMENTS = (
    int, float, complex, type(None), list, dict, set, frozenset, range, slice, types.FunctionType,
    torch.Tensor, torch.dtype, torch.device, nn.Module, np.generic, np.ndarray,
)  # fmt: skip


def _get_node(receiver: torch.Tensor, name: str) -> Any:
    return proxy_of(receiver.grad_fn)


def _get_metadata(receiver: Any, name: str) -> Any:
    """A dictionary of the program's own: the other entries are the recorder's."""
    return receiver.metadata.setdefault("program", {})


def _get_next_nodes(receiver: Any, name: str) -> Any:
    return tuple((proxy_of(node), number) for node, number in receiver.next_functions)


def _get_indices(receiver: torch.utils.data.Subset[Any], name: str) -> Any:
    return list(receiver.indices)  # a copy: the dataset's index is not checked again


def _get_sizes(receiver: torch.utils.data.ConcatDataset[Any], name: str) -> Any:
    return list(receiver.cumulative_sizes)  # for the same reason


# -- tensors and arrays --------------------------------------------------------------------------


def _get_new_tensor(receiver: torch.Tensor, name: str) -> Any:
    return lambda data, **options: receiver.new_tensor(require_numbers(data), **options)


def _get_reshaping(receiver: torch.Tensor, name: str) -> Any:
    def reshape(*args: Any, **kwargs: Any) -> Any:
        memory_safety.start_layout_change()
        return getattr(receiver, name)(*args, **kwargs)

    return reshape


def _get_to(receiver: torch.Tensor, name: str) -> Any:
    return devices.convert_on_cpu(receiver.to)


def _get_type(receiver: torch.Tensor, name: str) -> Any:
    return devices.convert_to_type(receiver.type)


def _get_zeros(receiver: torch.Tensor, name: str) -> Any:
    return receiver.new_zeros  # new_empty would be uninitialised


def _get_sample(receiver: torch.distributions.Distribution, name: str) -> Any:
    return more_torch.limit_sample(receiver, getattr(receiver, name))


def _get_dense(receiver: torch.Tensor, name: str) -> Any:
    return getattr(to_dense(receiver), name)


def _get_division(receiver: torch.Tensor, name: str) -> Any:
    return functools.partial(divide_without_trap(getattr(torch.Tensor, name)), receiver)


def _get_clip(receiver: np.ndarray, name: str) -> Any:
    return check_arrays(receiver.clip, fills=False)


def _get_checked(receiver: Any, name: str) -> Any:
    return check_arrays(getattr(receiver, name))


def _get_storing(receiver: np.ndarray, name: str) -> Any:
    return lambda *values: getattr(receiver, name)(*map(require_numbers, values))


#: Methods of arrays with a `dtype` argument.
_CONVERTING = "astype sum prod mean std var cumsum trace"


# -- strings and lists: methods whose result may be far larger than what they are given ----------


def _get_padding(text: str, name: str) -> Callable[..., str]:
    def pad(width: int, *fill: str) -> str:
        check_text_length(width)
        return str(getattr(text, name)(width, *fill))

    return pad


def _get_replace(text: str, name: str) -> Callable[..., str]:
    def replace(old: str, new: str, count: int = -1) -> str:
        times = text.count(old) if count < 0 else min(text.count(old), count)
        check_text_length(len(text) + times * (len(new) - len(old)))
        return text.replace(old, new, count)

    return replace


def _get_join(text: str, name: str) -> Callable[..., str]:
    def join(parts: Any) -> str:
        parts = bounded(parts)
        check_text_length(sum(len(p) + len(text) for p in parts if isinstance(p, str)))
        return text.join(parts)

    return join


def _get_extend(items: Any, name: str) -> Callable[..., None]:
    def extend(more: Any) -> None:
        more = bounded(more)
        check_list_length(len(items) + len(more))
        getattr(items, name)(more)

    return extend


def _get_format(template: str, name: str) -> Any:
    return lambda *args, **kwargs: formatting.format_template(template, args, kwargs)


#: (class, name) -> how it is read.
CHECKED_METHODS: dict[tuple[type, str], Getter] = {
    **{(nn.Module, name): _get_conversion for name in _CONVERSIONS.split()},
    **{
        (kind, name): _get_cuda
        for kind in (nn.Module, torch.Tensor)
        for name in ("cuda", "xpu", "pin_memory")
    },
    (torch.Tensor, "to"): _get_to,
    (torch.Tensor, "type"): _get_type,
    (nn.Module, "_modules"): _get_parts,
    (nn.Module, "apply"): _get_caller,
    **{
        (kind, f"register_{name}"): _get_caller
        for kind in (nn.Module, torch.optim.Optimizer)
        for name in [
            "state_dict_pre_hook",
            "state_dict_post_hook",
            "load_state_dict_pre_hook",
            "load_state_dict_post_hook",
            "step_pre_hook",
            "step_post_hook",
        ]
    },
    (torch.autograd.graph.Node, "register_hook"): _get_caller,
    (torch.autograd.graph.Node, "register_prehook"): _get_caller,
    (torch.autograd.graph.Node, "next_functions"): _get_next_nodes,
    (torch.autograd.graph.Node, "metadata"): _get_metadata,
    (torch.Tensor, "grad_fn"): _get_node,
    (nn.Module, "extra_repr"): _get_extra_repr,
    (nn.Module, "get_buffer"): _get_buffer,
    (torch.Tensor, "new"): _get_new,
    (torch.Tensor, "storage"): lambda tensor, name: lambda: Storage(tensor),
    (BaseException, "args"): _get_exception_args,
    (torch.utils.data.Subset, "indices"): _get_indices,
    (torch.utils.data.ConcatDataset, "cumulative_sizes"): _get_sizes,
    (types.GeneratorType, "close"): lambda receiver, name: lambda: generators.close(receiver),
    (torch.Tensor, "median"): _get_dense,
    (torch.Tensor, "new_empty"): _get_zeros,
    **{(torch.distributions.Distribution, n): _get_sample for n in ("sample", "rsample")},
    **{
        (torch.Tensor, name): _get_reshaping
        for name in ("squeeze_", "unsqueeze_", "transpose_", "t_")
    },
    **{(torch.Tensor, name): _get_division for name in ("div", "div_", "divide", "divide_")},
    (torch.Tensor, "new_tensor"): _get_new_tensor,
    **{
        (kind, name): _get_checked
        for kind in (np.ndarray, np.generic)
        for name in _CONVERTING.split()
    },
    (np.ndarray, "clip"): _get_clip,
    (np.ndarray, "fill"): _get_storing,
    (np.ndarray, "put"): _get_storing,
    (np.random.Generator, "choice"): _get_checked,
    (np.random.Generator, "permutation"): _get_checked,
    (str, "format"): _get_format,
    **{(str, name): _get_padding for name in ("center", "ljust", "rjust", "zfill")},
    (str, "replace"): _get_replace,
    (str, "join"): _get_join,
    (list, "extend"): _get_extend,
    (deque, "extend"): _get_extend,
    (deque, "extendleft"): _get_extend,
    **everyday.GETTERS,
}
