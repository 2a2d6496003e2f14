"""Images and feature maps: `explorer.vision`

Compared with plain PyTorch, Pillow and matplotlib. Memory is how much the process grows at its
peak.
"""

from __future__ import annotations

import io
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.measure import Budget, Row, compare, process_memory
from explorer.vision import BACKBONES, build, decode, filmstrip, receptive_fields, tile
from explorer.vision.feature_maps import channel_statistics

#: Name, mode, side, format, options, repetitions.
IMAGES: tuple[tuple[str, str, int, str, dict[str, Any], int], ...] = (
    ("12-megapixel photograph (JPEG)", "RGB", 3500, "JPEG", {"quality": 90}, 7),
    ("JPEG, 8000 × 8000", "RGB", 8000, "JPEG", {}, 3),
    ("PNG with alpha, 6300 × 6300", "RGBA", 6300, "PNG", {"compress_level": 1}, 3),
    ("progressive JPEG, 4990 × 4990", "RGB", 4990, "JPEG", {"progressive": True}, 3),
)


def rows(most: int) -> Iterator[Row]:
    yield from capturing(most)
    yield tiling(min(9, most))
    yield first_picture(min(9, most))
    for name, mode, side, format, options, runs in IMAGES:
        data = encoded(mode, side, format, **options)
        what, ours, theirs = f"decode a {name}", partial(decode, data), partial(plain, data)
        budget = Budget(2, "absolute")
        yield compare(what, ours, "Pillow, full size", theirs, budget, runs=min(runs, most))
        if sys.platform == "linux":
            grown, other = (growth(data, decoder) for decoder in (decode, plain))
            limit = Budget(300, "absolute")
            yield Row(f"{what}: memory", grown, "Pillow, full size", other, limit, unit="MB")


def capturing(most: int) -> Iterator[Row]:
    model, x = build("resnet18"), torch.rand(1, 3, 224, 224)

    def bare() -> None:
        with torch.no_grad():
            model(x)

    what, budget = "feature maps of every convolution of resnet18", Budget(1.25, "ratio")
    ours = partial(filmstrip, model, x)
    yield compare(what, ours, "bare forward", bare, budget, runs=min(25, most))
    strip = filmstrip(model, x)
    jobs = {
        "statistics of all these maps": lambda: [channel_statistics(m.activations) for m in strip],
        "receptive fields of resnet18": lambda: receptive_fields(model, x),
    }
    for what, job in jobs.items():
        yield compare(what, job, "bare forward", bare, runs=min(15, most))


def tiling(runs: int) -> Row:
    maps = np.random.default_rng(0).normal(size=(64, 56, 56)).astype(np.float32)

    def axes() -> None:
        figure = Figure(figsize=(8, 8))
        for ax, values in zip(figure.subplots(8, 8).flat, maps, strict=True):
            ax.imshow(values, cmap="RdBu_r")
            ax.set_axis_off()
        figure.savefig(io.BytesIO(), format="png")

    what, budget = "64 maps of 56 × 56 as one PNG", Budget(0.030, "absolute")
    return compare(what, lambda: tile(maps).png(), "64 matplotlib axes", axes, budget, runs=runs)


def first_picture(runs: int) -> Row:
    data, model, backbone = (
        encoded("RGB", 3500, "JPEG"),
        build("shapes_net"),
        BACKBONES["shapes_net"],
    )

    def ours() -> None:
        prepared = backbone.prepare(decode(data).rgb)
        for maps in filmstrip(model, prepared.tensor):
            tile(maps.activations[0], page_size=8).png()

    def hand_written() -> None:
        image = Image.open(io.BytesIO(data)).convert("RGB")
        with torch.no_grad():
            model(backbone.transform(image)[None])

    what = "12-megapixel upload, to the filmstrip of the small network"
    budget = Budget(1, "absolute")
    return compare(what, ours, "the prediction alone", hand_written, budget, runs=runs)


def encoded(mode: str, side: int, format: str, **options: Any) -> bytes:
    lines = np.arange(side, dtype=np.uint8)
    image = Image.fromarray(np.add.outer(lines // 3, lines // 5)).convert(mode)
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def plain(data: bytes) -> None:
    np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def growth(data: bytes, decoder: Any) -> float:
    """By how many MB a fresh process grows, at its peak, while it decodes."""
    fresh = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, fresh) as pool:
        file = Path(folder, "picture")
        file.write_bytes(data)
        return pool.submit(_growth, file, decoder).result()


def _growth(file: Path, decoder: Any) -> float:
    data = file.read_bytes()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = process_memory("VmRSS")
    decoder(data)
    return process_memory("VmHWM") - before
