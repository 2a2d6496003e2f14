"""Figures drawn in a child, also those that a program which left the language made up."""

import io
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from explorer import sandbox
from explorer.language import ProgramRefused
from explorer.trace import Figure, PlotCall
from explorer.trace.figures import read_drawing

LINE = PlotCall(1, "plot", (np.array([1.0, 2.0]),))
AXIS = PlotCall(1, "xaxis", (), {}, 5)


def call(name: str, *args: Any, target: int = 1, **kwargs: Any) -> PlotCall:
    return PlotCall(target, name, args, kwargs)


def figure(*calls: PlotCall, **options: Any) -> Figure:
    panel = PlotCall(0, "add_subplot", (1, 1, 1), {}, 1)
    return Figure(**({"size": (4.0, 3.0), "calls": (panel, LINE, *calls)} | options))


def deep(command: str) -> str:
    return f"${command * 29}x{'}' * 29}$"


#: Drawn without what is wrong with them.
DRAWN = {
    "data that are not finite": figure(call("plot", np.array([np.nan, np.inf, -np.inf]))),
    "limits that are not finite": figure(call("set_xlim", float("-inf"), float("inf"))),
    "nearly equal": figure(call("plot", np.array([1.0, 1.0 + 1e-16]))),
    "logarithm of negatives": figure(call("plot", np.array([-1.0])), call("set_yscale", "log")),
    "fractions in fractions": figure(call("set_title", deep(r"\frac{1}{"))),
    "no formula": figure(call("set_title", r"$\foo{$")),
    "large letters": figure(call("set_title", "a", fontsize=10**9)),
    "wide lines": figure(call("plot", np.array([1.0, 2.0]), linewidth=1e300)),
    "large points": figure(call("scatter", np.ones(1), np.ones(1), s=1e300)),
    "a large grid": figure(
        calls=(PlotCall(0, "add_grid_cell", (10**9, 10**9, [0, 1, 0, 1]), {}, 1),)
    ),
    "too many panels": figure(calls=(PlotCall(0, "subplots", (10**9, 10**9), {}, 1),)),
    "no colour map": figure(call("imshow", np.eye(3), cmap="__import__")),
    "other methods": figure(
        call("savefig", "/tmp/x", target=0), call("__init__"), call("clear"), call("get_figure")
    ),
    "no such part": figure(call("legend", handles=[{"ref": 99}])),
    "another attribute": figure(call("text", 0.0, 0.0, "a", transform={"transform": "axes"})),
    "another class": figure(call("add_patch", {"make": "os.system", "args": ["ls"]})),
    "a font from a file": figure(call("set_title", "a", family="/etc/passwd")),
    "TeX": figure(style={"text.usetex": True, "font.size": 1e9, "axes.prop_cycle": "no"}),
    "a style from a file": figure(sheets=("/etc/passwd",)),
    "attributes in a format": figure(
        AXIS, call("set_major_formatter", "{x.__class__.__init__}", target=5)
    ),
    "attributes in the width of a format": figure(
        AXIS, call("set_major_formatter", "{x.__init__!r:{x}}", target=5)
    ),
    "a wide format": figure(call("pie", np.ones(2), autopct="%1000000000f")),
}
#: Refused, or stopped at a limit.
REFUSED = {
    "enormous": figure(call("set_xlim", -1e308, 1e308)),
    "too many ticks": figure(
        AXIS,
        call("set_major_locator", {"make": "MultipleLocator", "args": [1e-9]}, target=5),
    ),
    "too many levels": figure(call("contourf", np.eye(9), 10**9)),
    "no size": figure(size=(float("nan"), 1.0)),
    "too large": figure(size=(1e9, 1e9)),
    "too many numbers": figure(call("plot", np.ones(10**6)), call("plot", np.ones(10**6))),
    "long texts": figure(*[call("text", 0.5, 0.5, "b" * 1000) for _ in range(3000)]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_made_up_figure_is_drawn_without_what_is_wrong(name: str) -> None:
    drawn = sandbox.draw_figure(DRAWN[name], timeout=20)
    assert drawn.width * drawn.height > 1000
    assert len(drawn.problems) <= 5


def test_a_format_that_reads_attributes_is_left_out() -> None:
    formats = [name for name in DRAWN if name.startswith("attributes")]
    for name in formats:
        (problem,) = sandbox.draw_figure(DRAWN[name], timeout=20).problems
        assert "not supported" in problem


@pytest.mark.parametrize("name", REFUSED)
def test_an_extreme_figure_ends_with_a_sentence(name: str) -> None:
    with pytest.raises(ProgramRefused) as refused:
        sandbox.draw_figure(REFUSED[name], timeout=3)
    assert refused.value.error.message.endswith(".")


@pytest.mark.parametrize(
    "change",
    [
        {"png": b"GIF89a" + bytes(40)},
        {"png": "text"},
        {"width": 10**6},
        {"width": "400"},
        {"problems": ["a"] * 100},
        {"problems": ["a" * 10**4]},
        {"problems": [1]},
    ],
)
def test_a_forged_drawing_is_refused(change: dict[str, Any]) -> None:
    drawn = sandbox.draw_figure(figure(), timeout=20)
    answer = {**vars(drawn), "problems": list(drawn.problems)}
    assert read_drawing(answer) == drawn
    with pytest.raises((ValueError, TypeError)):
        read_drawing(answer | change)


class Forging:
    """Whatever is drawn, this is the file; the second child is a real one."""

    def __init__(self, png: bytes) -> None:
        self.png, self.jobs = png, list[str]()

    def call(self, job: str, request: Any, **options: Any) -> Any:
        self.jobs.append(job)
        if job == "draw_figure":
            return {"png": self.png, "width": 4, "height": 3, "problems": []}
        return sandbox.call(job, request)


def png(pixels: np.ndarray, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", **options)
    return file.getvalue()


PIXELS = np.random.default_rng(0).integers(0, 256, (3, 4, 4), dtype=np.uint8)


def test_of_a_drawn_file_only_the_pixels_are_shown() -> None:
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", "<script>alert(1)</script>")
    forging = Forging(png(PIXELS, pnginfo=notes) + b"<html>PK\x03\x04")
    drawn = sandbox.draw_figure(figure(), sandbox=forging)  # type: ignore[arg-type]
    assert forging.jobs == ["draw_figure", "repaint"]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(drawn.png))), PIXELS)
    assert b"script" in forging.png
    assert b"script" not in drawn.png
    assert drawn.png.endswith(b"IEND\xaeB`\x82")


def chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")


def header(width: int, height: int) -> bytes:
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size + b"\x08\x06\0\0\0")


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(png(PIXELS)[:60], id="cut"),
        pytest.param(header(2**31 - 1, 2**31 - 1) + chunk(b"IEND", b""), id="a huge size"),
        pytest.param(
            header(30_000, 30_000) + chunk(b"IDAT", zlib.compress(bytes(10**6))), id="a bomb"
        ),
        pytest.param(b"\x89PNG\r\n\x1a\n<svg onload='alert(1)'/>", id="another file"),
    ],
)
def test_a_forged_file_is_not_shown(forged: bytes) -> None:
    with pytest.raises(ProgramRefused) as refused:
        sandbox.draw_figure(figure(), sandbox=Forging(forged))  # type: ignore[arg-type]
    assert refused.value.error.message.endswith(".")
