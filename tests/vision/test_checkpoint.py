"""What torch.save writes is read as torch.load reads it, whatever it is wrapped in."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explorer.vision.checkpoint import read_checkpoint, read_weights

pytestmark = pytest.mark.fast


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2))


def saved(content: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(content, file, **options)
    return file.getvalue()


def same(given: Any, expected: Any) -> bool:
    return given.keys() == expected.keys() and all(
        torch.equal(given[name], value) for name, value in expected.items()
    )


@pytest.mark.parametrize("zipped", [True, False])
def test_a_state_dict_is_read_in_both_formats(zipped: bool) -> None:
    expected = network().state_dict()
    data = saved(expected, _use_new_zipfile_serialization=zipped)
    checkpoint = read_checkpoint(data)
    assert same(checkpoint.tensors, expected)
    assert not checkpoint.notes


def checkpoints() -> dict[str, tuple[Any, str]]:
    """Contents, and what the note says."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.rand(2, 3, 6, 6)).sum().backward()
    optimizer.step()
    state = model.state_dict()
    more = {"epoch": 3, "optimizer_state_dict": optimizer.state_dict(), "loss": 0.5}
    return {
        "a training checkpoint": ({**more, "model_state_dict": state}, "'model_state_dict'"),
        "Lightning's": ({**more, "state_dict": state, "callbacks": {}}, "'epoch', "),
        "several": ({"ema": state, "model": state}, "entry 'model' .* 'ema' is not used"),
        "another name": ({"my_best_model": state}, "entry 'my_best_model' of the file.$"),
        "a number beside them": ({**state, "epoch": 3}, "'epoch' .* not a tensor"),
        "parameters": (dict(model.named_parameters()) | dict(model.named_buffers()), "^$"),
    }


@pytest.mark.parametrize("name", checkpoints())
def test_the_state_dict_is_found_and_said(name: str) -> None:
    content, note = checkpoints()[name]
    checkpoint = read_checkpoint(saved(content))
    expected = torch.load(io.BytesIO(saved(content)), weights_only=False)
    expected = next(
        (v for v in expected.values() if isinstance(v, dict) and "0.weight" in v), expected
    )
    assert same(checkpoint.tensors, {k: v for k, v in expected.items() if isinstance(v, Tensor)})
    assert re.search(note, " ".join(checkpoint.notes))


def test_tied_tensors_and_views_are_read() -> None:
    base = torch.arange(24.0)
    tied = {"a": base[:12].view(3, 4), "b": base[12:].view(3, 4).t(), "c": base[:12].view(3, 4)}
    fitted = read_weights(saved(tied), tied)
    assert same(fitted.tensors, tied)


def test_the_networks_own_counts_may_be_missing() -> None:
    state = network().state_dict()
    few = {name: value for name, value in state.items() if "num_batches" not in name}
    assert same(read_weights(saved(few), state).tensors, few)
