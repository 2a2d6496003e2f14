"""Measuring which lines the tests run: `python -m tests.measured [what pytest is to be given]`."""
