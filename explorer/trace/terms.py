"""The words of autograd, behind the answers and in the glossary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A word and what it means, in a few sentences; `also` are other spellings it is known by."""

    key: str
    title: str
    text: str
    also: tuple[str, ...] = ()


TERMS = (
    Term(
        "autograd",
        "Autograd",
        "The part of PyTorch that records operations as they run and goes back through them with "
        "the chain rule.",
    ),
    Term(
        "tensor",
        "Tensor",
        "An array of numbers of one type, with a shape.",
        ("tensors",),
    ),
    Term(
        "operation",
        "Operation",
        "A computation of the forward pass, such as x * 2. In the graph it stands as the node that "
        "takes the gradient back through it: MulBackward0.",
        ("operations",),
    ),
    Term(
        "gradient",
        "Gradient",
        "How much the result changes for a small change of each element of a tensor, per unit of "
        "that change. It has the tensor's shape.",
        ("gradients", ".grad"),
    ),
    Term(
        "leaf",
        "Leaf",
        "A tensor nobody computed: you created it. backward writes .grad for leaves with "
        "requires_grad=True, and for no other tensor unless you ask.",
        ("leaves", "is_leaf"),
    ),
    Term(
        "non-leaf",
        "Non-leaf",
        "A tensor computed from others; grad_fn names the operation. Its gradient passes by during "
        "backward and is not kept. retain_grad() keeps it, a hook sees it.",
        ("non-leaves", "non-leaf tensors"),
    ),
    Term(
        "grad_fn",
        "grad_fn",
        "The node of the graph that made a tensor, such as MulBackward0; None for a leaf.",
    ),
    Term(
        "vjp",
        "Vector-Jacobian product",
        "What each step of backward computes: the gradient that arrives times the operation's "
        "derivatives, without writing their matrix down.",
        ("VJP",),
    ),
    Term(
        "view",
        "View",
        "A tensor that shares the memory of another, its base: x[0], x.T, x.view(…). A change of "
        "one changes both.",
        ("base of a view",),
    ),
    Term(
        "requires_grad",
        "requires_grad",
        "Asks autograd to record what is computed from a tensor. A result requires grad as soon as "
        "one of its inputs does.",
    ),
    Term(
        "late",
        "requires_grad set too late",
        "Autograd records operations as they run. What was computed before requires_grad was set "
        "knows nothing of it.",
    ),
    Term(
        "rebound",
        "A name is not a tensor",
        "x = x * 2 makes a new tensor and gives it the name x. The leaf still exists, without a "
        "name, and the new x is computed: a non-leaf.",
    ),
    Term(
        "unused",
        "Unused tensor",
        "backward visits only what the result was computed from. A tensor that plays no part keeps "
        ".grad = None; that is not the same as 0.",
    ),
    Term(
        "cut",
        "Cut history",
        "detach(), .data, .item(), numpy, torch.tensor(t), comparisons, argmax and anything inside "
        "torch.no_grad() give values without the way back. Setting requires_grad on such a value "
        "makes a new leaf; it does not restore the way.",
    ),
    Term(
        "data",
        ".data",
        "The same memory without autograd's knowledge. Writing through it is not noticed: a value "
        "saved for backward changes too, and gradients come out wrong without an error.",
    ),
    Term(
        "in-place",
        "Change in place",
        "x += 1, x[0] = 1 and methods that end in _ overwrite values. Autograd forbids it for "
        "leaves that require grad and notices it for saved values, by a version counter.",
        ("in place",),
    ),
    Term(
        "version",
        "Version counter",
        "Counts how often a tensor was changed in place. backward refuses a saved value whose "
        "count is no longer the one at which it was saved.",
        ("version",),
    ),
    Term(
        "saved",
        "Saved value",
        "Some derivatives need values of the forward pass: that of x² needs x, that of exp its "
        "result. The operation saves them until backward has run.",
        ("saved", "saved tensor", "saved for backward"),
    ),
    Term(
        "retain_graph",
        "retain_graph",
        "backward frees what operations saved. retain_graph=True keeps it for another backward "
        "through the same graph. It has nothing to do with retain_grad().",
    ),
    Term(
        "retain_grad",
        "retain_grad",
        "y.retain_grad(), called before backward, keeps the gradient of a non-leaf in y.grad.",
    ),
    Term(
        "scalar",
        "Scalar output",
        "backward starts with d(result)/d(result) = 1, which is one number only if the result is. "
        "Otherwise reduce it, or pass a gradient of its shape.",
        ("scalar",),
    ),
    Term(
        "integer",
        "Integer tensor",
        "Only floating-point and complex tensors can require grad: a derivative asks about "
        "arbitrarily small changes.",
    ),
    Term(
        "flat",
        "Zero slope",
        "A gradient of 0 is an answer: the path is whole and some operation on it is flat here. "
        "None means that there is no path.",
    ),
    Term(
        "vanishing",
        "Vanishing gradient",
        "The chain rule multiplies slopes. A sigmoid's is at most 1/4, so ten in a row leave less "
        "than a millionth.",
    ),
    Term(
        "kink",
        "Corner, tie, subgradient",
        "relu and abs at 0, and max where two are equal, have no derivative. torch picks a value "
        "between those of both sides, by convention.",
    ),
    Term(
        "nan",
        "NaN and infinity",
        "Not a number: 0/0, ∞ − ∞, 0 · ∞, the root of a negative number. Every operation that "
        "meets a NaN gives NaN, so the first one is the one to find.",
    ),
    Term(
        "broadcasting",
        "Broadcasting",
        "Shapes are lined up from the right, and an axis of size 1 is repeated. (n, 1) with (n,) "
        "gives (n, n). Going back, the gradient is summed over the repeated axes.",
    ),
    Term(
        "mean",
        "Mean and sum",
        "The mean of n elements is their sum divided by n, and so is its gradient: each element "
        "gets 1/n of what arrives, where a sum hands everything on. Losses are means unless told "
        'otherwise (reduction="sum").',
    ),
    Term(
        "logits",
        "Logits",
        "Raw scores, before softmax or sigmoid. cross_entropy and "
        "binary_cross_entropy_with_logits want them as they are.",
        ("score", "scores"),
    ),
    Term(
        "check",
        "Gradient check",
        "Move one input a little up and down; the change of the result over the change of the "
        "input must equal the gradient. It finds a wrong backward of your own.",
        ("check every gradient",),
    ),
    Term(
        "accumulation",
        "Accumulation",
        "backward adds to .grad. That lets several batches sum up; otherwise clear it before each "
        "backward.",
    ),
    Term(
        "zero_grad",
        "zero_grad",
        "Clears gradients: today to None, with set_to_none=False to zeros. Its place is before "
        "backward, or after step; never between them.",
    ),
    Term(
        "hook",
        "Hook",
        "A function of yours that is called with a gradient as it passes. Returning None leaves it "
        "as it is, returning a tensor replaces it. Hooks on one tensor run in the order they were "
        "registered, before .grad is written.",
        ("hooks",),
    ),
    Term(
        "optimizer",
        "Optimizer",
        "Holds a list of tensors. step() changes each by its .grad and skips those whose .grad is "
        "None.",
    ),
    Term(
        "momentum",
        "Momentum",
        "The step follows a running mean of gradients, so a tensor goes on moving while its "
        "gradient is 0.",
        ("momentum_buffer",),
    ),
    Term(
        "weight_decay",
        "Weight decay",
        "Adds weight_decay · w to the gradient (or shrinks w directly, AdamW): w moves towards 0 "
        "even where its gradient is 0.",
        ("weight_decay",),
    ),
    Term(
        "learning_rate",
        "Learning rate and curvature",
        "Near a minimum with curvature h, a step multiplies the distance by 1 − lr · h. Beyond "
        "lr = 2/h it grows with every step.",
        ("lr", "learning rate"),
    ),
    Term(
        "graph",
        "Graph",
        "Every result leads back to all it was computed from. As long as you keep the result, all "
        "of that stays in memory; .item() or .detach() let go.",
    ),
    Term("backward", "backward", "Walks the graph from a result to its leaves and fills .grad."),
    Term(
        "autograd.grad",
        "torch.autograd.grad",
        "Returns the gradients asked for and leaves every .grad as it is.",
    ),
    Term(
        "flow",
        "None as a gradient",
        "A backward may hand on None for an input: no gradient, rather than zeros.",
    ),
    Term(
        "AccumulateGrad",
        "AccumulateGrad",
        "The end of the line for a leaf: adds the gradient that arrives to its .grad.",
    ),
    Term(
        "TBackward0",
        "TBackward0",
        "The backward of a transpose. A linear layer multiplies by weight.T, so one stands before "
        "every weight: it turns the gradient back.",
    ),
    Term(
        "none-edge",
        "Edge to None",
        "next_functions lists where each input's gradient goes. None stands for an input that "
        "needs no gradient: data, a constant, a detached tensor.",
    ),
)

#: By key.
GLOSSARY: dict[str, Term] = {term.key: term for term in TERMS}
