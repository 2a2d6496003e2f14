"""A training loop typed as a program is plain PyTorch to the last bit, for every optimizer."""

from pathlib import Path

import pytest
import torch

from tests.program.compare import ours, plain, same
from tests.programs import programs

PROGRAMS = programs(Path(__file__).with_name("programs") / "optimizers.py")

OPTIMIZERS = {
    "SGD": "lr=0.1",
    "SGD momentum": "lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01",
    "Adam": "lr=0.01",
    "Adam amsgrad": "lr=0.01, amsgrad=True, betas=(0.8, 0.99)",
    "AdamW": "lr=0.01, weight_decay=0.1",
    "Adamax": "lr=0.01",
    "NAdam": "lr=0.01",
    "RAdam": "lr=0.01",
    "Adagrad": "lr=0.05",
    "Adadelta": "lr=1.0",
    "RMSprop": "lr=0.01, momentum=0.5, centered=True",
    "Rprop": "lr=0.01",
    "ASGD": "lr=0.05",
    "Adafactor": "lr=0.01",
    "Muon": "lr=0.02",
    "LBFGS": "lr=0.5",
}

LOOP = PROGRAMS["loop"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_twenty_steps_are_bit_equal(name):
    source = LOOP.replace("NAME", name.split()[0]).replace("SETTINGS", OPTIMIZERS[name])
    _, expected = plain(source)
    _, found = ours(source)
    assert len(expected["losses"]) == 20
    assert not torch.equal(expected["parameters"][0], expected["parameters"][0] * 0)
    for variable in ("losses", "parameters", "rate", "state", "net"):
        same(found[variable], expected[variable], variable)
