"""Surfaces that readers share: the same numbers as afresh, and never those of another setting."""

from __future__ import annotations

import base64
import json
import re
import threading
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

from explorer import networks
from explorer.networks import planar
from explorer.training import ProgramProblem, TrainingSession
from explorer.training.landscape import surface_around
from explorer.ui.optimizer import planes, surface
from explorer.ui.optimizer.planes import ELEMENTS, PATH, PlaneChoice
from explorer.ui.optimizer.problems import OFFERS, OWN, ChosenProblem
from explorer.ui.optimizer.workspace import Workspace

W = PlaneChoice(ELEMENTS, ("w", 0), ("w", 1))
B = PlaneChoice(ELEMENTS, ("w", 0), ("b", 0))
AB = PlaneChoice(ELEMENTS, ("a", 0), ("b", 0))
ALONG = PlaneChoice(PATH)
#: Problem, variant, optimizer, settings, seed, pair, presses. No two are the same.
SETTINGS: list[tuple[str, str, str, dict[str, Any], int, Any, int]] = [
    ("linear regression", "", "SGD", {"lr": 0.1}, 0, W, 3),
    ("linear regression", "", "SGD", {"lr": 0.1}, 0, W, 4),
    ("linear regression", "", "SGD", {"lr": 0.1}, 0, B, 3),
    ("linear regression", "", "SGD", {"lr": 0.1}, 0, ALONG, 3),
    ("linear regression", "", "SGD", {"lr": 0.1}, 1, W, 3),
    ("linear regression", "", "SGD", {"lr": 0.100001}, 0, W, 3),
    ("linear regression", "", "SGD", {"lr": 0.1, "momentum": 0.5}, 0, W, 3),
    ("linear regression", "", "Adam", {"lr": 0.1}, 0, W, 3),
    ("planar", "moons", "SGD", {"lr": 0.1}, 0, ALONG, 3),
    ("planar", "xor", "SGD", {"lr": 0.1}, 0, ALONG, 3),
    ("tenths", "all weights 0.1", "SGD", {"lr": 1.0}, 0, ALONG, 1),
    ("tenths", "all weights 0.1, float64", "SGD", {"lr": 1.0}, 0, ALONG, 1),
]


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pictures of few places, so that many can be compared; nothing kept before."""
    monkeypatch.setattr("explorer.limits.SURFACE_SECONDS", 1e-9)
    surface._share.cache.clear()
    yield
    surface._share.cache.clear()


def opened(
    key: str, variant: str, optimizer: str, hyper: dict[str, Any], seed: int, presses: int
) -> Workspace:
    """A reader's workspace after some iterations."""
    makes: dict[str, Any] = {
        "planar": lambda: planar.planar(variant, depth=1, width=2),
        "tenths": lambda: networks.problem(variant),
    }
    problem = makes.get(key, OFFERS[key].make)()
    session = TrainingSession(problem, optimizer, seed=seed, **hyper)
    if presses:
        session.iterate(presses)
    chosen = ChosenProblem(key, OFFERS[key], problem, f"{key}\0{problem.name}\0{problem.source}")
    return Workspace(chosen, optimizer, session, session.view())


def drawn(space: Workspace, pair: Any) -> surface.DrawnSurface:
    return surface.compute_surface(space, pair, space.points())


def test_everybody_gets_the_surface_of_their_own_setting() -> None:
    found = {}
    for number, (*setting, pair, presses) in enumerate(SETTINGS):
        first = found[number] = drawn(opened(*setting, presses), pair)
        space = opened(*setting, presses)
        second = drawn(space, pair)
        assert second.surface is first.surface
        assert second.picture is first.picture
        afresh = surface_around(
            space.chosen.problem,
            first.plane,
            first.surface.path,
            seed=space.session.seed,
            size=len(first.surface.x),
        )
        for name in ("x", "y", "path"):
            assert np.array_equal(getattr(first.surface, name), getattr(afresh, name)), setting
        # Computed at once or one by one, whichever was faster.
        assert np.allclose(first.surface.loss, afresh.loss, rtol=1e-5, equal_nan=True), setting
        assert first.surface.labels == afresh.labels
        assert first.picture == surface._picture(first.surface, False)
    for a, b in combinations(found, 2):
        assert found[a].surface is not found[b].surface, (SETTINGS[a], SETTINGS[b])


