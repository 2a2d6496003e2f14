"""Networks run on any device with the numbers of the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from explorer.networks import CPU, devices, on_device, problem

ROOT = Path(__file__).parents[2]


def test_the_cpu_comes_first_and_changes_nothing() -> None:
    assert devices()[0] == CPU
    network = problem("TestNet").network
    assert on_device(network, CPU) is network


def test_every_device_listed_is_one_of_torch() -> None:
    for device in devices():
        assert torch.ones(2, device=device).sum().item() == 2.0


@pytest.mark.parametrize("device", ["elsewhere", "gpu"])
def test_same_numbers_on_another_device(device: str) -> None:
    """In a process of its own: a device cannot be taken out of torch again."""
    if device == "gpu" and len(devices()) == 1:
        pytest.skip("there is no GPU here; the same checks ran on a device made of the CPU")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=short"]
    done = subprocess.run(
        [*command, "tests/networks/device_checks.py"],
        cwd=ROOT,
        env=os.environ | {"DEVICE": device},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
