"""Problems and the four real calls of training: zero_grad, forward, backward, step.

A `Problem` is a network with its data (`ModuleProblem`) or two program texts (`ProgramProblem`);
a `TrainingSession` steps it, here or by asking a `Child`. A `Follower` is another run for
comparison, with a `RunSetting` of its own. `loss_surface` computes the loss around the path of a
run, `look_ahead` of a session where it would go.
"""

from explorer.training.child import Child
from explorer.training.compare import Follower, RunSetting
from explorer.training.curvature import Curvature
from explorer.training.derivation import DerivationLine, Update
from explorer.training.landscape import Surface, loss_surface
from explorer.training.lookahead import Ahead
from explorer.training.planes import (
    Plane,
    through_element,
    through_elements,
    through_gradient,
    through_path,
    through_random,
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
from explorer.training.session import TrainingSession
from explorer.training.stability import Stability, find_stability
from explorer.training.views import ParameterView, Point, PressEvent, View

__all__ = [
    "PRESETS",
    "Ahead",
    "Child",
    "Curvature",
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
    "RunSetting",
    "Stability",
    "Surface",
    "TrainingSession",
    "Update",
    "View",
    "find_stability",
    "loss_surface",
    "random_stream",
    "through_element",
    "through_elements",
    "through_gradient",
    "through_path",
    "through_random",
]
