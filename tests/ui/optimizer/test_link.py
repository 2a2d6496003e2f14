"""The table of what the link holds: every value comes back from its text, to the last digit."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.training.optimizers import OPTIMIZERS
from explorer.ui.optimizer import link
from explorer.ui.optimizer.problems import OFFERS
from explorer.ui.widgets.query_params import Param

NUMBERS = (0.1 + 0.2, 1e-5, 3.0, 1e300)
HYPER = [
    (optimizer, param)
    for optimizer in OPTIMIZERS
    for param in link.hyper_params(OFFERS["rosenbrock"], optimizer).values()
]
ARGUMENTS = [
    param
    for kind, specs in link.KINDS.items()
    for spec in specs.values()
    for param in link.argument_params(kind, spec).values()
]


@pytest.mark.parametrize(("optimizer", "param"), HYPER, ids=lambda v: getattr(v, "key", v))
def test_a_hyperparameter_comes_back(optimizer: str, param: Param) -> None:
    choices: Any = OPTIMIZERS[optimizer].choices.get(param.key)
    values = choices or ((True, False) if isinstance(param.default, bool) else NUMBERS)
    for value in (param.default, *values):
        assert param.parse(param.format(value)) == value
    assert param.write(param.default) is None
    for text in ("", "nan", "inf", "True", "<b>"):
        assert not param.is_readable(text)


@pytest.mark.parametrize("param", ARGUMENTS, ids=lambda param: param.key)
def test_an_argument_comes_back(param: Param) -> None:
    again = param.parse(param.format(param.default))
    assert again == param.default
    assert type(again) is type(param.default)
    for text in ("", "nan", "True", "<b>"):
        assert not param.is_readable(text)


@pytest.mark.parametrize(
    ("param", "value", "text"),
    [
        (link.GROUP, ["net.0.bias", "b"], "net.0.bias,b"),
        (link.GROUP_LR, 0.01, "0.01"),
        (link.SEED, 7, "7"),
    ],
    ids=lambda v: getattr(v, "key", None),
)
def test_groups_and_seed_are_written_as_they_are_read(param: Param, value: Any, text: str) -> None:
    assert (param.write(value), param.parse(text)) == (text, value)


@pytest.mark.parametrize(
    ("param", "text"),
    [(link.GROUP_LR, "-1"), (link.GROUP_LR, "2e30"), (link.SEED, "-1"), (link.SEED, "1.5")],
    ids=lambda v: getattr(v, "key", v),
)
def test_what_no_reader_could_choose_is_not_read(param: Param, text: str) -> None:
    assert not param.is_readable(text)
