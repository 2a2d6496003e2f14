"""Weights files: right ones load, wrong or hostile ones change nothing and name the fault."""

import io
import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save
from torch import Tensor, nn

from explorer import limits
from explorer.networks.image_networks import WEIGHTS, ShapesNet, shapes_net
from explorer.vision import BACKBONES, WeightsError, load_weights
from explorer.vision import weights as module
from explorer.vision.backbones import with_classes
from tests.vision.test_feature_maps import state_of

pytestmark = pytest.mark.fast


def snapshot(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_a_good_file_loads_into_the_model_itself() -> None:
    torch.manual_seed(0)
    model = ShapesNet().train()
    first = model.block1.conv1.weight
    before = state_of(model)
    load_weights(model, WEIGHTS.read_bytes())
    assert model.block1.conv1.weight is first
    expected = shapes_net().state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())
    assert {**state_of(model), "values": 0} == {**before, "values": 0}


def test_batch_norm_counters_may_be_missing_as_in_older_files() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))
    tensors = snapshot(nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)))
    del tensors["1.num_batches_tracked"]
    load_weights(model, save(tensors))
    assert torch.equal(model[0].weight, tensors["0.weight"])


def converted(tensors: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    return {name: value.to(dtype) for name, value in tensors.items()}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_another_precision_is_converted_and_said(dtype: torch.dtype) -> None:
    model, tensors = ShapesNet(), converted(shapes_net().state_dict(), dtype)
    (note,) = load_weights(model, save(tensors))
    assert f"{dtype}".removeprefix("torch.") in note
    expected = converted(tensors, torch.float32)
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod.", "model.net."])
def test_the_prefix_of_a_wrapper_is_removed_and_said(prefix: str) -> None:
    expected = snapshot(shapes_net())
    model = ShapesNet()
    notes = load_weights(model, save({prefix + name: value for name, value in expected.items()}))
    assert all(repr(part) in " ".join(notes) for part in prefix.split(".") if part)
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())


Change = Callable[[dict[str, Tensor]], Any]


def put(name: str, value: Tensor) -> Change:
    return lambda tensors: tensors.update({name: value})


def spoil(name: str, value: float) -> Change:
    def change(tensors: dict[str, Tensor]) -> None:
        tensors[name].view(-1)[-1] = value

    return change


def other_names(tensors: dict[str, Tensor]) -> None:
    """As another program's network names some of them, whose first is named."""
    for name in list(tensors):
        tensors[name if name.startswith("fc") else "a.b." + name] = tensors.pop(name)


def two_faults(tensors: dict[str, Tensor]) -> None:
    del tensors["fc.bias"]
    tensors["block1.conv2.bias"] = torch.zeros(5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.pop("block2.conv1.bias"), "no tensor 'block2.conv1.bias'"),
        (put("fc.weight", torch.zeros(10, 48)), "'fc.weight' has shape 10 × 48 .* needs 12 × 48"),
        (put("fc.bias", torch.zeros(())), r"'fc.bias' has shape \(\) in the file"),
        (put("fc.bias", torch.zeros(12).long()), "'fc.bias' is int64"),
        (put("extra", torch.zeros(1)), "has a tensor 'extra'; the network does not"),
        (put("<img src=x>" * 50, torch.zeros(1)), "has a tensor"),
        (
            spoil("block3.conv2.weight", float("nan")),
            "'block3.conv2.weight' has infinite or NaN",
        ),
        (
            spoil("block1.conv1.weight", float("-inf")),
            "'block1.conv1.weight' has infinite or NaN",
        ),
        (other_names, "no tensor 'block1.conv1.weight'.* it has 'a.b.block1.conv1.bias'"),
        (two_faults, "'block1.conv2.bias' has shape 5"),
        (lambda t: t.clear(), "no tensor 'block1.conv1.weight'"),
    ],
)
def test_the_first_differing_tensor_is_named_and_nothing_changes(
    change: Change, words: str
) -> None:
    model = shapes_net()
    before = snapshot(model)
    tensors = snapshot(model)
    change(tensors)
    with pytest.raises(WeightsError, match=words) as caught:
        load_weights(model, save(tensors))
    assert len(str(caught.value)) < 250
    assert str(caught.value).endswith(".")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


class Evil:
    """Would leave a file behind if it were ever unpickled."""

    path = ""

    def __reduce__(self) -> Any:
        return open, (Evil.path, "w")


