"""Numbers in shortened texts."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.trace.proof.symptoms import MAX_VALUES, values_text
from explorer.trace.text import outside_numbers, shortened

pytestmark = pytest.mark.fast

TEXT = "torch.exp(x * 1.2345e-10 - 300.25) + big_number - -7.5E+30"


@pytest.mark.parametrize("most", range(1, len(TEXT)))
def test_no_number_is_cut(most: int) -> None:
    kept = shortened(TEXT, most)
    assert len(kept) <= most + 1
    assert kept.endswith("…")
    for number in ("1.2345e-10", "300.25", "-7.5E+30"):
        start = TEXT.index(number)
        assert not start < len(kept) - 1 < start + len(number)


def test_words_are_cut() -> None:
    assert shortened("a" * 99, 40) == "a" * 40 + "…"
    assert outside_numbers("a" * 99, 40) == 40


def test_what_fits_stays() -> None:
    assert shortened(TEXT, len(TEXT)) == TEXT


@pytest.mark.parametrize("seed", range(20))
def test_values_are_cut_between_numbers(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(6, 5)) * 1e-9
    text = values_text(values)
    assert len(text) <= MAX_VALUES + 1
    whole = {f"{v:.5g}" for v in values.flat}
    numbers = text.replace("[", " ").replace("]", " ").replace(",", " ").replace("…", " ").split()
    assert numbers
    assert set(numbers) <= whole
