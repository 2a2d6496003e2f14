"""Datasets, samplers and loaders of `torch.utils.data`, which work in this process alone."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils import data

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.data_checks import find_non_number, require_numbers
from explorer.language.vocabulary.stand_in import StandIn

_IN_THIS_PROCESS = "Batches are loaded in this process: there are no other workers."
#: The arguments of DataLoader, in torch's order.
_POSITIONS = """
    batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout
    worker_init_fn
"""
#: Those without effect on a CPU and in one process.
_WITHOUT_EFFECT = """
    num_workers pin_memory timeout worker_init_fn multiprocessing_context prefetch_factor
    persistent_workers pin_memory_device in_order
"""
_USED = {"batch_size", "shuffle", "sampler", "batch_sampler", "collate_fn", "drop_last"}
_USED |= {"generator"}


def _make_data_loader(dataset: Any, *positional: Any, **options: Any) -> Any:
    """Batches of a dataset, loaded in this process."""
    options |= dict(zip(_POSITIONS.split(), positional, strict=False))
    for name in options.keys() - _USED - set(_WITHOUT_EFFECT.split()):
        raise TypeError(f"DataLoader has no argument {name[:60]}")
    if options.get("num_workers"):
        notice(_IN_THIS_PROCESS)
    given = {name: value for name, value in options.items() if name in _USED}
    for name in ("sampler", "batch_sampler"):
        if given.get(name) is not None:
            given[name] = NumberSampler(given[name])
    if given.get("batch_size", 1) is not None and given.get("collate_fn") is None:
        given["collate_fn"] = collate
    return data.DataLoader(dataset, **given)


class NumberSampler(StandIn):
    """The indices of another sampler, each checked: torch reads an index as it reads data.

    Lists are copied: a dataset of the program could change them while samples are taken.
    """

    def __init__(self, sampler: Any) -> None:
        self._sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        return map(_copy_numbers, iter(self._sampler))

    def __len__(self) -> int:
        return len(self._sampler)


def _copy_numbers(index: Any) -> Any:
    if isinstance(index, list | tuple):
        return (list if isinstance(index, list) else tuple)(map(_copy_numbers, index))
    return require_numbers(index)


def collate(batch: list[Any]) -> Any:
    """torch's default_collate, for numbers only: it makes tensors of the lists in the samples."""
    other = find_non_number(batch, dict, OrderedDict)
    if other is not None:
        raise OutsideLanguage(
            f"A batch consists of numbers; a sample contains a {type(other).__name__[:60]}.",
            "Return tensors, numbers, lists or dictionaries of them, or pass a collate_fn.",
        )
    return data.default_collate(batch)


def _make_subset(dataset: Any, indices: Any) -> Any:
    """The samples with these numbers, which are kept in a list that no program gets."""
    if isinstance(indices, torch.Tensor | np.ndarray):
        indices = indices.tolist()
    return data.Subset(dataset, [operator.index(i) for i in indices])


def _make_weighted_sampler(weights: Any, *args: Any, **options: Any) -> Any:
    """Draws numbers with these weights, of which torch makes a tensor."""
    return data.WeightedRandomSampler(require_numbers(weights), *args, **options)


def _random_split(dataset: Any, lengths: Any, generator: Any = None) -> Any:
    """torch's own. A made-up dataset is divided in the same proportions as the real one."""
    lengths = list(lengths)
    real = getattr(dataset, "_real_length", 0) if isinstance(dataset, StandIn) else len(dataset)
    if real != len(dataset) and sum(lengths) == real:
        notice("random_split divides the smaller dataset in the same proportions.")
        parts = [int(len(dataset) * length / real) for length in lengths]
        parts[0] += len(dataset) - sum(parts)
        lengths = parts
    options = {} if generator is None else {"generator": generator}
    return data.random_split(dataset, lengths, **options)


def _no_worker() -> None:
    """Batches are loaded in the process of the program: there is no worker to ask about."""


_SAMPLERS = """
    Sampler SequentialSampler RandomSampler SubsetRandomSampler BatchSampler
"""
_DATASETS = "Dataset IterableDataset TensorDataset ConcatDataset ChainDataset"
_LOADER, _SUBSET, _WEIGHTED = (
    ClassProxy(data.DataLoader, _make_data_loader),
    ClassProxy(data.Subset, _make_subset),
    ClassProxy(data.WeightedRandomSampler, _make_weighted_sampler),
)
_OURS = {
    "torch.utils.data.DataLoader": _LOADER,
    "torch.utils.data.dataloader.DataLoader": _LOADER,
    "torch.utils.data.dataloader.default_collate": collate,
    "torch.utils.data.default_collate": collate,
    "torch.utils.data.Subset": _SUBSET,
    "torch.utils.data.dataset.Subset": _SUBSET,
    "torch.utils.data.WeightedRandomSampler": _WEIGHTED,
    "torch.utils.data.sampler.WeightedRandomSampler": _WEIGHTED,
    "torch.utils.data.random_split": _random_split,
    "torch.utils.data.dataset.random_split": _random_split,
    "torch.utils.data.get_worker_info": _no_worker,
}

ADDED: dict[str, tuple[str, Any]] = {
    **{path: ("Data", thing) for path, thing in _OURS.items()},
    **{
        f"torch.utils.data{module}.{name}": ("Data", getattr(data, name))
        for module, names in (("", _SAMPLERS + _DATASETS), (".sampler", _SAMPLERS),
                              (".dataset", _DATASETS))
        for name in names.split()
    },
}  # fmt: skip
