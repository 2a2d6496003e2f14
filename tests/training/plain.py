"""The oracle: the loop a reader would write, run by plain Python from a problem's own texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from explorer.training import Problem, ProgramProblem
from explorer.training.optimizers import optimizer_spec
from explorer.training.replay import replay

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
    ("Adam", {"lr": 0.05, "amsgrad": True, "betas": (0.9, 0.8)}),
    ("AdamW", {"lr": 0.05, "amsgrad": True, "maximize": True}),
    ("RMSprop", {"lr": 0.01, "centered": True}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.8, "maximize": True}),
    ("Adadelta", {"lr": 1.0}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.05, "betas": (0.8, 0.9)}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "betas": (0.7, 0.8), "weight_decay": 0.1, "maximize": True}),
    ("Adafactor", {"lr": 0.05}),
    ("Adafactor", {"lr": 0.5, "beta2_decay": -0.3, "d": 2.0, "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.05, "maximize": True}),
    ("Lion", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    ("Muon", {"lr": 0.05}),
    ("Muon", {"lr": 0.05, "momentum": 0.5, "nesterov": False, "ns_steps": 2}),
    ("Rprop", {"lr": 0.05}),
    ("Rprop", {"lr": 0.5, "etas": (0.3, 1.7), "step_sizes": (0.01, 0.8), "maximize": True}),
    ("ASGD", {"lr": 0.01}),
    ("ASGD", {"lr": 0.01, "lambd": 0.1, "alpha": 0.5, "t0": 3.0, "weight_decay": 0.1}),
    ("LBFGS", {"lr": 0.5, "max_iter": 4}),
    ("LBFGS", {"lr": 1.0, "max_iter": 3, "history_size": 2, "line_search_fn": "strong_wolfe"}),
]

#: A problem of matrices only, with a row and a column among them.
MATRICES = ProgramProblem(
    setup="""\
import torch

U = torch.randn(5, 2, requires_grad=True)
V = torch.randn(2, 4, requires_grad=True)
row = torch.zeros(1, 4, requires_grad=True)
goal = torch.randn(5, 4)
""",
    loss="loss = ((U @ V + row - goal) ** 2).mean()",
)


def ask(request: Any) -> Any:
    """What a sandbox does, without the process: plain request, plain answer, both through JSON."""
    return json.loads(json.dumps(replay(json.loads(json.dumps(request)))))


def suited(optimizer: str, problem: Problem) -> Problem:
    """The problem, or one of matrices for an optimizer that steps nothing else."""
    needs = optimizer_spec(optimizer).matrices and problem is not MATRICES
    return MATRICES if needs else problem


def loop(
    problem: Problem,
    optimizer: str,
    steps: int,
    seed: int = 0,
    *,
    schedule: Callable[[Any], Any] | None = None,
    clip: Callable[[list[Any]], Any] | None = None,
    lrs: list[float] | None = None,
    **hyper: Any,
) -> list[np.ndarray]:
    """The parameters after `steps` iterations of zero_grad, forward, backward, step.

    `schedule` makes a scheduler, `clip` clips the gradients of these parameters; the learning rate
    of each step is added to `lrs`.
    """
    torch.manual_seed(seed)
    names: dict[str, Any] = {}
    exec(problem.source, names)
    parameters = list(eval(problem.parameters_source, names))
    stepper = optimizer_spec(optimizer).cls(parameters, **hyper)
    scheduler = schedule(stepper) if schedule else None
    code = compile(problem.loss_source, "<loss>", "exec")

    def evaluate() -> Any:
        stepper.zero_grad()
        exec(code, names)
        names["loss"].backward()
        if clip:
            clip(parameters)
        return names["loss"]

    closure = [evaluate] if optimizer == "LBFGS" else []  # it computes the loss itself
    for _ in range(steps):
        evaluate()
        if lrs is not None:
            lrs.append(stepper.param_groups[0]["lr"])
        stepper.step(*closure)
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            scheduler.step(names["loss"].item())
        elif scheduler:
            scheduler.step()
    return [p.detach().numpy().copy() for p in parameters]


def same(first: Any, second: Any) -> bool:
    """Equal to the last bit; NaN equals NaN."""
    return len(first) == len(second) and all(
        a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
        for a, b in zip(first, second, strict=True)
    )
