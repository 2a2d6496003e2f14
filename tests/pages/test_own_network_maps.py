"""A reader's own network on the Feature maps page: it runs in a child and never in the app."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
import torch
from safetensors.torch import save
from torch import nn

from explorer.networks.from_program import from_program
from explorer.training.problem import random_stream
from explorer.ui.feature_maps import own_network
from explorer.ui.feature_maps.tabs import TABS
from explorer.ui.widgets.open_network import OWN
from tests.pages.test_feature_maps import fine, frames, upload
from tests.pages.test_pages import html_of, opened

PAGE = "pages/feature_maps.py"
PROGRAM = own_network._FIRST
GREY = PROGRAM.replace("nn.Conv2d(3, 8", "nn.Conv2d(1, 8").replace(
    "(1, 3, 64, 64)", "(1, 1, 28, 28)"
)


def own_page(program: str, **link: str) -> Any:
    at = opened("app.py")
    for key, value in {"network": OWN, "program": program, **link}.items():
        at.query_params[key] = value
    return at.switch_page(PAGE).run()


@pytest.fixture
def never_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any convolution in the app's own process is an error."""

    def run(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a network ran in the app")

    monkeypatch.setattr(nn.Conv2d, "forward", run)


@pytest.mark.fast
def test_the_program_of_a_link_is_shown_with_its_maps(never_here: None) -> None:
    at = fine(own_page(PROGRAM))
    assert at.selectbox(key="network").value == OWN
    assert "Net gets the image in colour, 64 × 64 pixels" in html_of(at)
    labels = [p["label"] for p in frames(at, "strip")["pictures"]]
    assert [label.splitlines()[-1] for label in labels] == ["conv1", "conv2"]
    assert at.warning  # its weights are random
    assert not re.search(r"class \d", html_of(at))  # so it recognises nothing


def test_every_tab_opens(never_here: None) -> None:
    at = own_page(PROGRAM)
    for view in TABS:
        at.session_state["view"] = view
        fine(at.run())
    at.button_group(key="of").set_value("input").run()
    fine(at)


def test_grey_images_and_other_outputs(never_here: None) -> None:
    at = fine(own_page(GREY))
    assert "in grey, 28 × 28 pixels" in html_of(at)
    at = fine(own_page(PROGRAM.replace("return self.fc(x.mean((2, 3)))", "return x")))
    assert "there is no prediction" in html_of(at)
    assert "Prediction" not in [tab.label for tab in at.tabs]


def test_a_file_of_weights_is_loaded_into_it() -> None:
    at = own_page(PROGRAM)
    at.button_group(key="own-weights").set_value("File").run()
    fine(at)
    with random_stream(0):
        state = from_program(PROGRAM).make().model.state_dict()
    own = {name: torch.zeros_like(value) for name, value in state.items()}
    upload(at, "mine.safetensors", save({f"module.{n}": v for n, v in own.items()}), "weights-file")
    fine(at)
    assert not at.warning
    assert "The prefix 'module' was removed" in html.unescape(html_of(at))
    assert "Values from 0 to 0" in html_of(at)
    del own["fc.bias"]
    upload(at, "wrong.safetensors", save(own), "weights-file")
    assert not at.exception
    assert "no tensor 'fc.bias'" in html.unescape(html_of(at))


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("x = 1", "makes no nn.Module"),
        ("while True: pass", "stopped"),
        ("import os\nos.system('id')", ""),
        (PROGRAM.replace("64, 64", "64, 32"), "Feature maps needs square images"),
        (PROGRAM.replace("nn.Linear(16, 10)", "nn.Linear(17, 10)"), "Line"),
        (PROGRAM.replace("x.mean((2, 3))", "x.mean((2, 3)) / 0"), None),
        (PROGRAM.replace("F.relu(self.conv2(x))", "F.relu(self.conv2(x) / 0)"), None),
    ],
)
def test_what_cannot_be_shown_is_said(
    program: str, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_network, "_seconds", lambda: 4.0)
    at = own_page(program)
    assert not at.exception
    assert "Traceback" not in html_of(at)
    if words is not None:
        assert words in html.unescape(html_of(at))
        assert "ax-error" in html_of(at)
        assert "Shapes network is shown instead" in html_of(at)
        assert "block1.conv1" in str(frames(at, "strip"))
