"""All questions, by topic.

Those held out were set aside while the explanations were written; nobody else saw them.
"""

from tests.questions.again import AGAIN
from tests.questions.autograd_grad import AUTOGRAD_GRAD
from tests.questions.cuts import CUTS
from tests.questions.errors import ERRORS
from tests.questions.everyday import EVERYDAY
from tests.questions.held_out import errors, gradients, numbers, training
from tests.questions.in_place import IN_PLACE
from tests.questions.later import LATER
from tests.questions.leaves import LEAVES
from tests.questions.loss_values import LOSS_VALUES
from tests.questions.masked import MASKED
from tests.questions.modes import MODES
from tests.questions.nonfinite import NONFINITE
from tests.questions.optimizers import OPTIMIZERS
from tests.questions.order import ORDER
from tests.questions.question import Question
from tests.questions.silent import SILENT
from tests.questions.slow_learning import SLOW_LEARNING
from tests.questions.two_networks import TWO_NETWORKS
from tests.questions.zeros import ZEROS

TOPICS: dict[str, tuple[Question, ...]] = {
    "cuts": CUTS,
    "grad": AUTOGRAD_GRAD,
    "leaves": LEAVES,
    "again": AGAIN,
    "in_place": IN_PLACE,
    "masked": MASKED,
    "nonfinite": NONFINITE,
    "zeros": ZEROS,
    "optimizers": OPTIMIZERS,
    "order": ORDER,
    "silent": SILENT,
    "modes": MODES,
    "errors": ERRORS,
    "networks": TWO_NETWORKS,
    "slow": SLOW_LEARNING,
    "losses": LOSS_VALUES,
    "everyday": EVERYDAY,
    "later": LATER,
}

HELD_OUT: dict[str, tuple[Question, ...]] = {
    "gradients": gradients.GRADIENTS,
    "numbers": numbers.NUMBERS,
    "training": training.TRAINING,
    "messages": errors.ERRORS,
}

QUESTIONS = tuple(question for topic in TOPICS.values() for question in topic)
SET_ASIDE = tuple(question for topic in HELD_OUT.values() for question in topic)
