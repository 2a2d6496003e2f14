"""Expressions of one line: names that are not defined are inputs."""

from explorer.trace.examples.example import Example

_GROUP = "Small expressions"

SMALL_EXPRESSIONS: tuple[Example, ...] = (
    Example(
        "square",
        "x**2",
        _GROUP,
        "Why is the gradient of x twice its value?",
        "The derivative of x² is 2x: at x = 2 the gradient is 4. Drag x, and the gradient follows "
        "it; at 0 it is 0, and below 0 it is negative.",
        "x**2\n",
    ),
    Example(
        "sine_product",
        "sin(x*y) + x**2",
        _GROUP,
        "What does x receive when it is used twice?",
        "The sum of both paths: y·cos(xy) through the sine and 2x through the square.",
        "sin(x*y) + x**2\n",
    ),
    Example(
        "squared_error",
        "(w*x + b - y)**2",
        _GROUP,
        "Why does the gradient of w equal x times that of b?",
        "All go through the same difference, whose gradient b receives as it is. w is multiplied "
        "by x before, so its gradient is multiplied by x as well.",
        "(w*x + b - y)**2\n",
    ),
    Example(
        "neuron",
        "sigmoid(w*x)",
        _GROUP,
        "When does a neuron stop learning?",
        "The derivative of sigmoid is s(1 − s): at most 0.25, and almost 0 where s is close to 0 "
        "or 1. Drag w far to one side, and both gradients vanish.",
        "sigmoid(w*x)\n",
    ),
    Example(
        "hinge",
        "max(0, x)",
        _GROUP,
        "Where is the slope of this function 1, and where 0?",
        "1 where x is positive and 0 where it is negative: this is ReLU. At 0 there is no slope; "
        "read as torch.clamp(x, min=0), it gets the gradient 1 there.",
        "max(0, x)\n",
    ),
    Example(
        "absolute",
        "abs(x)",
        _GROUP,
        "What is the gradient of |x|?",
        "The sign of x: 1 above 0 and −1 below. At 0, where there is no slope, PyTorch gives 0.",
        "abs(x)\n",
    ),
    Example(
        "layer",
        "w @ x + b",
        _GROUP,
        "Why is each row of the gradient of w equal to x?",
        "Each element of w is multiplied by one element of x, and that is its derivative. The "
        "result has two elements, and backward starts from their sum.",
        "w @ x + b\n",
    ),
    Example(
        "log_softmax",
        "-log(softmax(x))[0]",
        _GROUP,
        "What does the loss of a classifier pass to each score?",
        "The probability of each class, minus 1 for the right one: the gradients add up to 0.",
        "-log(softmax(x))[0]\n",
    ),
)
