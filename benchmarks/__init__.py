"""Every speed budget of the project, beside plain PyTorch or a peer: `python -m benchmarks`.

A group is a module of this package: the first line of its docstring is its title, the rest says
how it measures, and `rows(most)` yields its rows, repeating nothing more than `most` times.
"""
