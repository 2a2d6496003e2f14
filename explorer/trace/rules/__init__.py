"""The local rule of each operation: what its node makes of the gradient that comes in.

`state` writes it in LaTeX for one step, with letters and with that step's numbers; `compute`
works it out in numpy, so that what is written can be checked against what autograd did. torch's
own list of them: https://github.com/pytorch/pytorch/blob/main/tools/autograd/derivatives.yaml
"""

from explorer.trace.rules.rule import NotStated
from explorer.trace.rules.statement import UNKNOWN, Statement, own_backward, state, stored
from explorer.trace.rules.table import RULES, compute

__all__ = [
    "RULES",
    "UNKNOWN",
    "NotStated",
    "Statement",
    "compute",
    "own_backward",
    "state",
    "stored",
]
