"""The pages of the app: one record each, read by navigation, home page, glossary and tests; and the
texts that are run on them.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The keys of the texts that are run, in the session and in a link: a program, that of a network, a
#: reader's own problem in two parts, and the home page's box.
PROGRAM, MODULE, SETUP, LOSS, BOX = TEXTS = ("program", "module", "setup", "loss", "box")


@dataclass(frozen=True)
class Page:
    """A page of the app.

    `file` is relative to the project's root; `icon` is a Material symbol; `question` is the
    headline and `about` the sentence on the home page. `terms` are the keys of the glossary's
    terms that the page shows; its glossary lists them first.
    """

    key: str
    title: str
    icon: str
    file: str
    question: str
    about: str = ""
    terms: tuple[str, ...] = ()


_AUTOGRAD = ("tensor", "gradient", "autograd", "graph", "backward", "leaf", "non-leaf")
_HOOKS = ("hook", "forward_hook", "full_backward_hook", "deprecated_hook", "post_accumulate")

HOME = Page(
    "home",
    "Home",
    ":material/home:",
    "app.py",
    "See what autograd does",
    terms=(
        *("autograd", "tensor", "gradient", "graph", "leaf", "saved", "AccumulateGrad"),
        *("operation", "scalar"),
        *("forward", "backward", "step", "zero_grad", "hook", "layer", "optimizer", "feature_map"),
        *("broadcasting", "convolution", "momentum"),
    ),
)

#: Every page but the home page, in the order of the navigation.
PAGES = (
    Page(
        "expression",
        "Expression",
        ":material/account_tree:",
        "pages/expression.py",
        "Where does each gradient come from?",
        "Type PyTorch code and watch every value and gradient.",
        terms=(
            *(*_AUTOGRAD, "requires_grad", "grad_fn", "hook", "retain_grad", "saved", "scalar"),
            *("operation", "AccumulateGrad", "accumulation", "version", "in-place", "view", "vjp"),
            *("check", "zero_grad", "forward", "step", "norm", "optimizer"),
            *("tangent", "inference-tensor"),
        ),
    ),
    Page(
        "network",
        "Network",
        ":material/lan:",
        "pages/network.py",
        "How much gradient reaches each layer?",
        "Pick a network. See every layer's gradient, cost and graph, and attach hooks to it.",
        terms=(
            *("layer", "parameter", "norm", "macs", "dead", "batch", "mode", "accumulation"),
            *("forward", *_AUTOGRAD, *_HOOKS, "retain_grad", "loss", "step", "learning_rate"),
            *("optimizer", "zero_grad", "convolution", "TBackward0", "operation", "unused", "view"),
            *("saved", "shared", "logits", "peak_memory", "checkpointing", "inference_mode"),
            *("autocast", "attention", "feature_map"),
        ),
    ),
    Page(
        "optimizer",
        "Optimizer",
        ":material/trending_down:",
        "pages/optimizer.py",
        "What does step() do to each number?",
        "Press zero_grad, forward, backward and step. See the arithmetic behind each update.",
        terms=(
            *("loss", "forward", "backward", "step", "zero_grad", "optimizer", "learning_rate"),
            *("momentum", "dampening", "nesterov", "weight_decay", "maximize", "adam", "iteration"),
            *("scheduler", "clipping", "batch", "epoch"),
            *("seed", "surface", "norm", "parameter", "gradient", "autograd", "graph", "leaf"),
            *("scalar", "AccumulateGrad", "TBackward0", "layer", "operation"),
        ),
    ),
    Page(
        "feature_maps",
        "Feature maps",
        ":material/image_search:",
        "pages/feature_maps.py",
        "What does each layer see?",
        "Upload an image. See how each layer transforms it, and what drives the prediction.",
        terms=(
            *("feature_map", "convolution", "kernel", "padding", "receptive_field", "dead"),
            *("layer", "grad_cam", "saliency", "logits", "gradient", "parameter", "imagenet"),
            *("safetensors", "loss", "step", "occlusion", "integrated_gradients", "adversarial"),
        ),
    ),
)

#: Not in the navigation: every page opens the same terms in a dialog.
GLOSSARY = Page(
    "glossary",
    "Glossary",
    ":material/menu_book:",
    "pages/glossary.py",
    "What do the terms mean?",
)


def page(key: str) -> Page:
    """The page of that key. Raises KeyError for a key that no page has."""
    return {page.key: page for page in (HOME, *PAGES, GLOSSARY)}[key]
