"""The terms of autograd: behind the answers, and in the glossary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A term of the field and its meaning; `also` are other words a search finds it by."""

    key: str
    title: str
    text: str
    also: tuple[str, ...] = ()


TERMS = (
    Term(
        "autograd",
        "Autograd",
        "The part of PyTorch that records operations as they run, and then goes back through them "
        "with the chain rule to compute gradients.",
    ),
    Term(
        "tensor",
        "Tensor",
        "An array of numbers of one data type, with a shape.",
        ("tensors",),
    ),
    Term(
        "operation",
        "Operation",
        "A computation of the forward pass, such as x * 2. The graph shows it as the node that "
        "takes the gradient back through it, here MulBackward0.",
        ("operations",),
    ),
    Term(
        "gradient",
        "Gradient",
        "For each element of a tensor: how much the result changes per unit change of that "
        "element, for small changes. It has the same shape as the tensor.",
        ("gradients", ".grad"),
    ),
    Term(
        "tangent",
        "Tangent",
        "In forward mode, a direction in which a tensor changes. Each operation computes the "
        "tangent of its result together with the value: the derivative in that direction.",
        ("tangents", "dual tensor", "forward mode", "jvp"),
    ),
    Term(
        "inference-tensor",
        "Inference tensor",
        "A tensor made inside torch.inference_mode(). Autograd keeps nothing about it, so it "
        "cannot take part in a computation that backward goes through; a clone() of it can.",
        ("inference tensors", "inference_mode"),
    ),
    Term(
        "leaf",
        "Leaf",
        "A tensor you created directly. backward writes .grad for leaves with requires_grad=True, "
        "and for other tensors only if you ask for it with retain_grad().",
        ("leaves", "is_leaf"),
    ),
    Term(
        "non-leaf",
        "Non-leaf",
        "A tensor computed from others; its grad_fn names the operation. Its gradient is computed "
        "during backward but not kept, unless you call retain_grad(). A hook can read it.",
        ("non-leaves", "non-leaf tensors"),
    ),
    Term(
        "grad_fn",
        "grad_fn",
        "The node of the graph that belongs to the operation that computed a tensor, such as "
        "MulBackward0. It is None for a leaf.",
    ),
    Term(
        "vjp",
        "Vector-Jacobian product",
        "What each step of backward computes: the incoming gradient times the matrix of the "
        "operation's derivatives (the Jacobian), without building that matrix.",
        ("VJP",),
    ),
    Term(
        "view",
        "View",
        "A tensor that shares the memory of another one, its base: x[0], x.T, x.view(…). Changing "
        "one changes the other.",
        ("base of a view",),
    ),
    Term(
        "requires_grad",
        "requires_grad",
        "Tells autograd to record what is computed from a tensor. A result requires grad as soon "
        "as one of its inputs does.",
    ),
    Term(
        "late",
        "requires_grad set too late",
        "Autograd records operations as they run. What was computed before requires_grad was set "
        "is not recorded.",
    ),
    Term(
        "rebound",
        "A name is not a tensor",
        "x = x * 2 makes a new tensor and gives it the name x. The leaf still exists, but without "
        "a name, and the new x is a non-leaf.",
    ),
    Term(
        "unused",
        "Unused tensor",
        "backward visits only what the result was computed from. A tensor that is not part of that "
        "keeps .grad = None, which is not the same as 0.",
    ),
    Term(
        "cut",
        "Cut history",
        "detach(), .data, .item(), numpy, torch.tensor(t), comparisons, argmax and everything "
        "inside torch.no_grad() give values without a history, and backward cannot go back through "
        "them. Setting requires_grad on such a value makes a new leaf; it does not restore the "
        "history.",
    ),
    Term(
        "data",
        ".data",
        "Access to a tensor's memory behind autograd's back. Autograd does not notice a write "
        "through .data: a value saved for backward changes too, and gradients are wrong without an "
        "error.",
    ),
    Term(
        "in-place",
        "Change in place",
        "x += 1, x[0] = 1 and methods whose names end in _ overwrite values. Autograd forbids this "
        "for leaves that require grad, and detects it for saved values with a version counter.",
        ("in place",),
    ),
    Term(
        "version",
        "Version counter",
        "Counts how often a tensor was changed in place. backward refuses a saved value if the "
        "count has changed since the value was saved.",
        ("version",),
    ),
    Term(
        "saved",
        "Saved value",
        "Some derivatives need values of the forward pass: the derivative of x² needs x, that of "
        "exp needs its result. The operation saves these values until backward has run.",
        ("saved", "saved tensor", "saved for backward"),
    ),
    Term(
        "retain_graph",
        "retain_graph",
        "backward frees the values that operations saved. retain_graph=True keeps them for another "
        "backward through the same graph. It has nothing to do with retain_grad().",
    ),
    Term(
        "retain_grad",
        "retain_grad",
        "If you call y.retain_grad() before backward, the gradient of the non-leaf y is kept in "
        "y.grad.",
    ),
    Term(
        "scalar",
        "Scalar output",
        "backward starts with d(result)/d(result) = 1, which is a single number only if the "
        "result is a single number. Otherwise reduce the result, or pass a gradient of its shape.",
        ("scalar",),
    ),
    Term(
        "integer",
        "Integer tensor",
        "Only floating-point and complex tensors can require grad: a derivative describes the "
        "effect of arbitrarily small changes, which integers do not allow.",
    ),
    Term(
        "flat",
        "Zero derivative",
        "A gradient of 0 is a result: the path is complete, but the derivative of some operation "
        "on it is 0 here. None means that there is no path.",
    ),
    Term(
        "symmetry",
        "Symmetric weights",
        "Units of a layer that start with the same weights compute the same, get the same "
        "gradients and stay the same. Random initial weights make them different.",
        ("initialisation", "symmetry breaking"),
    ),
    Term(
        "vanishing",
        "Vanishing gradient",
        "The chain rule multiplies derivatives. That of a sigmoid is at most 1/4, so after ten "
        "sigmoids less than a millionth of the gradient is left.",
    ),
    Term(
        "kink",
        "Corner, tie, subgradient",
        "relu and abs at 0, and max where two elements are equal, have no derivative. PyTorch "
        "uses a value between the left and right slopes, by convention.",
    ),
    Term(
        "nan",
        "NaN and infinity",
        "NaN means “not a number”: 0/0, ∞ − ∞, 0 · ∞, the square root of a negative number. Almost "
        "every operation on a NaN gives NaN, so the first one is the one to find.",
    ),
    Term(
        "broadcasting",
        "Broadcasting",
        "Shapes are aligned from the right, and an axis of size 1 is repeated: (n, 1) with (n,) "
        "gives (n, n). In backward, the gradient is summed over the repeated axes.",
    ),
    Term(
        "mean",
        "Mean and sum",
        "The mean of n elements is their sum divided by n. In backward, each element gets 1/n of "
        "the incoming gradient; with a sum, each element gets all of it. The losses of torch are "
        'means unless you pass reduction="sum".',
    ),
    Term(
        "logits",
        "Logits",
        "Raw scores, before softmax or sigmoid. cross_entropy and binary_cross_entropy_with_logits "
        "expect them unchanged.",
        ("score", "scores"),
    ),
    Term(
        "check",
        "Gradient check",
        "One input is moved up and down by a small amount. The change of the result, divided by "
        "the change of the input, must equal the gradient. The check exposes a wrong custom "
        "backward.",
        ("check every gradient",),
    ),
    Term(
        "accumulation",
        "Accumulation",
        "backward adds to .grad. This lets you sum the gradients of several batches; otherwise "
        "clear .grad before each backward.",
    ),
    Term(
        "zero_grad",
        "zero_grad",
        "Clears gradients: it sets them to None, or to zeros with set_to_none=False. Call it "
        "before backward or after step, never between them.",
    ),
    Term(
        "hook",
        "Hook",
        "A function of yours that is called with a gradient as it passes. If it returns None, the "
        "gradient is unchanged; if it returns a tensor, that replaces the gradient. Hooks on one "
        "tensor run in the order in which they were registered, before .grad is written.",
        ("hooks",),
    ),
    Term(
        "optimizer",
        "Optimizer",
        "Holds a list of tensors. step() changes each of them using its .grad, and skips those "
        "whose .grad is None.",
    ),
    Term(
        "momentum",
        "Momentum",
        "Each step uses a decaying sum of past gradients, so a tensor keeps moving even while its "
        "gradient is 0.",
        ("momentum_buffer",),
    ),
    Term(
        "weight_decay",
        "Weight decay",
        "Adds weight_decay · w to the gradient (AdamW shrinks w directly instead), so w moves "
        "towards 0 even where its gradient is 0.",
        ("weight_decay",),
    ),
    Term(
        "learning_rate",
        "Learning rate and curvature",
        "Near a minimum with curvature h, each step multiplies the distance to it by 1 − lr · h. "
        "If lr is above 2/h, the distance grows with every step.",
        ("lr", "learning rate"),
    ),
    Term(
        "graph",
        "Graph",
        "The graph of a result contains every operation it was computed with. As long as you keep "
        "the result, all of that stays in memory; .item() and .detach() give the value without it.",
    ),
    Term(
        "backward",
        "backward",
        "Goes through the graph from a result to its leaves and fills their .grad.",
    ),
    Term(
        "autograd.grad",
        "torch.autograd.grad",
        "Returns the gradients you ask for and leaves every .grad unchanged.",
    ),
    Term(
        "flow",
        "None as a gradient",
        "An operation's backward may pass on None for an input, which means no gradient instead of "
        "zeros.",
    ),
    Term(
        "AccumulateGrad",
        "AccumulateGrad",
        "The last node on the path to a leaf: it adds the incoming gradient to the leaf's .grad.",
    ),
    Term(
        "TBackward0",
        "TBackward0",
        "The backward of a transpose. A linear layer multiplies by weight.T, so there is one "
        "before every weight: it transposes the gradient back.",
    ),
    Term(
        "none-edge",
        "Edge to None",
        "next_functions lists where the gradient of each input goes. None stands for an input that "
        "needs no gradient: data, a constant or a detached tensor.",
    ),
)

#: By key.
GLOSSARY: dict[str, Term] = {term.key: term for term in TERMS}
