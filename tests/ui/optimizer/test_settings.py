"""Settings as flat numbers, and what a hand may set."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from explorer.training import TrainingSession
from explorer.training.optimizers import OPTIMIZERS, optimizer_spec
from explorer.ui.optimizer import settings, sliders


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_flat_settings_become_the_optimizers_again(optimizer: str) -> None:
    hyper = optimizer_spec(optimizer).defaults()
    flat = settings.flatten(hyper)
    assert not any(isinstance(value, tuple | list) for value in flat.values())
    assert settings.nest(flat, list(hyper)) == hyper
    sliding, rare = settings.slider_names(optimizer), settings.rare_settings(optimizer)
    assert sliding[0] == "lr"
    assert sorted([*sliding, *rare]) == sorted(flat)
    for name in flat:
        assert settings.meaning_of(optimizer, name)


def test_a_change_is_what_set_takes() -> None:
    hyper = {"lr": 0.1, "betas": (0.9, 0.999)}
    assert settings.change(hyper, "beta1", 0.5) == {"betas": (0.5, 0.999)}
    assert settings.change(hyper, "lr", 0.2) == {"lr": 0.2}
    assert settings.change(hyper, "lr", 0.1) == {}
    assert settings.change(hyper, "momentum", 0.1) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lr", math.nan),
        ("lr", math.inf),
        ("lr", "0.2"),
        ("lr", True),
        ("lr", None),
        ("lr", [0.2]),
        ("lr", 10**400),
        ("weight_decay", 0.5),
        ("__class__", 0.5),
        (None, 0.5),
        (["lr"], 0.5),
        ({}, 0.5),
    ],
)
def test_what_is_no_slider_or_no_number_is_left_out(name: Any, value: Any) -> None:
    pressed: list[Any] = []
    workspace: Any = SimpleNamespace(
        optimizer="SGD",
        hyper=optimizer_spec("SGD").defaults(),
        press=lambda *args, **hyper: pressed.append((args, hyper)),
    )
    sliders.set_by_hand(workspace, name, value)
    assert pressed == []
    sliders.set_by_hand(workspace, "momentum", 0.5)
    assert pressed == [((TrainingSession.set,), {"momentum": 0.5})]


@pytest.mark.parametrize("value", [0.2, 0.0, -1.0, 1e-9, 50.0, 1e308, 1e-320])
@pytest.mark.parametrize("own", [0.001, 1.0, 0.0])
def test_the_track_of_lr_holds_its_value_and_the_problems_own(value: float, own: float) -> None:
    track = sliders._track("lr", value, own)
    assert 0 < track["low"] < track["high"] < math.inf
    for number in (value, own):
        assert number <= track["high"] or track["high"] == 1e12
        assert number >= track["low"] or number <= 1e-12
