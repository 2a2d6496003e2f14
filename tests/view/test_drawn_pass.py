"""What hooks did to the gradients of a pass, for the labels of its graph."""

from __future__ import annotations

import pytest

from explorer.trace import run
from explorer.view.drawn_pass import hooked_tensors

pytestmark = pytest.mark.fast

START = "import torch\nx = torch.tensor(3.0, requires_grad=True)\n"


def labels(source: str, number: int = 1) -> dict[str, str]:
    trace = run(START + source)
    assert trace.error is None
    hooked = hooked_tensors(trace, trace.passes[number - 1])
    assert all(hooks.sentence.startswith("A hook ") for hooks in hooked.values())
    return {trace.tensors[i].name: hooks.label for i, hooks in hooked.items()}


def test_a_change_is_told_from_before_to_after() -> None:
    source = "y = 2 * x\ny.register_hook(lambda g: g * 10)\nx.register_hook(print)\ny.backward()"
    assert labels(source) == {"y": "hook 1 → 10", "x": "hook"}


def test_hooks_in_a_row_are_one_chain() -> None:
    hooks = "y.register_hook(lambda g: g + 1)\ny.register_hook(print)\n" * 2
    assert labels(f"y = 2 * x\n{hooks}y.backward()") == {"y": "hook 1 → 2 → 3"}


def test_a_long_change_is_short_in_the_label() -> None:
    source = "y = x * torch.rand(3, 4)\ny.register_hook(lambda g: -g)\ny.sum().backward()"
    assert labels(source) == {"y": "hook changes it"}


def test_each_pass_has_its_own_calls_and_the_tensor_they_were_on() -> None:
    source = (
        "for i in range(1, 3):\n    y = x * i\n    y.register_hook(lambda g: g * i)\n"
        "    y.backward()\ny = x + 1\ny = y * 5\ny.register_hook(lambda g: g * 7)\ny.backward()\n"
    )
    assert labels(source, 1) == {"y": "hook"}
    assert labels(source, 2) == {"y": "hook 1 → 2"}
    assert labels(source, 3) == {"y": "hook 1 → 7"}
    trace = run(START + source)
    (number,) = hooked_tensors(trace, trace.passes[2])
    assert trace.tensors[number].line == trace.tensors[-1].line == 8
