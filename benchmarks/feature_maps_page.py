"""The Feature maps page in Chromium

Each upload is a photograph that is new to the server; the network that ships with the project
processes it.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from matplotlib import get_data_path
from PIL import Image

from benchmarks.browser import Reader, reading
from benchmarks.measure import Budget, Row

_STRIP = ".st-key-strip figure img"
_FIRST = "deep('figure img', document.querySelector('.st-key-strip'))[0]?.src"


def rows(most: int) -> Iterator[Row]:
    photograph = Image.open(Path(get_data_path(), "sample_data", "grace_hopper.jpg"))
    with reading() as reader:
        reader.opened("feature_maps", _STRIP)
        reader.rest(1000)
        times = [uploaded(reader, photograph, cut) for cut in range(1, min(5, most) + 2)]
        yield Row(
            "upload of a photograph to the changed filmstrip",
            median(times[1:]),
            budget=Budget(1, "absolute"),
            note=f"The first, which starts the decoder, took {times[0]:.2f} s.",
        )


def uploaded(reader: Reader, photograph: Image.Image, cut: int) -> float:
    """Seconds until the filmstrip of the photograph, with some rows cut off, is there."""
    width, height = photograph.width, photograph.height - cut
    file = io.BytesIO()
    photograph.crop((0, 0, width, height)).save(file, "JPEG", quality=90)
    upload = {"name": f"{cut}.jpg", "mimeType": "image/jpeg", "buffer": file.getvalue()}
    tab = reader.tab
    before = tab.evaluate(_FIRST)
    start = time.perf_counter()
    tab.locator(".st-key-picture-file input[type=file]").set_input_files(upload)
    tab.wait_for_function(f"(before) => ({_FIRST} ?? before) !== before", arg=before)
    tab.wait_for_selector(f".st-key-way-in figcaption:text-is('Image, {width} × {height}')")
    taken = time.perf_counter() - start
    reader.rest()
    return taken
