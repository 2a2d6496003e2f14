"""Problems and the four real calls of training: zero_grad, forward, backward, step.

A `Problem` is a network with its data (`ModuleProblem`) or two program texts (`ProgramProblem`);
a `TrainingSession` steps it, a `RemoteSession` has it stepped in another process. `Follower`
keeps a second run beside it, `loss_surface` measures the loss around its path.
"""

from explorer.training.arithmetic import Update
from explorer.training.compare import (
    Follower,
    forgetful,
    otherwise,
    with_setting,
    without_zero_grad,
)
from explorer.training.derivation import Term
from explorer.training.landscape import (
    Plane,
    Surface,
    loss_surface,
    through_element,
    through_elements,
    through_path,
)
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
from explorer.training.views import Event, ParameterView, Point, View

__all__ = [
    "PRESETS",
    "Event",
    "Follower",
    "Live",
    "ModuleProblem",
    "Network",
    "ParameterView",
    "Plane",
    "Point",
    "Problem",
    "ProgramProblem",
    "RemoteSession",
    "Surface",
    "Term",
    "TrainingSession",
    "Update",
    "View",
    "forgetful",
    "loss_surface",
    "otherwise",
    "random_stream",
    "through_element",
    "through_elements",
    "through_path",
    "with_setting",
    "without_zero_grad",
]
