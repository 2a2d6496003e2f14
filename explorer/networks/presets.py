"""Every preset network by name, and the devices a network can run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch

from explorer.networks.classifiers import CLASSIFIERS, classifier
from explorer.networks.image_networks import shapes_net
from explorer.networks.planar import moons, planar
from explorer.networks.problems import (
    ModuleProblem,
    Network,
    Script,
    module_problem,
    sampled_problem,
)
from explorer.networks.small_networks import (
    AllTenths,
    Autoencoder,
    DeepNet,
    Layer,
    LeNet5,
    NormedNet,
    OldLogSoftmax,
    Recall,
    ScaledLinear,
    ToyModel,
    TwoLayerSigmoid,
    discs,
    gru_cell,
    lstm_cell,
    rnn_cell,
    sequences,
    toy_data,
)
from explorer.networks.synthetic_images import draw
from explorer.networks.transformers import (
    ALPHABET,
    PATCH,
    SIDE,
    WORDS,
    Attention,
    Block,
    Transformer,
    VisionTransformer,
    letters,
    load_trained,
    next_token_loss,
    to_tokens,
)
from explorer.training.problem import random_stream

CPU = "cpu"

#: Presets that answer one question together: their gradients are shown in one chart.
FAMILIES: tuple[tuple[str, ...], ...] = (
    ("plain, 20 layers", "residual, 20 layers"),
    ("BatchNorm", "LayerNorm"),
    ("RNN", "LSTM", "GRU"),
    ("transformer", "transformer without mask", "transformer (untrained)"),
)
#: The names that presets had in earlier versions, in links and notebooks.
RENAMED = {
    "TestNet": "linear layer, divided by 4",
    "TestNet without the division": "linear layer",
    "all-0.1": "all weights 0.1",
    "all-0.1 (old log-softmax)": "all weights 0.1, early log-softmax",
    "all-0.1 (float64)": "all weights 0.1, float64",
}

#: A call that makes a problem; its first argument is the name.
Preset = partial[Any]


def _moons() -> ModuleProblem:
    return replace(planar(), name="MLP on moons")


# -- drawn images ---------------------------------------------------------------------------------

_DRAWN = """\
images, labels = (torch.from_numpy(part) for part in draw({n}, {side}, seed=0))
net = {net}
"""
_on_images = partial(
    sampled_problem, inputs="images", targets="labels", loss="F.cross_entropy", batch=8
)

_IMAGES = (
    partial(
        _on_images,
        "LeNet-5",
        "LeNet-5 on drawn shapes",
        Script(_DRAWN.format(n=24, side=32, net="LeNet5(12)"), (LeNet5,), (draw,)),
        note="The images are drawn by formulas of this project, which the script imports.",
    ),
    partial(
        _on_images,
        "shapes net",
        "A small network trained on drawn shapes",
        Script(_DRAWN.format(n=24, side=64, net="shapes_net()"), imports=(draw, shapes_net)),
        note="Trained: its gradients are small because its predictions are already right.",
    ),
)


def _normed(name: str, norm: str, note: str) -> Preset:
    net = f"NormedNet(nn.{norm}, classes=12)"
    script = Script(_DRAWN.format(n=32, side=16, net=net), (NormedNet,), (draw,))
    return partial(_on_images, name, "Over what does the layer normalise?", script, note=note)


_NORMED = (
    _normed(
        "BatchNorm",
        "BatchNorm2d",
        "Batch norm gives each channel mean 0 and standard deviation 1 over the batch: what one "
        "image becomes depends on the others (Ioffe & Szegedy 2015). The biases before it get no "
        "gradient but rounding errors: it subtracts them again.",
    ),
    _normed(
        "LayerNorm",
        "LayerNorm",
        "Layer norm gives each image mean 0 and standard deviation 1 over all channels: the other "
        "images do not matter (Ba et al. 2016).",
    ),
)

# -- depth and time -------------------------------------------------------------------------------


def _deep(name: str, residual: bool, note: str) -> Preset:
    data = f"points, labels = moons(64, noise=0.1)\nnet = DeepNet(layers=20, residual={residual})"
    return partial(
        sampled_problem,
        name,
        "Does the gradient reach the first of 20 layers?",
        Script(data, (moons, Layer, DeepNet)),
        inputs="points",
        targets="labels",
        loss="F.binary_cross_entropy_with_logits",
        batch=64,
        note=note,
    )


_DEEP = (
    _deep(
        "plain, 20 layers",
        False,
        "Each layer passes on only a part of the gradient. Less than a hundred-thousandth of what "
        "the last hidden layer gets arrives at the first: the gradient vanishes.",
    ),
    _deep(
        "residual, 20 layers",
        True,
        "Each layer adds its result to its input, so the gradient also goes past it: the first "
        "hidden layer's is a third of the last one's (He et al. 2015).",
    ),
)


def _recurrent(name: str, cell: Callable[..., torch.nn.Module], call: str, note: str) -> Preset:
    return partial(
        sampled_problem,
        name,
        "Does the gradient reach the first of 50 time steps?",
        Script(f"net = Recall({call})\nnumbers, firsts = sequences()", (Recall, cell, sequences)),
        inputs="numbers",
        targets="firsts",
        loss="F.mse_loss",
        batch=8,
        note=note,
    )


_RECURRENT = (
    _recurrent(
        "RNN",
        rnn_cell,
        "rnn_cell(16)",
        "Backward multiplies the gradient by W_hh and by the slope of tanh at each of 50 steps. "
        "Here it vanishes; with W_hh three times as large it explodes (Pascanu et al. 2013).",
    ),
    _recurrent(
        "LSTM",
        lstm_cell,
        "lstm_cell(16, steps=50)",
        "The cell state is passed on by a gate, not by a matrix: with the gate open its gradient "
        "does not vanish (Hochreiter & Schmidhuber 1997).",
    ),
    _recurrent(
        "GRU",
        gru_cell,
        "gru_cell(16, steps=50)",
        "A gate mixes the old state with the new one; while it keeps the old one, the gradient "
        "stays (Cho et al. 2014).",
    ),
)

# -- an autoencoder, and transformers -------------------------------------------------------------

_AUTOENCODER = partial(
    sampled_problem,
    "autoencoder",
    "How many numbers describe an image?",
    Script("images = discs(512)\nnet = Autoencoder(code=3)", (discs, Autoencoder)),
    inputs="images",
    targets="images",
    loss="F.binary_cross_entropy",
    batch=64,
    note="An image of 256 pixels has to pass through 3 numbers. Three are enough for these discs: "
    "two for the place and one for the size (Hinton & Salakhutdinov 2006).",
)


def _wrap(words: tuple[str, ...]) -> str:
    lines = [", ".join(f'"{w}"' for w in words[i : i + 8]) for i in range(0, len(words), 8)]
    return "(\n    " + ",\n    ".join(lines) + ",\n)"


_TEXT = f"""\
ALPHABET = "{ALPHABET}"
_IGNORED = -100
words = {_wrap(WORDS)}
tokens, following = to_tokens(letters(words))
"""


def _transformer(name: str, net: str, note: str) -> Preset:
    return partial(
        sampled_problem,
        name,
        "Which letters does each letter look at?",
        Script(
            f"{_TEXT}net = {net}",
            (Attention, Block, Transformer, letters, to_tokens, next_token_loss),
            (load_trained,) if "load_trained" in net else (),
        ),
        inputs="tokens",
        targets="following",
        loss="next_token_loss",
        batch=8,
        note=note,
        tokens=lambda inputs: tuple(ALPHABET[i] for i in inputs.tolist()),
    )


_TRANSFORMERS = (
    _transformer(
        "transformer",
        'load_trained(Transformer(len(ALPHABET), length=12), "transformer")',
        'Reads a word and ">", then writes the word backwards. For each letter it writes, the '
        "second block looks at the letter that comes next (Vaswani et al. 2017). The keys' biases "
        "get no gradient but rounding errors: softmax ignores what all scores share.",
    ),
    _transformer(
        "transformer without mask",
        'load_trained(Transformer(len(ALPHABET), length=12, causal=False), "transformer_unmasked")',
        "Trained without the causal mask: a token looks at later ones too, mostly in the first "
        "block. Each letter to write stands earlier in the text, so the loss is about the same as "
        "with it.",
    ),
    _transformer(
        "transformer (untrained)",
        "Transformer(len(ALPHABET), length=12)",
        "Random weights: every token looks at all earlier ones almost equally. Training makes each "
        "letter look at the one that comes next.",
    ),
)
_ACROSS = range(1, SIDE // PATCH + 1)
_PATCHES = ("class", *(f"{row},{column}" for row in _ACROSS for column in _ACROSS))
_VISION_TRANSFORMER = partial(
    _on_images,
    "vision transformer",
    "Which patches does the class token look at?",
    Script(
        _DRAWN.format(
            n=24,
            side=SIDE,
            net=f"load_trained(VisionTransformer(12, side={SIDE}, patch={PATCH}), "
            '"vision_transformer")',
        ),
        (Attention, Block, VisionTransformer),
        (draw, load_trained),
    ),
    note="The image is cut into 16 patches, which are read like the words of a sentence; the class "
    "token collects what the prediction needs (Dosovitskiy et al. 2020).",
    tokens=lambda inputs: _PATCHES,
)

# -- small enough for pencil and paper ------------------------------------------------------------

_TOY = partial(
    sampled_problem,
    "ToyModel",
    "ToyModel: gradients accumulate",
    Script("net, images, labels = toy_data()", (ToyModel, toy_data)),
    inputs="images",
    targets="labels",
    loss="F.cross_entropy",
    note="Both ReLUs are calls of F.relu inside forward, so no module hook observes them.",
)


def _scaled(name: str, divide: bool, formula: str) -> Preset:
    data = (
        f"net = ScaledLinear(divide={divide})\n"
        "x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)"
    )
    script = Script(data, (ScaledLinear,))
    note = f"forward computes {formula}."
    return partial(
        module_problem,
        name,
        "A linear layer, scaled",
        script,
        inputs="x",
        loss="{}.sum()",
        note=note,
    )


def _tenths(name: str, title: str, note: str, *, old: bool = False, double: bool = False) -> Preset:
    data = (
        f"net = AllTenths(){'.double()' if double else ''}\n"
        f"images = torch.ones(8, 3, 10, 10{', dtype=torch.float64' if double else ''})\n"
        "labels = torch.ones(8, dtype=torch.long)"
    )
    script = Script(data, (AllTenths, OldLogSoftmax) if old else (AllTenths,))
    loss = "F.nll_loss(OldLogSoftmax.apply({}), labels)" if old else "F.cross_entropy({}, labels)"
    return partial(module_problem, name, title, script, inputs="images", loss=loss, note=note)


_BY_HAND = (
    partial(
        module_problem,
        "two-layer sigmoid",
        "Two layers with sigmoids",
        Script(
            "net = TwoLayerSigmoid()\nx = torch.tensor([[1.0]])\ny = torch.tensor([[1.0, 0.0]])",
            (TwoLayerSigmoid,),
        ),
        inputs="x",
        loss="(({} - y) ** 2).sum() / 2",
        note="Both sigmoids are calls of torch.sigmoid inside forward, not layers.",
    ),
    _scaled("linear layer", False, "linear(0.75 x)"),
    _scaled("linear layer, divided by 4", True, "linear(0.75 x) / 4"),
    _tenths(
        "all weights 0.1",
        "All weights 0.1",
        "Equal weights get equal gradients. At the initial weights, the convolutions' gradients "
        "are about −2.4e-07: rounding errors. The exact value is 0.",
    ),
    _tenths(
        "all weights 0.1, early log-softmax",
        "All weights 0.1, with the log-softmax of early PyTorch",
        "The gradient −0.0782 is a rounding error too: the old backward computes with its own "
        "rounded output, and the sum of its 20 probabilities differs from 1 by 3.6e-4.",
        old=True,
    ),
    _tenths(
        "all weights 0.1, float64",
        "All weights 0.1, in double precision",
        "In double precision the convolutions' gradients are below 1e-12. Their exact value is 0, "
        "so the convolutions cannot learn.",
        double=True,
    ),
)

# -- the list -------------------------------------------------------------------------------------


def _named(*presets: Preset) -> dict[str, Preset]:
    return {preset.args[0]: preset for preset in presets}


_PRESETS: dict[str, Callable[[], ModuleProblem]] = {
    **_named(*_IMAGES),
    "MLP on moons": _moons,
    **_named(*_DEEP, *_NORMED, _AUTOENCODER, *_RECURRENT, *_TRANSFORMERS, _VISION_TRANSFORMER),
    **{name: partial(classifier, name) for name in CLASSIFIERS},
    **_named(_TOY, *_BY_HAND),
}


def names() -> tuple[str, ...]:
    """The presets' names: small networks, torchvision's image classifiers, and last those that are
    small enough to be followed with pencil and paper."""
    return tuple(_PRESETS)


def problem(name: str, weights: str | None = None) -> ModuleProblem:
    """The preset with this name, new at every call: `.model`, `.inputs`, `.source`, `build(seed)`.

    A classifier has random weights, or with `weights="ImageNet"` trained ones if they have been
    downloaded. Raises ValueError, with a sentence, for a name or weights that do not exist.
    """
    name = RENAMED.get(name, name)
    if name not in _PRESETS:
        raise ValueError(f"there is no network named {name!r}; there are {', '.join(_PRESETS)}")
    if weights is None:
        return _PRESETS[name]()
    return classifier(name, weights)


@cache
def devices() -> tuple[str, ...]:
    """The devices of this computer: "cpu" first, then "cuda:0", "mps:0" and so on."""
    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        return (CPU,)
    return (CPU, *(f"{kind.type}:{i}" for i in range(torch.accelerator.device_count())))


def on_device(network: Network, device: str) -> Network:
    """The network on one of `devices()`: its model is moved, its inputs are copied.

    Its numbers are the same, within rounding: its random weights and inputs were drawn on the CPU,
    and its loss is computed there from the output. Dropout draws random numbers on the device,
    from the same seed every time.
    """
    if device == CPU:
        return network
    with random_stream(0):
        torch.manual_seed(0)  # seeds every device; the CPU's generator is restored
    inputs = (x.detach().to(device).requires_grad_(x.requires_grad) for x in network.inputs)
    criterion = network.criterion
    return Network(
        network.model.to(device), tuple(inputs), lambda output: criterion(output.to(CPU))
    )
