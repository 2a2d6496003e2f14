"""Problems and the four real calls of training: zero_grad, forward, backward, step.

A `Problem` is a network with its data (`ModuleProblem`) or two program texts (`ProgramProblem`);
a `TrainingSession` steps it, a `RemoteSession` has it stepped in another process. A `Follower`
is a second run for comparison, `loss_surface` computes the loss around the path of a run.
"""

from explorer.training.compare import (
    Follower,
    follow_with_setting,
    follow_without_zero_grad,
    with_setting,
    without_zero_grad,
)
from explorer.training.landscape import (
    Plane,
    Surface,
    loss_surface,
    through_element,
    through_elements,
    through_path,
)
from explorer.training.optimizer_spec import DerivationLine, Update
from explorer.training.presets import PRESETS
from explorer.training.problem import (
    Live,
    ModuleProblem,
    Network,
    Problem,
    random_stream,
)
from explorer.training.program import ProgramProblem
from explorer.training.remote import RemoteSession
from explorer.training.session import TrainingSession
from explorer.training.views import ParameterView, Point, PressEvent, View

__all__ = [
    "PRESETS",
    "DerivationLine",
    "Follower",
    "Live",
    "ModuleProblem",
    "Network",
    "ParameterView",
    "Plane",
    "Point",
    "PressEvent",
    "Problem",
    "ProgramProblem",
    "RemoteSession",
    "Surface",
    "TrainingSession",
    "Update",
    "View",
    "follow_with_setting",
    "follow_without_zero_grad",
    "loss_surface",
    "random_stream",
    "through_element",
    "through_elements",
    "through_path",
    "with_setting",
    "without_zero_grad",
]
