"""Values of inputs: from the link, to the link, and how far a slider goes."""

import math

import pytest

from explorer.ui.widgets.inputs import _parse, _text, reach


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.7", 2.7),
        ("-3", -3.0),
        ("[1,2.5]", [1.0, 2.5]),
        ("[[1,2],[3,4]]", [[1.0, 2.0], [3.0, 4.0]]),
    ],
)
def test_values_survive_the_link(text: str, value: object) -> None:
    assert _parse("in.x", text) == value
    assert _text(_parse("in.x", text)) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("in.x", "two"),
        ("in.x", "NaN"),
        ("in.x", "Infinity"),
        ("in.x", "1e999"),
        ("in.x", "[1,[2]]"),
        ("in.x", "[]"),
        ("in.x", '"2"'),
        ("in.x", "true"),
        ("in.x", "{}"),
        ("in.x", "[" * 5000),
        ("in.x", "[" + "1," * 5000 + "1]"),
        ("in.", "1"),
        ("in.__class__", "1"),
        ("in.x y", "1"),
    ],
)
def test_hostile_values_of_the_link_are_none(key: str, text: str) -> None:
    assert _parse(key, text) is None


@pytest.mark.parametrize("value", [0.0, 1.0, 4.95, -5.0, 7.0, 1e6, -123456.0, 1e300])
def test_a_slider_goes_beyond_its_value(value: float) -> None:
    assert max(5.0, abs(value)) <= reach(value) <= max(5.0, 3 * abs(value))
    first = reach(value) / 10 ** math.floor(math.log10(reach(value)))
    assert math.isclose(first, 1) or math.isclose(first, 2) or math.isclose(first, 5)
