"""Hooks that are registered in the wrong place."""

import pytest

import explorer
from tests.trace.answers.tried import tried

pytestmark = pytest.mark.fast

W = "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\n"
HOOK = "y.register_hook(lambda g: print(g))\n"

#: name -> (the program, its key, words of the text, the line that is moved)
CASES = {
    "after backward": (
        W + "y = w * 2\ny.sum().backward()\n" + HOOK,
        "hooks.never",
        "after backward has run on line 4",
    ),
    "on a tensor of that name": (
        W + "y = w * 2\n" + HOOK + "y = w * 3\ny.sum().backward()\n",
        "hooks.never",
        "Line 5 made a new tensor and named it y",
    ),
    "on a view of what is changed": (
        W + "x = w * 2\ny = x[:1]\n" + HOOK + "x.mul_(3)\ny.sum().backward()\n",
        "hooks.never",
        "Line 6 changed the values of y in place",
    ),
    "before a change in place": (
        W + "y = w * 2\n" + HOOK + "y.mul_(3)\ny.sum().backward()\n",
        "hooks.version",
        "the gradient of that, [3, 3]",
    ),
}

HEALTHY = [
    W + "y = w * 2\n" + HOOK + "y.sum().backward()\n",
    W + "y = w * 2\ny.mul_(3)\n" + HOOK + "y.sum().backward()\n",
    W + "y = w * 2\n" + HOOK + "y = y * 3\ny.sum().backward()\n",
    W + "y = w * 2\nh = " + HOOK + "h.remove()\n(w * 3).sum().backward()\n",
    W + "for i in range(3):\n    y = w * 2\n    " + HOOK + "    y.sum().backward()\n",
    W + "y = w * 2\ny.register_hook(lambda g: g)\ny.sum().backward()\n",
]


@pytest.mark.parametrize("name", CASES)
def test_the_hook_works_where_it_belongs(name: str) -> None:
    source, key, words = CASES[name]
    (answer,) = [answer for answer in tried(source) if answer.key == key]
    assert words in answer.text
    assert answer.fix is not None
    assert sorted(answer.fix.split("\n")) == sorted(source.split("\n"))
    assert explorer.run(answer.fix).output.startswith("tensor(")
    assert answer.tried == "With this change, the problem is gone."


@pytest.mark.parametrize("source", HEALTHY)
def test_healthy_programs_get_no_answer(source: str) -> None:
    trace = explorer.run(source)
    assert trace.error is None
    assert not [answer for answer in trace.answers if answer.key.startswith("hooks.")]
