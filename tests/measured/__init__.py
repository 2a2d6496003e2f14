"""Measures which lines the tests run: `python -m tests.measured [arguments for pytest]`."""
