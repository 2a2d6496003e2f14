"""Every bad program gets a sentence, a line, and what to do; results up to there stay."""

import time

import pytest

from explorer.trace import run

pytestmark = pytest.mark.fast

X = "import torch\nx = torch.tensor([1., 2.], requires_grad=True)\n"

#: name -> (program, part of the sentence, line, part of the hint)
BAD = {
    "syntax": (X + "y = x +* 2", "not valid Python", 3, "brackets"),
    "unclosed": (X + "y = (x + 2", "not valid Python", 3, "brackets"),
    "indentation": (X + "  y = x", "not valid Python", 3, "Indent"),
    "unknown name": (
        X + "weight = x * 2\ny = wieght + 1",
        "wieght is not defined",
        4,
        "Did you mean weight",
    ),
    "unknown torch name": (X + "y = torch.sigmoud(x)", "no sigmoud", 3, "torch.sigmoid"),
    "unknown method": (X + "y = x.summ()", "no attribute summ", 3, ".sum"),
    "missing name": (X + "y = w * x", "w is not defined", 3, "line above"),
    "file": (X + "torch.load('model.pt')", "There is no file model.pt here", 3, "torch.rand"),
    "open": (X + "open('secret')", "There is no file secret here", 3, "torch.rand"),
    "shapes": (X + "y = x + torch.ones(3)", "sizes 2 and 3", 3, "Reshape one of them"),
    "matmul": (X + "y = torch.ones(2, 3) @ torch.ones(2, 3)", "(2, 3) @ (2, 3)", 3, ".T"),
    "non-scalar backward": (X + "y = x * 2\ny.backward()", "single number", 4, ".sum()"),
    "second backward": (
        X + "y = (x**2).sum()\ny.backward()\ny.backward()",
        "ran twice",
        5,
        "retain_graph=True",
    ),
    "in-place leaf": (X + "x += 1", "cannot be changed in place", 3, "torch.no_grad()"),
    "in-place saved": (
        X + "y = x.exp()\ny += 1\ny.sum().backward()",
        "changed in place after",
        5,
        "new tensor",
    ),
    "integer": (
        "import torch\nx = torch.tensor([1, 2], requires_grad=True)",
        "floating-point",
        2,
        "1.",
    ),
    "no history": (
        X + "y = x.detach().sum()\ny.backward()",
        "no history",
        4,
        "detach",
    ),
    "endless loop": (X + "while True:\n    y = 1", "stopped", 4, "loop ends"),
    "endless print": (X + "while True:\n    print('x')", "stopped", 4, "loop ends"),
    "numpy with grad": (X + "y = x.numpy()", "cannot become a numpy array", 3, "detach"),
    "ambiguous truth": (X + "if x > 0:\n    y = 1", "several", 3, ".any()"),
    "emoji name": (X + "\U0001f600 = 1", "not valid Python", 3, ""),
    "division": (X + "y = 1 / 0", "divides by zero", 3, "divisor"),
    "index": (X + "y = x[5]", "There is no index 5", 3, ""),
    "recursion": ("def f(n):\n    return f(n)\nf(1)", "calls itself", 2, "stop"),
    "recursion of two": (
        "def f(n):\n    m = n\n    return g(m)\n\ndef g(n):\n    return f(n)\nf(1)",
        "calls itself",
        3,
        "stop",
    ),
    "recursion raised": (
        "def f(n):\n    raise RecursionError('maximum recursion depth exceeded')\nf(1)",
        "calls itself",
        2,
        "stop",
    ),
    "cleared gradient": (
        X + "w = torch.optim.SGD([x], lr=1)\n(x**2).sum().backward()\nw.zero_grad()\n"
        "print(x.grad[0])",
        "is None",
        6,
        "set_to_none=False",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_says_what_where_and_what_to_do(name):
    source, sentence, line, hint = BAD[name]
    trace = run(source, deadline=time.monotonic() + 2)
    error = trace.error
    assert error is not None
    assert sentence in error.message
    assert error.line == line
    assert hint in error.hint
    assert error.text == source.split("\n")[line - 1]
    assert "Traceback" not in error.message + error.hint + error.detail
    unreadable = "not valid Python" in sentence
    if source.startswith(X) and not unreadable:
        assert "x" in trace.variables, "what ran before the failing line is kept"


def test_torch_is_quoted():
    source, *_ = BAD["second backward"]
    error = run(source).error
    assert error is not None
    assert error.detail.startswith("RuntimeError: Trying to backward through the graph a second")


@pytest.mark.parametrize("text", ["", "   \n\n", "\n"])
def test_empty(text):
    error = run(text).error
    assert error is not None
    assert "empty" in error.message


def test_a_megabyte_is_refused_at_once():
    start = time.process_time()
    error = run("x = 1\n" * 170_000).error
    assert error is not None
    assert "too long" in error.message
    assert time.process_time() - start < 1


def test_nan_is_a_value_and_no_error():
    trace = run(X + "y = torch.log(-x).sum()\ny.backward()")
    assert trace.error is None
    assert str(trace.variables["y"].value) == "nan"


def test_names_with_markdown_and_letters_of_any_script():
    trace = run(
        "import torch\nλ = torch.tensor(2., requires_grad=True)\nπ_1 = λ**2\nπ_1.backward()"
    )
    assert trace.error is None
    assert trace.variables["λ"].grad == 4
    trace = run("d = {'**bold** <script>': 1}\n")
    assert trace.variables["d"] == {"**bold** <script>": 1}


@pytest.mark.parametrize(
    "text", ["x = '\ud800'", "\x00", "x = " + "(" * 500 + ")" * 500, "-" * 50_000 + "1", "ÿ" * 1000]
)
def test_text_python_cannot_read(text):
    error = run(text).error
    assert error is not None
    assert error.message


def test_a_module_that_lies_about_its_parts_is_recorded_all_the_same():
    trace = run(
        "import torch\nimport torch.nn as nn\nclass N(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.a = nn.Linear(2, 1)\n"
        "    def named_modules(self, *a, **k):\n        raise ValueError('no')\n"
        "    def forward(self, x):\n        return self.a(x)\n"
        "n = N()\nn(torch.ones(1, 2)).sum().backward()\n"
    )
    assert trace.error is None
    assert trace.variables["n.a.weight"].grad.tolist() == [[1.0, 1.0]]


def test_parts_of_modules_are_torchs_own():
    import torch

    from explorer.trace.recording.objects import named_modules, named_parameters

    shared = torch.nn.Linear(2, 2)
    module = torch.nn.Sequential(
        torch.nn.TransformerEncoderLayer(4, 2, 8), shared, torch.nn.Sequential(shared), shared
    )
    assert list(named_modules(module)) == list(module.named_modules())
    mine, theirs = list(named_parameters(module)), list(module.named_parameters())
    assert [n for n, _ in mine] == [n for n, _ in theirs]
    assert all(a is b for (_, a), (_, b) in zip(mine, theirs, strict=True))
