"""The optimizers that can be stepped: one `OptimizerSpec` each, with its rule line by line.

The rules are those of PyTorch's documentation (https://docs.pytorch.org/docs/stable/optim.html),
in the order and precision in which torch computes them. Options that only choose an
implementation (foreach, fused, capturable, differentiable) are left out.
"""

from __future__ import annotations

from explorer.training.optimizer_spec import OptimizerSpec
from explorer.training.optimizers.adafactor import ADAFACTOR
from explorer.training.optimizers.adam import ADAM, ADAMW
from explorer.training.optimizers.adam_variants import ADAMAX, NADAM, RADAM
from explorer.training.optimizers.gradient_descent import ASGD, SGD
from explorer.training.optimizers.lbfgs import LBFGS
from explorer.training.optimizers.muon import MUON
from explorer.training.optimizers.signs import LION, RPROP
from explorer.training.optimizers.squared_gradients import ADADELTA, ADAGRAD, RMSPROP

_SPECS = (
    SGD,
    ADAM,
    ADAMW,
    RMSPROP,
    ADAGRAD,
    ADADELTA,
    NADAM,
    RADAM,
    ADAMAX,
    ADAFACTOR,
    LION,
    MUON,
    RPROP,
    ASGD,
    LBFGS,
)

#: By name, in the order they are offered; the first is the default.
OPTIMIZERS = {spec.name: spec for spec in _SPECS}


def optimizer_spec(name: str) -> OptimizerSpec:
    """The record of this optimizer; ValueError, with a sentence, where there is none."""
    if name not in OPTIMIZERS:
        raise ValueError(f"There is no optimizer {name!r} here; choose {', '.join(OPTIMIZERS)}.")
    return OPTIMIZERS[name]
