"""The stated rules multiply out: what autograd did is the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from explorer import trace
from explorer.trace import BackwardStep
from explorer.trace.examples import EXAMPLES
from explorer.trace.records import Flow
from explorer.trace.rules import RULES, UNKNOWN, NotStated, complex_numbers, compute, state
from tests.trace.expressions import EXPRESSIONS, program
from tests.trace.steps import steps_by_node, steps_from, steps_of

#: Nodes of the expressions that have no short rule; everything else must have one.
WITHOUT = {
    "WeightNormInterfaceBackward0",
    "CdistBackward0",
    "CholeskyBackward0",
    "Col2ImBackward0",
    "ComplexBackward0",
    "FftR2CBackward0",
    "FftC2CBackward0",
    "LinalgCholeskyExBackward0",
    "LinalgEighBackward0",
    "LinalgMatrixExpBackward0",
    "LinalgPinvBackward0",
    "LinalgQrBackward0",
    "LinalgSolveTriangularBackward0",
    "LinalgSvdBackward0",
    "MultiMarginLossBackward0",
    "RenormBackward0",
    "ScatterReduceBackward0",
    "TrilinearBackward0",
    "UpsampleBilinear2DBackward0",
    "ViewAsRealBackward0",
    "AccumulateGrad",
}
#: Described in words alone.
WORDS = {"CopySlices"}


def multiply_out(step: BackwardStep) -> bool:
    """Whether the rule was tried. Fails where it gives other gradients than autograd did."""
    if step.name in WITHOUT | WORDS or step.own or step.words == complex_numbers.WORDS:
        return False
    try:
        outs = compute(step.name, step.grads_in, step.grads_out, step.saved)
    except NotStated as why:  # complex numbers have no place in these rules
        if "complex" not in str(why):
            raise
        return False
    assert len(outs) == len(step.grads_out)
    for slot, (out, flow) in enumerate(zip(outs, step.grads_out, strict=True)):
        if flow.grad is not None and 0 not in flow.grad.shape:
            assert out is not None, f"{step.name} says nothing of input {slot}"
            assert out.shape == flow.grad.shape
            message = f"{step.name}, input {slot}"
            with np.errstate(over="ignore"):  # rules are computed in double precision
                out = np.asarray(out).astype(flow.grad.dtype)
            np.testing.assert_allclose(out, flow.grad, rtol=3e-4, atol=3e-5, err_msg=message)
    return True


@pytest.mark.parametrize("group", EXPRESSIONS)
def test_the_rules_of_all_functions_multiply_out(group: str) -> None:
    for expression in EXPRESSIONS[group]:
        for step in steps_from(expression):
            known = step.name in RULES or step.name in WITHOUT
            assert known, f"{expression} makes {step.name}, which has no rule"
            multiply_out(step)


def test_the_corners_multiply_out() -> None:
    for name, steps in steps_by_node().items():
        tried = [multiply_out(step) for step in steps if name in RULES]
        assert any(tried) or name in WORDS | WITHOUT | {"SgnBackward0"} or name not in RULES, name


def test_every_rule_is_tried() -> None:
    assert set(RULES) <= set(steps_by_node())


def test_an_operation_without_a_rule_says_so() -> None:
    traced = trace.run(program("torch.linalg.svdvals(M)"))
    step = next(s for s in steps_of(traced) if s.name == "LinalgSvdBackward0")
    assert (step.formula, step.numbers, step.words) == ("", "", UNKNOWN)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_every_step_of_every_example_multiplies_out(
    example: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.limits.WHOLE", 10**7)  # keep all numbers, to check all
    traced = trace.run(example.source)  # type: ignore[attr-defined]
    for step in steps_of(traced):
        if step.name != "AccumulateGrad" and step.own is None:
            assert step.name in RULES or step.words in (UNKNOWN, complex_numbers.WORDS)
            multiply_out(step)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_gradients_out_add_up_to_the_gradient_in(
    example: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.limits.WHOLE", 10**7)
    traced = trace.run(example.source)  # type: ignore[attr-defined]
    if "hook" in traced.source:
        return  # a hook of the reader's may change a gradient between two nodes
    for passed in traced.passes:
        flows = [flow for step in passed.steps for flow in step.grads_out]
        began = {passed.steps[0].node} if passed.steps else set()
        for step in passed.steps:
            if step.node in began:
                continue
            for slot, grad in enumerate(step.grads_in):
                parts = [f.grad for f in flows if (f.to, f.slot) == (step.node, slot)]
                parts = [part for part in parts if part is not None]
                if grad is not None:
                    np.testing.assert_allclose(sum(parts), grad, rtol=1e-5, atol=1e-6)


def test_what_was_in_grad_before_and_after() -> None:
    lines = ["import torch", "x = torch.tensor([1.0, 2.0], requires_grad=True)"]
    lines += ["(x * 2).sum().backward()", "(x * 3).sum().backward()"]
    first, second = trace.run("\n".join(lines)).passes
    step = first.steps[-1]
    assert step.before is None
    np.testing.assert_array_equal(step.after, [2, 2])
    step = second.steps[-1]
    np.testing.assert_array_equal(step.before, [2, 2])
    np.testing.assert_array_equal(step.grads_in[0], [3, 3])
    np.testing.assert_array_equal(step.after, [5, 5])
    assert "old" in step.formula
    assert "5 & 5" in step.numbers


def test_a_large_gradient_is_not_overwritten_by_the_next_pass() -> None:
    lines = ["import torch", "x = torch.ones(5000, requires_grad=True)"]
    lines += ["(x * 2).sum().backward()"] * 2
    traced = trace.run("\n".join(lines))
    norms = [p.steps[-1].grads_in[0].norm for p in traced.passes]  # type: ignore[union-attr]
    assert norms == pytest.approx([2 * 5000**0.5] * 2)


def test_the_readers_own_backward_is_named_with_its_line() -> None:
    source = """\
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g

