"""One layer that stands several times in a network."""

import pytest

import explorer
from tests.trace.explain.tried import new_lines, tried

pytestmark = pytest.mark.fast

START = "import copy\nimport torch\nfrom torch import nn\n"
USE = "net(torch.ones(1, 3)).sum().backward()\n"


@pytest.mark.parametrize(
    ("source", "words", "new"),
    [
        (
            START + "net = nn.Sequential(*[nn.Linear(3, 3)] * 3)\n" + USE,
            "one Linear 3 times, so 12 parameters and not 36",
            "net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(3)])",
        ),
        (
            START + "layers = nn.ModuleList(2 * [nn.Linear(3, 3)])\n",
            "one Linear 2 times",
            "layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])",
        ),
        (
            START + "ws = [torch.ones(2, requires_grad=True)] * 2\nsum(ws).sum().backward()\n",
            "one Tensor 2 times, so 2 parameters and not 4",
            "ws = [torch.ones(2, requires_grad=True) for _ in range(2)]",
        ),
    ],
)
def test_a_multiplied_list_has_one_layer(source: str, words: str, new: str) -> None:
    (answer,) = [answer for answer in tried(source) if answer.key == "shared.copies"]
    assert words in answer.text
    assert new_lines(source, answer.fix) == [new]
    assert answer.tried == "With this change, the problem is gone."


@pytest.mark.parametrize(
    "source",
    [
        START + "net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(3)])\n" + USE,
        START + "net = nn.Sequential(*[nn.ReLU()] * 3)\n" + USE.replace("ones", "randn"),
        START + "layer = nn.Linear(3, 3)\nnet = nn.Sequential(layer, layer)\n" + USE,
        START + "layer = nn.Linear(3, 3)\n"
        "net = nn.Sequential(*[copy.deepcopy(layer) for _ in range(3)])\n" + USE,
        START + "a, b = nn.Embedding(3, 2), nn.Linear(2, 3)\nb.weight = a.weight\n",
        START + "sizes = [int(3)] * 4\n",
    ],
)
def test_layers_that_are_shared_on_purpose_get_no_answer(source: str) -> None:
    trace = explorer.run(source)
    assert "shared.copies" not in {answer.key for answer in trace.answers}
