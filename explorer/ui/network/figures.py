"""The page's figures. Grey text on a transparent background is readable in both themes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.networks.statistics import Histogram
from explorer.trace.colours import BAR, BAR_EDGE, COMPARISON, FIGURE_TEXT, HIGHLIGHT

if TYPE_CHECKING:  # matplotlib is needed for downloads alone, and takes long to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: With more bars than this, only blocks are named.
MAX_NAMED = 18


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=200, layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.tick_params(colors=FIGURE_TEXT, labelsize=8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=FIGURE_TEXT, fontsize=8)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FIGURE_TEXT)
    return figure, axes


def _png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", transparent=True)
    return out.getvalue()


def needs_log_scale(values: Sequence[float]) -> bool:
    """Whether the positive finite values span more than a factor of 100."""
    positive = [v for v in values if np.isfinite(v) and v > 0]
    return bool(positive) and max(positive) / min(positive) > 100


def draw_norm_bars(
    names: Sequence[str], norms: Sequence[float | None], selected_layer: str | None
) -> bytes:
    """Draw a bar for every parameter, from the input (top or left) to the output.

    The selected layer's bars have another colour. A parameter without a gradient is named, but has
    no bar.
    """
    values = [float("nan") if v is None else v for v in norms]
    colours = [HIGHLIGHT if name.rpartition(".")[0] == selected_layer else BAR for name in names]
    figure, axes = _figure(5.2, 3.3)
    heights = np.nan_to_num(np.array(values, float), nan=0.0, posinf=0.0)
    positions = np.arange(len(names))
    if len(names) <= MAX_NAMED:
        axes.barh(positions, heights, color=colours, height=0.7)
        axes.set_yticks(positions, [_shorten(name) for name in names])
        axes.invert_yaxis()
        axes.set_xlabel("gradient norm")
        for i, value in enumerate(norms):
            if value is None or not np.isfinite(value):
                text = "None" if value is None else str(value)
                drawn = axes.text(0.01, i, text, va="center", fontsize=8, color=FIGURE_TEXT)
                drawn.set_transform(axes.get_yaxis_transform())
        if needs_log_scale(values):
            axes.set_xscale("log")
        else:
            axes.set_xlim(0, heights.max() * 1.05 or 1)
    else:
        axes.bar(positions, heights, color=colours, width=0.9)
        starts = block_starts(names)
        axes.set_xticks(list(starts), list(starts.values()), rotation=40, ha="right", fontsize=7)
        axes.set_ylabel("gradient norm")
        axes.margins(x=0.01)
        if needs_log_scale(values):
            axes.set_yscale("log")
    return _png(figure)


def draw_histogram(histogram: Histogram) -> bytes:
    """Draw a bar between the edges of each bin."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = _figure(5.2, 2.5)
    axes.bar(
        histogram.edges[:-1],
        histogram.counts,
        np.diff(histogram.edges),
        align="edge",
        color=BAR,
        edgecolor=BAR_EDGE,
        linewidth=0.4,
    )
    axes.set_xlabel("gradient")
    axes.set_ylabel("elements")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    return _png(figure)


def draw_sample_norms(
    own: Sequence[float], accumulated: Sequence[float], stepped: Sequence[int], selected: int
) -> bytes:
    """Draw each sample's own norm as a bar, and the accumulated one as a line.

    `stepped` are the samples (from 1) after which the optimizer stepped; `selected` is marked.
    """
    from matplotlib.ticker import MaxNLocator

    figure, axes = _figure(5.6, 2.6)
    samples = np.arange(1, len(own) + 1)
    colours = [HIGHLIGHT if sample == selected else BAR for sample in samples]
    axes.bar(samples, own, color=colours, width=0.75, label="this sample's own")
    start = 0
    for end in [*stepped, len(own)]:
        if end > start:
            axes.plot(
                samples[start:end],
                accumulated[start:end],
                color=COMPARISON,
                marker="o",
                markersize=3,
                linewidth=1.5,
                label="accumulated" if start == 0 else None,
            )
        start = end
    axes.set_xlabel("sample")
    axes.set_ylabel("gradient norm")
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    axes.legend(fontsize=8, frameon=False, labelcolor=FIGURE_TEXT)
    return _png(figure)


def block_starts(names: Sequence[str]) -> dict[int, str]:
    """Where the blocks of the network begin: as fine as about a dozen labels allow."""
    best: dict[int, str] = {}
    for depth in range(1, 5):
        blocks = [".".join(name.split(".")[:-1][:depth]) for name in names]
        starts = {i: b for i, b in enumerate(blocks) if i == 0 or b != blocks[i - 1]}
        if best and len(starts) > 14:
            break
        best = starts
    ends = [*list(best)[1:], len(names)]
    room = len(names) / 25  # the name of a smaller block would not fit
    return {
        i: _shorten(b) for (i, b), end in zip(best.items(), ends, strict=True) if end - i > room
    }


def _shorten(name: str) -> str:
    return name if len(name) <= 26 else "…" + name[-25:]