def test_each_part_alone_makes_another_name() -> None:
    """Where two settings differ in one thing only, such as the data of the same network."""
    space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 3)
    plane = AB.plane(space.points(), space.session)
    path = plane.place(space.points())
    other = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 1, 3)
    named = replace(space, chosen=replace(space.chosen, name="another"))
    names = {surface._cache_key(s, plane, path) for s in (space, other, named)}
    for part in ("origin", "first", "second"):
        moved = replace(plane, **{part: getattr(plane, part) + 1e-9})
        names.add(surface._cache_key(space, moved, path))
    names.add(surface._cache_key(space, replace(plane, labels=("b", "a")), path))
    names.add(surface._cache_key(space, replace(plane, exact=False), path))
    names.add(surface._cache_key(space, plane, path + 1e-9))
    names.add(surface._cache_key(space, plane, path[:2]))
    assert len(names) == 10


def test_two_readers_at_once_compute_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    really, made = surface._compute, []
    both = threading.Barrier(2)

    def slow(*args: Any) -> Any:
        made.append(threading.current_thread())
        threading.Event().wait(0.3)
        return really(*args)

    monkeypatch.setattr(surface, "_compute", slow)
    found: list[surface.DrawnSurface] = []

    def reader() -> None:
        space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 3)
        both.wait(20)
        found.append(drawn(space, AB))

    threads = [threading.Thread(target=reader) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(made) == 1
    assert found[0].surface is found[1].surface


def test_a_shared_surface_cannot_be_written_to() -> None:
    found = drawn(opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 3), AB).surface
    for array in (found.x, found.y, found.loss, found.path):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_a_readers_own_program_is_not_shared() -> None:
    problem = ProgramProblem(
        setup="import torch\na = torch.ones(2, requires_grad=True)", loss="(a**2).sum()"
    )
    found = []
    for _ in range(2):
        session = TrainingSession(problem, lr=0.1)
        session.iterate(2)
        chosen = ChosenProblem(OWN, OFFERS[OWN], problem, "same")
        space = Workspace(chosen, "SGD", session, session.view())
        found.append(drawn(space, PlaneChoice(ELEMENTS, ("a", 0), ("a", 1))))
    assert found[0].surface is not found[1].surface
    assert np.array_equal(found[0].surface.loss, found[1].surface.loss)


# -- what is in the picture -----------------------------------------------------------------------


def read(text: str) -> np.ndarray:
    """Heights as surface.js reads them; what is not finite is NaN."""
    codes = np.frombuffer(base64.b64decode(text), "<u2").astype(float)
    return np.where(codes == 65535, np.nan, codes / 65534)


def read_path(run: Any) -> np.ndarray:
    """Positions in shares of the axes, (n, 2), as surface.js reads them."""
    return np.frombuffer(base64.b64decode(run["path"]), "<f4").reshape(-1, 2)


def numbers_at(axis: dict[str, Any], shares: np.ndarray) -> np.ndarray:
    """The numbers at shares of an axis, as shared.js has them."""
    width, ends = axis["linear_width"], np.array([axis["low"], axis["high"]])
    if not width:
        return ends[0] + shares * (ends[1] - ends[0])
    low, high = np.arcsinh(ends / width)
    found: np.ndarray = width * np.sinh(low + shares * (high - low))
    return found


def test_heights_and_paths_can_be_read_again() -> None:
    space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 3)
    found = drawn(space, AB)
    data = surface.to_data(space, found, [own_run(space)])
    picture = data["map"]
    share = read(picture["heights"]).reshape(picture["rows"], picture["columns"])
    height = picture["least"] + share * (picture["most"] - picture["least"])
    loss = 10**height - picture["floor"] + picture["low"]
    assert np.allclose(loss, found.surface.loss, rtol=1e-3, atol=1e-3 * np.ptp(loss))
    share = read_path(data["runs"][0])
    for i, axis in enumerate((data["x"], data["y"])):
        place = numbers_at(axis, share[:, i])
        wanted = [point.values["ab"[i]].item() for point in space.points()]
        assert place == pytest.approx(wanted, abs=1e-6 * (axis["high"] - axis["low"]))
    assert data["at"] == pytest.approx([p.value.item() for p in space.view.parameters.values()])
    assert len(json.dumps(data)) < 8_000


