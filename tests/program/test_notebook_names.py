"""What notebooks use around a program: progress bars, tables of models, logs, `display`."""

import pytest
import torch

import explorer
from explorer.trace import Trace

NET = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2), nn.Dropout()))
"""


def run(source: str) -> Trace:
    trace = explorer.run(source)
    assert trace.error is None, trace.error
    return trace


@pytest.mark.parametrize(
    "line",
    [
        "from tqdm import tqdm",
        "from tqdm.auto import tqdm",
        "from tqdm.notebook import tqdm, trange",
    ],
)
def test_a_progress_bar_is_a_loop(line: str) -> None:
    source = (
        "bar = tqdm(range(3), desc='a')\nfor i in bar:\n    bar.set_postfix(i=i)\n    print(i)\n"
    )
    source += "with tqdm(total=4) as other:\n    other.update(2)\nprint(len(bar), other.n)\n"
    assert run(f"{line}\n{source}").output == "0\n1\n2\n3 2\n"


def test_a_loop_with_a_bar_is_recorded_as_one_without() -> None:
    body = "    loss = (w * i) ** 2\n    loss.backward()\n"
    start = "import torch\nfrom tqdm import trange\nw = torch.ones(1, requires_grad=True)\n"
    plain = run(f"{start}for i in range(50):\n{body}")
    with_bar = run(f"{start}for i in trange(50):\n{body}")
    assert len(with_bar.tensors) == len(plain.tensors)
    assert with_bar.pass_count == 50


def test_the_bar_writes() -> None:
    assert run("from tqdm import tqdm\ntqdm.write('a')").output == "a\n"


@pytest.mark.parametrize(
    "call",
    [
        "from torchinfo import summary\nsummary(net, input_size=(5, 4))",
        "import torchinfo\nprint(torchinfo.summary(net, input_data=torch.ones(5, 4), verbose=0))",
    ],
)
def test_a_table_of_the_layers(call: str) -> None:
    text = run(f"{NET}{call}\nprint(net.training)").output
    for part in ("Linear: 1-1", "ReLU: 1-2", "Linear: 2-1", "Total params: 23", ", 3]", "True"):
        assert part in text
    assert "15" in text.split("Linear: 1-1")[1].splitlines()[0]


def test_a_table_leaves_batch_statistics_and_draws_numbers_as_torchinfo() -> None:
    source = (
        "import torch\nfrom torch import nn\nfrom torchinfo import summary\n"
        "net = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2))\n"
        "summary(net, input_size=(5, 4), verbose=0)\nprint(net[1].running_mean.tolist())\n"
        "x = torch.rand(1)\n"
    )
    trace = explorer.run(source, seed=3)
    assert trace.output == "[0.0, 0.0]\n"
    with torch.random.fork_rng():
        torch.manual_seed(3)
        torch.nn.Linear(4, 2)
        torch.rand(5, 4)
        expected = torch.rand(1).item()
    assert trace.variables["x"].value.item() == expected


def test_display_shows_values_and_figures() -> None:
    trace = run(
        "from IPython.display import display, clear_output\nimport matplotlib.pyplot as plt\n"
        "display([1], 'a')\nfig, ax = plt.subplots()\nfor i in range(3):\n    ax.cla()\n"
        "    ax.plot([i, i + 1])\n    display(fig)\n    clear_output(wait=True)\n"
    )
    assert trace.output == "[1]\n'a'\n"
    (figure,) = trace.figures
    assert figure.alt == "Figure: line"