def pickled(tmp_path: Path) -> bytes:
    Evil.path = str(tmp_path / "ran")
    return pickle.dumps(Evil())


def torch_saved(tmp_path: Path) -> bytes:
    file = io.BytesIO()
    torch.save(shapes_net().state_dict(), file)
    return file.getvalue()


def with_header(header: Any, body: bytes = bytes(64)) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def entry(dtype: str = "F32", shape: Any = (4,), offsets: Any = (0, 16)) -> dict[str, Any]:
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def endless(_: Path) -> bytes:
    """Empty tensors without end: reading 30 MB of them takes seconds and 700 MB."""
    nothing = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    return with_header({f"x{i}": nothing for i in range(20_000)})


GOOD = WEIGHTS.read_bytes()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (pickled, "pickled checkpoint"),
        (torch_saved, "pickled checkpoint"),
        (lambda _: b"", "not a complete safetensors"),
        (lambda _: GOOD[:7], "not a complete safetensors"),
        (lambda _: GOOD[:500], "not a complete safetensors"),
        (lambda _: GOOD[:-1], "not a complete safetensors"),
        (lambda _: GOOD + b"!", "not a complete safetensors"),
        (lambda _: struct.pack("<Q", 2**62) + GOOD[8:], "not a complete safetensors"),
        (lambda _: with_header(b"{" * 5000), "not a complete safetensors"),
        (lambda _: with_header(entry("F99")), "not a complete safetensors"),
        (lambda _: with_header(entry(shape=(2**40, 2**40))), "not a complete safetensors"),
        (lambda _: with_header(entry(offsets=(0, 10**15))), "not a complete safetensors"),
        (lambda _: with_header(entry(offsets=(-4, 12))), "not a complete safetensors"),
        (lambda _: with_header(entry(), bytes(16)), "no tensor 'block1.conv1.weight'"),
        (endless, "lists far more tensors"),
        (lambda _: b"<html>" + bytes(100), "not a complete safetensors"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    make: Callable[[Path], bytes], words: str, tmp_path: Path
) -> None:
    model = shapes_net()
    before = snapshot(model)
    with pytest.raises(WeightsError, match=words):
        load_weights(model, make(tmp_path))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not list(tmp_path.iterdir())


def test_too_many_bytes_are_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WEIGHTS_BYTES", 1000)
    with pytest.raises(WeightsError, match="larger than"):
        load_weights(shapes_net(), GOOD)


@pytest.mark.parametrize("classes", [2, 5, 1500])
def test_a_fine_tuned_head_may_have_another_number_of_classes(classes: int) -> None:
    tensors = ShapesNet().state_dict()
    tensors["fc.weight"], tensors["fc.bias"] = torch.ones(classes, 48), torch.ones(classes)
    needed = ShapesNet().state_dict()
    fitted = module.fit(needed, tensors, any_classes=True)
    assert fitted.classes == classes
    assert f"fc, has {classes} classes" in fitted.notes[0]
    assert fitted.tensors["fc.weight"].shape == (classes, 48)
    with pytest.raises(WeightsError, match=r"'fc\.weight' has shape"):
        module.fit(needed, tensors)


@pytest.mark.parametrize(
    ("weight", "bias"),
    [((5, 48), (6,)), ((5, 47), (5,)), ((0, 48), (0,)), ((1, 48), (1,)), ((2001, 48), (2001,))],
)
def test_a_head_that_differs_in_more_is_refused(weight: Any, bias: Any) -> None:
    tensors = ShapesNet().state_dict()
    tensors["fc.weight"], tensors["fc.bias"] = torch.ones(weight), torch.ones(bias)
    with pytest.raises(WeightsError, match=r"'fc\.weight' has shape"):
        module.fit(ShapesNet().state_dict(), tensors, any_classes=True)


@pytest.mark.parametrize("name", [b.name for b in BACKBONES.values() if b.url])
def test_the_last_layer_of_every_classifier_is_that_of_its_classes(name: str) -> None:
    # RegNet looks at numbers while it is built
    with torch.device("cpu" if name.startswith("regnet") else "meta"):
        tensors = with_classes(BACKBONES[name], 7).make().state_dict()
        needed = BACKBONES[name].make().state_dict()
    expected = {name: t.shape for name, t in tensors.items()}
    assert {n: t.shape for n, t in module.with_classes(needed, 7).items()} == expected
