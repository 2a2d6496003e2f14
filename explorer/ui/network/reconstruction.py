"""The Reconstruction tab: what an autoencoder makes of images, while it is trained."""

from __future__ import annotations

import numpy as np

from explorer.networks.autoencoder import CODES, Reconstructions
from explorer.networks.setting import Setting
from explorer.trace.text import number
from explorer.ui.common.widgets import choice
from explorer.ui.network.maps import Frames, HeatMap, draw_maps
from explorer.ui.network.runs import await_run


def draw_reconstruction(setting: Setting) -> None:
    """Draw images above what comes out for them, with a slider of the training's steps."""
    code = choice(
        "Numbers in the code",
        "code",
        [f"{n} number{'s' if n > 1 else ''}" for n in (3, *(n for n in CODES if n != 3))],
        "To how many numbers the encoder reduces each image",
    )
    run: Reconstructions | None = await_run(
        "reconstruction", "train_autoencoder", setting, patience=5.0, code=int(code.split()[0])
    )
    if run is None:
        return
    known = len(run.images) // 2
    maps = [
        HeatMap(
            f"image {i + 1}" if i < known else f"new {i + 1 - known}",
            values,
            1.0,
            alt,
            axes=("row", ", column"),
            group=group,
            grey=True,
        )
        for group, alt, pictures in (
            ("Input", "An image that goes in", run.images),
            ("Output", "What comes out for it", np.moveaxis(run.outputs, 1, 0)),
        )
        for i, values in enumerate(pictures)
    ]
    frames = Frames(
        "Steps of training (Adam)",
        [str(moment) for moment in run.moments],
        [
            f"Mean squared error: {number(loss)} for the images it is trained on, {number(new)} "
            "for new ones."
            for loss, new in run.errors.tolist()
        ],
        len(run.moments) - 1,
    )
    draw_maps(maps, key="reconstruction-maps", frames=frames, width=118)
