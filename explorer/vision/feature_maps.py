"""The inputs and outputs of each layer, copied before anything changes them in place, and how much
they differ for two images."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    modules = {name: get_layer(model, name) for name in layers}
    records: list[tuple[str, int, np.ndarray]] = []

    def record(name: str, call: int, tensor: Tensor, args: Any) -> None:
        records.append((name, call, _copy_to_cpu(tensor).numpy()))

    observe(model, inputs, modules, record, of=of)
    calls = Counter(name for name, _, _ in records)
    return [
        FeatureMaps(name, call, of, type(modules[name]).__name__, calls[name], values)
        for name, call, values in records
    ]


#: Called with a layer's name, the number of its call, the tensor there, and the call's arguments.
Visit = Callable[[str, int, Tensor, Any], None]


def observe(
    model: nn.Module,
    inputs: Inputs,
    layers: Mapping[str, nn.Module],
    visit: Visit,
    *,
    of: Of = "output",
) -> None:
    """Run the model without gradients; `visit` is called each time that one of `layers`, given by
    name, has run, or for its input each time before it runs. Later layers may change the tensor in
    place. Calls without a tensor are left out."""
    calls: Counter[str] = Counter()

    def record(name: str, values: Any, args: Any) -> None:
        tensor = first_tensor(values)
        if tensor is not None:
            visit(name, calls[name], tensor, args)
            calls[name] += 1

    def before(name: str) -> Callable[..., None]:
        return lambda module, args, kwargs: record(name, (args, kwargs), args)

    def after(name: str) -> Callable[..., None]:
        return lambda module, args, output: record(name, output, args)

    with borrow_frozen(model) as loan:
        for name, module in layers.items():
            if of == "input":
                loan.keep(module.register_forward_pre_hook(before(name), with_kwargs=True))
            else:
                loan.keep(module.register_forward_hook(after(name)))
        model(*to_arguments(inputs))


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

    def record(name: str, call: int, output: Tensor, args: Any) -> None:
        input = first_tensor(args)
        if input is not None:
            sizes[name].append((tuple(input.shape[1:]), tuple(output.shape[1:])))

    observe(model, inputs, modules, record)
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


@dataclass(frozen=True)
class LayerDifference:
    """How much the output b of one call of a layer for the second image differs from its output a
    for the first.

    `cosine` is the cosine distance 1 − a·b / (‖a‖ ‖b‖): 0 for equal directions, 1 for unrelated
    ones, 2 for opposite ones. `relative` is ‖b − a‖ / ‖a‖. `size` is the output's shape without the
    batch.
    """

    layer: str
    call: int
    type: str
    size: tuple[int, ...]
    cosine: float
    relative: float


def layer_differences(
    model: nn.Module, first: Inputs, second: Inputs
) -> tuple[LayerDifference, ...]:
    """Every call of every layer without sublayers, in the order in which they ran.

    Runs the model for both inputs, in evaluation mode. Where a layer runs more often for one of
    them, or its outputs have different sizes, there is nothing to compare and it is left out.
    """
    layers = leaf_layers(model)
    before: dict[tuple[str, int], Tensor] = {}
    differences = []

    def keep(layer: str, call: int, output: Tensor, args: Any) -> None:
        before[layer, call] = output.detach().clone()

    def compare(layer: str, call: int, output: Tensor, args: Any) -> None:
        other = before.pop((layer, call), None)
        if other is not None and other.shape == output.shape:
            kind = type(layers[layer]).__name__
            cosine, relative = distances(other, output.detach())
            size = tuple(output.shape[1:])
            differences.append(LayerDifference(layer, call, kind, size, cosine, relative))

    observe(model, first, layers, keep)
    observe(model, second, layers, compare)
    return tuple(differences)


def distances(first: Tensor, second: Tensor) -> tuple[float, float]:
    """The cosine distance of two tensors, and ‖second − first‖ / ‖first‖.

    Without a direction, if all values are 0, the cosine distance is 0 from another such tensor, and
    1 from any other.
    """
    a, b = (t.flatten().cpu().to(torch.float64) for t in (first, second))
    lengths, gap = (float(a.norm()), float(b.norm())), float((b - a).norm())
    if not gap:
        return 0.0, 0.0
    relative = gap / lengths[0] if lengths[0] else float("inf")
    if not all(lengths):
        return 1.0, relative
    # |a/‖a‖ − b/‖b‖|² / 2, which is exact for small angles too.
    apart = float((a / lengths[0] - b / lengths[1]).square().sum()) / 2
    return apart, relative


def first_not_finite(model: nn.Module, inputs: Inputs) -> str | None:
    """The name of the first layer whose output holds infinite values or NaN, or None.

    Finite weights are no guarantee: large ones overflow. Runs the model once.
    """
    overflowing: list[str] = []

    def check(name: str, call: int, output: Tensor, args: Any) -> None:
        if not torch.isfinite(output).all():
            overflowing.append(name)

    observe(model, inputs, leaf_layers(model), check)
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


def first_channels(
    model: nn.Module, inputs: Tensor, *, count: int, of: Of = "output"
) -> tuple[FeatureMaps, ...]:
    """The filmstrip with only the first `count` channels of each convolution."""
    return tuple(
        replace(maps, activations=maps.activations[:, :count].copy())
        for maps in filmstrip(model, inputs, of=of)
    )


def layers_of(model: nn.Module, kind: type[nn.Module] = nn.Conv2d) -> list[str]:
    """The names of the layers of one type, in the order in which the model registers them."""
    return [name for name, module in model.named_modules() if isinstance(module, kind)]


def kernels(model: nn.Module, layer: str) -> np.ndarray:
    """A copy of a convolution's weights: out channels × in channels per group × height × width.

    Raises ValueError for a layer that is not a 2-D convolution.
    """
    return get_convolution(model, layer).weight.detach().cpu().numpy().copy()


def layer_kernels(model: nn.Module, inputs: Inputs, layer: str) -> np.ndarray:
    """The same, with the arguments of all that is asked of a network on an image."""
    return kernels(model, layer)


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


#: What the names of layers call their kinds.
_SHORT_KINDS = {"Conv2d": "conv"}


def number_layers(layers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each layer, given as name and type in order, its number among those of its type:
    `{"layer1.0.conv1": "conv 2 of 20"}`."""
    kinds = dict(layers)
    totals, so_far = Counter(kinds.values()), Counter[str]()
    numbered = {}
    for name, kind in kinds.items():
        so_far[kind] += 1
        numbered[name] = f"{_SHORT_KINDS.get(kind, kind)} {so_far[kind]} of {totals[kind]}"
    return numbered


def describe_size(size: Iterable[int]) -> str:
    """Channels, height and width in words: "64 channels · 56 × 56"."""
    channels, *rest = size
    return " · ".join((f"{channels} channel{'s' * (channels != 1)}", " × ".join(map(str, rest))))
