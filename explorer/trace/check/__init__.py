"""The numerical check: every gradient of the last backward against central differences in float64.

What autograd follows is repeated, operation by operation, with one element of a leaf moved; what
it does not follow (random draws, what `detach` or a comparison gave) stays what it was.
"""

from explorer.trace.check.checking import check
from explorer.trace.check.records import Check, Element, LeafCheck

__all__ = ["Check", "Element", "LeafCheck", "check"]