x = torch.tensor(3.0, requires_grad=True)
Square.apply(x).backward()
"""
    step = trace.run(source).passes[0].steps[0]
    assert step.own in (9, 10)  # the method, or its decorator
    assert step.words == f"Your own rule: Square.backward, line {step.own}."


_TIMES_100 = "lambda *given: (100 * given[-2][0], *given[-2][1:])"
NODE_HOOKS = {
    "a module's deprecated hook": f"layer.register_backward_hook({_TIMES_100})",
    "a node's hook": f"register = lambda node: node.register_hook({_TIMES_100})",
    "in place": "register = lambda node: node.register_hook(lambda g, _: g[0].mul_(100) and None)",
    "one that only looks": "register = lambda node: node.register_hook(print)",
    "one that copies": "register = lambda n: n.register_hook(lambda g, _: (g[0].clone(), *g[1:]))",
}


@pytest.mark.parametrize("hook", NODE_HOOKS)
def test_a_rule_states_what_the_node_computed_before_a_hook_changed_it(hook: str) -> None:
    source = f"""\
import torch
from torch import nn

class Quarter(nn.Module):
    def forward(self, x):
        return x / 4

layer, register = Quarter(), lambda node: None
{NODE_HOOKS[hook]}
x = torch.tensor([3.0], requires_grad=True)
out = layer(x * 2)
register(out.grad_fn)
out.backward()
"""
    traced = trace.run(source)
    assert traced.error is None
    changed = not hook.startswith("one that")
    division, product = traced.passes[0].steps[:2]
    assert division.numbers.endswith(r"= \begin{bmatrix} 0.25 \end{bmatrix}")
    assert ("A hook on this node then changed" in division.words) == changed
    passed_on = 25 if changed else 0.25
    np.testing.assert_array_equal(division.grads_out[0].grad, [passed_on])
    np.testing.assert_array_equal(product.grads_in[0], [passed_on])
    assert product.words == ""


def test_a_node_with_a_hook_in_inference_mode() -> None:
    traced = trace.run(
        """\
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.grad_fn.register_hook(lambda gi, go: None)
z = y.sum()
with torch.inference_mode():
    z.backward()
"""
    )
    assert traced.error is None
    np.testing.assert_array_equal(traced.variables["x"].grad, [2, 2])


def test_wrong_arithmetic_would_be_noticed() -> None:
    step = trace.run(program("a * b")).passes[0].steps[2]
    assert step.name == "MulBackward0"
    saved = {**step.saved, "other": step.saved["other"] + 1}  # type: ignore[operator]
    wrong = BackwardStep(step.node, step.name, step.grads_in, step.grads_out, saved=saved)
    with pytest.raises(AssertionError):
        multiply_out(wrong)


def test_formula_and_numbers_of_the_first_example() -> None:
    source = """\
