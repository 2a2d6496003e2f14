"""The More tab of the Feature maps page, run through app.py as Streamlit's own test runner does."""

from __future__ import annotations

import json
import re
import time
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from PIL import Image

from explorer.ui.feature_maps import comparison, image_choice, results
from explorer.ui.feature_maps import network_choice as networks
from explorer.ui.feature_maps.live_slider import _checked
from explorer.ui.feature_maps.selection import Selection
from explorer.ui.feature_maps.tabs import LOOKS
from explorer.vision import (
    BACKBONES,
    adversarial_step,
    build,
    integrated_gradients,
    layer_differences,
    map_layers,
    occlusion,
    predict,
    transform,
)
from tests.marks import thorough
from tests.pages.test_feature_maps import drawn_file, fine, upload
from tests.pages.test_pages import html_of, opened
from tests.vision.image_case import saved

PAGE = "pages/feature_maps.py"
BACKBONE = BACKBONES["shapes_net"]


def look_at(title: str, **params: str) -> Any:
    """The page with one way to look, whose run is done."""
    at = opened("app.py")
    given = {"picture": "Drawn: star", "network": BACKBONE.title, "view": "More", "look": title}
    for name, value in (given | params).items():
        at.query_params[name] = value
    at.switch_page(PAGE).run()
    for _ in range(60):  # a long run is waited for without the page
        if not any(b.key and b.key.startswith("stop-") for b in at.button):
            break
        time.sleep(0.25)
        at.run()
    return fine(at)


def component(at: Any, key: str) -> dict[str, Any]:
    """The data of the component with this key."""
    (element,) = (e for e in at.get("bidi_component") if e.proto.id.endswith(f"-{key}"))
    return json.loads(element.proto.json)


def star() -> tuple[torch.nn.Module, torch.Tensor]:
    image = image_choice.load_sample("Drawn: star").image.rgb
    return build("shapes_net"), BACKBONE.prepare(image).tensor


@pytest.mark.parametrize("title", LOOKS)
def test_every_look_draws_with_words_for_every_picture(title: str) -> None:
    at = look_at(title)
    assert at.session_state["look"] == title
    for element in at.get("bidi_component"):
        assert '"alt": ""' not in element.proto.json


def test_the_filter_bank_has_only_looks_without_a_class() -> None:
    at = look_at("Occlusion", network="Filter bank")
    chooser = at.button_group(key="look")
    titles = [str(option) for option in chooser.options]
    assert titles == [title for title, look in LOOKS.items() if not look.classes]
    assert "This network makes none" in html_of(at)


def test_the_slider_changes_the_image_and_what_the_layers_see() -> None:
    at = look_at("Change the image", amount="30")
    model, x = star()
    changed = transform(x, BACKBONE.normalisation, "turn", 30.0)
    (best,) = predict(model, changed, BACKBONE.labels, 1)
    assert f"<b>{best.label} {best.probability:.1%}</b>" in html_of(at)
    cells = component(at, "changed-layers")["cells"]
    differences = layer_differences(model, x, changed)
    assert cells[0]["x"]["names"] == [d.layer for d in differences]
    shown = cells[0]["lines"][0]["y"]
    np.testing.assert_allclose(shown, [d.cosine for d in differences], atol=1e-6)
    relative = cells[1]["lines"][0]["y"]
    np.testing.assert_allclose(relative, [d.relative for d in differences], rtol=1e-6)
    assert component(at, "sweep")["cells"][0]["mark"] == 30


@pytest.mark.parametrize(
    ("network", "is_told"), [("Shapes network", True), thorough("ResNet-18", False)]
)
def test_random_weights_recognise_nothing(network: str, is_told: bool) -> None:
    html = html_of(look_at("Change the image", amount="30", network=network))
    assert ("recognised as" in html) == is_told


@pytest.mark.parametrize("bad", ["nan", "1e400", "999", "x", "[]", ""])
def test_an_amount_that_is_none_in_the_link_is_ignored(bad: str) -> None:
    at = look_at("Change the image", amount=bad)
    assert component(at, "amount")["value"] == 0
    assert "No layer tells these images apart" in html_of(at)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("given", "value"),
    [
        (44.4, 45),
        ("-180", -180),
        (True, 0),
        *((bad, 7) for bad in ("x", None, [1], {"a": 1}, float("inf"), float("nan"))),
        *((bad, 7) for bad in (-500, 10**400, 180.1, "1" * 10_000)),
    ],
)
def test_the_slider_takes_only_its_own_numbers_from_the_browser(given: Any, value: float) -> None:
    assert _checked(given, -180, 180, 3, otherwise=7) == value


def test_another_change_begins_at_no_change() -> None:
    at = look_at("Change the image", amount="30")
    assert component(at, "amount")["value"] == 30
    at.button_group(key="change").set_value("Blur").run()
    assert component(fine(at), "amount")["value"] == 0


def test_two_images_are_compared() -> None:
    at = look_at("Two images", second="Drawn: ring")
    model, x = star()
    ring = BACKBONE.prepare(image_choice.load_sample("Drawn: ring").image.rgb).tensor
    differences = layer_differences(model, x, ring)
    shown = component(at, "two-layers")["cells"][0]["lines"][0]["y"]
    np.testing.assert_allclose(shown, [d.cosine for d in differences], atol=1e-6)
    most = max(differences, key=lambda d: d.cosine)
    assert f"{most.layer} tells the images apart most" in html_of(at)
    upload(at, "ripples.png", drawn_file("ripples"), "second-file")
    fine(at)
    assert "ripples" in re.search(r"The prediction changes: .*", html_of(at))[0]
    upload(at, "bad.png", b"%PDF-", "second-file")
    assert "ax-error" in html_of(at)
    assert not at.exception


