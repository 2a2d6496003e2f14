"""Plain PyTorch as the oracle: the same program, run by CPython.

Gradients of non-leaf tensors are read via retain_grad and via node prehooks. The two differ if
several passes reach a tensor: a retained `.grad` adds them up, a hook sees the last one.
"""

from __future__ import annotations

import ast
import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from explorer.trace import Summary, TensorRecord, Trace


@dataclass(frozen=True)
class PlainRun:
    """The printed output, the tensors among the variables, and the last gradient that a hook saw
    at each output of an autograd node, by the node and the output's number."""

    output: str
    tensors: dict[str, torch.Tensor]
    hooked: dict[tuple[Any, int], torch.Tensor]


def run_plain(source: str, seed: int = 0) -> PlainRun:
    """Run `source` as ordinary Python, one top-level statement after the other.

    After each statement, every non-leaf variable retains its gradient from then on. If the program
    never calls backward, it is called on the last scalar variable.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    hooked: dict[tuple[Any, int], torch.Tensor] = {}
    called = ".backward(" in source or "autograd.grad(" in source or "autograd.backward(" in source
    with torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(printed):
        torch.manual_seed(seed)
        for statement in ast.parse(source).body:
            exec(compile(ast.Module([statement], []), "<plain>", "exec"), names)
            for value in list(names.values()):
                if isinstance(value, torch.Tensor) and not value.is_leaf and value.requires_grad:
                    value.retain_grad()
                    value.grad_fn.register_prehook(make_prehook(hooked, value))
        tensors = {k: v for k, v in names.items() if isinstance(v, torch.Tensor)}
        if not called:
            scalars = [t for t in tensors.values() if t.numel() == 1 and not t.is_leaf]
            scalars[-1].backward()
    return PlainRun(printed.getvalue(), tensors, hooked)


def make_prehook(hooked: dict[tuple[Any, int], torch.Tensor], tensor: torch.Tensor) -> Any:
    """A hook that copies the tensor's gradient to `hooked`."""
    key = (tensor.grad_fn, tensor.output_nr)

    def prehook(grads: Any) -> None:
        if grads[key[1]] is not None:
            hooked[key] = grads[key[1]].clone()

    return prehook


def compare(trace: Trace, plain: PlainRun, printed: bool = True) -> None:
    """Assert that every tensor variable has the oracle's value and gradient, to the last bit."""
    assert trace.error is None, trace.error
    if printed:
        assert trace.output == plain.output
    for name, tensor in plain.tensors.items():
        record = trace.variables[name]
        assert isinstance(record, TensorRecord), name
        assert record.shape == tuple(tensor.shape), name
        assert record.requires_grad == tensor.requires_grad, name
        assert record.is_leaf == tensor.is_leaf, name
        same(record.value, tensor.detach(), f"value of {name}")
        if tensor.is_leaf or trace.capture == "retain_grad":
            same(record.grad, tensor.grad, f"gradient of {name}")
        else:
            from_hook = plain.hooked.get((tensor.grad_fn, tensor.output_nr))
            expected = tensor.grad if record.autograd.retains_grad else from_hook
            same(record.grad, expected, f"gradient of {name}")


def same(actual: Any, expected: torch.Tensor | None, what: str) -> None:
    if expected is None:
        assert actual is None, f"{what}: {actual} where plain PyTorch has None"
        return
    assert actual is not None, f"{what}: None where plain PyTorch has {expected}"
    if isinstance(actual, Summary):
        flat = expected.double()
        np.testing.assert_allclose(actual.mean, float(flat.mean()), rtol=1e-5, err_msg=what)
        np.testing.assert_allclose(actual.norm, float(flat.norm()), rtol=1e-5, err_msg=what)
        return
    np.testing.assert_array_equal(actual, expected.detach().numpy(), err_msg=what)
