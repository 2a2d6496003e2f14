"""Every kind of file a reader may upload, with the expected result.

    python -m tests.vision.make_images FOLDER

writes them as files, to try by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.vision import bad_images as bad
from tests.vision import good_images as good
from tests.vision.image_case import Case


def all_cases() -> list[Case]:
    return [
        *good.formats(),
        *good.modes(),
        *good.deep_modes(),
        *good.transparent(),
        *good.oriented(),
        *good.several_images(),
        *good.sizes(),
        *bad.bombs(),
        *bad.cut_off(),
        *bad.not_images(),
        *bad.wrong_headers(),
    ]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in all_cases():
        (folder / case.name).write_bytes(case.data)
