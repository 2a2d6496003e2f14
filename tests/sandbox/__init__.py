"""The limits of the tests' own jobs, here because the app's side and the child's must know them."""

from explorer import limits
from explorer.sandbox.messages import LIMITS, AnswerLimits

LIMITS |= {
    "large": AnswerLimits(limits.MESSAGE, memory=2**27),
    "progress": AnswerLimits(progress=20_000),
    "hold": AnswerLimits(progress=1),
}