import torch
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
out = (3 * (x + 2) ** 2).mean()
out.backward()
"""
    power = next(s for s in steps_of(trace.run(source)) if s.name == "PowBackward0")
    assert power.formula == r"\frac{\partial L}{\partial a} = G \cdot 2 \cdot a"
    for matrix in ("1.5 & 1.5", "3 & 4", "9 & 12"):
        assert matrix in power.numbers


def test_broadcasting_is_part_of_the_statement() -> None:
    traced = trace.run(
        "import torch\nx = torch.ones(3, 2)\nb = torch.zeros(2, requires_grad=True)\n"
        "(x * 5 + b).sum().backward()\n"
    )
    step = next(s for s in steps_of(traced) if s.name == "AddBackward0")
    assert step.words == "Summed over axis 0, because b was broadcast."
    assert r"\sum_{\text{axis 0}}" in step.formula


def test_the_text_stays_short_and_well_formed() -> None:
    for steps in steps_by_node().values():
        for step in steps:
            for text in (step.formula, step.numbers):
                assert text.count("{") == text.count("}")
                assert text.count(r"\begin") == text.count(r"\end")
                assert "<" not in text.replace(" < ", "")
                assert len(text) < 2500, step


def test_large_arrays_are_not_written_out() -> None:
    traced = trace.run(
        "import torch\nx = torch.ones(300, 400, requires_grad=True)\n(x * -2.5).sum().backward()"
    )
    step = next(s for s in steps_of(traced) if s.name == "MulBackward0")
    assert step.numbers == r"\frac{\partial L}{\partial a}[0, 0] = 1 \cdot (-2.5) = -2.5"


def test_special_numbers_in_latex() -> None:
    said = state(
        "AddBackward1",
        (np.array([np.nan, -np.inf, 1.5e-7]),),
        (trace.Flow("n1", 0, np.array([np.nan, -np.inf, 1.5e-7])),),
        {},
    )
    assert r"\text{nan} & -\infty & 1.5 \cdot 10^{-7}" in said.numbers


#: An expression of complex numbers, and the node whose formula is shown.
COMPLEX = {
    "z * w": "Mul", "z + w": "Add", "z - w": "Sub", "z / w": "Div", "z * r": "Mul",
    "z * z.conj()": "Conj", "-z": "Neg", "z**3": "Pow", "z.exp()": "Exp", "z.log()": "Log",
    "z.sin()": "Sin", "z.cos()": "Cos", "z.tanh()": "Tanh", "z.sqrt()": "Sqrt",
    "z.reciprocal()": "Reciprocal", "z.sum() * w": "Sum", "r + w": "Add", "z[0] * w": "Mul",
}  # fmt: skip


@pytest.mark.parametrize("expression", COMPLEX)
def test_complex_rules_give_what_autograd_does(expression: str) -> None:
    """A formula is shown only where the step's own numbers agree with it."""
    traced = trace.run(
        "import torch\nz = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)\n"
        "w = torch.tensor([2 - 1j, 1 + 1j], requires_grad=True)\n"
        "r = torch.tensor([1.5, 2.5], requires_grad=True)\n"
        f"y = {expression}\nloss = y.abs().sum()\nloss.backward()\n"
    )
    assert traced.error is None
    steps = [s for s in steps_of(traced) if s.words == complex_numbers.WORDS]
    shown = {step.name for step in steps if step.formula}
    assert {"AbsBackward0", f"{COMPLEX[expression]}Backward0"} <= {
        name.replace("Backward1", "Backward0") for name in shown
    }
    assert not any(step.numbers for step in steps)


def test_a_complex_rule_that_is_wrong_is_not_shown() -> None:
    grad, saved = np.array([1 + 1j]), {"self": np.array([2j]), "other": np.array([3 + 1j])}
    right = grad * np.conj(saved["other"])
    for passed_on, shown in ((right, 1), (grad * saved["other"], 0)):
        flows = (Flow(None, 0, passed_on),)
        assert len(complex_numbers.formulas("MulBackward0", (grad,), flows, saved)) == shown


def test_a_step_shows_the_digits_that_the_graph_shows() -> None:
    traced = trace.run("sin(x*y) + x**2")
    grads = {record.name: f"{record.grad[()]:.5g}" for record in traced.tensors if record.is_leaf}
    assert grads["y"] == "1.9203"
    shown = [step.numbers for step in steps_of(traced)]
    assert all(any(grad in numbers for numbers in shown) for grad in grads.values())
