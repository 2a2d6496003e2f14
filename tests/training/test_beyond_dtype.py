"""Settings that torch cannot turn into numbers of the parameters' dtype."""

from __future__ import annotations

from contextlib import suppress

import pytest

from explorer.training import PRESETS, TrainingSession
from explorer.training.optimizers import OPTIMIZERS
from tests.training.plain import suited

pytestmark = pytest.mark.fast

NUMBERS = [
    (optimizer, name)
    for optimizer, spec in OPTIMIZERS.items()
    for name, value in spec.defaults().items()
    if isinstance(value, float)
]


@pytest.mark.parametrize("size", [1e39, 1e308])
@pytest.mark.parametrize(("optimizer", "name"), NUMBERS)
def test_the_session_goes_on_after_a_setting_beyond_float32(
    optimizer: str, name: str, size: float
) -> None:
    session = TrainingSession(suited(optimizer, PRESETS["parabola"]), optimizer, lr=0.1)
    session.iterate(2)
    with suppress(ValueError):  # torch's own refusal
        session.set(**{name: size})
    for press in (session.zero_grad, session.forward, session.backward, session.step):
        event = press()
        detail = event.error.detail if event.error else ""
        assert event.ok or "overflow" in detail or "out of range" in detail
        assert session.view().previews["step"].startswith("step will")
    session.set(**{name: OPTIMIZERS[optimizer].defaults()[name], "lr": 0.1})
    session.zero_grad()
    assert session.iterate(1).ok


def test_a_first_setting_beyond_float32_is_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="Adagrad does not accept this"):
        TrainingSession(PRESETS["parabola"], "Adagrad", lr=0.1, initial_accumulator_value=1e39)
