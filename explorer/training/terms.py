"""The words of training, for the glossary."""

from __future__ import annotations

from explorer.trace.terms import Term

WORDS = (
    Term("loss", "Loss", "The scalar that training makes smaller; backward starts from it."),
    Term("forward", "forward", "Computes the loss from the parameters, and records the graph."),
    Term("step", "step", "Changes every parameter by its .grad, in the optimizer's way."),
    Term(
        "iteration",
        "Iteration",
        "zero_grad, forward, backward and step, once each.",
        ("iterations",),
    ),
    Term(
        "dampening",
        "Dampening",
        "The share of a new gradient that does not enter the momentum buffer.",
    ),
    Term(
        "nesterov",
        "Nesterov",
        "The step follows the gradient plus momentum times the buffer, as if it looked one "
        "momentum step ahead.",
    ),
    Term("maximize", "maximize", "Turns the sign of the gradient: the run climbs."),
    Term(
        "adam",
        "Adam",
        "Divides a running mean of the gradient (beta1) by the root of a running mean of its "
        "square (beta2). A beta near 1 forgets slowly; eps keeps the divisor from 0.",
        ("AdamW", "beta1", "beta2", "eps"),
    ),
    Term(
        "seed",
        "Seed",
        "Decides all random numbers: the same seed gives the same start.",
    ),
    Term(
        "surface",
        "Loss surface",
        "The loss over two parameters, or two directions, while all others stay as they are.",
    ),
)
