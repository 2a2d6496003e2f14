"""Right picture or one clear sentence, for every kind of file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from explorer.vision import image
from explorer.vision.image import ImageError, decode, open_image
from tests.vision.image_case import Case, saved
from tests.vision.make_images import all_cases

# Pillow warns of what these files do; the sentence to the reader is what counts.
pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).parents[2]
CASES = all_cases()


def test_there_are_at_least_sixty_files_with_different_names() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_gives_the_right_picture_or_a_clear_sentence(case: Case) -> None:
    if case.error:
        with pytest.raises(ImageError, match=case.error) as caught:
            open_image(case.data)
        message = str(caught.value)
        assert message.endswith(".")
        assert "\n" not in message
        assert "0x" not in message
        return
    picture = decode(case.data)
    height, width = picture.rgb.shape[:2]
    assert (width, height) == case.size
    assert picture.rgb.dtype == np.uint8
    middles = [
        picture.rgb[int(height * y), int(width * x)].astype(int)
        for y in (0.25, 0.75)
        for x in (0.25, 0.75)
    ]
    for middle, colour in zip(middles, case.quarters, strict=True):
        assert abs(middle - colour).max() <= case.tolerance
    assert case.note in " ".join(picture.notes)
    opened = open_image(case.data)
    assert opened.mode == "RGB"
    assert np.array_equal(opened, picture.rgb)


def test_a_plain_file_needs_no_note() -> None:
    assert decode(next(case.data for case in CASES if case.name == "rgb.png")).notes == ()


def test_the_sandbox_gets_the_same_picture_and_the_same_sentence() -> None:
    good = next(case.data for case in CASES if case.name == "orientation_6.jpeg")
    there_and_back = image.from_plain(image.decode_to_plain(good))
    here = decode(good)
    assert np.array_equal(there_and_back.rgb, here.rgb)
    assert there_and_back.file_size == here.file_size == (32, 48)
    with pytest.raises(ImageError, match="empty"):
        image.from_plain(image.decode_to_plain(b""))


def test_shrinking_averages_and_keeps_the_whole_picture() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (1100, 2200, 3), np.uint8)
    shrunk = decode(saved(Image.fromarray(pixels), "PNG", compress_level=1)).rgb
    average = pixels.reshape(550, 2, 1100, 2, 3).mean(axis=(1, 3))
    assert abs(shrunk - average).max() <= 0.51


#: The largest picture of each kind that is accepted: format, mode, side in pixels, options.
LARGEST = """
    ("PNG", "RGBA", 6320, dict(compress_level=1)),
    ("TIFF", "RGB", 5470, dict(compression="tiff_deflate", exif=TURNED)),
    ("WEBP", "RGBA", 3990, dict(lossless=True, method=0)),
    ("AVIF", "RGB", 3990, dict(speed=10)),
    ("JPEG", "RGB", 4990, dict(progressive=True, subsampling=0)),
    ("JPEG", "RGB", 9990, dict()),
"""

#: Each file is made, and each decoded, in a process forked for it, whose peak is its own.
MEASURE = f"""
import io, os, resource, sys
from pathlib import Path
import numpy as np
from PIL import Image
from explorer.vision import image

TURNED = Image.Exif()
TURNED[0x0112] = 6
path = Path(sys.argv[1])

def in_child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def make(format, mode, side, options):
    lines = np.arange(side, dtype=np.uint8)
    picture = Image.fromarray(np.add.outer(lines // 3, lines // 5)).convert(mode)
    picture.save(path, format, **options)

def measure(format, mode):
    data, rest = path.read_bytes(), peak()
    image.decode(data)
    print(format, mode, peak() - rest, flush=True)

for format, mode, side, options in [{LARGEST}]:
    in_child(lambda: make(format, mode, side, options))
    in_child(lambda: measure(format, mode))
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_the_largest_pictures_take_less_than_300_megabytes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "picture")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 6
    for format, mode, megabytes in lines:
        assert 10 < float(megabytes) < 300, (format, mode, megabytes)


FORGED: dict[str, object] = {
    "shape": [10**6, 10**6, 3], "rgb": "text", "format": "<b>", "file_size": [-1, 2],
    "notes": ["a"] * 100, "more": 1, "error": 5,
}  # fmt: skip


@pytest.mark.parametrize("field", FORGED)
def test_an_answer_that_no_decoder_gives_is_refused(field: str) -> None:
    plain = image.decode_to_plain(next(c.data for c in CASES if c.name == "rgb.png"))
    assert image.from_plain(plain).rgb.shape == plain["shape"]
    with pytest.raises(ImageError, match="could not be read"):
        image.from_plain(plain | {field: FORGED[field]})


@pytest.mark.parametrize("plain", [None, 5, [], {}, {"rgb": b""}])
def test_what_is_no_answer_is_refused(plain: object) -> None:
    with pytest.raises(ImageError, match="could not be read"):
        image.from_plain(plain)
