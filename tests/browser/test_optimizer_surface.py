"""The loss surface in a real browser: its point in the hand, and the replay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect

from explorer.training import Surface
from explorer.training.landscape import SIDE
from explorer.ui.optimizer import surface
from tests.marks import sample, thorough

pytestmark = pytest.mark.browser

MAP = Path(surface.__file__).with_name("surface_map.js")
NUMBERS = re.compile(r"(\S+) = (\S+), (\S+) = ([^:]+)")


def open_surface(tab: Any, url: str, **address: str) -> Any:
    query = "&".join(f"{key}={quote(value)}" for key, value in address.items())
    tab.goto(f"{url}/optimizer?{query}")
    tab.wait_for_selector(".surface .handle", timeout=90_000)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.wait_for_selector(".surface path.ahead")
    return tab.locator(".surface")


def place(surface: Any, across: float, up: float) -> tuple[float, float]:
    """A place in the picture, by its shares of the width and the height."""
    box = surface.locator("canvas").bounding_box()
    return box["x"] + across * box["width"], box["y"] + up * box["height"]


def read(surface: Any) -> tuple[float, float]:
    """The coordinates below the picture."""
    found = NUMBERS.match(surface.locator(".reading").inner_text())
    assert found
    return tuple(float(found[i].replace("−", "-")) for i in (2, 4))  # type: ignore[return-value]


def said(tab: Any) -> Any:
    return tab.locator(".ax-said")


def test_the_point_is_dragged_and_a_run_begins_there(tab: Any, app: str) -> None:
    surface = open_surface(tab, app, problem="Ill-conditioned quadratic")
    before = surface.locator("path.ahead").get_attribute("d")
    handle = surface.locator(".handle .dot").bounding_box()
    tab.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(*place(surface, 0.7, 0.3), steps=6)
    expect(surface.locator("path.ahead")).not_to_have_attribute("d", before)
    tab.wait_for_timeout(200)  # the last move may arrive with the browser's next picture
    expect(surface.locator(".reading")).not_to_contain_text("≈")  # the loss of the frame
    a, b = read(surface)
    loss = float(surface.locator(".reading").inner_text().split("loss ")[1])
    assert loss == pytest.approx(0.1 * a**2 + 2 * b**2, rel=0.01)
    expect(said(tab)).not_to_contain_text("The run starts here")
    tab.mouse.up()
    expect(said(tab)).to_contain_text("The run starts here")
    assert read(surface) == pytest.approx((a, b))
    where = surface.locator(".handle").get_attribute("aria-valuetext").split(":")[0]
    tab.locator(".st-key-press-undo button").first.click()
    expect(said(tab)).to_contain_text("Undid")
    expect(surface.locator(".reading")).not_to_contain_text(where)


@pytest.mark.thorough
def test_a_click_puts_the_point_there_and_escape_takes_it_back(tab: Any, app: str) -> None:
    surface = open_surface(tab, app, problem="Ill-conditioned quadratic")
    start = read(surface)
    tab.mouse.move(*place(surface, 0.8, 0.8))
    tab.mouse.down()
    assert read(surface) != start
    tab.keyboard.press("Escape")
    tab.mouse.up()
    tab.mouse.move(2, 2)
    assert read(surface) == start
    tab.mouse.click(*place(surface, 0.8, 0.8))
    expect(said(tab)).to_contain_text("The run starts here")


@pytest.mark.thorough
def test_a_tap_moves_the_point_in_one_moment(tab: Any, app: str) -> None:
    """The move and the press are told at once; both are heard, each time."""
    surface = open_surface(tab, app, problem="Ill-conditioned quadratic")
    for across in (0.8, 0.3, 0.6):
        x, y = place(surface, across, 0.8)
        surface.locator("svg").evaluate(
            "(svg, [clientX, clientY]) => svg.dispatchEvent("
            'new PointerEvent("click", { pointerType: "touch", clientX, clientY }))',
            [x, y],
        )
        a, _ = read(surface)
        expect(said(tab)).to_contain_text(f"a = {a:g}".replace("-", "−"))


@pytest.mark.thorough
def test_the_loss_of_a_replay_is_that_of_its_point(tab: Any, app: str) -> None:
    """Between two places of the curve, too, near its minimum."""
    tab.goto(f"{app}/optimizer?problem=Parabola&presses=i8")
    tab.wait_for_selector(".surface .moment input:enabled", timeout=90_000)
    surface = tab.locator(".surface")
    surface.locator(".moment input").evaluate("(e) => ((e.value = 6), e.oninput({ target: e }))")
    words = surface.locator(".reading").inner_text().replace("−", "-")
    x, loss = re.match(r"x = (\S+): loss ≈ (\S+)", words).groups()  # type: ignore[union-attr]
    assert float(x) == pytest.approx(10 * 0.6**6, rel=0.05)
    assert float(loss) == pytest.approx(float(x) ** 2, rel=0.05)


@pytest.mark.thorough
def test_a_loss_read_from_the_picture_has_no_more_digits_than_are_known(tab: Any, app: str) -> None:
    surface = open_surface(tab, app, problem="Rosenbrock's banana")
    expect(surface.locator(".reading")).to_have_text("x = −1.5, y = 2: loss 12.5")  # of a frame
    tab.mouse.move(*place(surface, 0.3, 0.7))
    words = surface.locator(".reading").inner_text().replace("−", "-")
    found = re.match(r"x = (\S+), y = (\S+): loss ≈ (\S+)", words)
    assert found is not None
    x, y, loss = map(float, found.groups())
    assert loss == float(f"{loss:.2g}")
    assert loss == pytest.approx((1 - x) ** 2 + 100 * (y - x * x) ** 2, rel=0.1)


def test_keys_move_the_point(tab: Any, app: str) -> None:
    surface = open_surface(tab, app, problem="Parabola")
    handle = surface.get_by_role("slider", name="Point of the run at x")
    start = float(handle.get_attribute("aria-valuenow"))
    handle.focus()
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Shift+ArrowLeft")
    moved = float(handle.get_attribute("aria-valuenow"))
    assert moved < start
    tab.keyboard.press("Enter")
    expect(said(tab)).to_contain_text("The run starts here")
    assert float(handle.get_attribute("aria-valuenow")) == pytest.approx(moved)
    expect(handle).to_be_focused()


def test_the_replay_moves_all_pictures_and_stops_at_its_end(tab: Any, app: str) -> None:
    surface = open_surface(tab, app, problem="Ill-conditioned quadratic")
    for step in range(1, 4):
        tab.locator(".st-key-press-iterate button").first.click()
        expect(surface.locator(".moment output")).to_have_text(f"step {step} of {step}")
    curve = tab.locator("svg[aria-label^='The loss']")
    tab.evaluate(
        """() => {
          window.frames = 0
          const root = [...document.querySelectorAll('.st-key-surface *')].find((n) => n.shadowRoot)
          const scope = root ? root.shadowRoot : document
          const seen = new MutationObserver(() => (window.frames += 1))
          seen.observe(scope.querySelector('.surface .moment input'), { attributes: true })
          seen.observe(scope.querySelector('.surface svg'), { childList: true, subtree: true })
        }"""
    )
    surface.locator(".play").click()
    expect(surface.locator(".moment output")).to_have_text("step 1 of 3")
    expect(surface.locator(".moment output")).to_have_text("step 3 of 3")
    expect(surface.locator(".play")).to_have_attribute("title", "Replay the run so far")
    assert tab.evaluate("window.frames") >= 10
    slider = surface.get_by_role("slider", name="Point of the run", exact=True)
    slider.focus()
    now = curve.locator("circle[r='4.5']")
    last = now.get_attribute("cx") if now.count() else None
    tab.keyboard.press("Home")
    expect(surface.locator(".moment output")).to_have_text("step 0 of 3")
    expect(now).to_have_count(1)
    assert now.get_attribute("cx") != last
    tab.locator(".st-key-press-iterate button").first.click()
    expect(surface.locator(".moment output")).to_have_text("step 4 of 4")


@pytest.mark.thorough
def test_the_plane_is_chosen_and_in_the_link(tab: Any, app: str) -> None:
    surface = open_surface(tab, app, problem="Linear regression")
    surface.get_by_label("Plane through").select_option("two random directions")
    expect(tab).to_have_url(re.compile("across=random"))
    expect(surface.locator(".about")).to_contain_text("random directions")
    surface.get_by_role("button", name="Another two").click()
    expect(tab).to_have_url(re.compile("up=1"))


def test_names_of_a_program_are_shown_as_text(tab: Any, app: str) -> None:
    name = "<img src=x onerror=document.title='broken'>"
    setup = f"import torch\np = {{{name!r}: torch.ones(2, requires_grad=True)}}\n"
    surface = open_surface(tab, app, problem="Your own program")
    tab.fill(".st-key-own-setup textarea", setup)
    tab.fill(".st-key-own-loss textarea", f"(p[{name!r}] ** 2).sum()")
    tab.keyboard.press("Control+Enter")
    expect(surface.locator("svg")).to_contain_text("<img")
    assert tab.title() != "broken"


def test_the_picture_is_saved_with_its_colours(tab: Any, app: str) -> None:
    surface = open_surface(tab, app, problem="Rosenbrock's banana")
    with tab.expect_download() as saved:
        surface.get_by_role("button", name="Download as SVG").click()
    text = saved.value.path().read_text()
    assert text.startswith("<svg")
    assert 'href="data:image/png;base64,' in text
    assert "path ahead" in text


@pytest.mark.parametrize(
    "name",
    sample(["wall", "rosenbrock", "ill-conditioned quadratic", "himmelblau"], every=4),
)
@pytest.mark.parametrize("reach", [2.0, thorough(5.0)])
def test_no_minimum_is_drawn_that_the_loss_does_not_have(tab: Any, name: str, reach: float) -> None:
    """Between the places where the loss is known, the bands of the picture are compared with those
    of the loss itself."""
    losses = {
        "rosenbrock": lambda a, b: (1 - a) ** 2 + 100 * (b - a * a) ** 2,
        "ill-conditioned quadratic": lambda a, b: 0.1 * a**2 + 2 * b**2,
        "himmelblau": lambda a, b: (a * a + b - 11) ** 2 + (a + b * b - 7) ** 2,
        "wall": lambda a, b: a**2 + b**2 + np.where(a + b > 1, 1e6, 0.0),
    }
    axis = np.linspace(-reach, reach, SIDE)
    loss = losses[name](axis, axis[:, None])
    drawn = Surface(axis, axis, loss, np.zeros((1, 2)), ("a", "b"), True)
    tab.goto("about:blank")
    size = 300
    levels = np.array(
        tab.evaluate(
            """([source, map, size]) => new Function("map", "size", `${source};
            return levelsOf(readMap(map), size, size).map((row) => [...row])`)(map, size)""",
            [MAP.read_text(), surface._picture(drawn, False)["map"], size],
        )
    )
    inner = (np.arange(size) + 0.5) / size * 2 * reach - reach
    true = losses[name](inner, inner[::-1, None])
    assert basins(np.floor(levels)) <= basins(np.floor(true_levels(true, drawn)))


def true_levels(loss: np.ndarray, drawn: Surface) -> np.ndarray:
    """In which bands the picture of this surface should have these losses."""
    map = surface._picture(drawn, False)["map"]
    height = np.log10(np.maximum(loss - map["low"], 0) + map["floor"])
    return 18 * (height - map["least"]) / (map["most"] - map["least"])


def basins(bands: np.ndarray) -> int:
    """The connected areas of one band with nothing lower beside them."""
    seen, count = np.zeros(bands.shape, bool), 0
    rows, columns = bands.shape
    for start in zip(*np.nonzero(bands == bands), strict=True):
        if seen[start]:
            continue
        todo, is_lowest = [start], True
        seen[start] = True
        while todo:
            row, column = todo.pop()
            for i in range(max(row - 1, 0), min(row + 2, rows)):
                for j in range(max(column - 1, 0), min(column + 2, columns)):
                    is_lowest &= bands[i, j] >= bands[start]
                    if bands[i, j] == bands[start] and not seen[i, j]:
                        seen[i, j] = True
                        todo.append((i, j))
        count += is_lowest
    return count


def leaves(surface: Any) -> bool:
    """Whether a line of the run goes beyond the edge of the picture."""
    box = surface.locator("clipPath rect")
    left, top, width, height = (float(box.get_attribute(n)) for n in ("x", "y", "width", "height"))
    paths = surface.locator("svg g[clip-path] path[stroke-linejoin]").all()
    ends = [re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.get_attribute("d")) for path in paths]
    assert any(ends)
    return any(
        not (left <= float(x) <= left + width and top <= float(y) <= top + height)
        for path in ends
        for x, y in path
    )


@pytest.mark.parametrize(
    ("address", "steps"),
    [
        ({"problem": "Parabola", "lr": "3.8", "presses": "i26"}, 26),
        ({"problem": "Linear regression", "lr": "5", "presses": "i35"}, 35),
    ],
)
def test_a_run_that_diverges_is_seen_whole(
    tab: Any, app: str, address: dict[str, str], steps: int
) -> None:
    query = "&".join(f"{key}={quote(value)}" for key, value in address.items())
    tab.goto(f"{app}/optimizer?{query}&momentum=0.9")
    surface = tab.locator(".surface")
    expect(surface.locator(".about")).to_contain_text("is logarithmic.", timeout=90_000)
    expect(surface.locator(".about")).not_to_contain_text("The picture shows")
    expect(surface.locator(".moment output")).to_have_text(f"step {steps} of {steps}")
    assert not leaves(surface)
    if surface.locator("canvas").is_visible():  # darker and lighter places
        colours = surface.locator("canvas").evaluate(
            """(canvas) => {
              const { width, height } = canvas
              const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data
              return new Set(pixels.filter((_, i) => i % 4 === 0)).size
            }"""
        )
        assert colours > 20