def test_of_a_long_run_every_few_points_are_sent_and_the_last() -> None:
    space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.01}, 0, 1500)
    run = own_run(space)
    data = surface.to_data(space, drawn(space, AB), [run, replace(run, name="other")] * 2)
    mine, *others = data["runs"]
    assert len(mine["steps"]) <= 301
    assert (mine["steps"][0], mine["steps"][-1]) == (0, 1500)
    assert [other["steps"] for other in others] == [None] * 3  # the same
    assert len(json.dumps(data)) < 20_000


@pytest.mark.parametrize("presses", [700, 1303, 1499])
def test_a_long_path_that_jumps_across_still_does(presses: int) -> None:
    """Every point that is sent is on the other side of the minimum than the one before."""
    space = opened("parabola", "", "SGD", {"lr": 1.0001}, 0, presses)
    choice = PlaneChoice(ELEMENTS, ("x", 0), ("x", 0))
    data = surface.to_data(space, drawn(space, choice), [own_run(space)])
    (run,) = data["runs"]
    x = data["x"]["low"] + read_path(run)[:, 0] * (data["x"]["high"] - data["x"]["low"])
    assert len(x) < presses
    assert (x[1:] * x[:-1] < 0).all()
    assert (run["steps"][0], run["steps"][-1]) == (0, presses)
    plain, path = torch.tensor(10.0, requires_grad=True), []
    optimizer = torch.optim.SGD([plain], lr=1.0001)
    for _ in range(presses + 1):
        path.append(plain.item())
        optimizer.zero_grad()
        (plain**2).backward()
        optimizer.step()
    assert x == pytest.approx([path[step] for step in run["steps"]], rel=1e-5)


def test_the_picture_shows_the_path_and_where_it_goes() -> None:
    space = opened("linear regression", "", "SGD", {"lr": 0.1}, 0, 0)
    found = drawn(space, W)
    assert found.surface.x[0] < 0 < 2 < found.surface.x[-1]  # the weights that made the data
    assert found.surface.y[0] < -3.4 < 0 < found.surface.y[-1]


def test_a_run_that_diverges_does_not_make_the_picture_large() -> None:
    calm = drawn(opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.1}, 0, 0), AB)
    wild = drawn(opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.6}, 0, 0), AB)
    assert np.ptp(wild.surface.y) <= np.ptp(calm.surface.y)


def diverged(key: str, lr: float) -> Workspace:
    """A run that was stopped where its loss became infinite."""
    space = opened(key, "", "SGD", {"lr": lr, "momentum": 0.9}, 0, 0)
    space.session.iterate(200, until_trouble=True)
    space.view = space.session.view()
    assert space.view.track.trouble
    return space


X = PlaneChoice(ELEMENTS, ("x", 0), ("x", 0))
OTHERS = (PlaneChoice(PATH), PlaneChoice("gradient"), PlaneChoice("random"))


@pytest.mark.parametrize(
    ("key", "lr", "choice"),
    [
        ("parabola", 3.8, X),
        *(("linear regression", 5.0, choice) for choice in (W, B)),
        ("ill-conditioned quadratic", 5.0, AB),
        ("ill-conditioned quadratic", 1.1, AB),
    ],
)
def test_on_chosen_axes_all_of_a_run_that_diverges_is_seen(
    key: str, lr: float, choice: PlaneChoice
) -> None:
    space = diverged(key, lr)
    found = drawn(space, choice)
    share = found.shares(found.place(space.points()))[:, : len(found.names)]
    assert ((share > 0) & (share < 1)).all()
    moves = np.abs(np.diff(share, axis=0)).max(1)
    assert moves[0] > 0.01  # the first step, too
    said = surface._caption(found, space, [own_run(space)])
    logarithmic = [axis.label for axis in found.axes if axis.linear_width and axis.label != "loss"]
    assert re.findall(r"the axis of (.+?) is logarithmic", said) == logarithmic != []


