"""Problems and the four real calls of training: zero_grad, forward, backward, step."""

from explorer.training.arithmetic import Term, Update
from explorer.training.presets import PRESETS
from explorer.training.problem import (
    Live,
    ModuleProblem,
    Network,
    Problem,
    random_stream,
)
from explorer.training.program import ProgramProblem
from explorer.training.session import TrainingSession
from explorer.training.views import Event, ParameterView, Point, View

__all__ = [
    "PRESETS",
    "Event",
    "Live",
    "ModuleProblem",
    "Network",
    "ParameterView",
    "Point",
    "Problem",
    "ProgramProblem",
    "Term",
    "TrainingSession",
    "Update",
    "View",
    "random_stream",
]
