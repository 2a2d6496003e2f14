"""Speed compared with plain PyTorch and similar tools, with budgets: `python -m benchmarks`.

A group is a module of this package. The first line of its docstring is its title, the rest says how
it measures, and `rows(most)` yields its rows and repeats no measurement more than `most` times.
"""
