"""The gradient check: compares the gradients of the last backward with central differences.

The operations that autograd recorded are repeated in float64 with one element of a leaf changed.
All other values (random draws, results of `detach` or of a comparison) stay the same.
"""

from explorer.trace.check.checking import check
from explorer.trace.check.records import Check, Element, LeafCheck

__all__ = ["Check", "Element", "LeafCheck", "check"]
