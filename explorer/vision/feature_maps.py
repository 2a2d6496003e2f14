"""The inputs and outputs of each layer, copied before anything changes them in place."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen

Of = Literal["output", "input"]
#: Layers that only take channels × height × width.
_CHANNELS_FIRST = (nn.Conv2d, nn.BatchNorm2d, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)
Inputs = Tensor | Sequence[Tensor]
Size = tuple[int, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class ChannelStatistics:
    """Statistics of each channel over the batch and all positions: one number per channel.

    `std` is the population standard deviation. `zeros` and `positive` are fractions of the values.
    """

    min: np.ndarray
    max: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    zeros: np.ndarray
    positive: np.ndarray

    @property
    def dead(self) -> np.ndarray:
        """Channels (bool) with no value above zero: a ReLU sets all of them to 0."""
        return self.positive == 0


@dataclass(frozen=True)
class FeatureMaps:
    """The input or output of one call of a layer.

    `activations` has the layer's own shape: batch × channels × height × width after a
    convolution, batch × features after a linear layer. `calls` is how often the layer ran.
    """

    layer: str
    call: int
    of: Of
    type: str
    calls: int
    activations: np.ndarray

    @cached_property
    def statistics(self) -> ChannelStatistics:
        """One value per index of axis 1. Computed on first use: it costs more than the capture."""
        return channel_statistics(self.activations)


def feature_maps(
    model: nn.Module, inputs: Inputs, layer: str, *, of: Of = "output", call: int = 0
) -> FeatureMaps:
    """The output (or the input) of the layer named `layer` in its call number `call`, from 0.

    `inputs` is the model's input tensor, or a sequence of them. The model runs in evaluation mode
    without gradients and is left unchanged. The values are those that the layer computed, before
    any later in-place operation. Raises ValueError for a layer that does not exist, did not run, or
    ran fewer times.
    """
    return nth_call(capture(model, inputs, [layer], of=of), layer, call)


def capture(
    model: nn.Module, inputs: Inputs, layers: Iterable[str], *, of: Of = "output"
) -> list[FeatureMaps]:
    """Every call of each of `layers`, in the order in which they ran, from one forward pass."""
    names = {get_layer(model, name): name for name in layers}
    records: list[tuple[nn.Module, Tensor]] = []

    def record(module: nn.Module, values: Any) -> None:
        tensor = first_tensor(values)
        if tensor is not None:
            records.append((module, _copy_to_cpu(tensor)))

    hook: Callable[..., None]
    with borrow_frozen(model) as loan:
        if of == "input":
            hook = lambda module, args, kwargs: record(module, (args, kwargs))  # noqa: E731
            loan.keep(*(m.register_forward_pre_hook(hook, with_kwargs=True) for m in names))
        else:
            hook = lambda module, args, output: record(module, output)  # noqa: E731
            loan.keep(*(m.register_forward_hook(hook) for m in names))
        model(*to_arguments(inputs))
    calls = Counter(module for module, _ in records)
    calls_so_far: Counter[nn.Module] = Counter()
    maps = []
    for module, tensor in records:
        maps.append(
            FeatureMaps(
                layer=names[module],
                call=calls_so_far[module],
                of=of,
                type=type(module).__name__,
                calls=calls[module],
                activations=tensor.numpy(),
            )
        )
        calls_so_far[module] += 1
    return maps


@dataclass(frozen=True)
class MapLayer:
    """A layer without sublayers whose input or output is a set of maps.

    `inputs` and `outputs` hold, for each call, channels × height × width, or another size where
    they are not maps.
    """

    name: str
    type: str
    inputs: tuple[Size, ...]
    outputs: tuple[Size, ...]

    def sizes(self, of: Of) -> tuple[Size, ...]:
        """Channels, height and width of the input or output of each call."""
        return self.inputs if of == "input" else self.outputs


def map_layers(model: nn.Module, inputs: Inputs, *, of: Of = "output") -> tuple[MapLayer, ...]:
    """The layers whose output (or input) is a set of maps in every call, in the order in which
    they first ran. Runs the model once. Layers of a transformer whose values are ordered as
    height × width × channels are left out."""
    sizes: defaultdict[str, list[tuple[Size, Size]]] = defaultdict(list)
    modules = leaf_layers(model)

    def record(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            input, result = first_tensor(args), first_tensor(output)
            if input is not None and result is not None:
                sizes[name].append((tuple(input.shape[1:]), tuple(result.shape[1:])))

        return hook

    with borrow_frozen(model) as loan:
        loan.keep(*(module.register_forward_hook(record(name)) for name, module in modules.items()))
        model(*to_arguments(inputs))
    layers = (
        MapLayer(name, type(modules[name]).__name__, *zip(*calls, strict=True))
        for name, calls in sizes.items()
    )
    maps = [layer for layer in layers if all(len(size) == 3 for size in layer.sizes(of))]
    last = _channels_last(modules, sizes)
    return tuple(layer for layer in maps if not any(size in last for size in layer.sizes(of)))


def _channels_last(
    modules: Mapping[str, nn.Module], sizes: Mapping[str, list[tuple[Size, Size]]]
) -> set[Size]:
    """The sizes of values ordered as height × width × channels. That is how linear layers and layer
    norms have them; what only passes values on, such as GELU, has them in either order."""
    first, last = set[Size](), set[Size]()
    for name, calls in sizes.items():
        if isinstance(modules[name], nn.Linear) or type(modules[name]) is nn.LayerNorm:
            last.update(size for call in calls for size in call)
        elif isinstance(modules[name], _CHANNELS_FIRST):
            first.update(size for call in calls for size in call)
    return last - first


def first_not_finite(model: nn.Module, inputs: Inputs) -> str | None:
    """The name of the first layer whose output holds infinite values or NaN, or None.

    Finite weights are no guarantee: large ones overflow. Runs the model once.
    """
    overflowing: list[str] = []

    def check(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            result = first_tensor(output)
            if result is not None and not torch.isfinite(result).all():
                overflowing.append(name)

        return hook

    with borrow_frozen(model) as loan:
        layers = leaf_layers(model)
        loan.keep(*(layer.register_forward_hook(check(name)) for name, layer in layers.items()))
        model(*to_arguments(inputs))
    return next(iter(overflowing), None)


def leaf_layers(model: nn.Module) -> dict[str, nn.Module]:
    """The layers without sublayers, by name."""
    return {name: m for name, m in model.named_modules() if next(m.children(), None) is None}


def filmstrip(
    model: nn.Module,
    inputs: Inputs,
    kind: type[nn.Module] = nn.Conv2d,
    *,
    of: Of = "output",
) -> list[FeatureMaps]:
    """The maps of every layer of one type in the network, in the order in which they ran."""
    return capture(model, inputs, layers_of(model, kind), of=of)


def layers_of(model: nn.Module, kind: type[nn.Module] = nn.Conv2d) -> list[str]:
    """The names of the layers of one type, in the order in which the model registers them."""
    return [name for name, module in model.named_modules() if isinstance(module, kind)]


def kernels(model: nn.Module, layer: str) -> np.ndarray:
    """A copy of a convolution's weights: out channels × in channels per group × height × width.

    Raises ValueError for a layer that is not a 2-D convolution.
    """
    return get_convolution(model, layer).weight.detach().cpu().numpy().copy()


def get_convolution(model: nn.Module, layer: str) -> nn.Conv2d:
    """The layer named `layer`. Raises ValueError if it is not a 2-D convolution."""
    module = get_layer(model, layer)
    if not isinstance(module, nn.Conv2d):
        raise ValueError(f"The layer {layer!r} is a {type(module).__name__}, not a Conv2d.")
    return module


def get_layer(model: nn.Module, layer: str) -> nn.Module:
    """The module named `layer`. Raises ValueError, with a similar name, if there is none."""
    try:
        return model.get_submodule(layer)
    except AttributeError:
        near = get_close_matches(layer, [name for name, _ in model.named_modules()], 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"The model has no layer {layer!r}.{hint}") from None


def nth_call(calls: Sequence[T], layer: str, call: int) -> T:
    """The record of a layer's call number `call`. Raises ValueError if there was no such call."""
    if not calls:
        raise ValueError(f"The layer {layer!r} did not run, or has no tensor there.")
    if not 0 <= call < len(calls):
        raise ValueError(f"The layer {layer!r} ran {len(calls)} time(s); there is no call {call}.")
    return calls[call]


