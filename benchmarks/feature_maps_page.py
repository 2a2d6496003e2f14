"""The Feature maps page in Chromium

Each upload is a photograph that the server has not seen, shown to the small network that comes with
the app.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from matplotlib import get_data_path
from PIL import Image

from benchmarks.browser import Reader, open_reader
from benchmarks.measure import Budget, Row

_STRIP = ".st-key-strip figure img"
_FIRST_PICTURE = "deep('figure img', document.querySelector('.st-key-strip'))[0]?.src"


def rows(most: int) -> Iterator[Row]:
    photograph = Image.open(Path(get_data_path(), "sample_data", "grace_hopper.jpg"))
    with open_reader() as reader:
        reader.open_page("feature_maps", _STRIP)
        reader.wait_idle(1000)
        times = [upload_time(reader, photograph, cut) for cut in range(1, min(5, most) + 2)]
        yield Row(
            "upload of a photograph, until the filmstrip has changed",
            median(times[1:]),
            budget=Budget(1, "absolute"),
            note=f"The first, which starts the decoder, took {times[0]:.2f} s.",
        )


def upload_time(reader: Reader, photograph: Image.Image, cut: int) -> float:
    """Seconds until the filmstrip shows the photograph, with some rows cut off to make it new."""
    width, height = photograph.width, photograph.height - cut
    file = io.BytesIO()
    photograph.crop((0, 0, width, height)).save(file, "JPEG", quality=90)
    upload = {"name": f"{cut}.jpg", "mimeType": "image/jpeg", "buffer": file.getvalue()}
    tab = reader.tab
    before = tab.evaluate(_FIRST_PICTURE)
    start = time.perf_counter()
    tab.locator(".st-key-picture-file input[type=file]").set_input_files(upload)
    tab.wait_for_function(f"(before) => ({_FIRST_PICTURE} ?? before) !== before", arg=before)
    tab.wait_for_selector(f".st-key-way-in [title^='Image, {width} × {height};']")
    taken = time.perf_counter() - start
    reader.wait_idle()
    return taken