def test_only_the_axis_along_which_a_run_diverges_is_logarithmic() -> None:
    space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.6}, 0, 3)
    assert drawn(space, AB).plane.linear_widths == (0, 0)  # at first it is seen to grow
    space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.6}, 0, 20)
    across, up = drawn(space, AB).plane.linear_widths
    assert across == 0 < up
    space.session.reset()
    space.view, space.version = space.session.view(), space.version + 1
    assert drawn(space, AB).plane.linear_widths == (0, 0)


@pytest.mark.parametrize("choice", OTHERS)
def test_the_caption_says_what_lies_outside(choice: PlaneChoice) -> None:
    space = diverged("linear regression", 5.0)
    found = drawn(space, choice)
    path = found.place(space.points())[:, : len(found.names)]
    axes = (found.surface.x, found.surface.y)[: len(found.names)]
    inside = [all(a[0] <= v <= a[-1] for v, a in zip(p, axes, strict=True)) for p in path]
    said = surface._caption(found, space, [own_run(space)])
    shown, steps = sum(inside[1:]), space.view.track.steps
    assert inside[0]
    counted = f"{'the first ' * all(inside[: shown + 1])}{shown} of {steps} steps"
    words = {0: "no step", 1: counted.replace("first 1", "first")}.get(shown, counted)
    assert said.startswith(f"The picture shows {words}; ")
    numbers = re.findall(r" (?:is now )?(−?(?:[\d.]+(?:e\d+)?|inf|nan))(?= and|\.(?: |$))", said)
    now = [float(number.replace("−", "-")) for number in numbers[: len(found.names)]]
    assert now == pytest.approx(path[-1].tolist(), rel=0.01, nan_ok=True)


def test_the_caption_of_a_run_that_can_be_seen_has_no_count() -> None:
    space = opened("parabola", "", "SGD", {"lr": 0.2}, 0, 5)
    assert surface._caption(drawn(space, X), space, [own_run(space)]) == ""


@pytest.mark.parametrize("choice", [W, B, *OTHERS])
def test_the_bowl_can_be_seen_after_a_run_diverged(choice: PlaneChoice) -> None:
    """The loss differs enough from place to place."""
    space = diverged("linear regression", 5.0)
    loss = drawn(space, choice).surface.loss
    assert loss.max() > 2 * loss.min()
    height = read(drawn(space, choice).picture["map"]["heights"])
    bands = np.floor(18 * height[np.isfinite(height)])
    assert len(np.unique(bands)) >= 5  # bands, of 9 × 9 places


def test_the_path_of_a_run_that_diverged_is_sent_as_it_is() -> None:
    space = diverged("linear regression", 5.0)
    data = surface.to_data(space, drawn(space, W), [own_run(space)])
    share = read_path(data["runs"][0]).astype(float)
    wanted = np.array([p.values["w"].ravel() for p in space.points()])
    for i, axis in enumerate((data["x"], data["y"])):
        assert numbers_at(axis, share[:, i]) == pytest.approx(wanted[:, i], rel=1e-4, abs=1e-4)


def test_over_a_line_the_path_goes_up_at_its_losses() -> None:
    space = diverged("parabola", 3.8)
    data = surface.to_data(space, drawn(space, X), [own_run(space)])
    share = read_path(data["runs"][0]).astype(float)
    loss = numbers_at(data["y"], share[:, 1])
    wanted = [point.values["x"].item() ** 2 for point in space.points()[:15]]
    assert loss[:15] == pytest.approx(wanted, rel=1e-4)


def test_the_hand_puts_the_point_into_the_picture_after_a_run_diverged() -> None:
    space = diverged("linear regression", 5.0)
    found = drawn(space, W)
    values = surface.place_values(space, found.names, [1.0, 2.0])
    assert found.plane.coordinates(np.concatenate([v.ravel() for v in values.values()])[None])[
        0
    ] == pytest.approx([1.0, 2.0])
    assert abs(values["b"]).max() < 1000  # as in the picture, and not where the run is now


