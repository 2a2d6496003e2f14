"""The terms of training, for the glossary."""

from __future__ import annotations

from explorer.trace.terms import Term

TERMS = (
    Term(
        "loss",
        "Loss",
        "The number that training makes smaller; backward starts from it.",
    ),
    Term(
        "forward",
        "forward",
        "Computes the loss from the parameters and records the graph.",
    ),
    Term(
        "step",
        "step",
        "Changes every parameter using its .grad, by the rule of the optimizer.",
    ),
    Term(
        "iteration",
        "Iteration",
        "zero_grad, forward, backward and step, once each.",
        ("iterations",),
    ),
    Term(
        "dampening",
        "Dampening",
        "The fraction of each new gradient that is left out of the momentum buffer.",
    ),
    Term(
        "nesterov",
        "Nesterov",
        "The step uses the gradient plus momentum times the buffer, as if it looked one momentum "
        "step ahead.",
    ),
    Term(
        "maximize",
        "maximize",
        "Reverses the sign of the gradient, so that the optimizer makes the loss larger instead of "
        "smaller.",
    ),
    Term(
        "adam",
        "Adam",
        "Divides a running average of the gradient (beta1) by the square root of a running average "
        "of its square (beta2). A beta close to 1 averages over more steps; eps keeps the divisor "
        "away from 0.",
        ("AdamW", "beta1", "beta2", "eps"),
    ),
    Term(
        "seed",
        "Seed",
        "Determines all random numbers: the same seed gives the same start.",
    ),
    Term(
        "surface",
        "Loss surface",
        "The loss as a function of two parameters, or along two directions, while all other "
        "parameters stay fixed.",
    ),
)
