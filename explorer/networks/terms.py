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
        "attention",
        "Attention",
        "Each token takes a weighted mean of the values V of all tokens. The weights are "
        "softmax(Q Kᵀ / √d): large where the query of the token matches the key of another. "
        "Several heads do so side by side.",
        ("attention maps", "self-attention"),
    ),
    Term(
        "causal_mask",
        "Causal mask",
        "Sets the attention scores of later tokens to −∞, so that softmax gives them weight 0: no "
        "token sees what comes after it.",
        ("causal",),
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
    Term(
        "peak_memory",
        "Peak memory",
        "The most memory that is in use at one time. In training it is often reached in backward, "
        "when most of what forward saved is still there and gradients are added.",
        ("peak",),
    ),
    Term(
        "checkpointing",
        "Checkpointing",
        "torch.utils.checkpoint keeps only the input of a block and runs its forward again in "
        "backward. It saves memory and costs up to one forward more.",
        ("checkpoint", "recomputation"),
    ),
    Term(
        "autocast",
        "Autocast",
        "torch.autocast runs matrix products and convolutions in bfloat16 or float16, which take "
        "half the memory, and keeps the parameters in float32.",
        ("bfloat16",),
    ),
    Term(
        "inference_mode",
        "Inference mode",
        "Inside torch.inference_mode() autograd records nothing, so nothing is saved for backward "
        "and each value is freed as soon as no layer needs it.",
        (),
    ),
    Term(
        "saturated",
        "Saturated activation",
        "A sigmoid or tanh whose input is so large that its output hardly changes any more. Its "
        "derivative there is almost 0, so almost no gradient passes.",
        ("saturated", "saturation"),
    ),
    Term(
        "exploding",
        "Exploding gradient",
        "A gradient that grows from layer to layer, until a step destroys the weights or a number "
        "becomes infinite. Smaller initial weights, normalisation or clipping help.",
        ("exploding",),
    ),
    Term(
        "frozen",
        "Frozen parameter",
        "A parameter with requires_grad=False: backward computes no gradient for it, and the "
        "optimizer does not change it.",
        ("frozen",),
    ),
    Term(
        "shared",
        "Shared parameter",
        "A parameter that a forward pass uses more than once, in two layers or in one that it "
        "calls several times. Its gradient is the sum over all uses.",
        ("tied",),
    ),
)
