"""The tabs of the Network page that only some networks have."""

from __future__ import annotations

import base64
import time
from typing import Any

import numpy as np
import pytest
import torch

from explorer.networks import problem
from explorer.networks.time_steps import GAINS, gradients_over_time
from explorer.ui.widgets.open_network import OWN
from tests.pages.test_network import PAGE, fine
from tests.pages.test_pages import component, html_of, opened


def page(preset: str, part: str, **link: str) -> Any:
    at = opened("app.py")
    for key, text in {"preset": preset, "part": part, **link}.items():
        at.query_params[key] = text
    return fine(at.switch_page(PAGE).run())


def done(at: Any) -> Any:
    """The page once a child has answered."""
    limit = time.monotonic() + 60
    while "ax-progress" in html_of(fine(at)) and time.monotonic() < limit:
        time.sleep(0.1)
        at.run()
    return at


def tabs(at: Any) -> list[str]:
    return [tab.label for tab in at.tabs]


def values(heat_map: dict, frame: int = 0) -> np.ndarray:
    data = np.frombuffer(base64.b64decode(heat_map["values"][frame]), "<f4")
    return data.reshape(heat_map["shape"])


def maps(at: Any) -> list[dict]:
    return component(at, "maps")["maps"]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("ToyModel", set()),
        ("plain, 20 layers", {"Compare"}),
        ("BatchNorm", {"Compare", "Normalisation"}),
        ("LSTM", {"Compare", "Time steps"}),
        ("vision transformer", {"Attention", "Normalisation"}),
    ],
)
def test_a_network_has_the_tabs_that_show_something(preset: str, expected: set[str]) -> None:
    special = {"Attention", "Time steps", "Compare", "Normalisation"}
    assert set(tabs(page(preset, "Layers"))) & special == expected


@pytest.mark.fast
def test_attention_of_the_transformer() -> None:
    at = page("transformer", "Attention")
    shown = maps(at)
    assert [m["group"] for m in shown] == ["blocks.0.attention"] * 2 + ["blocks.1.attention"] * 2
    assert shown[0]["rows"] == shown[0]["columns"] == list("planet>tenal")
    net = problem("transformer").model
    block = net.blocks[1]
    with torch.no_grad():
        x = net.embed(problem("transformer").inputs[0][:1]) + net.position
        x = block.norm1(net.blocks[0](x))
        q, k = (
            block.attention.split(part(x)) for part in (block.attention.query, block.attention.key)
        )
        later = torch.ones(12, 12, dtype=torch.bool).triu(1)
        expected = (q @ k.mT / 4).masked_fill(later, -torch.inf).softmax(-1)[0, 1]
    np.testing.assert_allclose(values(shown[3]), expected, atol=1e-5)
    masked = np.frombuffer(base64.b64decode(shown[3]["masked"]), np.uint8).reshape(12, 12)
    assert (masked == later.numpy()).all()
    for view, count in (("Q, K, V", 12), ("Gradients", 12), ("Norms", 12)):
        at.session_state["attention-show"] = view
        assert len(maps(fine(at.run()))) == count
    at.session_state["attention-layer"] = "blocks.1.attention"
    at.session_state["attention-sample"] = 4
    assert {m["group"].split(":")[0] for m in maps(fine(at.run()))} == {"blocks.1.attention"}
    assert maps(at)[0]["rows"] == list("silver>revli")


@pytest.mark.parametrize("layer", ["blocks.2.attention", "<b>", "9" * 5000])
def test_a_link_to_a_layer(layer: str) -> None:
    link = {"attention-layer": layer, "attention-sample": "-1", "attention-show": "On the image"}
    at = page("vision transformer", "Attention", **link)
    groups = {m["group"] for m in maps(at)}
    assert "blocks.2.attention: the class token" in groups
    assert maps(at)[0]["grey"]
    assert "<b>" not in html_of(at)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_time_steps(name: str) -> None:
    at = page(name, "Time steps")
    data = component(at, "gains")
    assert data["gains"] == list(GAINS)
    assert data["gains"][data["start"]] == 1.0
    preset = problem(name)
    expected = gradients_over_time(
        preset.model, *preset.inputs, loss=preset.network.criterion, seed=0, gains=(1.25,)
    ).layers[0]
    at_gain = data["lines"][0]["y"][data["gains"].index(1.25)]
    np.testing.assert_allclose(at_gain, expected.hidden[0], rtol=1e-3)
    names = [line["name"] for line in data["lines"]]
    assert {other for other in ("RNN", "LSTM", "GRU") if any(other in n for n in names)} == {
        "RNN",
        "LSTM",
        "GRU",
    } - {name}
    assert ("without the activation" in names) == (name == "RNN")


def test_plain_and_residual_in_one_chart() -> None:
    at = page("residual, 20 layers", "Compare")
    (cell,) = component(at, "cells")["cells"]
    assert [line["name"] for line in cell["lines"]] == ["plain, 20 layers", "residual, 20 layers"]
    for line in cell["lines"]:
        preset = problem(line["name"])
        preset.network.criterion(preset.model(*preset.inputs)).backward()
        norms = [p.grad.norm().item() for p in preset.model.parameters() if p.dim() > 1]
        assert line["y"] == pytest.approx(norms, rel=1e-4)
    assert "times that of the last" in html_of(at)


def test_normalisation_at_several_batch_sizes() -> None:
    for name, words in (("BatchNorm", "changes with the batch size"), ("LayerNorm", "is the same")):
        at = page(name, "Normalisation")
        data = component(at, "maps")
        assert data["frames"]["names"] == ["1", "2", "4", "8", "16", "32"]
        assert "mean 0 and standard deviation 1" in data["frames"]["captions"][3]
        assert [m["title"] for m in data["maps"]] == ["Input", "Output"]
        assert np.isnan(values(data["maps"][1], 1)[2:]).all()
        assert words in html_of(at)


OWN_TRANSFORMER = """\
import torch
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 16)
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.memory = nn.LSTM(16, 8, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        x = self.encoder(self.embed(tokens))
        return self.head(self.memory(x)[0][:, -1])

net = Small()
x = torch.randint(0, 10, (4, 6))
"""


def test_a_network_of_the_reader_s_own() -> None:
    at = done(page(OWN, "Attention", module=OWN_TRANSFORMER))
    assert {"Attention", "Time steps", "Normalisation"} <= set(tabs(at))
    assert "Compare" not in tabs(at)
    shown = maps(at)
    assert [m["group"] for m in shown] == ["encoder.self_attn"] * 2
    names: dict = {}
    torch.manual_seed(0)
    exec(OWN_TRANSFORMER, names)
    x = names["net"].embed(names["x"])
    attention = names["net"].encoder.self_attn
    expected = attention(x, x, x, average_attn_weights=False)[1][0]
    for head in (0, 1):
        np.testing.assert_allclose(values(shown[head]), expected[head].detach(), atol=1e-5)
    data = component(done(page(OWN, "Time steps", module=OWN_TRANSFORMER)), "gains")
    assert [line["name"] for line in data["lines"]] == ["dL/dh", "dL/dc"]
    assert len(data["lines"][0]["y"][0]) == 6
    data = component(done(page(OWN, "Normalisation", module=OWN_TRANSFORMER)), "maps")
    assert data["maps"][1]["shape"] == [8, 16]
