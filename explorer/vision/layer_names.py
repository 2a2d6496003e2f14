"""Names of layers that can be read: "conv 3 of 20" beside the module's own name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

_SHORT = {"Conv2d": "conv"}


def number_layers(layers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each layer, given as name and type in order, its number among those of its type:
    `{"layer1.0.conv1": "conv 2 of 20"}`."""
    kinds = dict(layers)
    totals, so_far = Counter(kinds.values()), Counter[str]()
    numbered = {}
    for name, kind in kinds.items():
        so_far[kind] += 1
        numbered[name] = f"{_SHORT.get(kind, kind)} {so_far[kind]} of {totals[kind]}"
    return numbered


def describe_size(size: Iterable[int]) -> str:
    """Channels, height and width in words: "64 channels · 56 × 56"."""
    channels, *rest = size
    return " · ".join((f"{channels} channel{'s' * (channels != 1)}", " × ".join(map(str, rest))))
