"""Why operations save values for backward: what their derivatives are computed from."""

#: Why an operation saves its result, by the name of its node without "Backward0".
SAVES_RESULT = {
    "Exp": "the derivative of exp is its result",
    "Sigmoid": "the derivative of sigmoid is s·(1 − s), where s is its result",
    "Tanh": "the derivative of tanh is 1 − t², where t is its result",
    "Sqrt": "the derivative of sqrt is 1 / (2 · its result)",
    "Reciprocal": "the derivative of 1/x is minus the square of its result",
    "Relu": "relu passes the gradient on where its result is above 0",
    "Softmax": "the derivative of softmax by its own input is p·(1 − p), where p is its result",
    "LinalgVectorNorm": "the derivative of the 2-norm is each element divided by the norm",
    "Prod": "the derivative of a product is the result divided by the element",
    "Tan": "the derivative of tan is 1 + its result squared",
}
#: Why an operation saves an input.
SAVES_INPUT = {
    "Mul": "the derivative of a product by one factor is the other factor",
    "Div": "the derivative of a quotient is computed from its two parts",
    "Pow": "the derivative of xⁿ is n·xⁿ⁻¹, computed from x",
    "Log": "the derivative of log is 1/x",
    "Sin": "the derivative of sin is cos(x)",
    "Cos": "the derivative of cos is −sin(x)",
    "Abs": "the derivative of abs is the sign of x",
    "Clamp": "clamp passes the gradient on where x lies inside the limits",
    **dict.fromkeys(
        ("Mm", "Mv", "Bmm", "Dot", "Addmm", "Addmv", "Baddbmm", "Matmul", "Linear"),
        "the gradient of one factor of a matrix product is computed from the other",
    ),
    "Convolution": "the gradient of the input is computed from the weight, and the other way round",
}
