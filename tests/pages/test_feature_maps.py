"""The Feature maps page, run through app.py as Streamlit's own test runner does."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save

from explorer import limits, sandbox
from explorer.networks.synthetic_images import CLASSES, draw_one
from explorer.ui.feature_maps import downloads, image_choice, results
from explorer.ui.feature_maps import network_choice as networks
from explorer.ui.feature_maps.tabs import TABS
from explorer.vision import BACKBONES, backbones, build, predict
from tests.marks import sample
from tests.pages.test_pages import html_of, opened
from tests.vision import bad_images, good_images
from tests.vision.image_case import Case, saved

PAGE = "pages/feature_maps.py"


def frames(at: Any, key: str) -> dict[str, Any]:
    """The data of the frames with this key."""
    for element in at.get("bidi_component"):
        if f"-{key}" in element.proto.id:
            return json.loads(element.proto.json)
    raise AssertionError(f"no frames {key!r}")


def unpacked(array: dict[str, Any]) -> np.ndarray:
    """An array as the browser gets it."""
    values = np.frombuffer(zlib.decompress(base64.b64decode(array["data"])), "<f4")
    return values.reshape(array["shape"])


def upload(at: Any, name: str, data: bytes, key: str = "picture-file") -> Any:
    return at.file_uploader(key=key).upload(name, data, "application/octet-stream").run()


def fine(at: Any) -> Any:
    assert not at.exception
    assert "ax-error" not in html_of(at)
    return at


def opened_with(**query: str) -> Any:
    at = opened("app.py")
    for key, value in query.items():
        at.query_params[key] = value
    return at.switch_page(PAGE).run()


@pytest.fixture
def page() -> Any:
    """The page with the drawing of a star, which is shown to the shapes network."""
    return fine(opened_with(picture="Drawn: star"))


def drawn_file(name: str) -> bytes:
    rgb = (draw_one(name, 128, seed=3).transpose(1, 2, 0) * 255).astype(np.uint8)
    return saved(Image.fromarray(rgb), "PNG")


@pytest.mark.fast
def test_opens_on_a_photograph_in_a_network_that_makes_sense_for_it() -> None:
    at = fine(opened(PAGE))
    image, seen = frames(at, "way-in")["pictures"]
    assert image["alt"].startswith(f"{image_choice.PHOTOGRAPH}, 512 × 600")
    assert seen["alt"] == "The input of Filter bank"
    strip = frames(at, "strip")
    assert [p["label"] for p in strip["pictures"]] == ["conv 1\ncolours", "conv 2\nfilters"]
    assert strip["selected"] == ["0 filters"]
    assert all(p["alt"] for p in frames(at, "tiles")["pictures"])
    for key in ("way-in", "strip", "tiles"):
        assert all(p["src"].startswith("data:image/png") for p in frames(at, key)["pictures"])
    assert frames(at, "map")["image"]["src"].startswith("data:image/jpeg")
    assert "makes no prediction" in html_of(at)
    assert "Channel" in html_of(at)
    assert "brightness" in html_of(at)


def test_a_drawing_is_shown_to_the_network_that_knows_drawings(page: Any) -> None:
    strip = frames(page, "strip")
    assert [p["label"] for p in strip["pictures"]] == [
        f"conv {2 * b + c}\nblock{b + 1}.conv{c}" for b in range(3) for c in (1, 2)
    ]
    assert "<b>star</b>" in html_of(page)
    assert "conv</button> 1 of 6 · 12 channels · 64 × 64" in html_of(page)


def test_an_uploaded_picture_is_seen_at_once_and_gone_when_taken_away(page: Any) -> None:
    upload(page, "ripples.png", drawn_file("ripples"))
    fine(page)
    assert page.selectbox(key="picture").value == image_choice.OWN
    assert "Image, 128 × 128" in str(frames(page, "way-in"))
    shown = predict(
        build("shapes_net"),
        BACKBONES["shapes_net"]
        .prepare(np.array(Image.open(io.BytesIO(drawn_file("ripples")))))
        .tensor,
        CLASSES,
    )
    assert f"<b>{shown[0].label}</b>" in html_of(page)
    assert f"{shown[0].probability:.1%}" in html_of(page)
    page.selectbox(key="picture").set_value(image_choice.PHOTOGRAPH).run()  # a sample again
    fine(page)
    assert "Image, 512 × 600" in str(frames(page, "way-in"))
    page.selectbox(key="picture").set_value(image_choice.OWN).run()
    page.file_uploader(key="picture-file").set_value([]).run()
    fine(page)
    assert "Image, 512 × 600" in str(frames(page, "way-in"))


def cases() -> Iterator[Case]:
    wanted = {"half.png", "empty.png", "eps.png", "pdf.jpg", "svg.png", "bomb_header.jpg"}
    every = [*bad_images.cut_off(), *bad_images.not_images(), *bad_images.bombs()]
    yield from (case for case in every if case.name in wanted)
    yield next(good_images.modes())
    yield from list(good_images.several_images())[:1]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_file_gives_a_picture_or_a_sentence(page: Any, case: Case) -> None:
    upload(page, case.name, case.data)
    assert not page.exception
    shown = html_of(page)
    if case.error:
        assert "ax-error" in shown
        assert case.error in shown
        assert "A sample is shown instead." in shown
        assert "Image, 512 × 600" in str(frames(page, "way-in"))
    else:
        assert "ax-error" not in shown
        assert case.note in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    "title", sample(["Filter bank", "ResNet-18", "MobileNet V3 small"], every=3)
)
def test_every_network_and_view_draws(page: Any, title: str) -> None:
    page.selectbox(key="network").set_value(title).run()
    fine(page)
    loud = any("Untrained" in warning.value for warning in page.warning)
    assert loud == (title != "Filter bank")
    for view in reversed(TABS):
        page.session_state["view"] = view
        page.run()
        fine(page)


@pytest.mark.parametrize("title", TABS)
def test_every_tab_opens_on_outputs_and_inputs(title: str) -> None:
    at = fine(opened_with(picture="Drawn: star", view=title))
    (tab,) = (tab for tab in at.tabs if tab.label == title)
    assert tab.children[0].children  # a tab that is not open is empty
    at.button_group(key="of").set_value("input").run()
    fine(at)


@pytest.mark.fast
def test_a_layer_its_channel_and_position_can_be_chosen(page: Any) -> None:
    page.selectbox(key="layer").set_value("block2.conv2").run()
    page.number_input(key="channel").set_value(23).run()
    page.number_input(key="row").set_value(4)
    page.number_input(key="column").set_value(31).run()
    fine(page)
    model_input = input_of("Drawn: star")
    value = results.maps(model_input, "block2.conv2", "output", 0).activations[0, 23, 4, 31]
    sent, place = frames(page, "map"), frames(page, "shown-position")
    assert (place["row"], place["column"], place["token"]) == (4, 31, sent["token"])
    assert unpacked(sent["output"])[4, 31] == value
    # What does not exist in the next layer falls back.
    page.selectbox(key="layer").set_value("block3.conv1").run()
    fine(page)
    assert page.number_input(key="column").value is None


def input_of(name: str) -> results.ModelInput:
    loaded = networks.LoadedModel(BACKBONES["shapes_net"], networks.SHIPPED, build("shapes_net"))
    return results.make_model_input(image_choice.load_sample(name), loaded)


def test_inputs_are_what_a_pre_hook_sees(page: Any) -> None:
    page.button_group(key="of").set_value("input").run()
    fine(page)
    inputs: list[torch.Tensor] = []
    model = build("shapes_net")
    model.block2.conv1.register_forward_pre_hook(
        lambda module, args: inputs.append(args[0].clone())
    )
    model_input = input_of("Drawn: star")
    with torch.no_grad():
        model(model_input.prepared.tensor)
    given = results.maps(model_input, "block2.conv1", "input", 0).activations
    assert np.array_equal(given, inputs[0].numpy())
    assert "Choose “output”" in frames(page, "map")["about"]
    assert "arithmetic" not in frames(page, "map")


def test_own_weights_are_used_and_the_shared_model_stays(page: Any) -> None:
    before = {
        k: v.clone()
        for k, v in networks.build_shared("shapes_net", networks.SHIPPED).named_parameters()
    }
    own = {name: value * 0.5 for name, value in build("shapes_net").state_dict().items()}
    page.button_group(key="weights").set_value(networks.FILE).run()
    fine(page)
    assert page.warning
    upload(page, "mine.safetensors", save(own), "weights-file")
    fine(page)
    assert not page.warning
    for name, value in networks.build_shared("shapes_net", networks.SHIPPED).named_parameters():
        assert torch.equal(value, before[name])
    del own["block2.conv1.weight"]
    for data, words in (
        (save(own), "block2.conv1.weight"),
        (save(own)[:500], "not a complete safetensors file"),
        (b"PK\x03\x04 checkpoint", "cut off, damaged or was not written by torch.save"),
    ):
        upload(page, "other.safetensors", data, "weights-file")
        assert not page.exception
        assert words in html_of(page)
        assert page.warning  # random weights are used instead, and the page says so


def saved_by_torch(content: Any) -> bytes:
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


def test_a_checkpoint_of_torch_is_read_and_what_was_done_is_said(page: Any) -> None:
    own = {name: value * 0.5 for name, value in build("shapes_net").state_dict().items()}
    page.button_group(key="weights").set_value(networks.FILE).run()
    content = {"epoch": 3, "model": {f"module.{n}": value.half() for n, value in own.items()}}
    upload(page, "mine.pt", saved_by_torch(content), "weights-file")
    fine(page)
    assert not page.warning
    for words in (
        "the entry 'model' of the file",
        "'epoch' is not used",
        "'module' was",
        "float16",
    ):
        assert words in html.unescape(html_of(page))
    upload(page, "model.pth", saved_by_torch(build("shapes_net")), "weights-file")
    assert not page.exception
    assert "holds a pickled object" in html_of(page)
    assert "torch.save(model.state_dict()" in html_of(page)


def test_without_walls_only_safetensors_are_read(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "missing", lambda: ("Landlock",))
    page.button_group(key="weights").set_value(networks.FILE).run()
    assert "torch.save" not in html_of(page)
    upload(page, "mine.pt", saved_by_torch(build("shapes_net").state_dict()), "weights-file")
    assert not page.exception
    assert "only safetensors are read here" in html_of(page)
    upload(page, "mine.safetensors", save(build("shapes_net").state_dict()), "weights-file")
    assert not fine(page).warning


def test_weights_that_overflow_are_refused(page: Any) -> None:
    large = {name: torch.full_like(v, 3e38) for name, v in build("shapes_net").state_dict().items()}
    page.button_group(key="weights").set_value(networks.FILE).run()
    upload(page, "large.safetensors", save(large), "weights-file")
    for view in reversed(TABS):
        page.session_state["view"] = view
        page.run()
        assert not page.exception
        assert "layer block1.conv1 outputs infinite values" in html_of(page)
        assert page.warning  # random weights are used instead, and the page says so
        assert "nan%" not in html_of(page)


def test_a_file_is_offered_only_where_it_can_fit() -> None:
    for backbone in filter(lambda backbone: not backbone.slow, BACKBONES.values()):
        offered = networks.FILE in networks.weights_options(backbone)
        parameters = sum(p.numel() for p in build(backbone.name).parameters())
        assert offered == (
            bool(backbone.labels) and 4 * parameters < limits.WEIGHTS_MEGABYTES * 2**20
        )


def test_kernels_have_pages_with_one_scale(page: Any) -> None:
    page.selectbox(key="network").set_value("ResNet-18").run()
    page.selectbox(key="layer").set_value("layer4.1.conv2")
    page.session_state["view"] = "Kernels"
    fine(page.run())
    first = frames(page, "kernels-picture")["pictures"][0]["src"]
    scale = html_of(page).split("one for each input channel:")[1][:80]
    page.number_input(key="kernel-page").set_value(4).run()
    fine(page)
    assert frames(page, "kernels-picture")["pictures"][0]["src"] != first
    assert scale in html_of(page)


NONSENSE = ("inf", "-Infinity", "1e999", "nan", "-5", "99999999999999999999", "<b>x", "")


@pytest.mark.parametrize("value", NONSENSE)
def test_nonsense_in_the_address_is_ignored(value: str) -> None:
    keys = ("picture", "network", "weights", "of", "layer", "channel", "row", "scale", "view")
    at = fine(opened_with(**dict.fromkeys(keys, value)))
    assert "Image, 512 × 600" in str(frames(at, "way-in"))
    assert at.selectbox(key="network").value == "Filter bank"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A folder served on this machine; gives its address."""
    (tmp_path / "served").mkdir()
    handler = partial(Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_address[1]}"
        served.shutdown()


