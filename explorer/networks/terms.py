"""The terms of networks and of hooks on modules, for the glossary."""

from __future__ import annotations

from explorer.trace.terms import Term

TERMS = (
    Term(
        "layer",
        "Layer",
        "A module of a network, such as a convolution, a linear layer or an activation. It may "
        "have parameters.",
        ("layers", "module", "modules"),
    ),
    Term(
        "parameter",
        "Parameter",
        "A leaf that belongs to a module and requires grad. model.parameters() lists them for the "
        "optimizer.",
        ("parameters", "params", "weights"),
    ),
    Term(
        "batch",
        "Batch",
        "Samples that go through a network together; the first axis counts them.",
        ("samples",),
    ),
    Term(
        "macs",
        "MACs",
        "Multiply-adds, one multiplication and one addition each. Those of matrix products and "
        "convolutions are counted, without biases.",
        ("multiply-adds",),
    ),
    Term(
        "norm",
        "Norm",
        "The length of a tensor: the square root of the sum of its squared elements.",
        ("gradient norm", "gradient norms", "norms"),
    ),
    Term(
        "dead",
        "Dead unit",
        "A channel or feature that is nowhere above 0. Its ReLU gives 0 everywhere and passes no "
        "gradient back, so the weights that lead to it no longer change.",
        ("dead",),
    ),
    Term(
        "mode",
        "Train and eval mode",
        "In train mode, dropout drops elements at random and batch norm uses the mean and variance "
        "of the batch. In eval mode, neither happens.",
        ("train mode", "eval mode"),
    ),
    Term(
        "forward_hook",
        "Forward hook",
        "Called after the forward of a module, with its inputs and output; what it returns "
        "replaces the output. A forward pre-hook is called before forward, with the inputs.",
        ("forward-pre",),
    ),
    Term(
        "full_backward_hook",
        "Full backward hook",
        "Called with the gradients of a module's outputs (grad_output) and inputs (grad_input). "
        "What it returns replaces grad_input, which only the nodes before the module receive.",
        ("full backward", "grad_input", "grad_output", "register_full_backward_hook"),
    ),
    Term(
        "deprecated_hook",
        "Deprecated backward hook",
        "register_backward_hook attaches to the last node of a module's forward, whatever that "
        "node is, and sees its gradients. The full backward hook has replaced it.",
        ("deprecated", "register_backward_hook"),
    ),
    Term(
        "post_accumulate",
        "Post-accumulate hook",
        "Called with a parameter after its .grad has been written.",
        ("post-accumulate",),
    ),
)