def test_a_click_selects_a_layer_with_maps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(comparison, "mount_plots", lambda *_, **given: asked.append(given))
    state: dict[str, Any] = {}
    monkeypatch.setattr(comparison.st, "session_state", state)
    loaded = networks.LoadedModel(BACKBONE, networks.SHIPPED, build("shapes_net"))
    first = results.make_model_input(image_choice.load_sample("Drawn: star"), loaded)
    second = results.with_image(first, image_choice.load_sample("Drawn: ring"))
    differences = results.ask(first, layer_differences, second=second)
    maps = results.maps(first, "block1.conv1", "output", 0)
    selected = Selection(results.ask(first, map_layers, of="output")[0], "output", maps, 0, 0, 0)
    comparison.draw_layer_chart(differences, selected, key="two", nested=True)
    select = asked[0]["on_choose"]
    names = [d.layer for d in differences]
    for bad in (names.index("fc"), 1000, -1, 0.5, float("nan"), float("inf"), 1e300):
        select(float(bad))
        assert not state
    select(float(names.index("block2.conv2")))
    assert (state["layer"], state["call"]) == ("block2.conv2", 0)


def test_a_picture_from_the_camera_goes_the_way_of_an_upload() -> None:
    at = opened("app.py")
    at.query_params["picture"] = image_choice.CAMERA
    fine(at.switch_page(PAGE).run())
    before = component(at, "way-in")["pictures"][0]["alt"]  # a sample until a picture is taken
    jpeg = saved(Image.fromarray(np.full((90, 160, 3), 200, np.uint8)), "JPEG")
    photograph = at.camera_input(key="picture-camera").set_value
    photograph(("taken.jpg", jpeg, "image/jpeg")).run()
    shown = component(fine(at), "way-in")["pictures"][0]["alt"]
    assert "160 × 90" in shown
    assert shown != before
    cut_off = ("taken.jpg", jpeg[: len(jpeg) // 2], "image/jpeg")
    at.camera_input(key="picture-camera").set_value(cut_off).run()
    assert not at.exception
    assert "ax-error" in html_of(at)


def test_integrated_gradients_say_their_sum() -> None:
    at = look_at("Integrated gradients")
    model, x = star()
    result = integrated_gradients(model, x, BACKBONE.normalisation)
    assert f"sum {result.sum:.3g} of {result.change:.3g}" in html_of(at)
    assert f"<b>{result.steps}</b>" in html_of(at)
    assert result.sum == pytest.approx(result.change, rel=0.01)


def test_occlusion_says_the_largest_drop() -> None:
    at = look_at("Occlusion", window="1/4", baseline="blurred")
    model, x = star()
    result = occlusion(model, x, BACKBONE.normalisation, window=16, baseline="blurred")
    row, column = np.unravel_index(result.map.argmax(), result.map.shape)
    assert f"at row {row}, column {column}" in html_of(at)
    assert "<b>49</b>" in html_of(at)


@pytest.mark.parametrize("steps", [1, 10])
def test_the_adversarial_step_shows_its_arithmetic(steps: int) -> None:
    method = {1: "1 step (FGSM)", 10: "10 steps (PGD)"}[steps]
    at = look_at("Adversarial step", epsilon="2", method=method)
    model, x = star()
    step = adversarial_step(model, x, BACKBONE.normalisation, 2 / 255, steps=steps)
    index = int(abs(step.gradient).argmax())
    values = [255 * v.reshape(-1)[index] for v in (step.before, step.moved, step.after)]
    row = re.search(r"<tbody><tr>(.*?)</tr>", html_of(at))[1]
    cells = [float(c.replace("−", "-")) for c in re.findall(r"<td>([^<]*)</td>", row)[2:]]
    assert cells[0] == pytest.approx(values[0], abs=0.06)
    assert cells[0] + cells[1] == pytest.approx(cells[2], abs=0.16)
    assert cells[2:] == [pytest.approx(values[1], abs=0.06), pytest.approx(values[2], abs=0.06)]
    after = predict(model, torch.from_numpy(step.after)[None], BACKBONE.labels, 1)[0]
    assert f"<b>{after.label} {after.probability:.1%}</b>" in html_of(at)
    assert "The smallest ε tried that changes the prediction is" in html_of(at)


def test_a_second_image_has_its_own_results() -> None:
    loaded = networks.LoadedModel(BACKBONE, networks.SHIPPED, build("shapes_net"))
    first = results.make_model_input(image_choice.load_sample("Drawn: star"), loaded)
    second = results.with_image(first, image_choice.load_sample("Drawn: ring"))
    assert first.key != second.key
    assert results.prediction(first)[0].label != results.prediction(second)[0].label
    again = [results.ask(first, layer_differences, second=second) for _ in range(2)]
    assert again[0] is again[1]


def test_another_long_run_ends_the_one_before() -> None:
    """One reader waits for one run: the queue serves all readers."""
    asked: list[str] = []
    for title in ("Occlusion", "Integrated gradients", "Adversarial step", "Change the image"):
        with patch.object(results, "await_result", lambda slot, *a, **b: asked.append(slot)):
            look_at(title)
    assert asked == ["look"] * 4


def test_a_photograph_as_second_image_is_doubted() -> None:
    at = look_at("Two images", second=image_choice.PHOTOGRAPH)
    assert "its answer for a photograph means nothing" in html_of(at)
