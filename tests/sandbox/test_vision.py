"""The image network of a reader's program: a child gives what the app would, and nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save

from explorer.networks.from_program import from_program
from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, submit_own_network, submit_vision
from explorer.trace import to_plain
from explorer.training.problem import random_stream
from explorer.vision import RUNS
from explorer.vision.own_network import OwnNetwork, perform
from explorer.vision.validation import read_network, read_run
from tests.marks import thorough

MODULE = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d({channels}, 4, 3, padding=1)
        self.blocks = nn.ModuleList([nn.Conv2d(4, 4, 3, padding=1) for _ in range(2)])
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        for block in self.blocks:
            x = F.relu_(block(x))
        return {output}

model = Net()
model(torch.randn(2, {channels}, {side}, {side}))
"""
SCORES = "self.fc(x.mean((2, 3)))"


def program(channels: int = 3, side: int = 16, output: str = SCORES) -> str:
    return MODULE.format(channels=channels, side=side, output=output)


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    box = Sandbox(warm_up=False, processes=2)
    yield box
    box.stop()


@pytest.fixture(autouse=True)
def in_box(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "box" in request.fixturenames:
        box = request.getfixturevalue("box")
        monkeypatch.setattr("explorer.sandbox.typed_calls.app_sandbox", box)


IMAGE = np.random.default_rng(0).random((1, 3, 16, 16), np.float32)
#: Runs, with arguments, as the page asks for them.
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("map_layers", {"of": "output"}),
    ("first_channels", {"count": 2, "of": "input"}),
    ("feature_maps", {"layer": "blocks.1", "of": "output", "call": 0}),
    ("receptive_fields", {"of": "output"}),
    ("class_scores", {}),
    ("first_not_finite", {}),
    ("layer_kernels", {"layer": "conv1"}),
    ("layer_arithmetic", {"layer": "conv1", "channel": 1, "call": 0}),
    ("saliency", {"target": 3}),
    ("grad_cam", {"layer": "blocks.0", "target": 1, "call": 0}),
    ("switch_off", {"layer": "conv1", "channels": (0, 2)}),
]


def model() -> Any:
    with random_stream(0):
        return from_program(program()).make().model.eval()


def test_a_child_gives_what_the_app_would(box: Sandbox) -> None:
    results = submit_vision(program(), ASKED, IMAGE, timeout=20).result()
    own, image = model(), torch.from_numpy(IMAGE)
    for (name, arguments), result in zip(ASKED, results, strict=True):
        expected = RUNS[name](own, image, **arguments)
        assert repr(to_plain(result)) == repr(to_plain(expected)), name


@pytest.mark.parametrize("as_torch", [True, thorough(False)])
def test_a_file_of_weights_is_loaded_into_the_module(box: Sandbox, as_torch: bool) -> None:
    own = model()
    state = {name: value * 0.5 for name, value in own.state_dict().items()}
    file = io.BytesIO()
    torch.save({"epoch": 1, "model": state}, file)
    data = file.getvalue() if as_torch else save(state)
    network = submit_own_network(program(), data, timeout=30).result()
    assert any("'epoch'" in note for note in network.notes) == as_torch
    (kernels,) = submit_vision(
        program(), [("layer_kernels", {"layer": "conv1"})], IMAGE, data, timeout=30
    ).result()
    assert np.array_equal(kernels, state["conv1.weight"].numpy())
    wrong = save({**state, "fc.bias": torch.zeros(9)})
    with pytest.raises(ProgramRefused, match=r"'fc\.bias' has shape 9 in the file"):
        submit_own_network(program(), wrong, timeout=30).result()


def described(source: str) -> OwnNetwork:
    return read_network(perform(source, [], None, bytearray())[0])


@pytest.mark.fast
def test_what_the_network_takes_is_found() -> None:
    assert described(program()) == OwnNetwork("Net", 16, 3, 5)
    assert described(program(channels=1, side=28)) == OwnNetwork("Net", 28, 1, 5)
    assert described(program(output="x")).classes == 0
    assert described(program(output='{"scores": self.fc(x.mean((2, 3)))}')).classes == 0
    found = program().replace("model(torch.randn(2, 3, 16, 16))", "")
    assert described(found).channels == 3


@pytest.mark.fast
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import torch\nfrom torch import nn\nmodel = nn.Linear(4, 2)", "needs square images"),
        (program(side=600), "sides from 8 to 512"),
        (program(channels=4), "input is 2 × 4 × 16 × 16"),
        ("import torch\nfrom torch import nn\n"
         "model = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))\nmodel(torch.randn(1, 3, 8, 8))",
         "No layer of this network has maps"),
        ("x = 1", "makes no nn.Module"),
        ("", "empty"),
        (program().replace("self.fc = nn.Linear(4, 5)", "self.fc = nn.Linear(7, 5)"), "4"),
    ],
)  # fmt: skip
def test_another_network_is_refused_in_a_sentence(source: str, words: str) -> None:
    with pytest.raises(ProgramRefused, match=words) as caught:
        described(source)
    assert str(caught.value).endswith(".")