def test_the_arrow_is_what_step_would_do() -> None:
    space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 3)
    assert surface.to_data(space, drawn(space, AB), [own_run(space)])["arrows"] == {}
    space.press(TrainingSession.zero_grad)
    space.press(TrainingSession.forward)
    space.press(TrainingSession.backward)
    space.perform()
    before = {name: p.value.item() for name, p in space.view.parameters.items()}
    arrow = surface.to_data(space, drawn(space, AB), [own_run(space)])["arrows"]["update"]
    space.press(TrainingSession.step)
    space.perform()
    after = {name: p.value.item() for name, p in space.view.parameters.items()}
    assert arrow == pytest.approx([after[name] - before[name] for name in "ab"], rel=1e-5)


# -- the hand -------------------------------------------------------------------------------------


def test_a_place_becomes_parameters_and_the_others_stay() -> None:
    space = opened("linear regression", "", "SGD", {"lr": 0.1}, 0, 2)
    drawn(space, W)
    values = surface.place_values(space, ["w[0, 0]", "w[1, 0]"], [1.25, -0.5])
    assert values["w"].ravel().tolist() == [1.25, -0.5]
    assert np.array_equal(values["b"], space.points()[-1].values["b"])


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (["a"], [1.0]),
        (["b", "a"], [1.0, 1.0]),
        (["a", "b"], [1.0]),
        (["a", "b"], [1.0, float("nan")]),
        (["a", "b"], [1.0, float("inf")]),
        (["a", "b"], [1.0, 1e9]),
        (["a", "b"], [1.0, 10**400]),
        (["a", "b"], [True, 1.0]),
        (["a", "b"], ["1", 1.0]),
        (["a", "b"], {"0": 1.0, "1": 1.0}),
        ("ab", [1.0, 1.0]),
        (None, None),
    ],
)
def test_what_is_no_place_is_refused(names: Any, value: Any) -> None:
    space = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 1)
    drawn(space, AB)
    with pytest.raises(ValueError, match=r"no such surface|no place|outside"):
        surface.place_values(space, names, value)


def own_run(space: Workspace) -> surface.Run:
    return surface.Run("your run", space.view, space.points(), space.session)


# -- the choice of the plane ----------------------------------------------------------------------


class Link(dict[str, str]):
    """What the page's link has."""


@pytest.mark.parametrize(
    ("link", "wanted"),
    [
        ({}, AB),
        ({"across": "path"}, AB),  # there is nothing to choose
        ({"across": "b"}, PlaneChoice(ELEMENTS, ("b", 0), ("a", 0))),
        ({"across": "a", "up": "a"}, AB),
        ({"across": "<b>", "up": "[]"}, AB),
    ],
)
def test_two_numbers_are_the_axes(
    link: dict[str, str], wanted: PlaneChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = opened("ill-conditioned quadratic", "", "SGD", {"lr": 0.4}, 0, 0).points()[-1]
    monkeypatch.setattr(planes.st, "query_params", Link(link))
    assert planes.read_choice(point) == wanted
    assert planes.to_data(point, wanted) is None


def test_a_choice_is_kept_in_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    space = opened("linear regression", "", "SGD", {"lr": 0.1}, 0, 2)
    point, link = space.points()[-1], Link()
    monkeypatch.setattr(planes.st, "query_params", link)
    assert planes.read_choice(point) == W
    planes.choose(point, {"kind": "elements", "across": "w[0, 0]", "up": "b[0]"})
    assert planes.read_choice(point) == B
    for kind in ("path", "gradient", "random"):
        planes.choose(point, {"kind": kind})
        choice = planes.read_choice(point)
        assert choice == PlaneChoice(kind)
        found = drawn(space, choice)
        assert not found.plane.exact
        assert np.isfinite(found.surface.loss).all()
        assert found.plane.explanation in surface._caption(found, space, [])
    planes.choose(point, {"kind": "random"})
    assert planes.read_choice(point) == PlaneChoice("random", seed=1)
    before = dict(link)
    for event in ({}, {"kind": "sphere"}, {"kind": "elements", "across": "w[9, 9]", "up": "b[0]"}):
        planes.choose(point, event)
        assert link == before
    link.update(across="random", up="9" * 400)
    assert planes.read_choice(point) == PlaneChoice("random")
