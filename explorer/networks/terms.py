"""The words of networks and of hooks on modules, for the glossary."""

from __future__ import annotations

from explorer.trace.terms import Term

WORDS = (
    Term(
        "layer",
        "Layer",
        "A module of a network: a convolution, a linear layer, an activation. It may hold "
        "parameters.",
        ("layers", "module", "modules"),
    ),
    Term(
        "parameter",
        "Parameter",
        "A leaf that belongs to a module and requires grad; model.parameters() hands it to the "
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
        "Multiply-adds, one multiplication and one addition each: those of matrix products and "
        "convolutions, without biases.",
        ("multiply-adds",),
    ),
    Term(
        "norm",
        "Norm",
        "The length of a tensor: the root of the sum of its squares.",
        ("gradient norm", "gradient norms", "norms"),
    ),
    Term(
        "dead",
        "Dead unit",
        "A channel or feature that is nowhere above 0. Its ReLU gives 0 everywhere and lets no "
        "gradient back, so the weights that feed it no longer change.",
        ("dead",),
    ),
    Term(
        "mode",
        "Train and eval mode",
        "In train mode dropout drops at random and batch norm uses the batch's own mean; in eval "
        "mode neither.",
        ("train mode", "eval mode"),
    ),
    Term(
        "forward_hook",
        "Forward hook",
        "Called after a module's forward with its inputs and output; what it returns replaces the "
        "output. A forward-pre hook is called before, with the inputs.",
        ("forward-pre",),
    ),
    Term(
        "full_backward_hook",
        "Full backward hook",
        "Called with the gradients of a module's outputs (grad_output) and inputs (grad_input). "
        "What it returns replaces grad_input, which flows on to earlier nodes only.",
        ("full backward", "grad_input", "grad_output", "register_full_backward_hook"),
    ),
    Term(
        "deprecated_hook",
        "Deprecated backward hook",
        "register_backward_hook sits on the last node of a module's forward, whatever that is, and "
        "sees the gradients of that node. The full backward hook took its place.",
        ("deprecated", "register_backward_hook"),
    ),
    Term(
        "post_accumulate",
        "Post-accumulate hook",
        "Called with a parameter after its .grad was written.",
        ("post-accumulate",),
    ),
)
