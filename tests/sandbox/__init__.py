"""The limits of the tests' own jobs, here because the app's side and the child's must know them."""

from explorer.sandbox import protocol
from explorer.sandbox.answer_limits import LIMITS, AnswerLimits

LIMITS |= {
    "large": AnswerLimits(protocol.LIMIT, memory=2**27),
    "progress": AnswerLimits(progress=20_000),
    "hold": AnswerLimits(progress=1),
}
