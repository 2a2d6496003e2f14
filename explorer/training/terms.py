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
        ("NAdam", "RAdam", "Adamax", "beta1", "beta2", "eps"),
    ),
    Term(
        "amsgrad",
        "amsgrad",
        "Adam divides by the largest running average of the squared gradient so far, so that a "
        "step never grows because old gradients are forgotten.",
    ),
    Term(
        "adaptive",
        "Adaptive step",
        "Each number has its own step: its gradient is divided by the root of its squared "
        "gradients. RMSprop and Adadelta average them, Adagrad adds them up, and Adafactor keeps "
        "one average per row and column.",
        ("RMSprop", "Adagrad", "Adadelta", "Adafactor", "alpha", "rho", "centered"),
    ),
    Term(
        "decoupled",
        "Decoupled weight decay",
        "Multiplies the parameter by a factor just below 1 in every step. Ordinary weight decay "
        "adds to the gradient instead, so Adam would divide it like the gradient.",
        ("decoupled_weight_decay", "AdamW"),
    ),
    Term(
        "sign",
        "Sign of the gradient",
        "Lion and Rprop use only the direction of each number's gradient, +1 or −1. How far the "
        "number moves does not depend on the size of the gradient.",
        ("Lion", "Rprop"),
    ),
    Term(
        "averaging",
        "Averaging",
        "ASGD keeps an average of the values that a parameter has had. Where steps jump around a "
        "minimum, their average is closer to it.",
        ("ASGD", "ax"),
    ),
    Term(
        "muon",
        "Muon",
        "Replaces the momentum of a matrix by a nearby matrix with orthogonal rows or columns, so "
        "that all its directions move equally far. Newton–Schulz steps approximate that matrix.",
        ("ns_steps", "Newton–Schulz"),
    ),
    Term(
        "lbfgs",
        "L-BFGS",
        "Estimates the curvature of the loss from its last gradients, and moves to where the "
        "gradient would be 0. One step computes the loss several times, so it takes a closure: a "
        "function that calls zero_grad, forward and backward.",
        ("LBFGS", "closure", "history_size", "max_iter"),
    ),
    Term(
        "param-groups",
        "Parameter groups",
        "Parameters with settings of their own, such as a smaller learning rate for the first "
        "layers. torch keeps them in optimizer.param_groups.",
        ("param_groups", "groups"),
    ),
    Term(
        "scheduler",
        "Learning-rate scheduler",
        "Changes the learning rate as training goes on: scheduler.step() is called after each "
        "optimizer.step().",
        ("scheduler", "scheduler.step"),
    ),
    Term(
        "clipping",
        "Gradient clipping",
        "Makes gradients smaller between backward and step: clip_grad_norm_ multiplies all of them "
        "by one factor, clip_grad_value_ limits each number.",
        ("clip_grad_norm_", "clip_grad_value_"),
    ),
    Term(
        "epoch",
        "Epoch",
        "One pass through all samples, batch by batch, in a new random order.",
        ("mini-batch", "mini-batches"),
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
