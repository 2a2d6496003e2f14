"""The Normalisation tab: what a normalising layer makes the same, at several batch sizes."""

from __future__ import annotations

import numpy as np

from explorer.networks.normalisation import Moments, NormLayer
from explorer.trace.text import number
from explorer.ui.network.maps import Frames, HeatMap, draw_maps, largest
from explorer.ui.network.runs import await_run
from explorer.ui.network.selection import Shown, pick
from explorer.ui.widgets.basics import note

_SIZES = (1, 2, 4, 8, 16, 32)
#: So many samples, or tokens, are drawn.
_ROWS = 8


def draw_normalisation(shown: Shown) -> None:
    """Draw what goes into the chosen layer and what comes out, for batches of several sizes."""
    sizes = tuple(size for size in _SIZES if size <= shown.facts.samples)
    runs: dict[str, tuple[NormLayer, ...]] | None = await_run(
        "norms", "compare_normalisation", shown.settings, sizes=sizes
    )
    if runs is None:
        return
    names = [layer.name for layer in next(iter(runs.values()), ())]
    if not names:
        note("No normalising layer ran.")
        return
    at = names.index(pick("Layer", "norm-layer", names, "The normalising layer that is shown"))
    known = {size: layers[at] for size, layers in runs.items() if len(layers) > at}
    layers = list(known.values())
    sizes_shown = list(known)
    last = len(known) - 1
    batch = str(shown.facts.batch)
    start = sizes_shown.index(batch) if batch in known else last
    frames = Frames("Batch size", sizes_shown, [_sentence(layer) for layer in layers], start)
    draw_maps(
        [_map("before", "Input", layers), _map("after", "Output", layers)],
        key="norm-maps",
        caption=_sentence(layers[0]),
        frames=frames if len(known) > 1 else None,
        width=420,
    )
    note("A row is a sample, a column a channel: its mean over all positions. ", _first_row(layers))


def _map(which: str, title: str, layers: list[NormLayer]) -> HeatMap:
    """The first rows; a smaller batch has gaps."""
    means = [getattr(layer, which).means for layer in layers]
    rows = min(_ROWS, max(len(values) for values in means))
    columns = min(values.shape[1] for values in means)
    frames = np.full((len(means), rows, columns), np.nan)
    for frame, values in zip(frames, means, strict=True):
        frame[: len(values)] = values[:rows, :columns]
    return HeatMap(
        title,
        frames,
        largest(frames),
        f"{title} of {layers[0].name}: a row for each sample, a column for each channel",
        [str(i + 1) for i in range(rows)],
        [str(i + 1) for i in range(columns)],
        axes=("sample", ", channel"),
        signed=True,
    )


def _sentence(layer: NormLayer) -> str:
    """Over rows and over channels: what the output has in common."""
    return (
        f"Output: {_spread('channel', layer.after.of_channels)}; "
        f"{_spread('sample', layer.after.of_rows)}."
    )


def _spread(what: str, moments: np.ndarray) -> str:
    texts = []
    for name, values in zip(("mean", "standard deviation"), moments.T, strict=True):
        low, high = (round(float(v), 2) + 0.0 for v in (values.min(), values.max()))
        span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        texts.append(f"{name} {span}".replace("-", "−"))
    return f"each {what} has {' and '.join(texts)}"


def _first_row(layers: list[NormLayer]) -> str:
    """Whether the first sample's output depends on the others."""
    first: list[Moments] = [layer.after for layer in layers]
    if len({v.means.shape[1] for v in first}) > 1 or len(layers) == 1:
        return ""
    moved = max(float(abs(v.means[0] - first[-1].means[0]).max()) for v in first)
    if moved < 1e-5:
        return "The output for sample 1 is the same for every batch size."
    return f"The output for sample 1 changes with the batch size, by up to {number(moved)}."
