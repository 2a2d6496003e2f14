"""The parts of the Optimizer page: a problem stepped press by press, and all its numbers."""
