"""The page's figures. Grey words on a transparent ground can be read in both themes."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from explorer.networks import Histogram
from explorer.trace.colours import BAR, BAR_EDGE, BESIDE, MARKED, WORDS

#: More bars than this cannot be named one by one.
NAMED = 18


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), dpi=200, layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.tick_params(colors=WORDS, labelsize=8)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(WORDS)
    return figure, axes


def _png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", transparent=True)
    return out.getvalue()


def log_scale(values: Sequence[float]) -> bool:
    """Whether the positive finite values span more than a factor of 100."""
    seen = [v for v in values if np.isfinite(v) and v > 0]
    return bool(seen) and max(seen) / min(seen) > 100


def norm_bars(names: Sequence[str], norms: Sequence[float | None], chosen: str | None) -> bytes:
    """A bar for every parameter, from the input (top or left) to the output; the chosen layer's
    in another colour. A parameter without a gradient is named, with no bar."""
    values = [float("nan") if v is None else v for v in norms]
    colours = [MARKED if name.rpartition(".")[0] == chosen else BAR for name in names]
    figure, axes = _figure(5.2, 3.3)
    drawn = np.nan_to_num(np.array(values, float), nan=0.0, posinf=0.0)
    place = np.arange(len(names))
    if len(names) <= NAMED:
        axes.barh(place, drawn, color=colours, height=0.7)
        axes.set_yticks(place, [_short(name) for name in names], fontsize=8, color=WORDS)
        axes.invert_yaxis()
        axes.set_xlabel("norm of the gradient", fontsize=8, color=WORDS)
        for i, value in enumerate(norms):
            if value is None or not np.isfinite(value):
                text = "None" if value is None else str(value)
                axes.text(
                    0.01,
                    i,
                    text,
                    transform=axes.get_yaxis_transform(),
                    va="center",
                    fontsize=8,
                    color=WORDS,
                )
        if log_scale(values):
            axes.set_xscale("log")
        else:
            axes.set_xlim(0, drawn.max() * 1.05 or 1)
    else:
        axes.bar(place, drawn, color=colours, width=0.9)
        starts = _starts(names)
        axes.set_xticks(
            list(starts),
            list(starts.values()),
            rotation=40,
            ha="right",
            fontsize=7,
            color=WORDS,
        )
        axes.set_ylabel("norm of the gradient", fontsize=8, color=WORDS)
        axes.margins(x=0.01)
        if log_scale(values):
            axes.set_yscale("log")
    return _png(figure)


def histogram_bars(found: Histogram) -> bytes:
    """Bars that stand on the histogram's own edges."""
    figure, axes = _figure(5.2, 2.5)
    axes.bar(
        found.edges[:-1],
        found.counts,
        np.diff(found.edges),
        align="edge",
        color=BAR,
        edgecolor=BAR_EDGE,
        linewidth=0.4,
    )
    axes.set_xlabel("gradient", fontsize=8, color=WORDS)
    axes.set_ylabel("elements", fontsize=8, color=WORDS)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    return _png(figure)


def sample_norms(
    own: Sequence[float], accumulated: Sequence[float], stepped: Sequence[int], at: int
) -> bytes:
    """Each sample's own norm as a bar, the accumulated one as a line; `stepped` are the samples
    (from 1) after which the optimizer stepped, `at` is marked."""
    figure, axes = _figure(5.6, 2.6)
    place = np.arange(1, len(own) + 1)
    colours = [MARKED if sample == at else BAR for sample in place]
    axes.bar(place, own, color=colours, width=0.75, label="this sample's own")
    start = 0
    for end in [*stepped, len(own)]:
        if end > start:
            axes.plot(
                place[start:end],
                accumulated[start:end],
                color=BESIDE,
                marker="o",
                markersize=3,
                linewidth=1.5,
                label="accumulated" if start == 0 else None,
            )
        start = end
    axes.set_xlabel("sample", fontsize=8, color=WORDS)
    axes.set_ylabel("norm of the gradient", fontsize=8, color=WORDS)
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    axes.legend(fontsize=8, frameon=False, labelcolor=WORDS)
    return _png(figure)


def _starts(names: Sequence[str]) -> dict[int, str]:
    """Where a block of the network begins: as fine as a dozen words allow."""
    found: dict[int, str] = {}
    for depth in range(1, 5):
        blocks = [".".join(name.split(".")[:-1][:depth]) for name in names]
        starts = {i: b for i, b in enumerate(blocks) if i == 0 or b != blocks[i - 1]}
        if found and len(starts) > 14:
            break
        found = starts
    ends = [*list(found)[1:], len(names)]
    room = len(names) / 25  # a smaller block has no place for its name
    return {i: _short(b) for (i, b), end in zip(found.items(), ends, strict=True) if end - i > room}


def _short(name: str) -> str:
    return name if len(name) <= 26 else "…" + name[-25:]
