"""Problems and the four real calls of training: zero_grad, forward, backward, step."""

from explorer.training.problem import (
    Live,
    ModuleProblem,
    Network,
    Problem,
    random_stream,
)

__all__ = ["Live", "ModuleProblem", "Network", "Problem", "random_stream"]
