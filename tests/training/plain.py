"""The oracle: the loop a reader would write, run by plain Python from a problem's own texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from explorer.training import Problem
from explorer.training.optimizers import optimizer_spec

#: Optimizers and settings; the tests try them all.
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.8, "dampening": 0.3}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.001, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.99), "weight_decay": 0.1, "eps": 1e-6}),
    ("Adam", {"lr": 0.05, "maximize": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.01, "alpha": 0.9}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3, "maximize": True}),
]


def loop(
    problem: Problem, optimizer: str, steps: int, seed: int = 0, **hyper: Any
) -> list[np.ndarray]:
    """The parameters after `steps` iterations of zero_grad, forward, backward, step."""
    torch.manual_seed(seed)
    names: dict[str, Any] = {}
    exec(problem.source, names)
    parameters = list(eval(problem.parameters_source, names))
    stepper = optimizer_spec(optimizer).cls(parameters, **hyper)
    code = compile(problem.loss_source, "<loss>", "exec")
    for _ in range(steps):
        stepper.zero_grad()
        exec(code, names)
        names["loss"].backward()
        stepper.step()
    return [p.detach().numpy().copy() for p in parameters]


def same(first: Any, second: Any) -> bool:
    """Equal to the last bit; NaN equals NaN."""
    return len(first) == len(second) and all(
        a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
        for a, b in zip(first, second, strict=True)
    )
