"""Hooks that are registered in the wrong place."""

import pytest

import explorer
from tests.trace.explain.test_true_sentences import FORMS, answers, sentences
from tests.trace.explain.tried import tried

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


IN_PLACE = {
    "returned": "x.register_hook(lambda g: g.mul_(2))\n",
    "not returned": "def double(g):\n    g *= 2\nx.register_hook(double)\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", IN_PLACE)
def test_a_hook_that_changes_the_gradient_itself_is_not_cured_by_none(name: str, form: str) -> None:
    body = IN_PLACE[name] + "(x * x).sum().backward()\nprint(x.grad)\n"
    (answer,) = answers("x = torch.ones(3, requires_grad=True)\n" + body, form)
    assert "changed the gradient in place: [2, 2, 2] became [4, 4, 4]" in answer.text
    assert "let it change a copy, and return None" in answer.cure


@pytest.mark.parametrize("form", FORMS)
def test_what_torch_refuses_of_a_hook_has_replaced_nothing(form: str) -> None:
    text = sentences(
        "x = torch.ones(3, requires_grad=True)\n"
        "x.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))\n"
        "(x * x).sum().backward()\nprint(x.grad)\n",
        form,
    )
    assert "replaced the gradient" not in text