def channel_statistics(values: np.ndarray) -> ChannelStatistics:
    """Statistics for each index of axis 1; a vector or a number is one channel."""
    values = np.require(values, requirements="W")  # those of a child are read-only
    tensor = torch.from_numpy(values if values.ndim > 1 else values.reshape(1, 1, -1)).float()
    rows = tensor.transpose(0, 1).flatten(1)  # one per channel
    count = rows.shape[1]
    mean = rows.mean(1)
    # Ten times faster than torch.var_mean, and as exact: the mean is subtracted first.
    std = torch.linalg.vector_norm(rows - mean[:, None], dim=1) / count**0.5
    return ChannelStatistics(
        min=rows.amin(1).numpy(),
        max=rows.amax(1).numpy(),
        mean=mean.numpy(),
        std=std.numpy(),
        zeros=np.count_nonzero(rows.numpy() == 0, axis=1) / count,
        positive=np.count_nonzero(rows.numpy() > 0, axis=1) / count,
    )


def first_tensor(values: Any) -> Tensor | None:
    """The first tensor in nested tuples, lists and dicts, or None."""
    if isinstance(values, Tensor):
        return values
    if isinstance(values, dict):
        values = tuple(values.values())
    if isinstance(values, tuple | list):
        return next((t for t in map(first_tensor, values) if t is not None), None)
    return None


def _copy_to_cpu(tensor: Tensor) -> Tensor:
    """A copy that no in-place operation can change, on the CPU and of a type that numpy has."""
    copy = tensor.detach().clone().cpu()
    return copy.float() if copy.dtype == torch.bfloat16 else copy


def to_arguments(inputs: Inputs) -> tuple[Tensor, ...]:
    """The positional arguments of the model: one tensor or several."""
    return (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
