"""The script in plain PyTorch makes the same maps, in a process of its own."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from explorer.networks.image_networks import shapes_net
from explorer.vision import BACKBONES, build, filmstrip
from explorer.vision.backbones import with_classes
from explorer.vision.feature_maps import Of
from explorer.vision.script import can_write_script, pack_script, write_script
from tests.marks import thorough
from tests.vision.test_backbones import grace_hopper

#: Where torchvision's build does not go with torch's, it cannot be imported without this help.
_HELPED = "import runpy, explorer.torchvision_guard; runpy.run_path('{}')"


def made_by_script(archive: bytes, folder: Path) -> dict[str, np.ndarray]:
    """The maps that the unpacked script writes; it does not import the project."""
    zipfile.ZipFile(io.BytesIO(archive)).extractall(folder)
    script = folder / "feature_maps.py"
    source = script.read_text("utf-8")
    assert "explorer" not in source
    command = [sys.executable, "-I", str(script)]
    if "torchvision" in source.split('"""')[2]:
        command = [sys.executable, "-c", _HELPED.format(script)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    with np.load(folder / "feature_maps.npz") as maps:
        return dict(maps)


@pytest.mark.parametrize(
    ("name", "of", "packed"),
    [
        ("shapes_net", "output", True),
        ("shapes_net", "input", False),
        ("filter_bank", "output", True),
        thorough("mobilenet_v3_small", "output", False),
    ],
)
def test_the_script_makes_the_same_maps(name: str, of: Of, packed: bool, tmp_path: Path) -> None:
    backbone, image = BACKBONES[name], grace_hopper()
    model = build(name, random=not packed)
    script = write_script(backbone, of=of, own_weights=packed)
    made = made_by_script(pack_script(script, image, model if packed else None), tmp_path)
    expected = filmstrip(model, backbone.prepare(image).tensor, of=of)
    assert list(made) == [maps.layer for maps in expected]
    for maps in expected:
        np.testing.assert_allclose(made[maps.layer], maps.activations, rtol=1e-4, atol=1e-4)


@pytest.mark.fast
def test_published_weights_are_asked_for_by_name_and_own_ones_are_packed(tmp_path: Path) -> None:
    script = write_script(BACKBONES["resnet18"], published=True)
    compile(script, "feature_maps.py", "exec")
    assert 'get_model("resnet18", weights="IMAGENET1K_V1")' in script
    assert "manual_seed" not in script
    tuned = write_script(with_classes(BACKBONES["resnet18"], 5), own_weights=True)
    assert 'get_model("resnet18", weights=None, num_classes=5)' in tuned
    assert "safetensors" not in script
    image, model = grace_hopper(), shapes_net()
    archive = pack_script("", image, model)
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        assert packed.namelist() == ["feature_maps.py", "image.png", "weights.safetensors"]
        packed.extract("weights.safetensors", tmp_path)
    for key, value in load_file(tmp_path / "weights.safetensors").items():
        assert torch.equal(value, model.state_dict()[key])
    assert all(map(can_write_script, BACKBONES.values()))
