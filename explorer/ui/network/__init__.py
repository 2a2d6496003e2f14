"""The parts of the Network page: a network run once, its layers, gradients, graph and hooks."""
