"""The example programs, grouped, each with one question and its answer."""

from explorer.trace.examples.autograd_surface import AUTOGRAD_SURFACE
from explorer.trace.examples.backward_errors import BACKWARD_ERRORS
from explorer.trace.examples.example import Example
from explorer.trace.examples.first_steps import FIRST_STEPS
from explorer.trace.examples.models import MODELS
from explorer.trace.examples.modern_training import MODERN_TRAINING
from explorer.trace.examples.non_leaf import NON_LEAF
from explorer.trace.examples.none_gradients import NONE_GRADIENTS
from explorer.trace.examples.silent_mistakes import SILENT_MISTAKES
from explorer.trace.examples.small_expressions import SMALL_EXPRESSIONS
from explorer.trace.examples.training import TRAINING

__all__ = ["EXAMPLES", "Example"]

EXAMPLES: tuple[Example, ...] = (
    *SMALL_EXPRESSIONS,
    *FIRST_STEPS,
    *NON_LEAF,
    *MODELS,
    *NONE_GRADIENTS,
    *BACKWARD_ERRORS,
    *SILENT_MISTAKES,
    *TRAINING,
    *AUTOGRAD_SURFACE,
    *MODERN_TRAINING,
)
