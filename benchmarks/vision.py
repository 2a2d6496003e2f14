"""What looking into a network costs, against plain PyTorch, Pillow and matplotlib.

python -m benchmarks.vision
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.measure import medians, report
from explorer.vision import BACKBONES, build, decode, filmstrip, receptive_fields, tile
from explorer.vision.feature_maps import channel_statistics


def capturing() -> None:
    model, x = build("resnet18"), torch.rand(1, 3, 224, 224)

    def bare() -> None:
        with torch.no_grad():
            model(x)

    ours, other = medians(lambda: filmstrip(model, x), bare, runs=25)
    report("every conv of resnet18, against bare forward", ours, other, "ratio 1.25")
    strip = filmstrip(model, x)
    ours, other = medians(lambda: [channel_statistics(m.activations) for m in strip], bare, runs=15)
    report("statistics of all of them, the same", ours, other)
    ours, other = medians(lambda: receptive_fields(model, x), bare, runs=15)
    report("receptive fields of resnet18, the same", ours, other)


def tiling() -> None:
    maps = np.random.default_rng(0).normal(size=(64, 56, 56)).astype(np.float32)

    def axes() -> None:
        figure = Figure(figsize=(8, 8))
        for ax, values in zip(figure.subplots(8, 8).flat, maps, strict=True):
            ax.imshow(values, cmap="RdBu_r")
            ax.set_axis_off()
        figure.savefig(io.BytesIO(), format="png")

    ours, other = medians(lambda: tile(maps).png(), axes, runs=7)
    report("64 maps of 56 × 56 to PNG, against 64 axes", ours, other, "30 ms")


def encoded(mode: str, side: int, format: str, **options: Any) -> bytes:
    lines = np.arange(side, dtype=np.uint8)
    image = Image.fromarray(np.add.outer(lines // 3, lines // 5)).convert(mode)
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def decoding() -> None:
    def plain(data: bytes) -> None:
        np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    for name, data, runs in (
        ("a 12-megapixel photograph (JPEG)", encoded("RGB", 3500, "JPEG", quality=90), 7),
        ("8000 × 8000 JPEG", encoded("RGB", 8000, "JPEG"), 3),
        ("6300 × 6300 PNG with alpha", encoded("RGBA", 6300, "PNG", compress_level=1), 3),
        ("5000 × 5000 progressive JPEG", encoded("RGB", 4990, "JPEG", progressive=True), 3),
    ):
        ours, other = medians(partial(decode, data), partial(plain, data), runs=runs)
        report(f"decode {name}", ours, other, "2 s")


def first_picture() -> None:
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

    mine, other = medians(ours, hand_written, runs=7)
    report("upload to filmstrip, against a bare prediction", mine, other, "1 s")


def main() -> None:
    capturing()
    tiling()
    decoding()
    first_picture()


if __name__ == "__main__":
    main()
