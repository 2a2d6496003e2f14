"""Weights that a child reads for the app: the numbers of torch.load, and no more than asked for."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explorer.program import ProgramRefused
from explorer.sandbox import Sandbox, read_weights
from explorer.sandbox import typed_calls as module
from explorer.torchvision_guard import torchvision
from explorer.vision import WeightsError


def saved(model: nn.Module) -> bytes:
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    return file.getvalue()


@pytest.fixture(scope="module")
def box() -> Any:
    box = Sandbox(warm_up=False, processes=2)
    yield box
    box.stop()


@pytest.mark.parametrize(
    "name",
    [
        "resnet18",
        "squeezenet1_1",
        "densenet121",
        "mobilenet_v3_small",
        "shufflenet_v2_x1_0",
    ],
)
def test_the_weights_equal_those_of_torch_bit_for_bit(box: Sandbox, name: str) -> None:
    torch.manual_seed(1)
    model = torchvision.models.get_model(name, weights=None)
    data = saved(model)
    with torch.device("meta"):
        needed = torchvision.models.get_model(name, weights=None).state_dict()
    fitted = read_weights(data, needed, sandbox=box)
    expected = torch.load(io.BytesIO(data), weights_only=True)
    assert fitted.tensors.keys() == expected.keys()
    for key, value in expected.items():
        assert fitted.tensors[key].dtype == value.dtype
        assert torch.equal(fitted.tensors[key], value)


@pytest.mark.fast
def test_a_file_for_another_network_names_the_first_difference(box: Sandbox) -> None:
    data = saved(nn.Sequential(nn.Linear(3, 4)))
    with pytest.raises(WeightsError, match=r"'0\.weight' has shape 4 × 3 .* needs 4 × 5"):
        read_weights(data, nn.Sequential(nn.Linear(5, 4)).state_dict(), sandbox=box)


@pytest.mark.fast
def test_a_file_with_other_classes_is_sent_with_theirs(box: Sandbox) -> None:
    data = saved(nn.Sequential(nn.Conv2d(3, 4, 1), nn.Linear(4, 7)))
    needed = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Linear(4, 2)).state_dict()
    fitted = read_weights(data, needed, sandbox=box, any_classes=True)
    expected = torch.load(io.BytesIO(data), weights_only=True)
    assert fitted.classes == 7
    assert all(torch.equal(fitted.tensors[name], value) for name, value in expected.items())


@pytest.mark.fast
@pytest.mark.parametrize("classes", [-1, 10**12, 2001, 2.0, True, "7", [7]])
def test_a_forged_number_of_classes_is_refused(classes: Any) -> None:
    answer = {"present": ["a", "b", "c"], "notes": [], "classes": classes}
    with pytest.raises(ProgramRefused, match="could not be read"):
        module._read_fitted(
            NEEDED, lambda: module.WithData(answer, bytearray(16)), any_classes=True
        )


NEEDED = {"a": torch.zeros(2), "b": torch.zeros((), dtype=torch.int64), "c": torch.zeros(0)}
ANSWERS: dict[str, tuple[Any, int]] = {
    "too few bytes": ({"present": ["a", "b", "c"], "notes": []}, 8),
    "too many bytes": ({"present": ["a", "b", "c"], "notes": []}, 17),
    "another tensor": ({"present": ["a", "x"], "notes": []}, 16),
    "another order": ({"present": ["b", "a", "c"], "notes": []}, 16),
    "a tensor twice": ({"present": ["a", "a", "b", "c"], "notes": []}, 16),
    "one that is not optional": ({"present": ["a"], "notes": []}, 8),
    "no sentence": ({"present": ["a", "b", "c"], "notes": [1]}, 16),
    "many sentences": ({"present": ["a", "b", "c"], "notes": ["."] * 1000}, 16),
    "a long sentence": ({"error": "." * 10**6}, 0),
    "an error that is none": ({"error": {"a": 1}}, 0),
    "a list": ([], 0),
    "nothing": (None, 16),
}


@pytest.mark.fast
@pytest.mark.parametrize("name", ANSWERS)
def test_a_forged_answer_is_refused(name: str) -> None:
    answer, count = ANSWERS[name]
    get: Callable[[], Any] = lambda: module.WithData(answer, bytearray(count))  # noqa: E731
    with pytest.raises(ProgramRefused, match="could not be read"):
        module._read_fitted(NEEDED, get)


@pytest.mark.fast
def test_an_answer_is_read() -> None:
    data = torch.tensor([1.5, 2.5]).numpy().tobytes() + (7).to_bytes(8, "little")
    answer = {"present": ["a", "b", "c"], "notes": ["Said."]}
    fitted = module._read_fitted(NEEDED, lambda: module.WithData(answer, bytearray(data)))
    expected: dict[str, Tensor] = {"a": torch.tensor([1.5, 2.5]), "b": torch.tensor(7)}
    assert all(torch.equal(fitted.tensors[name], value) for name, value in expected.items())
    assert fitted.notes == ("Said.",)