@pytest.mark.fast
def test_a_run_that_cannot_be_done_says_why() -> None:
    image = to_plain(IMAGE)
    for name, arguments, words in (
        ("saliency", {"target": 99}, "has 5 classes"),
        ("feature_maps", {"layer": "no"}, "no layer 'no'"),
        ("grad_cam", {"layer": "fc", "target": 0}, "not a set of maps"),
    ):
        with pytest.raises(ProgramRefused, match=words):
            perform(program(), [(name, arguments)], image, bytearray())


Forge = Callable[[Any], Any]


def forged(name: str, **arguments: Any) -> Any:
    """A run's true answer, as plain data that can be changed."""
    return to_plain(RUNS[name](model(), torch.from_numpy(IMAGE), **arguments))


def put(plain: Any, name: str, value: Any) -> Any:
    return {**plain, name: value}


NAN, INFINITE = to_plain(np.full((1, 4, 8, 8), np.nan)), to_plain(np.full((4,), np.inf))
EMPTY, TWO = to_plain(np.ones((1, 0, 2, 2))), to_plain(np.ones(2))
MAPS = {"layer": "conv1"}
CHANNEL = {**MAPS, "channel": 0}


def read_far(plain: Any) -> Any:
    """A window a million rows away, which a browser would draw."""
    rows = plain["rows"]
    far = [[p + 10**6 for p in at] for at in rows["positions"]]
    return put(plain, "rows", put(rows, "positions", far))


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "arguments", "change"),
    [
        ("feature_maps", MAPS, lambda plain: put(plain, "activations", NAN)),
        ("feature_maps", MAPS, lambda plain: put(plain, "activations", to_plain(np.ones(3)))),
        ("feature_maps", MAPS, lambda plain: put(plain, "activations", EMPTY)),
        ("feature_maps", MAPS, lambda plain: put(plain, "call", 7)),
        ("feature_maps", MAPS, lambda plain: put(plain, "layer", 7)),
        ("map_layers", {}, lambda plain: [put(plain[0], "outputs", [])]),
        ("map_layers", {}, lambda plain: [put(plain[0], "outputs", [[-1, 2, 2]])]),
        ("map_layers", {}, lambda plain: [put(plain[0], "outputs", [["a", 2, 2]])]),
        ("map_layers", {}, lambda plain: {"$": "MapLayer"}),
        ("class_scores", {}, lambda plain: INFINITE),
        ("class_scores", {}, lambda plain: [1.0]),
        ("receptive_fields", {}, lambda plain: {"conv1": [put(plain["conv1"][0], "rows", 1)]}),
        ("saliency", {"target": 1}, lambda plain: put(plain, "gradient", INFINITE)),
        ("switch_off", {**MAPS, "channels": (0,)}, lambda plain: put(plain, "scores_after", TWO)),
        ("layer_arithmetic", CHANNEL, lambda plain: put(plain, "rows", [])),
        ("layer_arithmetic", CHANNEL, read_far),
        ("layer_arithmetic", CHANNEL, lambda plain: put(plain, "output", to_plain(np.ones(3)))),
        ("layer_arithmetic", CHANNEL, lambda plain: put(plain, "kernels", TWO)),
        ("layer_arithmetic", CHANNEL, lambda plain: put(plain, "kind", "average")),
        ("layer_arithmetic", CHANNEL, lambda plain: put(plain, "inputs", None)),
        ("layer_arithmetic", CHANNEL, lambda plain: put(plain, "bias", float("nan"))),
        ("layer_kernels", MAPS, lambda plain: None),
    ],
)  # fmt: skip
def test_a_forged_answer_is_refused(name: str, arguments: dict[str, Any], change: Forge) -> None:
    plain = forged(name, **arguments)
    read_run(name, plain)
    with pytest.raises(Exception):  # noqa: B017, PT011  (any: the caller makes a sentence of it)
        read_run(name, change(plain))


@pytest.mark.fast
@pytest.mark.parametrize(
    "change", [{"side": 10**9}, {"channels": 2}, {"classes": -1}, {"classes": 10**9}, {"name": 1}]
)
def test_a_forged_network_is_refused(change: dict[str, Any]) -> None:
    plain = to_plain(described(program()))
    assert read_network(plain)
    with pytest.raises((ValueError, TypeError)):
        read_network({**plain, **change})
