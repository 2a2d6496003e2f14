"""L-BFGS: a step computes the loss several times, and follows an estimate of its curvature."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.training.derivation import Derivation, Hyper, State
from explorer.training.formatting import pluralize
from explorer.training.optimizer_spec import OptimizerSpec


def _lbfgs(d: Derivation, p: Tensor, g: Tensor, state: State, h: Hyper) -> None:
    """Nocedal and Wright, Numerical Optimization, algorithm 7.4,
    https://doi.org/10.1007/978-0-387-40065-5

    The moves depend on losses and gradients at other points, so the new value is the one that the
    real optimizer left (`Evaluated` in the state).
    """
    after, evaluations = state["after"], state["evaluations"]
    d.define(Δ=after - p)
    d.add(
        "Δ",
        f"all moves, with {pluralize(evaluations, 'evaluation')} of the loss",
        r"\Delta = \sum_k t_k d_k, \quad d_k = -H_k\,g_k",
        "{Δ}",
        after - p,
    )
    d.add_result(r"\theta \leftarrow \theta + \Delta", "{p} + {Δ}", after, ", as LBFGS left it")


LBFGS = OptimizerSpec(
    torch.optim.LBFGS,
    {
        "lr": "the length of each move; 1 trusts the curvature",
        "max_iter": "how many moves one step makes at most",
        "history_size": "how many past moves the curvature is estimated from",
        "line_search_fn": "how the length of a move is chosen: always lr, or by trying",
        "tolerance_grad": "the step ends where no gradient is larger than this",
        "tolerance_change": "the step ends when the loss or the parameters change less than this",
    },
    _lbfgs,
    note="Estimates the curvature from past gradients; one step computes the loss many times.",
    state={
        "func_evals": "How often the loss was computed",
        "n_iter": "How many moves have been made",
        "d": "The direction of the last move: minus the gradient times the inverse curvature",
        "t": "The length of the last move",
        "prev_flat_grad": "The gradient before the last move",
        "H_diag": "The first guess of the inverse curvature, the same in all directions",
    },
    term="lbfgs",
    first=("lr", "max_iter"),
    lr_like="own",
    whole={"max_iter": (1, 100), "history_size": (1, 100)},
    choices={"line_search_fn": (None, "strong_wolfe")},
    elementwise=False,
    evaluates=True,
)
