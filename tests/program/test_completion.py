"""What is typed is understood: completed programs give the gradients of plain PyTorch."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.program.completion import complete
from explorer.trace import Trace, from_plain, to_plain
from explorer.trace.script import script
from explorer.trace.validation import validate

pytestmark = pytest.mark.fast

#: What is typed, and the same in plain PyTorch, as a function of the inputs in order of appearance.
EXPRESSIONS: dict[str, Any] = {
    # expressions of Python
    "x**2": lambda x: x**2,
    "x**2 + 3*x": lambda x: x**2 + 3 * x,
    "sin(x*y) + x**2": lambda x, y: torch.sin(x * y) + x**2,
    "(w*x + b - y)**2": lambda w, x, b, y: (w * x + b - y) ** 2,
    "x*y*z": lambda x, y, z: x * y * z,
    "(x + 1)/(x - 1)": lambda x: (x + 1) / (x - 1),
    "x ** y": lambda x, y: x**y,
    "x**-0.5": lambda x: x**-0.5,
    "-x % 3": lambda x: -x % 3,
    "1/(1 + exp(-x))": lambda x: torch.sigmoid(x),
    "x*exp(-x**2)": lambda x: x * torch.exp(-(x**2)),
    "log(x)*y": lambda x, y: torch.log(x) * y,
    "ln(x) + log2(x)": lambda x: torch.log(x) + torch.log2(x),
    "sqrt(1 - x**2)": lambda x: torch.sqrt(1 - x**2),
    "asin(x) + acos(y)": lambda x, y: torch.asin(x) + torch.acos(y),
    "arctan(x/y)": lambda x, y: torch.arctan(x / y),
    "tanh(w*x + b)": lambda w, x, b: torch.tanh(w * x + b),
    "gelu(x) + softplus(x)": lambda x: F.gelu(x) + F.softplus(x),
    "relu(x - 1)*relu(4 - x)": lambda x: torch.relu(x - 1) * torch.relu(4 - x),
    "e**x + pi*x": lambda x: math.e**x + math.pi * x,
    "θ**2 + π": lambda θ: θ**2 + math.pi,
    "abs(x - 3)": lambda x: torch.abs(x - 3),
    "x if x > 0 else 0.1*x": lambda x: x,
    "where(x > 0, x, 0.1*x)": lambda x: torch.where(x > 0, x, 0.1 * x),
    "lambda x: x**2": lambda x: x**2,
    "f = lambda x, y: x*y**2": lambda x, y: x * y**2,
    "f = lambda x: x**2; f(x + 1)": lambda x: (x + 1) ** 2,
    "def f(t):\n    return sin(t)**2\nf(x)": lambda x: torch.sin(x) ** 2,
    "def f(t):\n    s = t*3\n    return s**2": lambda t: (t * 3) ** 2,
    "a = 3\nx = 2\na*w + x": lambda w: 3 * w + 2,
    "y = x**2\nz = y*3": lambda x: x**2 * 3,
    "y = x**2 + 3*x; y.backward()": lambda x: x**2 + 3 * x,
    "import torch\ntorch.sin(x)": lambda x: torch.sin(x),
    "y = 0\nfor k in range(3):\n    y = y + x**k\ny": lambda x: 1 + x + x**2,
    "print(x**3)": lambda x: x**3,
    "    x**2\n": lambda x: x**2,
    "x**2  # a parabola": lambda x: x**2,
    # vectors and matrices
    "x[0]*x[1] + x[2]**2": lambda x: x[0] * x[1] + x[2] ** 2,
    "x[-1]**2": lambda x: x[-1] ** 2,
    "A[0, 1]*x": lambda A, x: A[0, 1] * x,
    "x.sum()": lambda x: x.sum(),
    "sum(v**2 for v in x)": lambda x: (x**2).sum(),
    "sum(x)*len(x)": lambda x: x.sum() * len(x),
    "mean((y - t)**2)": lambda y, t: ((y - t) ** 2).mean(),
    "norm(x)": lambda x: torch.norm(x),
    "softmax(x)": lambda x: torch.softmax(x, -1),
    "softmax(x)[0]": lambda x: torch.softmax(x, -1)[0],
    "dot(x, y) + x.dot(x)": lambda x, y: x @ y + x @ x,
    "cross(x, y)[0]": lambda x, y: torch.linalg.cross(x, y)[0],
    "w @ x + b": lambda w, x, b: w @ x + b,
    "X @ w": lambda X, w: X @ w,
    "x @ A @ x": lambda x, A: x @ A @ x,
    "W2 @ relu(W1 @ x + b1) + b2": lambda W2, W1, x, b1, b2: W2 @ torch.relu(W1 @ x + b1) + b2,
    "trace(A @ B.T)": lambda A, B: torch.trace(A @ B.T),
    "det(A)*inverse(A)[0, 0]": lambda A: torch.det(A) * torch.inverse(A)[0, 0],
    "cross_entropy(z, p)": lambda z, p: F.cross_entropy(z, p),
    "F.mse_loss(y, t)": lambda y, t: F.mse_loss(y, t),
    # expressions that Python would read in another way
    "x^2 + 3*x": lambda x: x**2 + 3 * x,
    "2*x^3 - x^2^0.5": lambda x: 2 * x**3 - x**2**0.5,
    "f = lambda t: t^2\nf(x)": lambda x: x**2,
    "2(x + 1)": lambda x: 2 * (x + 1),
    "(x + 1)(x - 1)": lambda x: (x + 1) * (x - 1),
    "max(0, x)": lambda x: torch.relu(x),
    "max((x - 3)*2, -2.5)": lambda x: torch.clamp((x - 3) * 2, min=-2.5),
    "min(x, y)*max(x, y)": lambda x, y: x * y,
    "round(x)*x": lambda x: torch.round(x) * x,
    "np.sin(x) + math.exp(x)": lambda x: torch.sin(x) + torch.exp(x),
    "import numpy as np\nnp.maximum(0, x)*np.pi": lambda x: torch.relu(x) * math.pi,
    "np.sqrt(2)*x": lambda x: math.sqrt(2) * x,
    "x*sqrt(2) + sin(pi/4)": lambda x: x * math.sqrt(2),
    "grad(x**2)": lambda x: x**2,
    "diff(sin(x)*y, x)": lambda x, y: torch.sin(x) * y,
    "d/dx(x**2)": lambda x: x**2,
    "cumsum(x)": lambda x: torch.cumsum(x, 0),
    # notations of mathematics
    "2x": lambda x: 2 * x,
    "3 x^2 - 2 x": lambda x: 3 * x**2 - 2 * x,
    "2πr": lambda r: 2 * math.pi * r,
    "x² + x³": lambda x: x**2 + x**3,
    "x⁻¹ + x²y": lambda x, y: 1 / x + x**2 * y,
    "½x²": lambda x: 0.5 * x**2,
    "x₁·x₂": lambda a, b: a * b,
    "|x - 3| − |x|": lambda x: torch.abs(x - 3) - torch.abs(x),
    "|x - |y||": lambda x, y: torch.abs(x - torch.abs(y)),
    "√x + √(x + 1)": lambda x: torch.sqrt(x) + torch.sqrt(x + 1),
    "‖x‖": lambda x: torch.norm(x),
    "torch.sin(2x).abs() + (lambda t: t²)(x)": lambda x: torch.sin(2 * x).abs() + x**2,
    "print('a' 'b', x)\nif x > 1 and not x > 3:\n    y = 2x": lambda x: 2 * x,
    "x².sum()": lambda x: (x**2).sum(),
    "x·y + 1": lambda x, y: x * y + 1,
    "bᵀ @ A": lambda b, A: b.mT @ A if b.ndim > 1 else b @ A,
    "a × b ÷ c": lambda a, b, c: a * b / c,
    "sin x + cos 2x": lambda x: torch.sin(x) + torch.cos(2 * x),
    "2 sin(x) cos(x)": lambda x: torch.sin(2 * x),
    "sin²(x)*x": lambda x: torch.sin(x) ** 2 * x,
    "e^(-x²)": lambda x: torch.exp(-(x**2)),
    "f(x) = x^2 + 1": lambda x: x**2 + 1,
    "f(x) = x^2; f(y)": lambda y: y**2,
    "log(x - 3)*sqrt(y - 2)": lambda x, y: torch.log(x - 3) * torch.sqrt(y - 2),
    "f(x, y) = 2x·y": lambda x, y: 2 * x * y,
    "x → x²": lambda x: x**2,
    "f: x ↦ 3x": lambda x: 3 * x,
    "d/dx x^2": lambda x: x**2,
    "∂/∂x (x²y + y)": lambda x, y: x**2 * y + y,
    "y = x**2 at x=3": lambda x: x**2,
    "x*y, x=3": lambda x, y: x * y,
    "x^2 + y where x = -1.5 and y=2": lambda x, y: x**2 + y,
    "x = “2”\ny²": lambda y: y**2,
}


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_an_expression_has_the_gradients_of_plain_pytorch(source):
    trace = explorer.run(source)
    assert trace.error is None
    leaves = [torch.tensor(v, requires_grad=True) for v in trace.inputs.values()]
    plain = EXPRESSIONS[source](*leaves)
    gradients = torch.autograd.grad(plain.sum(), leaves, allow_unused=True)
    for name, gradient in zip(trace.inputs, gradients, strict=True):
        record = trace.variables[name]
        assert record.line is None
        assert record.origin.visits == 1
        close(record.grad, gradient.numpy())
        assert np.any(record.grad) or source == "softmax(x)", "the default is no special case"
    check_completed(trace)


def close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-6)


def check_completed(trace: Trace) -> None:
    """The completed program gives the same values and gradients in plain Python."""
    assert complete(trace.completed).code == trace.completed, "it is complete"
    names: dict[str, Any] = {}
    exec(trace.completed, names)
    for name, record in trace.variables.items():
        plain = names.get(name)
        if isinstance(plain, torch.Tensor):
            close(record.value, plain.detach().numpy())
            if record.is_leaf and record.requires_grad:
                assert (plain.grad is None) == (record.grad is None)
                if plain.grad is not None:
                    close(record.grad, plain.grad.numpy())


@pytest.mark.parametrize("source", ["x^2 + sin(x)*y", "A @ x", "y = x**2 at x=3", "f(x) = 2x"])
def test_a_script_and_json_say_the_same(source, monkeypatch):
    trace = explorer.run(source)
    sent = json.dumps(to_plain(trace))
    assert json.dumps(to_plain(validate(from_plain(Trace, json.loads(sent))))) == sent
    monkeypatch.setattr("atexit.register", lambda function: None)  # it prints the table
    names: dict[str, Any] = {}
    exec(script(trace), names)
    for name in trace.inputs:
        close(trace.variables[name].grad, names[name].grad.numpy())


# -- random expressions -------------------------------------------------------------------------

_LEAVES = st.sampled_from(["x", "y", "z", "2", "0.5", "pi"])
_SHAPES = ["({} + {})", "({} - {})", "{}*{}", "({})*sin({})", "({})/(2 + cos({}))", "tanh({}*{})"]


def _combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(st.sampled_from(_SHAPES), parts, parts).map(lambda t: t[0].format(*t[1:]))
    powers = parts.map(lambda part: f"({part})**2")
    return two | powers | parts.map(lambda part: f"exp(-({part})^2)" if "x" in part else part)


@settings(max_examples=60, deadline=None)
@given(st.recursive(_LEAVES, _combine, max_leaves=8))
def test_random_expressions_agree_with_torch_and_with_differences(text):
    source = f"x*y + {text}"
    trace = explorer.run(source)
    assert trace.error is None
    functions: dict[str, Any] = {
        f.__name__: lambda value, f=f: f(torch.as_tensor(value, dtype=torch.float64))
        for f in (torch.sin, torch.cos, torch.tanh, torch.exp)
    }

    def evaluate(values: dict[str, float]) -> tuple[float, dict[str, float]]:
        leaves = {
            n: torch.tensor(v, requires_grad=True, dtype=torch.float64) for n, v in values.items()
        }
        result = eval(source.replace("^", "**"), functions | leaves | {"pi": math.pi})
        result.backward()
        return result.item(), {name: leaf.grad.item() for name, leaf in leaves.items()}

    values = {name: float(value) for name, value in trace.inputs.items()}
    result, gradients = evaluate(values)
    np.testing.assert_allclose(trace.variables["out"].value, result, rtol=1e-3, atol=1e-4)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(trace.variables[name].grad, gradient, rtol=5e-3, atol=1e-3)
        step = 1e-6
        above, below = (evaluate(values | {name: values[name] + s})[0] for s in (step, -step))
        np.testing.assert_allclose(
            (above - below) / (2 * step), gradient, rtol=1e-3, atol=1e-3 + 1e-9 * abs(result)
        )


# -- first lines -------------------------------------------------------------------------------

#: Lines as they are typed for the first time: each shows a gradient, or a sentence.
TYPED = """
x^2|2x+3|y = 3x + 2|f(x)=x^2|sin(x)|cos x|e^x|x**2 + y**2|a*x^2 + b*x + c|(x+y)^2|1/x|ln(x)
sqrt(x)|x = 5|x = 2; x**2|y = x**2; y.backward()|x.backward()|torch.sin(x)|np.exp(x)|relu(x)
sigmoid(x)|max(0,x)|w*x + b|loss = (y - y_hat)**2|y = mx + b|x·y|x²|√x|¦x¦|d/dx x^2|dy/dx
derivative of x^2|grad(x^2)|gradient(x*y)|2**10|x|hello|hello world|x*y=6|f(3)|log(x, 2)
softmax([1, 2, 3])|matmul(A, B)|A*B|x[0]|tensor([1, 2])|import torch|print(x)|x = input()
torch.tensor(2., requires_grad=True)**2|solve(x**2)|x+|)|x → 2x|f(x) = 2x, x = 3|y' = 2
"""


@pytest.mark.parametrize("text", TYPED.replace("\n", "|").strip("|").split("|"))
def test_each_line_shows_a_gradient_or_a_sentence(text):
    trace = explorer.run(text.replace("¦", "|"))
    has_gradient = any(t.is_leaf and t.grad is not None for t in trace.tensors)
    said = trace.error is not None or trace.answers or trace.notices or trace.echo or trace.output
    assert has_gradient or said or text in ("x = 5", "import torch")
    if trace.error is None:
        check_completed(trace)


# -- programs that only define functions --------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "inputs"),
    {
        "def f(x, p=2):\n    return x**p": ["x", "p"],
        "def f(x, bias=None, p=2):\n    return x**2 if bias is None else bias": ["x"],
        "def f(x, kind='square'):\n    return x**2 if kind == 'square' else x": ["x"],
        "def f(kind='square'):\n    return kind": [],
        # A program that makes its tensors itself gets no inputs, so nothing is called with them.
        "import torch\ndef g():\n    return torch.ones(2)\ndef f(x):\n    return x * g()": [],
    }.items(),
)
def test_the_last_function_is_called_with_inputs(source: str, inputs: list[str]) -> None:
    trace = explorer.run(source)
    assert trace.error is None
    assert list(trace.inputs) == inputs
    assert bool(trace.passes) == bool(inputs)
    exec(trace.completed, {})