def test_weights_are_fetched_on_request_and_an_absent_server_is_said(
    page: Any, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    file = io.BytesIO()
    torch.save(build("mobilenet_v3_small").state_dict(), file)
    name = f"small-{hashlib.sha256(file.getvalue()).hexdigest()[:8]}.pth"
    backbone = BACKBONES["mobilenet_v3_small"]
    monkeypatch.setitem(
        backbones._records(), "mobilenet_v3_small", replace(backbone, url=f"{server}/{name}")
    )
    page.selectbox(key="network").set_value(backbone.title).run()
    page.button_group(key="weights").set_value(networks.IMAGENET).run()
    fine(page)
    button = next(b for b in page.button if b.label.startswith("Download"))
    assert page.warning  # until then the weights are random
    button.click().run()  # the server does not have the file yet
    assert not page.exception
    assert "could not be downloaded" in html_of(page)
    (tmp_path / "served" / name).write_bytes(file.getvalue())
    next(b for b in page.button if b.label.startswith("Download")).click().run()
    fine(page)
    assert not page.warning
    assert not [b for b in page.button if b.label.startswith("Download")]
    networks.build_shared.cache.clear()


def test_a_rerun_that_changes_nothing_runs_no_network(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the network ran")

    model = networks.build_shared("shapes_net", networks.SHIPPED)
    monkeypatch.setattr(type(model), "forward", run)
    for _ in range(2):
        fine(page.run())


def test_an_npz_holds_the_layer() -> None:
    model_input = input_of("Drawn: star")
    with np.load(
        io.BytesIO(downloads.layer_npz(model_input, "block1.conv1", "output", 0))
    ) as archive:
        assert archive["activations"].shape == (1, 12, 64, 64)
        assert np.allclose(archive["max"], archive["activations"][0].max(axis=(1, 2)))
    with np.load(io.BytesIO(downloads.filmstrip_npz(model_input, "output"))) as archive:
        assert list(archive) == [f"block{b}.conv{c}" for b in (1, 2, 3) for c in (1, 2)]
        last = results.maps(model_input, "block3.conv2", "output", 0).activations
        assert np.array_equal(archive["block3.conv2"], last)
    strip = Image.open(io.BytesIO(downloads.filmstrip_png(model_input, "output")))
    assert strip.width > strip.height


def photograph_file() -> bytes:
    """A photograph that is not the sample: half of it, turned round."""
    rgb = image_choice.load_sample(image_choice.PHOTOGRAPH).image.rgb
    return saved(Image.fromarray(rgb[:400, ::-1].copy()), "JPEG")


def network_of(at: Any) -> str:
    return at.selectbox(key="network").value


WORTHLESS = "its answer for a photograph means nothing"


def test_the_page_turns_to_a_network_for_photographs_and_back(page: Any) -> None:
    assert network_of(page) == "Shapes network"
    upload(page, "mine.jpg", photograph_file())
    assert network_of(fine(page)) == "Filter bank"
    assert "This looks like a photograph, so the network is now: Filter bank." in html_of(page)
    page.button(key="network-back").click().run()
    assert network_of(fine(page)) == "Shapes network"
    assert WORTHLESS in html_of(page)  # never its prediction without this sentence
    assert "This looks like" not in html_of(page)
    page.session_state["view"] = "Prediction"
    assert html_of(fine(page.run())).count(WORTHLESS) == 2  # in the tab as well
    upload(page, "ripples.png", drawn_file("ripples"))
    assert network_of(fine(page)) == "Shapes network"
    upload(page, "other.jpg", photograph_file())
    assert network_of(fine(page)) == "Shapes network"  # the reader has chosen
    page.button(key="network-suit").click().run()
    assert network_of(fine(page)) == "Filter bank"
    page.selectbox(key="picture").set_value("Drawn: ring").run()
    assert network_of(fine(page)) == "Shapes network"
    assert "This looks like a simple drawing" in html_of(page)


@pytest.mark.parametrize("by_link", [True, False])
def test_a_chosen_network_stays_whatever_the_image(by_link: bool) -> None:
    at = opened_with(network="Shapes network") if by_link else opened(PAGE)
    if not by_link:
        at.selectbox(key="network").set_value("Shapes network").run()
    assert WORTHLESS in html_of(fine(at))
    upload(at, "mine.jpg", photograph_file())
    assert network_of(fine(at)) == "Shapes network"
    assert WORTHLESS in html_of(at)
    upload(at, "noise.png", noise_file())
    assert network_of(fine(at)) == "Shapes network"
    assert "its answer for any other image means nothing" in html_of(at)


def noise_file() -> bytes:
    noise = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)
    return saved(Image.fromarray(noise), "PNG")


def test_what_is_neither_photograph_nor_drawing_changes_nothing(page: Any) -> None:
    upload(page, "noise.png", noise_file())
    assert network_of(fine(page)) == "Shapes network"
    assert "This looks like" not in html_of(page)


def test_weights_on_this_machine_are_used_for_photographs(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One press fetches them; after that the page turns to that network by itself."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    state = build("resnet18").state_dict()
    file = io.BytesIO()
    torch.save(state, file)
    name = f"resnet18-{hashlib.sha256(file.getvalue()).hexdigest()[:8]}.pth"
    backbone = replace(BACKBONES["resnet18"], url=f"{server}/{name}")
    monkeypatch.setitem(backbones._records(), "resnet18", backbone)
    monkeypatch.setattr(networks, "OFFERED", backbone)
    at = fine(opened(PAGE))
    at.button(key="network-get").click().run()
    assert "could not be downloaded" in html_of(at)
    assert network_of(at) == "Filter bank"
    (tmp_path / "served" / name).write_bytes(file.getvalue())
    at.button(key="network-get").click().run()
    assert network_of(fine(at)) == "ResNet-18"
    assert at.button_group(key="weights").value == networks.IMAGENET
    assert not at.warning
    at.selectbox(key="picture").set_value("Drawn: star").run()
    assert network_of(fine(at)) == "Shapes network"
    assert network_of(fine(opened(PAGE))) == "ResNet-18"
    networks.build_shared.cache.clear()


def test_random_weights_announce_no_class() -> None:
    at = fine(opened_with(network="ResNet-18", view="Prediction"))
    assert "ax-map-line" not in html_of(at)
    assert "The weights of this network are random, so its prediction means nothing." in html_of(at)
    options = at.selectbox(key="class").options
    assert options
    assert all(option.startswith("output ") for option in options)
