"""The same text run by plain CPython and by the explorer, for comparison."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from typing import Any

import numpy as np
import torch

from explorer import torchvision_guard  # noqa: F401  (plain `import torchvision` works after it)
from explorer.program import (
    Limits,
    Program,
    ProgramError,
    ProgramRefused,
    Run,
    Watcher,
    without_addresses,
)


def plain(source: str, seed: int = 0) -> tuple[str, dict[str, Any]]:
    """The output and variables of a program in plain CPython."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    with (
        torch.random.fork_rng(devices=[]),
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        options = dict(vars(torch._tensor_str.PRINT_OPTS))
        try:
            exec(compile(source, "<plain>", "exec"), names)
        finally:
            vars(torch._tensor_str.PRINT_OPTS).update(options)
    return printed.getvalue(), names


def ours(source: str, seed: int = 0, **limits: Any) -> tuple[str, dict[str, Any]]:
    """The same from the explorer. Raises ProgramRefused."""
    run = Run(Program(source), Watcher(Limits(**limits)))
    with run.to_end(seed):
        if run.error is not None:
            raise ProgramRefused(run.error)
        return run.watcher.output, run.variables


def refusal(source: str, **limits: Any) -> ProgramError:
    """The error of a program that must not succeed."""
    try:
        output, _ = ours(source, **limits)
    except ProgramRefused as refused:
        return refused.error
    raise AssertionError(f"the program ran, and printed {output!r}")


def same(actual: Any, expected: Any, what: str) -> None:
    """Assert that two values are equal to the last bit, inside lists and objects too."""
    if isinstance(expected, torch.Tensor):
        assert torch.equal(actual, expected) or (actual != actual).equal(expected != expected), what
        assert actual.dtype == expected.dtype, what
        assert actual.requires_grad == expected.requires_grad, what
        if expected.is_leaf and expected.grad is not None:
            same(actual.grad, expected.grad, f"{what}.grad")
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(actual, expected, err_msg=what)
    elif isinstance(expected, torch.nn.Module):
        for name, value in expected.state_dict().items():
            same(actual.state_dict()[name], value, f"{what}.{name}")
        for name, parameter in expected.named_parameters():
            same(actual.get_parameter(name).grad, parameter.grad, f"{what}.{name}.grad")
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected), what
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            same(one, other, f"{what}[{i}]")
    elif isinstance(expected, dict):
        assert list(actual) == list(expected), what
        for key, value in expected.items():
            same(actual[key], value, f"{what}[{key!r}]")
    elif isinstance(expected, bool | int | float | str | complex | type(None)):
        assert actual == expected or (actual != actual and expected != expected), what
        assert type(actual) is type(expected), what
    elif type(expected).__module__ == "__main__" and hasattr(expected, "__dict__"):
        same(list(vars(actual).keys()), list(vars(expected).keys()), what)


def compare(source: str) -> None:
    """Assert that the explorer prints and computes what plain CPython does."""
    output, variables = plain(source)
    output = without_addresses(output)
    our_output, actual = ours(source)
    assert our_output == output
    for name, value in variables.items():
        if not name.startswith("__") and name != "annotations":  # that one is from __future__
            assert name in actual, name
            same(actual[name], value, name)
